"""Plants in the HTTP servers: their answers, and what they keep from peers."""

from .plant import Plant

_API, _ASKED = "http/api.py", ["tests.http.test_api"]

_CONFIG, _SHOWN = "config/fields.py", ["tests.test_secrets"]
_FILES, _MADE = "storage/filesystem.py", ["tests.storage.test_filesystem.PrivacyTests"]
_SESSIONS, _STORED = "metadata/embedded/sqlite_sessions.py", ["tests.metadata.embedded.test_sqlite_store"]

PLANTS = (
    Plant(
        "half a surrogate pair reaches a handler",
        _API,
        "            json.dumps(value, ensure_ascii=False).encode()\n",
        "",
        _ASKED,
    ),
    Plant("a text that is no UTF-8 is not answered", _API, '.encode(errors="backslashreplace")', ".encode()", _ASKED),
    Plant(
        "a handler that was cancelled does not answer",
        _API,
        '            return Answer("Service Unavailable", 503)\n',
        "            failure.raiseException()\n",
        _ASKED,
    ),
    Plant("an answer is written to a peer that is gone", _API, "    if request.channel is None:\n", "    if False:\n", _ASKED),
    Plant(
        "a configuration shows the credentials of a URI", _CONFIG,
        "MASK if self.secret and text else without_credentials(text)", "MASK if self.secret and text else text", _SHOWN,
    ),
    Plant(
        "a repr shows the credentials of a URI", _CONFIG, "repr=partial(_represent, field))", "repr=not secret)", _SHOWN
    ),
    Plant("a password with a slash is shown", "errors.py", r"(?<=//)\S*(?=@)", "(?<=//)[^/@]*(?=@)", _SHOWN),
    Plant("everyone can read a new file", _FILES, "fd = os.open(path, flags, PRIVATE_FILE)", "fd = os.open(path, flags, 0o644)", _MADE),
    Plant("everyone can list a new directory", _FILES, "os.mkdir(path, PRIVATE_DIRECTORY)", "os.mkdir(path)", _MADE),
    Plant(
        "everyone can read an index", "storage/index/index_file.py",
        "        make_private_file(path)  #", "        pass  #", _MADE,
    ),
    Plant(
        "everyone can read the passwords in a store", "metadata/embedded/sqlite_store.py",
        "                make_private_file(self._path)  #", "                pass  #", _STORED,
    ),
    Plant("everyone can list the sessions", _SESSIONS, "os.mkdir(path, _PRIVATE_DIRECTORY)", "os.mkdir(path)", _STORED),
)

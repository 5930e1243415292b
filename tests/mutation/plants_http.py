"""Plants in the HTTP servers: their answers, and what they keep from peers."""

from .plant import Plant

_API, _ASKED = "http/api.py", ["tests.http.test_api"]

_CONFIG, _SHOWN = "config/fields.py", ["tests.test_secrets"]
_FILES, _MADE = "storage/files/filesystem.py", ["tests.storage.files.test_filesystem.PrivacyTests"]
_SESSIONS, _STORED = "metadata/embedded/sqlite_sessions.py", ["tests.metadata.embedded.test_sqlite_store"]

_ENDPOINTS = ["tests.bookie.lifecycle.test_endpoints"]
_CHANNEL, _BOUNDED = "http/channel.py", ["tests.http.test_channel"]
_PAGE, _SCRAPED = "http/metrics_page.py", ["tests.http.test_metrics_page"]

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
    Plant(
        "a body is read however long it says it is", _CHANNEL,
        "        if self.length is not None and self.length > MAX_BODY:\n", "        if False:\n", _BOUNDED,
    ),
    Plant(
        "a body in chunks has no end", _CHANNEL,
        "        if self.content.tell() + len(data) > MAX_BODY:\n", "        if False:\n", _BOUNDED,
    ),
    Plant(
        "requests of a pipeline are answered in one turn", _CHANNEL,
        "            self.paused, self._begun = True, False\n            self.site.enter(self)\n",
        "            self.paused, self._begun = True, False\n            self.serve()\n", _BOUNDED,
    ),
    Plant("answers take all the time", _CHANNEL, "_REST * (now - began), None", "0, None", _BOUNDED),
    Plant("a peer that does not read is answered", _CHANNEL, "        elif not self._stuck:\n", "        else:\n", _BOUNDED),
    Plant(
        "a peer that does not read its last answer stays", _CHANNEL,
        "            self.setTimeout(_GRACE)  #", "            pass  #", _BOUNDED,
    ),
    Plant(
        "bytes behind a request come before those that were there", _CHANNEL,
        "        self._held += held\n", "        self._held = held + self._held\n", _BOUNDED,
    ),
    Plant(
        "a byte now and then keeps a connection", _CHANNEL,
        "        if not self._begun and data:\n", "        if data:\n", _BOUNDED,
    ),
    Plant(
        "connections have no limit", _CHANNEL, "        if len(self.channels) >= MAX_CONNECTIONS:\n", "        if False:\n", _BOUNDED
    ),
    Plant(
        "a connection that is being answered is evicted", _CHANNEL,
        "self.phase in (AnswerPhase.READING, AnswerPhase.SENDING)", "True", _BOUNDED,
    ),
    Plant("the connection that was used last is evicted", _CHANNEL, "        self.site.served(self)\n", "", _BOUNDED),
    Plant("all that arrives is parsed in one turn", _CHANNEL, "        if len(data) > _PIECE:\n", "        if False:\n", _BOUNDED),
    Plant("any site may be this one", _CHANNEL, "        elif hosts and not", "        elif False and not", _BOUNDED),
    Plant(
        "connections outlive the server", _CHANNEL, "            channel.end()\n", "            pass\n", _BOUNDED,
    ),
    Plant("a scrape is one turn", _PAGE, "            while now - began < _SLICE:\n", "            while True:\n", _SCRAPED),
    Plant("scrapes take all the time", _PAGE, "_REST * spent", "0", _SCRAPED),
    Plant(
        "a loopback of another machine is asked", "cli/commands/limits.py",
        "            if is_loopback(endpoint.host) and not", "            if False and not", ["tests.cli.commands.test_limits"],
    ),
    Plant(
        "the HTTP server is open by default", "config/bookie.py",
        '"httpServerHost", "127.0.0.1", TEXT', '"httpServerHost", "0.0.0.0", TEXT', ["tests.bookie.lifecycle.test_endpoints"],
    ),
    Plant(
        "metrics have a port beside the HTTP server", "config/bookie.py",
        " and not self.http_server_enabled\n", "\n", _ENDPOINTS,
    ),
    Plant(
        "metrics are served whatever the provider", "config/bookie.py",
        "self.enable_statistics and self.stats_provider_class.endswith(_PROMETHEUS)", "self.enable_statistics", _ENDPOINTS,
    ),
    Plant(
        "a metrics port that is taken is reported without its key", "bookie/lifecycle/endpoints.py",
        "    except CannotListenError as error:\n", "    except LookupError as error:\n", _ENDPOINTS,
    ),
    Plant(
        "a scrape by the name of a service is refused", "http/site.py",
        'HostNames(("*",))', "HostNames()", ["tests.http.test_site"],
    ),
)

"""What refuses to start, and what it says."""

from collections.abc import Mapping

import attrs

_BOOKIE = "twistd -n --pidfile= bookie --data data --allowLoopback=true --listeningInterface=127.0.0.1 --bookiePort=0"

_TAKEN = (
    "python -c 'import socket, subprocess, sys; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); "
    "sys.exit(subprocess.call([*sys.argv[1:], \"--bookiePort=%d\" % s.getsockname()[1]]))' "
)
"""Runs a bookie on a port that another process has."""

_MOUNTING = "unshare --map-root-user --mount"

_SMALL_DISK = (
    f"{_MOUNTING} bash -c 'mkdir data && mount -t tmpfs -o size=16m none data && {_BOOKIE}; status=$?; "
    "find data -type f ! -name LOCK | grep . && exit 3; exit $status'"
)
"""Runs a bookie on a disk of 16 MiB, where it may leave nothing but its locks."""

_JAVA_COOKIE = '4\nbookieHost: "127.0.0.1:3181"\njournalDir: "data/journal"\nledgerDirs: "1\\tdata/ledgers"\n'


@attrs.frozen
class Refusal:
    """A command that has to fail without leaving anything behind.

    :ivar says: what its output has to contain.
    :ivar files: what is in its directory before.
    :ivar locked: whether it got as far as making directories and locking them, which stay.
    :ivar needs: a command that has to work for this one to be tried.
    """

    name: str
    command: str
    says: str
    status: int = 1
    files: Mapping[str, str] = attrs.field(factory=dict)
    locked: bool = False
    needs: str = ""


def _key(key: str, value: str, says: str) -> Refusal:
    return Refusal(f"{key} = {value}", f"{_BOOKIE} --{key}={value}", says)


REFUSALS = (
    _key("httpServerTlsEnable", "true", "httpServerTlsEnable"),
    _key("tlsProvider", "OpenSSL", "tlsProvider"),
    _key("bookieAuthProviderFactoryClass", "org.example.Auth", "bookieAuthProviderFactoryClass"),
    _key("bookiePort", "99999", "bookiePort"),
    _key("flushInterval", "many", "flushInterval"),
    _key("metadataServiceUri", "nothing://x", "nothing://x"),
    _key("authorizedRoles", "admin", "authorizedRoles"),
    _key("clientAuthProviderFactoryClass", "org.example.Auth", "clientAuthProviderFactoryClass"),
    Refusal("a loopback address", _BOOKIE.replace("--allowLoopback=true", ""), "allowLoopback=true"),
    Refusal("a port that is taken", _TAKEN + _BOOKIE, "Address already in use", locked=True),
    Refusal(
        "directories of a Java bookie", f"{_BOOKIE} --bookieId=127.0.0.1:3181", "rebuildIndex=true", locked=True,
        files={f"data/{kind}/current/VERSION": _JAVA_COOKIE for kind in ("journal", "ledgers")},
    ),
    Refusal(
        "a client of a store that is not there",
        "BK_metadataServiceUri=sqlite:///typo.db bookkeeper-twisted shell listledgers", "typo.db does not exist", 255,
    ),
    Refusal("a file that is not there", f"{_BOOKIE} --conf none.conf", "none.conf: No such file or directory"),
    Refusal(
        "a key that is set twice", f"{_BOOKIE} --conf twice.conf", "bookiePort",
        files={"twice.conf": "bookiePort=1\nbookiePort=2\n"},
    ),
    Refusal("standalone without data", "twistd -n --pidfile= bookie --standalone 3", "needs --data DIR"),
    Refusal(
        "a disk too small for a journal", _SMALL_DISK, "set a smaller journalPreAllocSizeMB", locked=True,
        needs=f"{_MOUNTING} mount -t tmpfs none /mnt",
    ),
    Refusal("an unknown verb of the shell", "bookkeeper-twisted shell frobnicate", "Unknown command frobnicate", 255),
)  # fmt: skip

"""What refuses to start, and what it says."""

from collections.abc import Mapping

import attrs

_BOOKIE = "twistd -n --pidfile= bookie --data data --allowLoopback=true --listeningInterface=127.0.0.1 --bookiePort=0"


@attrs.frozen
class Refusal:
    """A command that has to fail without leaving anything behind.

    :ivar says: what its output has to contain.
    :ivar files: what is in its directory before.
    """

    name: str
    command: str
    says: str
    status: int = 1
    files: Mapping[str, str] = attrs.field(factory=dict)


def _key(key: str, value: str, says: str) -> Refusal:
    return Refusal(f"{key} = {value}", f"{_BOOKIE} --{key}={value}", says)


REFUSALS = (
    _key("httpServerTlsEnable", "true", "httpServerTlsEnable"),
    _key("tlsProvider", "OpenSSL", "tlsProvider"),
    _key("bookieAuthProviderFactoryClass", "org.example.Auth", "bookieAuthProviderFactoryClass"),
    _key("bookiePort", "99999", "bookiePort"),
    _key("flushInterval", "many", "flushInterval"),
    _key("metadataServiceUri", "nothing://x", "nothing://x"),
    Refusal("a file that is not there", f"{_BOOKIE} --conf none.conf", "none.conf: No such file or directory"),
    Refusal(
        "a key that is set twice", f"{_BOOKIE} --conf twice.conf", "bookiePort",
        files={"twice.conf": "bookiePort=1\nbookiePort=2\n"},
    ),
    Refusal("standalone without data", "twistd -n --pidfile= bookie --standalone 3", "needs --data DIR"),
    Refusal("an unknown verb of the shell", "bookkeeper-twisted shell frobnicate", "Unknown command frobnicate", 255),
)  # fmt: skip

"""Plants in the blocking connections that are encrypted or authenticated, and in what Spark makes of its options."""

from .plant import Plant

_SECURED = ["tests.blocking_reads.test_secured"]
_STREAM = "blocking_reads/secured.py"

PLANTS = (
    Plant(
        "a blocking reader sends its requests in clear", _STREAM,
        "security.encryption is None", "True", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader verifies bookies as if they were other hosts", _STREAM,
        "security.encryption(address.host)", "security.encryption(address.bookie_id)", _SECURED,
        where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader sends no token", _STREAM,
        "if exchange.complete: ...", "return self._inbox", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader says that every connection is encrypted", _STREAM,
        "Peer(address.bookie_id)", "Peer(address.bookie_id, is_encrypted=True)", _SECURED,
        where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader takes a bookie that authenticates nobody", _STREAM,
        "security.authentication_is_required", "False", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader waits for a slow handshake for ever", _STREAM,
        "self.clock.advance(max(now - self._seen, 0.0))", "pass", _SECURED, where="_SocketTransport.pump",
    ),
    Plant(
        "a bookie that refuses a certificate after the handshake has only closed the connection", _STREAM,
        "ended is None or isinstance(ended, ConnectionDone)", "True", _SECURED, where="_SecuredStream._check",
    ),
    Plant(
        "a socket stays open after a refusal", _STREAM,
        "opened.close()\nraise _named(error, address) from None", "raise _named(error, address) from None", _SECURED,
        where="secured_connection",
    ),
    Plant(
        "an error of authentication does not name the bookie", _STREAM,
        "if isinstance(error, UnauthorizedAccessError): ...", "", _SECURED, where="_named",
    ),
)  # fmt: skip

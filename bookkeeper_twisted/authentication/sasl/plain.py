"""PLAIN (RFC 4616): the client sends its password, on encrypted connections only."""

import hmac

from twisted.internet.defer import Deferred, execute
from zope.interface import implementer

from ...errors import UnauthorizedAccessError
from ...protocol.authentication import IAuthenticationExchange, Peer
from ...security.principals import NOBODY, Principal
from .users import Account, Users

MAX_PLAIN = 4096
"""Maximum number of bytes of a token."""


def _require_encryption(peer: Peer) -> None:
    if not peer.is_encrypted:
        raise UnauthorizedAccessError(detail="PLAIN is refused on connections in clear; it needs TLS")


@implementer(IAuthenticationExchange)
class PlainBookieExchange:
    """The bookie's side of a PLAIN exchange."""

    def __init__(self, users: Users, peer: Peer) -> None:
        self.complete = False
        self.principal = NOBODY
        self._users = users
        self._peer = peer
        self._asked = False

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Verify the client's password, and return an empty token."""
        return execute(self._verify, received or b"")

    def _verify(self, received: bytes) -> bytes:
        _require_encryption(self._peer)
        asked, self._asked = self._asked, True
        if asked:
            raise UnauthorizedAccessError(detail="the exchange has ended")
        authorization, name, password = _parts(received)
        digest = self._users.plain_digest(password)
        is_proven = hmac.compare_digest(digest, self._users.digests(name).plain)
        self._users.admit(name, is_proven, authorization or None)
        self.principal = Principal("sasl", name)
        self.complete = True
        return b""


def _parts(token: bytes) -> tuple[str, str, bytes]:
    """Return the authorization id, the user and the password in a client's token."""
    parts = token.split(b"\0")
    if len(token) > MAX_PLAIN or len(parts) != 3 or not parts[1] or not parts[2]:
        raise UnauthorizedAccessError(detail="the token is none of PLAIN")
    try:
        return parts[0].decode("utf-8"), parts[1].decode("utf-8"), parts[2]
    except UnicodeDecodeError:
        raise UnauthorizedAccessError(detail="the user is not UTF-8") from None


@implementer(IAuthenticationExchange)
class PlainClientExchange:
    """The client's side of a PLAIN exchange, which is complete when the bookie has replied.

    It refuses to send the password on an unencrypted connection.
    """

    def __init__(self, account: Account, peer: Peer) -> None:
        self.complete = False
        self.principal = peer.certified
        self._account = account
        self._peer = peer

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Return the next token for the bookie: first user and password, then an empty token."""
        return execute(self._send if received is None else self._answered, received)

    def _send(self, received: bytes | None) -> bytes:
        _require_encryption(self._peer)
        return b"\0".join((b"", self._account.name.encode("utf-8"), self._account.password.encode("utf-8")))

    def _answered(self, received: bytes | None) -> bytes:
        if received:
            raise UnauthorizedAccessError(detail="the bookie wants a token that PLAIN does not have")
        self.complete = True
        return b""

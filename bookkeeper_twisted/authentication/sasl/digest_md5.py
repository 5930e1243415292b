"""DIGEST-MD5 (RFC 2831) with the same options as Java: one realm, quality of protection ``auth``, UTF-8."""

import hmac
from base64 import b64encode
from collections.abc import Callable

from twisted.internet.defer import Deferred, execute
from zope.interface import implementer

from ...errors import CodecError, UnauthorizedAccessError
from ...protocol.authentication import IAuthenticationExchange, Peer
from ...security.principals import NOBODY, Principal
from .digests import COUNT, REALM, URI, password_digest, proof, response
from .directives import quoted, read_directives
from .users import Account, Users

NONCE_BYTES = 30
"""Number of random bytes in a nonce."""

MAX_AGE = 60.0
"""Maximum number of seconds from the bookie's challenge to the client's response."""


def _nonce(random_bytes: Callable[[int], bytes]) -> bytes:
    return b64encode(random_bytes(NONCE_BYTES))


def _refused(reason: str) -> UnauthorizedAccessError:
    return UnauthorizedAccessError(detail=reason)


def _directives(token: bytes) -> dict[str, bytes]:
    try:
        return read_directives(token)
    except CodecError as error:
        raise _refused(f"the token is none of DIGEST-MD5: {error}") from None


def _text(values: dict[str, bytes], name: str) -> str | None:
    """Return the value of the directive ``name`` in a token, as text; None if the token lacks the directive."""
    value = values.get(name)
    try:
        return None if value is None else value.decode("utf-8" if "charset" in values else "iso-8859-1")
    except UnicodeDecodeError:
        raise _refused(f"{name} is not UTF-8") from None


@implementer(IAuthenticationExchange)
class _DigestExchange:
    """The base class of both sides of a DIGEST-MD5 exchange.

    Each step of an exchange is a method that makes one token and sets the next step.  If a step fails, or sets no next
    step, the exchange has ended and refuses further tokens.
    """

    def __init__(self, principal: Principal, first: Callable[[bytes], bytes]) -> None:
        self.complete = False
        self.principal = principal
        self._step = first

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        """Return the next token of this side of a DIGEST-MD5 exchange.

        See :meth:`.IAuthenticationExchange.next_token` for parameters and errors.
        """
        step, self._step = self._step, self._ended
        return execute(step, received or b"")

    def _ended(self, received: bytes) -> bytes:
        raise _refused("the exchange has ended")


class DigestBookieExchange(_DigestExchange):
    """The bookie's side of a DIGEST-MD5 exchange: it sends the challenge, then ``rspauth``.

    :param seconds: a function that returns the time in seconds of a monotonic clock.
    :param random_bytes: returns a given number of random bytes, which nobody can guess.
    """

    def __init__(self, users: Users, seconds: Callable[[], float], random_bytes: Callable[[int], bytes]) -> None:
        super().__init__(NOBODY, self._challenge)
        self._users = users
        self._seconds = seconds
        self._random_bytes = random_bytes
        self._nonce: bytes | None = None
        self._since = 0.0

    def _challenge(self, received: bytes) -> bytes:
        if received:
            raise _refused("the first token of DIGEST-MD5 has to be empty")
        self._nonce = _nonce(self._random_bytes)
        self._since = self._seconds()
        self._step = self._verify
        return b'realm="%s",nonce="%s",charset=utf-8,algorithm=md5-sess' % (REALM.encode("ascii"), self._nonce)

    def _verify(self, received: bytes) -> bytes:
        values = _directives(received)
        nonce = self._checked_nonce(values)
        _check_constants(values)
        name, authorization = _text(values, "username"), _text(values, "authzid")
        cnonce = values.get("cnonce")
        if not name or not cnonce:
            raise _refused("a response without a user or without a nonce of its own")
        secret, sent = self._users.digests(name).digest, values.get("authzid")
        expected = response(secret, nonce, cnonce, sent)
        is_proven = hmac.compare_digest(expected, values.get("response", b""))
        self._users.admit(name, is_proven, authorization)
        self.principal = Principal("sasl", name)
        self.complete = True
        return b"rspauth=" + proof(secret, nonce, cnonce, sent)

    def _checked_nonce(self, values: dict[str, bytes]) -> bytes:
        """Return the nonce of the bookie's challenge; raise an error if a response has another nonce or comes too late.

        :param values: the directives of the client's response.
        """
        nonce = self._nonce or b""
        if not hmac.compare_digest(nonce, values.get("nonce", b"")) or values.get("nc") != COUNT:
            raise _refused("the response is not to the challenge of this connection")
        if self._seconds() - self._since > MAX_AGE:
            raise _refused(f"the response took more than {MAX_AGE:.0f} s")
        return nonce


def _check_constants(values: dict[str, bytes]) -> None:
    """Check the directives of a client's response for which only one value is valid.

    :raises UnauthorizedAccessError: a directive has another value, or a directive without a default is missing.
    """
    for name, wanted, default in (
        ("charset", b"utf-8", b"utf-8"), ("realm", REALM.encode("ascii"), b""), ("qop", b"auth", b"auth"),
        ("digest-uri", URI, b""),
    ):  # fmt: skip
        if values.get(name, default) != wanted:
            raise _refused(f"{name} is not {wanted.decode('ascii')!r}")


class DigestClientExchange(_DigestExchange):
    """The client's side of a DIGEST-MD5 exchange; it is complete when the bookie has proven that it knows the password.

    The client sends an empty token, then the response, then another empty token.

    :ivar principal: the principal of the bookie's TLS certificate.  The password cannot identify a bookie, because all
        bookies know the same passwords.
    :param random_bytes: returns a given number of random bytes, which nobody can guess.
    """

    def __init__(self, account: Account, peer: Peer, random_bytes: Callable[[int], bytes]) -> None:
        super().__init__(peer.certified, self._begin)
        self._account = account
        self._random_bytes = random_bytes
        self._expected = b""

    def _begin(self, received: bytes) -> bytes:
        self._step = self._respond
        return b""

    def _respond(self, received: bytes) -> bytes:
        values = _directives(received)
        nonce = _challenged(values)
        cnonce = _nonce(self._random_bytes)
        name = self._account.name.encode("utf-8")
        secret = password_digest(self._account.name, self._account.password)
        self._expected = proof(secret, nonce, cnonce, name)
        self._step = self._verify
        return b",".join((
            b"charset=utf-8", b"username=" + quoted(name), b"realm=" + quoted(REALM.encode("ascii")),
            b"nonce=" + quoted(nonce), b"nc=" + COUNT, b"cnonce=" + quoted(cnonce), b"digest-uri=" + quoted(URI),
            b"maxbuf=65536", b"response=" + response(secret, nonce, cnonce, name), b"qop=auth",
            b"authzid=" + quoted(name),
        ))  # fmt: skip

    def _verify(self, received: bytes) -> bytes:
        shown = _directives(received).get("rspauth", b"")
        if not hmac.compare_digest(self._expected, shown):
            raise _refused("the bookie has not proven that it knows the password")
        self.complete = True
        return b""


def _challenged(values: dict[str, bytes]) -> bytes:
    """Return the nonce of a bookie's challenge; raise an error if the challenge has unexpected options."""
    offered = values.get("qop", b"auth").replace(b" ", b"").split(b",")
    wanted = {"realm": REALM.encode("ascii"), "charset": b"utf-8", "algorithm": b"md5-sess"}
    nonce = values.get("nonce")
    if not nonce or b"auth" not in offered or any(values.get(name) != value for name, value in wanted.items()):
        raise _refused("the bookie has sent no challenge of DIGEST-MD5 for the realm bookkeeper")
    return nonce

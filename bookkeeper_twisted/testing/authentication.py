"""An authentication plugin for tests.

A token has one byte.  The test sets how many tokens the client sends, and whether the bookie accepts the client.
"""

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from zope.interface import implementer

from ..authentication.plugins import IAuthenticationPlugin
from ..config.authentication import AuthenticationConfig
from ..errors import UnauthorizedAccessError
from ..protocol.authentication import IAuthenticationExchange, IBookieAuthentication, IClientAuthentication, Peer
from ..security.principals import NOBODY, Principal

SUCCESS, FAILURE, CONTINUE = b"\1", b"\2", b"\3"
_SHOWN = 16
"""Maximum number of bytes of a wrong token in the text of an error."""


@implementer(IAuthenticationPlugin, IBookieAuthentication, IClientAuthentication)
@attrs.frozen
class TokenAuthentication:
    """An authentication plugin and its two sides; the client sends tokens until the bookie has decided.

    :ivar plugin: name of the plugin in AUTH frames.
    :ivar rounds: number of tokens that the client sends before the bookie decides.
    :ivar admits: whether the bookie accepts the client.
    :ivar waits: Deferreds that delay the bookie's tokens: the bookie waits for the next Deferred before it sends a
        token.
    """

    plugin: str = "TestAuthProviderPlugin"
    rounds: int = 1
    admits: bool = True
    waits: "list[Deferred[None]]" = attrs.field(factory=list)
    names: frozenset[str] = frozenset({"token"})

    def for_bookie(self, config: AuthenticationConfig) -> "TokenAuthentication":
        """Return this object, which is also the bookie's side of the authentication."""
        return self

    def for_client(self, config: AuthenticationConfig) -> "TokenAuthentication":
        """Return this object, which is also the client's side of the authentication."""
        return self

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the bookie's side of an exchange in which the client sends :attr:`rounds` tokens."""
        return _BookieExchange(self)

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the client's side of an exchange: it sends tokens until the bookie has decided."""
        return _ClientExchange()


@implementer(IAuthenticationExchange)
class _BookieExchange:
    def __init__(self, provider: TokenAuthentication) -> None:
        self.complete = False
        self.principal = NOBODY
        self._provider = provider
        self._left = provider.rounds

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if received != CONTINUE:
            return fail(UnauthorizedAccessError(detail=f"no such token: {(received or b'')[:_SHOWN]!r}"))
        waits = self._provider.waits
        waited = waits.pop(0) if waits else succeed(None)
        return waited.addCallback(self._decide)

    def _decide(self, _: None) -> bytes:
        self._left -= 1
        if self._left > 0:
            return CONTINUE
        self.complete = self._provider.admits
        if self.complete:
            self.principal = Principal("token", "tester")
        return SUCCESS if self.complete else FAILURE


@implementer(IAuthenticationExchange)
class _ClientExchange:
    principal = NOBODY

    def __init__(self) -> None:
        self.complete = False

    def next_token(self, received: bytes | None) -> "Deferred[bytes]":
        if received in (None, CONTINUE):
            return succeed(CONTINUE)
        if received == SUCCESS:
            self.complete = True
            return succeed(b"")
        return fail(UnauthorizedAccessError(detail="the bookie does not admit this client"))

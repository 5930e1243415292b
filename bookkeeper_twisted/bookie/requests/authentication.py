"""The bookie's side of authentication: refuses requests until the peer is authenticated.

Requests are refused as in Apache's bookie.  V2 adds and reads and all V3 requests get the status EUA; any other V2
request ends the connection.  While the reply to a token is being computed, requests that arrive wait for this reply.
"""

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.messages import (
    AuthRequest,
    AuthResponse,
    StartTlsRequest,
)
from ...errors import UnauthorizedAccessError
from ...protocol.authentication import MAX_TOKEN, IAuthenticationExchange, IRefusingExchange
from ...protocol.connection_state import ConnectionState
from ...protocol.interfaces import IRequestSession, IServerConnection
from .encryption import PeerRefusals

_LONGEST_NAME = 100


@implementer(IRequestSession)
class AuthenticatingSession:
    """The session of a connection that authenticates its peer, and refuses other requests before that.

    :param plugin: the plugin name that AUTH requests must have.
    :param session: the session that answers requests of an authenticated peer.
    :param refusals: counts and logs the refusals.
    """

    _log = Logger()

    def __init__(
        self, connection: IServerConnection, plugin: str, exchange: IAuthenticationExchange, session: IRequestSession,
        refusals: PeerRefusals,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._plugin = plugin
        self._exchange = exchange
        self._session = session
        self._refusals = refusals
        self._has_said = IRefusingExchange.providedBy(exchange)
        self._waiting: deque[Any] = deque()
        self._making: Deferred[bytes] | None = None
        connection.enter(ConnectionState.AUTHENTICATING)

    @property
    def busy(self) -> bool:
        return self._making is not None or self._session.busy

    def received(self, items: Sequence[Any]) -> None:
        if self._making is None and self._exchange.complete:
            self._session.received(items)
            return
        self._waiting.extend(items)
        self._pump()

    def writable(self) -> None:
        self._session.writable()

    def lost(self) -> None:
        self._waiting.clear()
        if self._making is not None:
            self._making.cancel()
        self._session.lost()

    def _pump(self) -> None:
        while self._waiting and self._making is None and not self._connection.closed:
            if self._exchange.complete:
                items = list(self._waiting)
                self._waiting.clear()
                self._session.received(items)
                return
            item = self._waiting.popleft()
            if isinstance(item, AuthRequest):
                self._authenticate(item)
            elif isinstance(item, StartTlsRequest):
                # this session refuses StartTLS: a connection can start TLS only with its first frame
                self._session.received([item])
            else:
                self._refuse(item, f"it sends requests before it is authenticated by {self._plugin}")

    # -- the exchange --

    def _authenticate(self, request: AuthRequest) -> None:
        if request.plugin != self._plugin:
            other = request.plugin[:_LONGEST_NAME]
            self._refuse(request, f"it authenticates by {other!r} instead of {self._plugin}")
            return
        if len(request.payload) > MAX_TOKEN:
            error = UnauthorizedAccessError(detail=f"a token of {len(request.payload)} bytes, more than {MAX_TOKEN}")
            self._failed(Failure(error), request)
            return
        self._connection.set_reading_paused(True)
        self._making = made = maybeDeferred(self._exchange.next_token, request.payload)
        made.addCallbacks(self._answer, self._failed, callbackArgs=(request,), errbackArgs=(request,))

    def _answer(self, token: bytes, request: AuthRequest) -> None:
        response = AuthResponse(request.header, self._plugin, token)
        self._connection.reply(request.header.wire.encode_response(response))
        self._go_on()

    def _failed(self, failure: Failure, request: AuthRequest) -> None:
        """Refuse a peer that failed to authenticate, and close its connection."""
        if not self._connection.closed:
            if failure.check(UnauthorizedAccessError):
                self._refusals.say(self._connection, str(failure.value))
            else:
                write = partial(self._log.failure, failure=failure)
                self._refusals.lines.log(write, "authenticating {peer} failed", self._connection.peer)
            self._refuse(request)
            self._waiting.clear()
            self._connection.end()
        self._making = None

    def _go_on(self) -> None:
        self._making = None
        if self._exchange.complete:
            self._connection.principal = self._exchange.principal
            self._connection.enter(ConnectionState.READY)
        self._connection.set_reading_paused(False)
        self._pump()
        self._connection.flush()

    # -- refusals --

    def _refuse(self, item: Any, reason: str = "") -> None:
        """Refuse a request; log the ``reason`` unless a reason was logged for this connection before.

        :param reason: empty if it was logged already.
        """
        if reason and not self._has_said:
            self._has_said = True
            self._refusals.say(self._connection, reason)
        if not self._refusals.refuse(self._connection, item):
            self._waiting.clear()

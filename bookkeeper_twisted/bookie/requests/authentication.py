"""The bookie's side of authentication: refuses requests until the peer is authenticated.

What is refused how is Apache's: V2 adds and reads and all of V3 get EUA, what V2 has no such answer for ends the
connection.  Requests that arrive while a token is made wait for it.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec import v2, v3
from ...codec.messages import (
    AuthRequest,
    AuthResponse,
    ErrorResponse,
    Header,
    ReadRequest,
    ReadResponse,
    StartTlsRequest,
)
from ...codec.operations import HIGH_PRIORITY, V3_HIGH_PRIORITY, Operation
from ...codec.runs import AddRun, BatchRead, ReadRun
from ...errors import Status, UnauthorizedAccessError
from ...protocol.authentication import IAuthenticationExchange
from ...protocol.connection_state import ConnectionState
from ...protocol.interfaces import IRequestSession, IServerConnection


@implementer(IRequestSession)
class AuthenticatingSession:
    """The requests of one connection: refused until the exchange is complete, then passed on.

    :param plugin: the name that AUTH requests must have.
    :param session: answers requests of an authenticated peer.
    """

    _log = Logger()

    def __init__(
        self, connection: IServerConnection, plugin: str, exchange: IAuthenticationExchange, session: IRequestSession
    ) -> None:
        self._connection = connection
        self._plugin = plugin
        self._exchange = exchange
        self._session = session
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
                self._session.received([item])
            else:
                self._refuse(item)

    # -- the exchange --

    def _authenticate(self, request: AuthRequest) -> None:
        if request.plugin != self._plugin:
            self._refuse(request)
            return
        self._connection.hold(True)
        self._making = made = maybeDeferred(self._exchange.next_token, request.payload)
        made.addCallbacks(self._answer, self._failed, callbackArgs=(request,), errbackArgs=(request,))

    def _answer(self, token: bytes, request: AuthRequest) -> None:
        response = AuthResponse(request.header, self._plugin, token)
        codec = v2 if request.header.wire == 2 else v3
        self._connection.reply(codec.encode_response(response))
        self._go_on()

    def _failed(self, failure: Failure, request: AuthRequest) -> None:
        """The peer is refused: V3 is told, V2 has no status for it; both are closed."""
        if not self._connection.closed:
            if failure.check(UnauthorizedAccessError):
                self._log.info("refusing {peer}: {error}", peer=self._connection.peer, error=failure.value)
            else:
                self._log.failure("authenticating {peer} failed", failure, peer=self._connection.peer)
            if request.header.wire == 3:
                self._refuse(request)
            self._waiting.clear()
            self._connection.end()
        self._making = None

    def _go_on(self) -> None:
        self._making = None
        if self._exchange.complete:
            self._connection.enter(ConnectionState.READY)
        self._connection.hold(False)
        self._pump()
        self._connection.flush()

    # -- refusals --

    def _refuse(self, item: Any) -> None:
        frames = _refusal(item)
        if frames is None:
            self._waiting.clear()
            self._connection.end()
        else:
            self._connection.reply(frames)


def _refusal(item: Any) -> bytes | None:
    """The frames that refuse a request; None where its protocol has none."""
    if isinstance(item, AddRun | ReadRun | BatchRead):
        if item.wire == 3:
            return _errors(item)
        if isinstance(item, AddRun):
            return item.replies(Status.EUA)
        if isinstance(item, ReadRun):
            return b"".join([item.reply(index, Status.EUA) for index in range(len(item))])
        return None
    header: Header = item.header
    if header.wire == 3:
        return v3.encode_response(ErrorResponse(header, Status.EUA))
    if isinstance(item, ReadRequest):
        return v2.encode_response(ReadResponse(header, Status.EUA, item.ledger_id, item.entry_id))
    return None


def _errors(item: "AddRun | ReadRun | BatchRead") -> bytes:
    """V3: one error without a sub-message for each request."""
    numbers: Sequence[int]
    if isinstance(item, BatchRead):
        operation, numbers = Operation.BATCH_READ, (item.request_id,)
    else:
        operation, numbers = (Operation.ADD if isinstance(item, AddRun) else Operation.READ), item.txn_ids
    priority = V3_HIGH_PRIORITY if item.flags & HIGH_PRIORITY else 0
    headers = [Header(3, item.version, operation, number, priority) for number in numbers]
    return b"".join([v3.encode_response(ErrorResponse(header, Status.EUA)) for header in headers])

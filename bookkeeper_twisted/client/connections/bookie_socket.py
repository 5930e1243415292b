"""One socket to a bookie, which many ledger handles share; a lost socket is never connected again."""

from collections import deque
from collections.abc import Awaitable, Callable
from itertools import count
from typing import cast

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import TimeoutError as ConnectTimeout
from twisted.internet.interfaces import (
    IDelayedCall,
    IOpenSSLClientConnectionCreator,
    IProtocol,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...codec.wire_protocol import IWireProtocol
from ...errors import BookieHandleNotAvailableError, SecurityError, UnauthorizedAccessError
from ...limits.attended_time import TOLERANCE
from ...protocol.authentication import AuthenticationDisabled, IClientAuthentication, Peer
from ...protocol.client.authentication import first_protocol
from ...protocol.client.connection import ClientConnection, ConnectionOwner
from ...protocol.client.connection_limits import ConnectionLimits
from ...protocol.client.encryption import EncryptingConnection
from ...protocol.client.handshake import Handshake
from ...protocol.client.request_ids import FlowIds, RequestIds
from ...protocol.client.request_writer import WriteHistograms
from ...protocol.client.traffic import Traffic
from ...protocol.connection_state import ConnectionState, following

Resolve = Callable[[str], "Deferred[IStreamClientEndpoint]"]
"""A function that looks up the endpoint of a bookie id; it fails with a BookKeeperError if no address is known."""

EncryptionOf = Callable[[str], Awaitable[IOpenSSLClientConnectionCreator]]
"""A function that takes the id of a bookie, and returns Twisted's creator of TLS connections to it; it fails with a
BookKeeperError."""


HostOf = Callable[[str], Awaitable[str]]
"""A function that looks up the host name or address of a bookie id; it fails with a BookKeeperError."""

_choices = count(1)
_USABLE = tuple(ConnectionState)[: tuple(ConnectionState).index(ConnectionState.CLOSING)]


@attrs.frozen(kw_only=True)
class SocketSettings:
    """The settings that all sockets of a client share.

    :ivar authentication: the way in which this client authenticates itself on each socket.
    :ivar authentication_is_required: whether to refuse bookies that do not authenticate their clients.
    :ivar encryption: makes the client's end of TLS connections; None for unencrypted connections.
    :ivar encryption_is_direct: whether TLS begins immediately, without StartTLS.
    :ivar host_of: looks up the host of a bookie id; None if the authentication does not need the host.
    :ivar connect_timeout: seconds after which an endpoint gives up an attempt to connect.
    :ivar writes: the histograms of the sizes of writes.
    """

    clock: IReactorTime
    resolve: Resolve
    limits: ConnectionLimits
    no_delay: bool
    flow_ids: FlowIds
    authentication: IClientAuthentication = attrs.field(factory=AuthenticationDisabled)
    authentication_is_required: bool = False
    encryption: EncryptionOf | None = None
    encryption_is_direct: bool = False
    host_of: HostOf | None = None
    connect_timeout: float = 10.0
    writes: WriteHistograms = attrs.field(factory=WriteHistograms)


class _QuietFactory(Factory):
    """A factory that does not log a line for each socket."""

    noisy = False


class BookieSocket:
    """One socket to a bookie, and the flows that use it; a flow is the requests of one ledger handle.

    :ivar key: bookie id and wire protocol.
    :ivar flows: ids of the flows.
    :ivar ready: the connection, if requests can be sent on it immediately; None while it is being established, or
        earlier requests wait for it.
    :ivar chosen: the number that this socket got when it was chosen last; a later choice gives a higher number.
    :ivar idle_since: the time since which no ledger handle uses this socket, in seconds of the clock.
    :ivar error: the reason why this socket cannot be used any more, None while it can.
    :ivar dismissed: whether this client, not the bookie, has closed the socket.
    """

    _log = Logger()

    def __init__(
        self, settings: SocketSettings, key: tuple[str, IWireProtocol], ended: "Ended",
        overdue: Callable[[int], None] = lambda count: None, is_shared: bool = True,
    ) -> None:  # fmt: skip
        """:param ended: called once, when the socket cannot be used any more; the requests that wait for the connection
            fail after this call.
        :param overdue: called with the number of requests that had no reply in time.
        :param is_shared: whether other ledger handles may use the socket after one has left it.
        """
        self.key = key
        self.state = ConnectionState.CONNECTING
        self.traffic = Traffic(settings.clock.seconds)
        self.flows: dict[int, RequestIds] = {}
        self.chosen = 0
        self.idle_since = settings.clock.seconds()
        self.error: Exception | None = None
        self.dismissed = False
        self.connection: ClientConnection | None = None
        self.ready: ClientConnection | None = None
        self.gone: Deferred[None] = Deferred()
        self._settings = settings
        self._bookie_id, self._wire = key
        self._ended = ended
        self._overdue = overdue
        self._is_shared = is_shared
        self._waiting: deque[tuple[int, Deferred[ClientConnection]]] = deque()
        self._attempt: Deferred[None] | None = None
        self._asked_for_life = False
        self._grace_end: IDelayedCall | None = None

    def connect(self) -> None:
        """Start to connect to the bookie."""
        dialled = self._dialled().addErrback(self._dial_again, self._settings.clock.seconds())
        self._attempt = dialled.addCallbacks(self._opened, self._refused).addErrback(self._unexpected)

    def _dialled(self) -> "Deferred[IProtocol]":
        settings = self._settings
        if settings.encryption is None and settings.host_of is None:
            return settings.resolve(self._bookie_id).addCallback(self._dial)
        return Deferred.fromCoroutine(self._dial_named(settings))

    async def _dial_named(self, settings: SocketSettings) -> IProtocol:
        """Prepare TLS, and look up the bookie's host name if the authentication needs it; then connect."""
        bookie_id = self._bookie_id
        creator = None if settings.encryption is None else await settings.encryption(bookie_id)
        host = "" if settings.host_of is None else await settings.host_of(bookie_id)
        return await self._dial(await settings.resolve(bookie_id), creator, host)

    def _dial_again(self, failure: Failure, began: float) -> "Deferred[IProtocol] | Failure":
        """Connect once more if this process was suspended or blocked during the attempt; else return the failure.

        A time-out that fires too late shows this: the process did not run for some time, in which the bookie may have
        answered.

        :param began: the time at which the attempt began, in seconds of the clock.
        """
        late = self._settings.clock.seconds() - began - self._settings.connect_timeout
        if failure.check(ConnectTimeout) and late > TOLERANCE and self.usable:
            return self._dialled()
        return failure

    # ---- flows ---------------------------------------------------------------------------------------

    def join(self, ids: RequestIds) -> None:
        """Register a ledger handle as a user of this socket, until :meth:`leave` is called.

        :param ids: the object from which the handle takes the ids of its requests.
        """
        self.chosen = next(_choices)
        self.flows[ids.flow_id] = ids

    def leave(self, ids: RequestIds, error: Exception) -> None:
        """Remove a ledger handle from this socket; its outstanding requests fail in the order in which it made them.

        If each handle has its own sockets, close the socket.

        :param ids: the request ids of the handle.
        :param error: the error with which these requests fail.
        """
        self.flows.pop(ids.flow_id, None)
        if not self.flows:
            self.idle_since = self._settings.clock.seconds()
        if self.connection is not None and self.state is ConnectionState.READY:
            self.connection.abandon(ids, error)
        left = [waiter for flow_id, waiter in self._waiting if flow_id == ids.flow_id]
        self._waiting = deque(item for item in self._waiting if item[0] != ids.flow_id)
        for waiter in left:
            if not waiter.called:  # the errback of another waiter may have cancelled this one
                waiter.errback(error)
        if not self._is_shared:
            self.close(error)

    @property
    def usable(self) -> bool:
        """Whether requests can be sent on this socket, now or once it is connected."""
        return self.state in _USABLE

    def waits(self, ids: RequestIds, quiet: Callable[[], None]) -> bool:
        """Test whether the ledger handle with the request ids ``ids`` has outstanding requests on this connection.

        If so, ``quiet`` is called when the last of them has ended.

        See :meth:`~bookkeeper_twisted.protocol.client.in_flight.InFlight.waits` for parameters and errors.
        """
        return self.connection is not None and self.connection.in_flight.waits(ids, quiet)

    def connected(self, flow_id: int) -> "Deferred[ClientConnection]":
        """Return the connection once it is established.

        :param flow_id: the id of the ledger handle that needs the connection.
        :returns: a Deferred that fires with the connection.  The Deferred fails if the socket cannot be used any more
            (with :attr:`error`), or if the handle stops using this socket.  The Deferreds of several calls fire in the
            order of the calls.
        """
        if self.error is not None:
            return fail(self.error)
        if self.ready is not None:
            return succeed(self.ready)
        waiter: Deferred[ClientConnection] = Deferred(self._cancelled)
        self._waiting.append((flow_id, waiter))
        return waiter

    def _cancelled(self, waiter: "Deferred[ClientConnection]") -> None:
        self._waiting = deque(item for item in self._waiting if item[1] is not waiter)

    # ---- life ----------------------------------------------------------------------------------------

    def _dial(
        self, endpoint: IStreamClientEndpoint, creator: IOpenSSLClientConnectionCreator | None = None, host: str = ""
    ) -> "Deferred[IProtocol]":
        settings = self._settings
        bookie = Peer(self._bookie_id, host=host, reactor=settings.clock)
        owner = ConnectionOwner(
            self._bookie_id, settings.flow_ids, self.traffic, self._lost, settings.writes, self._overdue
        )

        def connection() -> ClientConnection:
            return ClientConnection(settings.clock, self._wire, settings.limits, owner, settings.no_delay)

        def first() -> Protocol:
            return first_protocol(
                connection, bookie, settings.authentication, settings.authentication_is_required, creator,
                settings.encryption_is_direct, settings.clock, self._wire, settings.limits.read_timeout,
                settings.limits.max_frame_size,
            )  # fmt: skip

        return endpoint.connect(_QuietFactory.forProtocol(first)).addCallback(self._go_on)

    def _go_on(self, protocol: IProtocol) -> "IProtocol | Deferred[IProtocol]":
        """Wait until the connection is encrypted and authenticated; return the protocol that sends requests."""
        if not isinstance(protocol, Handshake):
            return protocol
        is_encrypting = isinstance(protocol, EncryptingConnection)
        self._enter(ConnectionState.ENCRYPTING if is_encrypting else ConnectionState.AUTHENTICATING)
        return protocol.ready.addCallback(self._go_on)

    def _refused(self, failure: Failure) -> None:
        error = failure.value
        self._log.debug("no connection to {bookie_id}: {error}", bookie_id=self._bookie_id, error=error)
        if isinstance(error, UnauthorizedAccessError):
            error = UnauthorizedAccessError(detail=f"no connection to {self._bookie_id}: {error.detail}")
        elif not isinstance(error, SecurityError):
            error = BookieHandleNotAvailableError(
                f"no connection to {self._bookie_id}: {error or type(error).__name__}"
            )
        self._end(ConnectionState.CLOSED, error)

    def _opened(self, protocol: IProtocol) -> None:
        connection = cast(ClientConnection, protocol)
        if not self.usable:  # this socket was closed while the connection was being established
            connection.abort(cast(Exception, self.error))
            return
        self.connection = connection
        connection.disconnected.addCallback(self._disconnected)
        self._enter(ConnectionState.READY)
        while self._waiting:  # a callback may call connected() again, which adds a Deferred to this queue
            self._waiting.popleft()[1].callback(connection)
        if self.usable:
            self.ready = connection

    def _unexpected(self, failure: Failure) -> None:
        self._log.failure("connecting to {bookie_id} failed", failure, bookie_id=self._bookie_id)

    def close(self, error: Exception, grace: float = 0.0) -> None:
        """Refuse new requests with ``error``, and close the connection; the Deferred ``gone`` fires when it is closed.

        :param grace: seconds that outstanding requests may still take; then they fail with ``error``, too.
        """
        if not self.usable:
            return
        self.dismissed = True
        if self.connection is None:
            self._end(ConnectionState.CLOSED, error)
            if self._attempt is not None:
                self._attempt.cancel()
            return
        self.error = error
        if grace > 0 and self.connection.expects_more:
            self._drain(self.connection, error, grace)
        else:
            self.connection.close(error)

    def _drain(self, connection: ClientConnection, error: Exception, grace: float) -> None:
        self._end(ConnectionState.CLOSING, error)
        self._grace_end = self._settings.clock.callLater(grace, connection.close, error)
        connection.in_flight.when_empty(self._drained)

    def _drained(self) -> None:
        if self._grace_end is not None and self._grace_end.active():
            self._grace_end.reset(0)

    def tick(self) -> None:
        """Test whether the connection is alive; called regularly.

        If nothing was received since the last call, send a request that any bookie answers.  If nothing is received
        until the next call either, abort the connection.
        """
        connection = self.connection
        if connection is None or self.state is not ConnectionState.READY:
            return
        if connection.take_received():
            self._asked_for_life = False
        elif self._asked_for_life:
            connection.abort(BookieHandleNotAvailableError(f"{self._bookie_id} gave no sign of life"))
        else:
            self._asked_for_life = True
            connection.ask_for_life()

    def _lost(self, reason: Exception) -> None:
        self._end(ConnectionState.CLOSING, self.error or reason)

    def _enter(self, state: ConnectionState) -> None:
        self.state = following(self.state, state)

    def _end(self, state: ConnectionState, error: Exception) -> None:
        if not self.usable:
            return
        self._enter(state)
        self.error, self.ready = error, None
        self.flows.clear()
        self._ended(self)
        while self._waiting:  # remove one waiter at a time, because its errback may cancel other waiters
            self._waiting.popleft()[1].errback(error)
        if state is ConnectionState.CLOSED:
            self.gone.callback(None)

    def _disconnected(self, _: None) -> None:
        grace_end, self._grace_end = self._grace_end, None
        if grace_end is not None and grace_end.active():
            grace_end.cancel()
        self.connection = None  # break the reference cycle, because the connection refers to this socket, too
        self._enter(ConnectionState.CLOSED)
        self.gone.callback(None)


Ended = Callable[[BookieSocket], None]

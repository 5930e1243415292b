"""The connection to one bookie in one wire version: made when needed, made again when lost.

A lost connection is made again by the next request.  A failed attempt is followed by a pause in which
requests fail at once, because their caller has other bookies to turn to; the pause doubles with each
failure up to a limit.
"""

from collections import deque
from collections.abc import Callable
from typing import cast

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import BookieHandleNotAvailableError
from ..protocol.client import ClientConnection, RequestLimits

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 3.0

Resolve = Callable[[str], "Deferred[IStreamClientEndpoint]"]
"""Bookie id to endpoint; fails with a BookKeeperError if there is no address."""


class BookieChannel:
    """At most one connection, and those who wait for it."""

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, bookie_id: str, wire: int, limits: RequestLimits, no_delay: bool, resolve: Resolve
    ) -> None:
        self._connection: ClientConnection | None = None
        self._clock = clock
        self._bookie_id = bookie_id
        self._wire = wire
        self._limits = limits
        self._no_delay = no_delay
        self._resolve = resolve
        self._connecting = False
        self._attempt: Deferred[None] | None = None
        self._waiting: deque[Deferred[ClientConnection]] = deque()
        self._pause = 0.0
        self._paused_until = 0.0
        self._last_error: Exception | None = None
        self._sockets: dict[ClientConnection, None] = {}
        self._gone: Deferred[None] | None = None

    @property
    def ready(self) -> ClientConnection | None:
        """The connection, if a request made now would be in its turn on it."""
        return None if self._connecting else self._connection

    def connected(self) -> "Deferred[ClientConnection]":
        """The connection, made first if need be.  Those who wait get it in the order of their calls."""
        if not self._connecting:
            if self._connection is not None:
                return succeed(self._connection)
            if self._last_error is not None and self._clock.seconds() < self._paused_until:
                return fail(self._last_error)
        waiter: Deferred[ClientConnection] = Deferred(self._waiting.remove)
        self._waiting.append(waiter)
        if not self._connecting:
            self._connecting = True
            self._attempt = Deferred.fromCoroutine(self._connect())
            self._attempt.addErrback(self._unexpected)
        return waiter

    def close(self, error: Exception) -> "Deferred[None]":
        """Ends everything with ``error``; fires when the sockets are gone."""
        self._last_error, self._paused_until = error, float("inf")
        self._gone = Deferred()
        self._fail_waiting(error)
        if self._connecting and self._attempt is not None:
            self._attempt.cancel()
        for connection in list(self._sockets):
            connection.close(error)
        return self._gone if self._sockets else succeed(None)

    async def _connect(self) -> None:
        try:
            endpoint = await self._resolve(self._bookie_id)
            connection = cast(ClientConnection, await endpoint.connect(Factory.forProtocol(self._new_connection)))
        except Exception as error:
            self._log.debug("no connection to {bookie_id}: {error}", bookie_id=self._bookie_id, error=error)
            self._refused(error)
            return
        self._pause = 0.0
        self._last_error = None
        self._connection = connection
        self._sockets[connection] = None
        connection.disconnected.addCallback(lambda _: self._socket_gone(connection))
        while self._waiting:  # a waiter that asks again queues behind the others
            self._waiting.popleft().callback(connection)
        self._connecting = False

    def _new_connection(self) -> ClientConnection:
        return ClientConnection(self._clock, self._wire, self._limits, self._lost, self._no_delay)

    def _refused(self, error: Exception) -> None:
        self._connecting = False
        if self._gone is not None:
            return
        reason = f"no connection to {self._bookie_id}: {error or type(error).__name__}"
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._paused_until = self._clock.seconds() + self._pause
        self._last_error = BookieHandleNotAvailableError(reason)
        self._fail_waiting(self._last_error)

    def _fail_waiting(self, error: Exception) -> None:
        for waiter in list(self._waiting):
            if waiter in self._waiting:  # else an errback before this one has cancelled it
                self._waiting.remove(waiter)
                waiter.errback(error)

    def _unexpected(self, failure: Failure) -> None:
        self._log.failure("connecting to {bookie_id} failed", failure, bookie_id=self._bookie_id)

    def _lost(self, connection: ClientConnection) -> None:
        if self._connection is connection:
            self._connection = None

    def _socket_gone(self, connection: ClientConnection) -> None:
        del self._sockets[connection]
        if self._gone is not None and not self._sockets:
            self._gone.callback(None)

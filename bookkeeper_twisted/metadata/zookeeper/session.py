"""A session: calls are made while there is a connection, and repeated where the answer was lost."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import MetadataError
from ..interfaces import MetadataOptions
from ..listeners import Listeners
from .interfaces import (
    Connection,
    IZooKeeper,
    NodeExistsError,
    NodeMissingError,
    NodeVersionError,
    NotConnectedError,
    OutcomeUnknownError,
    ZooKeeperError,
)

T = TypeVar("T")

Settle = Callable[[ZooKeeperError], Awaitable[T]]


class Session:
    """The session that the parts of a driver share.

    :ivar zookeeper: the connection, for calls inside :meth:`run`.
    :ivar uri: for messages.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, uri: str, zookeeper: IZooKeeper, options: MetadataOptions) -> None:
        self.uri = uri
        self.zookeeper = zookeeper
        self.clock = clock
        self.options = options
        self.is_open = False
        self._used = False
        self._connection = Connection.SUSPENDED
        self._has_expired = False
        self._renewed = Listeners("the beginning of a session")
        self._expired = Listeners("the end of a session")
        self._connecting: set[Deferred[None]] = set()
        self._pausing: set[Deferred[None]] = set()

    # -- life --

    async def open(self) -> None:
        """Connects; once only.

        :raises MetadataError: there is no connection within the session timeout.
        """
        if self._used:
            raise MetadataError(f"{self.uri} was opened before")
        self._used = self.is_open = True
        self.zookeeper.connect(self._changed)
        try:
            await self._connected()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session; calls that wait for it fail with MetadataError."""
        was_open, self.is_open, self._used = self.is_open, False, True
        for waiter in [*self._connecting, *self._pausing]:
            waiter.errback(MetadataError(f"{self.uri} is closed"))
        if was_open:
            await self.zookeeper.close()

    def on_renewal(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` at the beginning of each session but the first."""
        self._renewed.add(listener)

    def on_expiry(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` at the end of each session that was not closed, before any call is made in the next.

        :returns: a function that ends that.
        """
        return self._expired.add(listener)

    def check_open(self) -> None:
        """Check that calls can be made.

        :raises MetadataError: the session is not open.
        """
        if not self.is_open:
            raise MetadataError(f"{self.uri} is {'closed' if self._used else 'not open'}")

    def _changed(self, connection: Connection) -> None:
        if not self.is_open:
            return
        self._connection = connection
        self._log.info("{uri}: {connection}", uri=self.uri, connection=connection.value)
        if connection is Connection.EXPIRED:
            self._has_expired = True
            self._expired.call()
        elif connection is Connection.CLOSED:
            self._fail_waiting(NotConnectedError(f"{self.uri}: ZooKeeper refuses the connection"))
        elif connection is Connection.CONNECTED:
            for waiter in list(self._connecting):
                waiter.callback(None)
            if self._has_expired:
                self._has_expired = False
                self._renewed.call()

    def _fail_waiting(self, error: MetadataError) -> None:
        for waiter in list(self._connecting):
            waiter.errback(error)

    # -- calls --

    async def run(self, call: Callable[[], Awaitable[T]], settle: Settle[T] | None = None) -> T:
        """Makes a call until its outcome is known.

        :param settle: given the error of a repetition that the first try may explain (the node exists, is
            gone, has another version): finds out, and gives the result or raises.
        :raises OutcomeUnknownError: the answer was lost every time.
        :raises NotConnectedError: there was no connection, and the call was never made.
        """
        made, error = False, ZooKeeperError()
        for attempt in range(self.options.max_retries + 1):
            if attempt:
                await self.pause(min(self.options.retry_start * (1 << (attempt - 1)), self.options.retry_max))
            try:
                await self._connected()
                return await call()
            except NotConnectedError as failure:
                error = error if made else failure
            except OutcomeUnknownError as failure:
                made, error = True, failure
            except (NodeExistsError, NodeMissingError, NodeVersionError) as failure:
                if not made or settle is None:
                    raise
                return await settle(failure)
            if self._connection is Connection.CLOSED:
                break
        raise error

    async def pause(self, seconds: float) -> None:
        """Wait for some ``seconds``.

        :raises MetadataError: the session was closed meanwhile.
        """
        await self.wait_for(Deferred(), seconds)

    async def wait_for(self, event: "Deferred[bool]", seconds: float) -> None:
        """Wait until ``event`` fires, or some ``seconds`` are over.

        :raises MetadataError: the session was closed meanwhile.
        """
        waiter: Deferred[None] = Deferred()
        event.addBoth(lambda _: None if waiter.called else waiter.callback(None))
        await self._wait(self._pausing, waiter, seconds, lambda: waiter.callback(None))

    async def _connected(self) -> None:
        self.check_open()
        if self._connection is Connection.CLOSED:
            raise NotConnectedError(f"{self.uri}: ZooKeeper refuses the connection")
        if self._connection is not Connection.CONNECTED:
            seconds = self.options.session_timeout
            error = NotConnectedError(f"{self.uri}: no connection to ZooKeeper within {seconds:g} s")
            waiter: Deferred[None] = Deferred()
            await self._wait(self._connecting, waiter, seconds, lambda: waiter.errback(error))

    async def _wait(
        self, waiters: "set[Deferred[None]]", waiter: "Deferred[None]", seconds: float, when_over: Callable[[], None]
    ) -> None:
        self.check_open()
        timer = self.clock.callLater(seconds, when_over)
        waiters.add(waiter)
        try:
            await waiter
        finally:
            waiters.discard(waiter)
            if timer.active():
                timer.cancel()

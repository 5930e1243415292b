"""A ZooKeeper session that waits for a connection before each call, and repeats a call whose reply was lost."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import MetadataError
from ..interfaces import MetadataOptions
from ..listeners import Listeners
from .interfaces import (
    IZooKeeper,
    NodeExistsError,
    NodeMissingError,
    NodeVersionError,
    NotConnectedError,
    OutcomeUnknownError,
    SessionState,
    ZooKeeperError,
)

T = TypeVar("T")

HELD = "its locks and its candidacy for auditor are gone"
"""What the end of its session means for a process that has not registered a bookie."""

Resolve = Callable[[ZooKeeperError], Awaitable[T]]


class Session:
    """The ZooKeeper session that all parts of a driver share.

    :ivar zookeeper: the connection; only functions that are passed to :meth:`run` may use it.
    :ivar uri: the metadata service URI, for messages.
    :ivar held: a function that returns what the end of the session means for this process, for the log.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, uri: str, zookeeper: IZooKeeper, options: MetadataOptions) -> None:
        self.uri = uri
        self.zookeeper = zookeeper
        self.clock = clock
        self.options = options
        self.is_open = False
        self.held: Callable[[], str] = lambda: HELD
        self._used = False
        self._connection = SessionState.SUSPENDED
        self._lost_at = self._connected_at = clock.seconds()
        self._has_expired = False
        self._renewed = Listeners("the beginning of a session")
        self._expired = Listeners("the end of a session")
        self._connecting: set[Deferred[None]] = set()
        self._pausing: set[Deferred[None]] = set()

    # -- life --

    async def open(self) -> None:
        """Connect to ZooKeeper; this can be called only once.

        :raises MetadataError: no connection was made within the session timeout.
        """
        if self._used:
            raise MetadataError(f"{self.uri} was opened before")
        self._used = self.is_open = True
        self._lost_at = self.clock.seconds()
        self.zookeeper.connect(self._changed)
        try:
            await self._connected(self.options.session_timeout)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session; calls that wait for a connection or a retry fail with MetadataError."""
        was_open, self.is_open, self._used = self.is_open, False, True
        for waiter in [*self._connecting, *self._pausing]:
            waiter.errback(MetadataError(f"{self.uri} is closed"))
        if was_open:
            await self.zookeeper.close()

    def on_renewal(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` at the beginning of each session, except the first."""
        self._renewed.add(listener)

    def on_expiry(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` each time ZooKeeper has ended the session.

        No call uses the next session before the listener has returned.

        :returns: a function that removes the listener.
        """
        return self._expired.add(listener)

    def check_open(self) -> None:
        """Check that the session is open, so that calls can be made.

        :raises MetadataError: the session is not open.
        """
        if not self.is_open:
            raise MetadataError(f"{self.uri} is {'closed' if self._used else 'not open'}")

    def _changed(self, connection: SessionState) -> None:
        if not self.is_open:
            return
        before, self._connection = self._connection, connection
        self._log_change(before, connection)
        if connection is SessionState.EXPIRED:
            self._has_expired = True
            self._expired.call()
        elif connection is SessionState.CLOSED:
            self._fail_waiting(NotConnectedError(f"{self.uri}: ZooKeeper refuses the connection"))
        elif connection is SessionState.CONNECTED:
            if before is not SessionState.CONNECTED:
                self._connected_at = self.clock.seconds()
            for waiter in list(self._connecting):
                waiter.callback(None)
            if self._has_expired:
                self._has_expired = False
                self._renewed.call()

    def _log_change(self, before: SessionState, now: SessionState) -> None:
        """Log one warning when the connection is lost, one when the session has ended, and one line for its return."""
        if before is SessionState.CONNECTED and now is not SessionState.CONNECTED:
            self._lost_at = self.clock.seconds()
        if now is SessionState.EXPIRED:
            self._log.warn(
                "{uri}: ZooKeeper has ended the session of this process, which had no connection for too long: {held}",
                uri=self.uri, held=self.held(),
            )  # fmt: skip
        elif before is SessionState.CONNECTED and now is not SessionState.CONNECTED:
            self._log.warn(
                "{uri}: {connection}: the connection to ZooKeeper was lost, calls wait for another {limit:g} s at most"
                "{why}",
                uri=self.uri, connection=now.value, limit=self.options.operation_timeout, why=self._why(),
            )  # fmt: skip
        elif now is SessionState.CONNECTED:
            seconds, session = self._gone(), "a new session" if self._has_expired else "its session"
            self._log.info(
                "{uri}: connected to ZooKeeper after {seconds:.1f} s, in {session}",
                uri=self.uri, seconds=seconds, session=session,
            )  # fmt: skip
        elif now is not before:
            self._log.info("{uri}: {connection}", uri=self.uri, connection=now.value)

    def _why(self) -> str:
        """Return the known reason for which there is no connection, in parentheses, for the end of a text."""
        return f" ({self.zookeeper.trouble})" if self.zookeeper.trouble else ""

    def _gone(self) -> float:
        """Return the number of seconds since the connection was lost."""
        return self.clock.seconds() - self._lost_at

    def outage(self) -> str:
        """Return why there is no connection to ZooKeeper, or since when; empty if there is one."""
        if self._connection is SessionState.CLOSED:
            return "ZooKeeper refuses the connection"
        if self._connection is not SessionState.CONNECTED:
            return f"there has been no connection to ZooKeeper for {self._gone():.0f} s{self._why()}"
        return ""

    def unsettled(self) -> float:
        """Return for how many more seconds running bookies may not be registered; see :class:`.IStoreConnection`."""
        if self._connection is not SessionState.CONNECTED:
            return self.options.session_timeout
        return max(0.0, self._connected_at + self.options.session_timeout - self.clock.seconds())

    def _fail_waiting(self, error: MetadataError) -> None:
        for waiter in list(self._connecting):
            waiter.errback(error)

    # -- calls --

    async def run(
        self, asked: str, call: Callable[[], Awaitable[T]], resolve: Resolve[T] | None = None, reads: bool = False
    ) -> T:
        """Make a call, and repeat it until its outcome is known, or until the time limit or the retries are used up.

        :param asked: description of the call, for the text of errors.
        :param resolve: called with the error if a repeated call fails because the node exists, is missing or has
            another version.  An earlier attempt may have caused this, so ``resolve`` reads the node.  If an earlier
            attempt succeeded, ``resolve`` returns its result; otherwise ``resolve`` raises the error.
        :param reads: whether the call only reads, so that lost replies do not make its outcome uncertain.
        :raises OutcomeUnknownError: no reply to a write arrived in time, so the write may have been made or not.
        :raises NotConnectedError: there was no connection, so the call was never made; or no reply to a read arrived.
        """
        began = self.clock.seconds()
        made, cause = False, ZooKeeperError()
        for attempt in range(self.options.max_retries + 1):
            if attempt:
                pause = min(self.options.retry_start * (1 << (attempt - 1)), self.options.retry_max)
                await self.pause(min(pause, self._left(began)))
            try:
                await self._connected(min(self._left(began), self.options.session_timeout))
                return await self._answer(call, self._left(began))
            except NotConnectedError as failure:
                cause = failure
            except OutcomeUnknownError as failure:
                made, cause = True, failure
            except (NodeExistsError, NodeMissingError, NodeVersionError) as failure:
                if not made or resolve is None:
                    raise  # not an effect of an earlier attempt with a lost reply: this is the first one that was sent
                return await resolve(failure)
            if self._connection is SessionState.CLOSED or not self._left(began):
                break
        raise self._given_up(asked, made and not reads, self.clock.seconds() - began) from cause

    def _left(self, began: float) -> float:
        """Return the seconds that are left until the time limit of a call that began at the time ``began``."""
        return max(0.0, began + self.options.operation_timeout - self.clock.seconds())

    async def _answer(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        answer: Deferred[T] = ensureDeferred(cast(Any, call()))

        def too_late(*_: object) -> T:
            raise OutcomeUnknownError("the server does not answer")

        return await answer.addTimeout(seconds, self.clock, too_late)

    def _given_up(self, asked: str, unknown: bool, seconds: float) -> ZooKeeperError:
        why = self.outage() or "ZooKeeper does not answer"
        outcome = "may have been done, or not" if unknown else "was not done"
        kind = OutcomeUnknownError if unknown else NotConnectedError
        return kind(f"{self.uri}: {why}; asked to {asked}, which was given up after {seconds:.0f} s and {outcome}")

    async def pause(self, seconds: float) -> None:
        """Wait for ``seconds``.

        :raises MetadataError: the session was closed during the wait.
        """
        await self.wait_for(Deferred(), seconds)

    async def wait_for(self, event: "Deferred[bool]", seconds: float) -> None:
        """Wait until ``event`` fires, but at most ``seconds``.

        :raises MetadataError: the session was closed during the wait.
        """
        waiter: Deferred[None] = Deferred()
        event.addBoth(lambda _: None if waiter.called else waiter.callback(None))
        await self._wait(self._pausing, waiter, seconds, lambda: waiter.callback(None))

    async def _connected(self, seconds: float) -> None:
        self.check_open()
        if self._connection is SessionState.CLOSED:
            raise NotConnectedError(f"{self.uri}: ZooKeeper refuses the connection")
        if self._connection is not SessionState.CONNECTED:
            waiter: Deferred[None] = Deferred()

            def too_late() -> None:
                text = f"{self.uri}: no connection to ZooKeeper within {seconds:g} s{self._why()}"
                waiter.errback(NotConnectedError(text))

            await self._wait(self._connecting, waiter, seconds, too_late)

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

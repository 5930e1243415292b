"""The Twisted service that starts the bookies of a process and ends the process if one of them fails."""

from collections.abc import Callable, Iterable
from typing import Protocol

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...bookie.lifecycle.condition import Condition
from ...config.bookie import BookieConfig
from ...errors import BookKeeperError
from ...shared_result import ended_within, result_of
from ..shell_text import on_one_line
from .clock_steps import ClockSteps
from .service_manager import ServiceManager

PATIENCE = 0.5
"""Seconds for which a stop waits for one service before it stops the next one, too."""

_REASONS = (BookKeeperError, CannotListenError, OSError)
"""Errors that an operator can fix: the log shows only their text, without a traceback."""


class Startable(Protocol):
    """A service that this module starts and stops: a bookie or autorecovery.

    :ivar role: kind of the service in messages of the log, such as ``bookie``.
    :ivar config: the present configuration; :meth:`take` replaces some of its values.
    """

    role: str
    bookie_id: str
    port: int
    http_port: int

    @property
    def config(self) -> BookieConfig: ...

    def start(self) -> "Deferred[None]":
        """Start the service; the result fires when the service is ready."""

    def stop(self) -> "Deferred[None]":
        """Stop the service; the result fires when all work has ended."""

    def take(self, config: BookieConfig) -> None:
        """Apply a new ``config`` to the running service.

        :param config: differs from the present configuration only in values that can change without a restart.
        """

    def condition(self) -> Condition:
        """Return the present condition of the service, such as starting or serving."""


class Bookies(Service):
    """Starts the bookies of one process one after another, and stops them in reverse order.

    If one of them needs longer than :data:`PATIENCE` to stop, the next one begins to stop meanwhile: a bookie must not
    accept entries while autorecovery waits for a metadata store that does not answer.

    :param make: makes the bookies.  Its argument is the function that a bookie calls if it fails after its start.
    :param fail: ends the process with status 1.
    :param manager: the service manager of this process, which gets reports about the bookies.
    :param clock_steps: keeps the timers of this process on time when the clock is set.
    :param clock: the clock for the time limits of a stop.
    :param what: the name under which the log mentions the bookies of this process.
    :ivar bookies: the services, in the order of their start.
    """

    _log = Logger()

    def __init__(
        self, make: Callable[[Callable[[Failure], None]], Iterable[Startable]], fail: Callable[[], None],
        manager: ServiceManager, clock_steps: ClockSteps, clock: IReactorTime, what: str = "the bookie",
    ) -> None:  # fmt: skip
        self._clock = clock
        self._clock_steps = clock_steps
        self._what = what
        self._manager = manager
        self.bookies = list(make(self._has_failed))
        self._fail = fail
        self._started: list[Startable] = []
        self._starting: Deferred[None] | None = None

    def startService(self) -> None:
        """Begin to start the bookies; when all of them accept requests, log one line that names them."""
        super().startService()
        self._clock_steps.start()
        self._manager.watch(self._conditions)
        self._starting = Deferred.fromCoroutine(self._start())
        self._starting.addErrback(self._did_not_start)

    async def _start(self) -> None:
        for bookie in self.bookies:
            self._started.append(bookie)
            await bookie.start()
        self._manager.ready()
        self._log.info("ready: {bookies}", bookies="; ".join(map(_describe, self.bookies)))

    def _did_not_start(self, failure: Failure) -> None:
        if not failure.check(CancelledError):  # stopService() has cancelled the start, which is no failure
            self._report(f"{self._what} does not start", failure)

    def _has_failed(self, failure: Failure) -> None:
        self._report(f"{self._what} has failed and stops", failure)

    def _report(self, what: str, failure: Failure) -> None:
        reason = on_one_line(failure.getErrorMessage())
        self._manager.stopping(f"{what}: {reason}")
        if failure.check(*_REASONS):
            self._log.critical("{what}: {reason}", what=what, reason=reason)
        else:
            self._log.failure(what, failure)
        self._fail()

    def stopService(self) -> "Deferred[None]":
        """Stop all bookies; the result fires when all have stopped."""
        super().stopService()
        self._manager.stopping()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        stopping: list[Deferred[None]] = []
        while self._started:
            stopping.append(self._started.pop().stop())
            await ended_within(stopping[-1], self._clock, PATIENCE)
        for each in stopping:
            try:
                await result_of(each)
            except Exception:  # the others must end nevertheless: a bookie writes its checkpoint
                self._log.failure("a service of this process did not stop as it should")
        self._clock_steps.stop()
        self._manager.stopped()

    def _conditions(self) -> list[tuple[str, Condition]]:
        return [(_name(bookie), bookie.condition()) for bookie in self.bookies]


def _name(bookie: Startable) -> str:
    return f"{bookie.role} {bookie.bookie_id}" if bookie.bookie_id else bookie.role.removesuffix(" of")


def _describe(bookie: Startable) -> str:
    http = f", HTTP on port {bookie.http_port}" if bookie.http_port else ""
    port = f" on port {bookie.port}" if bookie.port else ""
    return f"{_name(bookie)}{port}{http}"

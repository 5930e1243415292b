"""The auditor's periodic work: it does not run while an audit of a lost bookie is delayed or running.

After a failure, the work is repeated.
"""

import math
from collections.abc import Awaitable, Callable

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..switch import Switch
from .auditor_metrics import AuditorMetrics
from .detection import LostBookieDetector
from .repeating import until_done

LOOK_AGAIN_SECONDS = 60.0
"""Seconds after which the stored time of the last run is read again, because an operator may have set it back."""


@attrs.frozen
class Timetable:
    """The interval of one kind of periodic work, and the functions that read and store the time of its last run.

    :ivar interval: seconds from the end of a run to the next one; 0: one run only.
    :ivar last_run: a function that returns when the last run ended, in ms since the epoch; None if there was no run.
    :ivar ran: a function that stores the time at which a complete run ended; None if the work itself stores this time.
    """

    interval: float
    last_run: Callable[[], Awaitable[int | None]]
    ran: Callable[[], Awaitable[None]] | None = None


class PeriodicWork:
    """One kind of work, such as a check of all ledgers, that an elected auditor repeats at an interval.

    A failed run is repeated after a pause; only a complete run counts as the last run.

    :param name: name of the work, for the log.
    :param now_ms: a function that returns the time in ms since the epoch.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, now_ms: Callable[[], int], name: str, schedule: Timetable,
        run: Callable[[], Awaitable[None]], switch: Switch, detector: LostBookieDetector, metrics: AuditorMetrics,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._now_ms = now_ms
        self._name = name
        self._schedule = schedule
        self._run = run
        self._switch = switch
        self._detector = detector
        self._metrics = metrics
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        """Begin to wait until the periodic work is due for the first time."""
        self._running = Deferred.fromCoroutine(self._repeat())
        self._running.addErrback(self._ended)

    def stop(self) -> None:
        """Stop the periodic work; a run in progress is cancelled, and its time is not stored."""
        if self._running is not None:
            self._running.cancel()

    async def _repeat(self) -> None:
        while True:
            await until_done(self._clock, f"the time of the {self._name}", self._until_due)
            await until_done(self._clock, self._name, self._run_once, self._count_failure)
            if self._schedule.ran is not None:
                await until_done(self._clock, f"the time of the {self._name}", self._schedule.ran)

    async def _until_due(self) -> None:
        await self._until_time()
        await self._until_calm()
        # Test again whether the work is due.  If an audit has run after a loss during this wait, the regular audit is
        # not due any more.
        await self._until_time()

    async def _until_time(self) -> None:
        while (wait := await self._seconds_left()) > 0:
            await deferLater(self._clock, min(wait, LOOK_AGAIN_SECONDS))

    async def _seconds_left(self) -> float:
        """Return the seconds until the periodic work is due next.

        If the last run seems to be in the future, because the clock was set back, a full interval is left.
        """
        last, interval = await self._schedule.last_run(), self._schedule.interval
        if last is None:
            return 0.0
        return interval - max(self._now_ms() - last, 0) / 1000 if interval else math.inf

    async def _until_calm(self) -> None:
        await self._switch.wait()
        await self._detector.when_looked()
        if self._detector.is_waiting:
            self._metrics.skipped.value += 1
        await self._detector.when_calm()

    async def _run_once(self) -> None:
        await self._until_calm()
        self._log.info("{name} begins", name=self._name)
        await self._run()
        self._log.info("{name} is complete", name=self._name)

    def _count_failure(self) -> None:
        self._metrics.failed.value += 1

    def _ended(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("{name} has ended", failure, name=self._name)

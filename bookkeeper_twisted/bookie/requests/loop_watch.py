"""Notices when the event loop of the reactor is held up, and by what: by work, by a stop, or by the journal's disk."""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...storage.files.proc_files import content_of
from ..group_commit import HELD, LOOP

STOPPED = "the event loop, which used no processor: it was stopped, or a system call did not return"

PERIOD = 0.05
"""Seconds between two calls of the timer that notices when the reactor is held up; a shorter delay may go unnoticed."""

RARE_PERIOD = 1.0
"""Seconds between two calls of the timer while no request counts as slow, so that only standstills matter."""

_TOLERANCE = 0.01
"""Seconds by which the timer may be late before the delay is recorded."""

_KEPT = 1000

LONG_DELAY = 1.0
"""Seconds from which on a delay of the reactor is kept for the console, even if no request is slow.

A request that arrives while the reactor is held up is not slow by the clock of the bookie, only by that of its client.
"""

STANDSTILL = 5.0
"""Seconds from which on the log has a line about a delay of the reactor."""


def processor_seconds() -> float:
    """Return the CPU time that this process has used, and for which its main thread has waited, in seconds.

    On a host with too few processors, a process that is ready to run waits for one; Linux counts this time.
    """
    found = content_of("/proc/self/schedstat").split()
    return time.process_time() + (int(found[1]) / 1e9 if len(found) == 3 else 0.0)


class LoopDelay(NamedTuple):
    """A time in which the reactor was held up.

    :ivar start, end: seconds of the reactor's clock.
    :ivar cause: :data:`HELD` if the journal's file system held up the reactor for at least half of this time; else
        :data:`STOPPED` if the process used CPU time, or waited for it, in less than half of this time; else
        :data:`LOOP`.
    """

    start: float
    end: float
    cause: str


class LoopWatch:
    """A timer that records when it fired late, and by how many seconds, because the reactor was held up.

    The timer fires late if another call of the reactor takes long, or if the process was stopped or got no CPU time.
    The CPU time that the process used or waited for meanwhile tells one from the other: a system call that does not
    return, such as a write to a frozen file system, uses none.

    :param clock: the reactor.
    :param worked: returns the CPU time that the process has used, and for which it has waited, in seconds.
    :param held: returns for how many seconds the calls that begin writes of the journals have held up the reactor.
    :ivar long: the newest delays of at least :data:`LONG_DELAY`, in the order of their ends.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, worked: Callable[[], float] = processor_seconds,
        held: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._worked = worked
        self._held = held
        self._late: deque[LoopDelay] = deque(maxlen=_KEPT)
        self.long: deque[LoopDelay] = deque(maxlen=_KEPT)
        self._worked_before, self._held_before, self._period = 0.0, 0.0, PERIOD
        self._call: IDelayedCall | None = None

    def start(self, period: float = PERIOD) -> None:
        """Start the timer, unless it is running with this period.

        :param period: seconds between two calls of the timer.
        """
        if self._call is not None and period != self._period:
            self._call.cancel()
            self._call = None
        if self._call is None:
            self._period = period
            self._worked_before, self._held_before = self._worked(), self._held()
            self._call = self._clock.callLater(period, self._tick)

    def stop(self) -> None:
        """Stop the timer, and forget the recorded delays."""
        if self._call is not None:
            self._call.cancel()
            self._call = None
        self._late.clear()
        self.long.clear()

    def _tick(self) -> None:
        delay = self._delay()
        if delay is not None:
            self._late.append(delay)
            seconds = delay.end - delay.start
            if seconds >= LONG_DELAY:
                self.long.append(delay)
            if seconds >= STANDSTILL:
                # say nothing of clients: perhaps there were none
                text = "the event loop answered nobody for {seconds:.1f} s, as {what} {why}"
                what, _, why = delay.cause.partition(", which ")
                self._log.warn(text, seconds=seconds, what=what if delay.cause == HELD else "it", why=why)
        self._call = None
        self.start(self._period)

    def _delay(self) -> LoopDelay | None:
        """Return the delay of the timer if it is late now, or None if it is not, or does not run."""
        if self._call is None:
            return None
        # The time of the call moves if the clock of the system is set: a step of the clock is no delay.
        now, due = self._clock.seconds(), self._call.getTime()
        if now - due <= _TOLERANCE:
            return None
        half, cause = (now - due) / 2, LOOP
        if self._held() - self._held_before >= half:
            cause = HELD
        elif self._worked() - self._worked_before < half:
            cause = STOPPED
        return LoopDelay(due, now, cause)

    def late_since(self, began: float) -> dict[str, float]:
        """Return for how many seconds the reactor was held up since ``began``, as far as the timer has noticed it.

        :param began: a time of the reactor's clock.
        :returns: the seconds by :attr:`LoopDelay.cause`.
        """
        late: dict[str, float] = {}
        present = self._delay()
        for delay in (*(() if present is None else (present,)), *reversed(self._late)):
            if delay.end <= began:
                break
            late[delay.cause] = late.get(delay.cause, 0.0) + delay.end - max(delay.start, began)
        return late

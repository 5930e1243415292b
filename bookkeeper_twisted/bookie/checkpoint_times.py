"""Measures how long checkpoints last, and logs a checkpoint that lasts very long."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

VERY_LONG = 30.0
"""Seconds from which on a checkpoint lasts very long."""

LINE_INTERVAL = 600.0
"""Least number of seconds between two log lines about checkpoints that last very long."""

_KEPT = 100


class _Times(NamedTuple):
    """The times of a checkpoint that has ended.

    :ivar was_full: whether the write cache was full when the checkpoint ended, so that adds had to wait for this end.
    """

    began: float
    ended: float
    was_full: bool


class CheckpointTimes:
    """The times of the checkpoint in progress and of the newest checkpoints, in seconds of the reactor's clock.

    A checkpoint that has lasted for :data:`VERY_LONG` is logged, with the directories for which it waits, and so is its
    end.  If such a line was logged less than :data:`LINE_INTERVAL` ago, it is logged later, unless the checkpoint
    has ended before.

    :param is_full: tests whether the write cache is full, so that adds must wait for the end of a checkpoint.
    :param waits_for: returns, for the paths of the ledger directories that the checkpoint in progress has not written
        yet, a text that names the directories for which it waits.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, is_full: Callable[[], bool], waits_for: Callable[[Sequence[str]], str]
    ) -> None:  # fmt: skip
        self._clock = clock
        self._is_full = is_full
        self._waits_for = waits_for
        self._began: float | None = None
        self._unwritten: dict[str, None] = {}
        self._past: deque[_Times] = deque(maxlen=_KEPT)
        self._logged_at = -math.inf
        self._is_logged = False
        self._line_due: IDelayedCall | None = None

    @property
    def seconds(self) -> float:
        """Return for how long the checkpoint in progress has lasted; 0 if none is in progress."""
        return 0.0 if self._began is None else self._clock.seconds() - self._began

    @property
    def is_blocking(self) -> bool:
        """Test whether adds must wait for the end of the checkpoint in progress, because the write cache is full."""
        return self._began is not None and self._is_full()

    @property
    def waits_for(self) -> str:
        """Return the directories for which the checkpoint in progress waits; empty if none is in progress."""
        return "" if self._began is None else self._waits_for(tuple(self._unwritten))

    def begin(self, directories: Sequence[str]) -> None:
        """Record the begin of a checkpoint.

        :param directories: paths of the ledger directories that it writes.
        """
        self._began, self._is_logged = self._clock.seconds(), False
        self._unwritten = dict.fromkeys(directories)
        delay = max(VERY_LONG, self._logged_at + LINE_INTERVAL - self._began)
        self._line_due = self._clock.callLater(delay, self._say)

    def written(self, directory: str) -> None:
        """Record that the checkpoint in progress has written a ``directory``."""
        self._unwritten.pop(directory, None)

    def end(self) -> None:
        """Record the end of the checkpoint in progress; call this before the storage drops the written write cache."""
        assert self._began is not None, "no checkpoint is in progress"
        if self._line_due is not None:
            self._line_due.cancel()
            self._line_due = None
        if self._is_logged:
            self._log.info("the checkpoint that has lasted very long ended after {s:.0f} s", s=self.seconds)
        self._past.append(_Times(self._began, self._clock.seconds(), self._is_full()))
        self._began = None

    def blocked_seconds(self, began: float, ended: float) -> float:
        """Return for how many seconds, between two times, a checkpoint was in progress that adds had to wait for.

        :param began, ended: the two times.
        """
        times = [each for each in self._past if each.was_full]
        if self._began is not None and self._is_full():
            times.append(_Times(self._began, self._clock.seconds(), True))
        return sum([max(min(each.ended, ended) - max(each.began, began), 0.0) for each in times])

    def _say(self) -> None:
        self._line_due = None
        self._is_logged, self._logged_at = True, self._clock.seconds()
        self._log.warn(
            "a checkpoint has lasted for {s:.0f} s: it waits for {where}: the disk does not answer, or is slow; adds "
            "wait as soon as the write cache is full",
            s=self.seconds, where=self.waits_for,
        )  # fmt: skip

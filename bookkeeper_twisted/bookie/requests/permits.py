"""Limits on what is under way in the whole bookie (S11)."""

from collections import deque
from collections.abc import Callable


class Permits:
    """A number of requests may be in progress; a caller that finds no permit left waits for one.

    A run takes as many permits as it has requests, and may overshoot the limit by all but one of them.

    :param limit: 0 is no limit.
    """

    __slots__ = ("in_progress", "_limit", "_waiting", "_waking")

    def __init__(self, limit: int = 0) -> None:
        self.in_progress = 0
        self._limit = limit
        self._waiting: deque[Callable[[], None]] = deque()
        self._waking = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, count: int) -> bool:
        """:returns: whether the permits were given."""
        if self._limit and self.in_progress >= self._limit:
            return False
        self.in_progress += count
        return True

    def wait(self, resume: Callable[[], None]) -> None:
        """Calls ``resume`` once there may be a permit."""
        self._waiting.append(resume)

    def give(self, count: int) -> None:
        """Return permits and call the waiters in turn."""
        self.in_progress -= count
        if self._waking:
            return  # a waiter may return permits at once: the loop below goes on
        self._waking = True
        try:
            while self._waiting and self.in_progress < self._limit:
                self._waiting.popleft()()
        finally:
            self._waking = False

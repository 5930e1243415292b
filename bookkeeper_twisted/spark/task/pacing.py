"""Slows a worker process down to its share of the speed limit of a Spark job.

A worker process runs one task at a time.  It keeps its token bucket from task to task, so that the time between two
tasks also fills the bucket.  The limit of the job was divided by the number of tasks that are expected to run at a
time.  The job keeps its limit as long as no more tasks than that run.  Tasks read the clock and sleep only through this
module.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from ...limits.ratelimit import Rate, TokenBucket


class Pace:
    """Slows the work of tasks down to a rate: a number of entries and bytes a second.

    :param rate: maximum number of entries and bytes a second.
    :param now: returns the seconds of a monotonic clock.
    :param sleep: waits for a number of seconds of that clock.
    """

    def __init__(self, rate: Rate, now: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._bucket = TokenBucket(rate, now())
        self._now = now
        self._sleep = sleep
        self._limited = bool(rate)

    def spend(self, entries: int, n_bytes: int) -> None:
        """Count entries and bytes that were read or written, and block until the rate permits more.

        :param entries: number of entries.
        :param n_bytes: number of bytes of these entries.
        """
        if self._limited:
            self._sleep(self._bucket.reserve(entries, n_bytes, self._now()))


@lru_cache(maxsize=8)
def pace_of(work: str, rate: Rate) -> Pace:
    """Return the object that slows down one kind of work in this process; equal arguments give the same object.

    :param work: name of the kind of work, such as ``read``.
    """
    return Pace(rate, time.monotonic, time.sleep)


def tenth_of_a_second(share: float, most: int) -> int:
    """Return the most entries or bytes of one request: as many as a task may read in 0.1 seconds, at most ``most``.

    :param share: entries or bytes a second that the task may read; 0 without a limit.
    :param most: upper bound of the result, in the same unit as ``share``.
    """
    return min(most, max(int(share / 10), 1)) if share else most


def monotonic_seconds() -> float:
    """Return the seconds of a clock that never goes back."""
    return time.monotonic()


def time_of_day() -> float:
    """Return the seconds since the epoch, by the clock of this machine."""
    return time.time()

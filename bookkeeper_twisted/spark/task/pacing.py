"""Limits the speed of a worker process to its share of the speed limit of a Spark job.

A worker process runs one task at a time.  Its token bucket is shared by its tasks, so it also fills between two tasks.
The share is the limit of the job divided by the number of tasks that are expected to run at the same time.  If more
tasks run, the job exceeds its limit.  Tasks read the clock and sleep only through this module.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from ...limits.ratelimit import Rate, TokenBucket


class Pace:
    """Limits the work of tasks to a rate: a number of entries and of bytes a second.

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
    """Return the object that limits one kind of work in this process; return the same object for equal arguments.

    :param work: name of the kind of work, such as ``read``.
    """
    return Pace(rate, time.monotonic, time.sleep)


def tenth_of_a_second(share: float, most: int) -> int:
    """Return how many entries or bytes one request should read: as many as permitted in 0.1 seconds, at most ``most``.

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

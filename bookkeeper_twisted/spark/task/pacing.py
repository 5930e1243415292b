"""The share of a worker process in a speed limit of the whole cluster.

A task that runs alone in its process takes its share from a bucket that the process keeps from task to task, so that
the time between two tasks is not lost.  The shares of all processes together are the limit as long as no more tasks
run at a time than the limit was split for.  This is the door to the clock by which tasks wait.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from ...limits.ratelimit import Rate, TokenBucket


class Pace:
    """A pace, which slows work down to a rate.

    :param now: seconds of a monotonic clock.
    :param sleep: waits for seconds of that clock.
    """

    def __init__(self, rate: Rate, now: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._bucket = TokenBucket(rate, now())
        self._now = now
        self._sleep = sleep
        self._limited = bool(rate)

    def spend(self, entries: int, n_bytes: int) -> None:
        """Count an amount that was read, and block until the rate permits more.

        :param entries: number of entries.
        :param n_bytes: bytes of them.
        """
        if self._limited:
            self._sleep(self._bucket.reserve(entries, n_bytes, self._now()))


@lru_cache(maxsize=8)
def pace_of(work: str, rate: Rate) -> Pace:
    """Return the pace at which this process may do some work.

    :param work: distinguishes runs.
    """
    return Pace(rate, time.monotonic, time.sleep)


def tenth_of_a_second(share: float, most: int) -> int:
    """Return the entries or bytes of one request: what a task may read in a tenth of a second.

    :param share: entries or bytes a second; 0 sets no limit.
    """
    return min(most, max(int(share / 10), 1)) if share else most


def time_of_day() -> float:
    """Return the seconds since the epoch, by the clock of this machine."""
    return time.time()

"""The arithmetic of speed limits: a token bucket for entries and bytes per second.

The time is an argument, so the same class works for the limiter that returns Deferreds
(:mod:`bookkeeper_twisted.limits.throttle`), Spark tasks, which sleep, and tests.

A bucket fills with tokens at its rate, up to the tokens of one second.  A request of any size passes as soon as the
number of tokens is not negative.  It takes one token for each entry or byte, so the number may become negative (a
debt), and then the next request waits.  No request waits for ever, and on average the rate is kept.
"""

from collections.abc import Iterable

import attrs

_TICK = 1e-9  # in seconds: a computed wait shorter than this is a rounding error, so it counts as no wait


@attrs.frozen
class Rate:
    """A speed limit; 0 means no limit.

    :ivar entries: entries per second.
    :ivar bytes: bytes per second.
    """

    entries: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    bytes: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))

    def __bool__(self) -> bool:
        """Test whether there is a limit."""
        return bool(self.entries or self.bytes)

    def __mul__(self, factor: float) -> "Rate":
        """Return the limit multiplied by ``factor``, for example to divide a limit among several tasks."""
        return Rate(self.entries * factor, self.bytes * factor)

    def seconds(self, entries: float, n_bytes: float) -> float:
        """Return the least number of seconds that work takes at this limit; 0 without a limit.

        :param entries, n_bytes: the number of entries and bytes of the work.
        """
        return max(
            entries / self.entries if self.entries else 0.0, n_bytes / self.bytes if self.bytes else 0.0
        )  # fmt: skip

    def shared_seconds(
        self, left: tuple[float, float], beside: Iterable[tuple[float, float]], before: tuple[float, float] = (0, 0)
    ) -> float:  # fmt: skip
        """Return the least number of seconds that the rest of a job takes at this limit, which several jobs share.

        Each job gets the same share until it ends: until then, each of the others processes as much as this job, or all
        that it has left.

        :param left: number of entries and bytes that the job has left.
        :param beside: the same of all jobs that use this limit now, this one included.
        :param before: number of entries and bytes that must pass before; negative to wait for less.
        """
        jobs = list(beside)
        entries, n_bytes = (sum(min(job[each], left[each]) for job in jobs) + before[each] for each in (0, 1))
        return self.seconds(max(entries, 0), max(n_bytes, 0))


UNLIMITED = Rate()


@attrs.define
class _Bucket:
    """A bucket of tokens, for entries or for bytes; a negative number of tokens is a debt."""

    rate: float
    filled_at: float
    balance: float = 0.0

    def fill(self, now: float) -> None:
        elapsed, self.filled_at = max(now - self.filled_at, 0.0), max(now, self.filled_at)
        self.balance = min(self.balance + elapsed * self.rate, self.rate)

    def delay(self) -> float:
        return -self.balance / self.rate if self.rate and self.balance < 0 else 0.0

    def change(self, rate: float) -> None:
        """Set the rate at which the bucket fills.

        A debt keeps its amount, so a higher rate pays it off sooner.  If the bucket has more tokens than the new rate
        yields in a second, it loses the excess at the next fill.
        """
        if not (self.rate and rate):
            self.balance = 0.0
        self.rate = rate


class TokenBucket:
    """A token bucket for entries and one for bytes per second; a request waits until both allow it.

    Both buckets start empty, so that the first second grants the amount of one second, not of two.

    :param now: the present time, in seconds of any clock that goes forward.
    :ivar rate: the present limit.
    """

    __slots__ = ("rate", "_entries", "_bytes")

    def __init__(self, rate: Rate, now: float) -> None:
        self.rate = rate
        self._entries = _Bucket(rate.entries, now)
        self._bytes = _Bucket(rate.bytes, now)

    def delay(self, now: float) -> float:
        """Return the seconds until the next request, of any size, may pass.

        :param now: the present time by the same clock as in the constructor; it must not go back.
        """
        if not self.rate:
            return 0.0
        self._fill(now)
        delay = max(self._entries.delay(), self._bytes.delay())
        return delay if delay > _TICK else 0.0

    def debt(self, now: float) -> tuple[float, float]:
        """Return the numbers of entries and bytes that must be paid off before the next request may pass.

        :param now: the present time of the clock, in seconds.
        """
        self._fill(now)
        return max(-self._entries.balance, 0.0), max(-self._bytes.balance, 0.0)

    def reserve(self, entries: int, n_bytes: int, now: float) -> float:
        """Take the tokens for a request immediately, even if the bucket gets into debt.

        :param entries: number of entries; negative to return the tokens of entries.
        :param n_bytes: number of bytes; negative to return tokens.
        :param now: the present time of the clock, in seconds.
        :returns: seconds that the caller must wait before it does the work; 0 if there was no debt before.
        """
        delay = self.delay(now)
        if self._entries.rate:
            self._entries.balance -= entries
        if self._bytes.rate:
            self._bytes.balance -= n_bytes
        return delay

    def change(self, rate: Rate, now: float) -> None:
        """Change the limit from this call on.

        :param rate: entries and bytes per second, 0 for no limit.
        :param now: the present time of the clock, in seconds.
        """
        self._fill(now)
        self.rate = rate
        self._entries.change(rate.entries)
        self._bytes.change(rate.bytes)

    def _fill(self, now: float) -> None:
        self._entries.fill(now)
        self._bytes.fill(now)

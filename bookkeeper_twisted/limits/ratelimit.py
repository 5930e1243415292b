"""The arithmetic of speed limits: a token bucket for entries and bytes per second.

Time is an argument, so that one class serves the Deferred-returning limiter of
:mod:`bookkeeper_twisted.limits.throttle`, tasks that sleep, and tests.

A bucket fills at its rate up to the amount of one second.  A request passes as soon as the bucket is not in
debt, whatever its size, and takes its whole amount: a request larger than the bucket passes and delays
the next one, so no request waits for ever and the rate holds over time.
"""

import attrs

_TICK = 1e-9  # a debt that is paid within this time, in seconds, is a rounding error


@attrs.frozen
class Rate:
    """A speed limit; 0 means no limit.

    :ivar entries: entries a second.
    :ivar bytes: bytes a second.
    """

    entries: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    bytes: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))

    def __bool__(self) -> bool:
        """Test whether there is a limit."""
        return bool(self.entries or self.bytes)

    def __mul__(self, factor: float) -> "Rate":
        """Return the limit times a factor: the share of one of several tasks, or a limit for slower work."""
        return Rate(self.entries * factor, self.bytes * factor)


UNLIMITED = Rate()


@attrs.define
class _Bucket:
    """The tokens for entries or for bytes; a negative balance is a debt."""

    rate: float
    filled_at: float
    balance: float = 0.0

    def fill(self, now: float) -> None:
        elapsed, self.filled_at = max(now - self.filled_at, 0.0), max(now, self.filled_at)
        self.balance = min(self.balance + elapsed * self.rate, self.rate)

    def delay(self) -> float:
        return -self.balance / self.rate if self.rate and self.balance < 0 else 0.0

    def change(self, rate: float) -> None:
        """Set the rate.

        A debt keeps its amount, so a higher rate pays it off sooner.  Unused tokens beyond the new rate are lost at the
        next fill.
        """
        if not (self.rate and rate):
            self.balance = 0.0
        self.rate = rate


class TokenBucket:
    """A token bucket of entries and bytes per second; a request waits until both allow it.

    It starts empty: the first second grants the amount of one second, not of two.

    :param now: the present time, in seconds of any clock that goes forward.
    :ivar rate: the present limit.
    """

    __slots__ = ("rate", "_entries", "_bytes")

    def __init__(self, rate: Rate, now: float) -> None:
        self.rate = rate
        self._entries = _Bucket(rate.entries, now)
        self._bytes = _Bucket(rate.bytes, now)

    def delay(self, now: float) -> float:
        """Return the seconds until the next request may pass; the size of the request does not matter.

        :param now: seconds of the clock that the bucket was made with, never less than before.
        """
        if not self.rate:
            return 0.0
        self._fill(now)
        delay = max(self._entries.delay(), self._bytes.delay())
        return delay if delay > _TICK else 0.0

    def reserve(self, entries: int, n_bytes: int, now: float) -> float:
        """Take the tokens for a request immediately, even if that makes a debt.

        :param entries: number of entries; negative to give entries back.
        :param n_bytes: number of bytes, likewise.
        :param now: as of :meth:`delay`.
        :returns: seconds that the caller has to sleep before it acts; 0 for a bucket without debt.
        """
        delay = self.delay(now)
        if self._entries.rate:
            self._entries.balance -= entries
        if self._bytes.rate:
            self._bytes.balance -= n_bytes
        return delay

    def change(self, rate: Rate, now: float) -> None:
        """Change the limit for the time after this call.

        :param rate: entries and bytes a second, 0 for no limit.
        :param now: as of :meth:`delay`.
        """
        self._fill(now)
        self.rate = rate
        self._entries.change(rate.entries)
        self._bytes.change(rate.bytes)

    def _fill(self, now: float) -> None:
        self._entries.fill(now)
        self._bytes.fill(now)

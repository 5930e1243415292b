"""The progress of background work, such as a compaction, and the switch that suspends it."""

import math

import attrs
from twisted.internet.defer import Deferred

_MEMORY = 15.0
"""The time constant, in seconds, of the exponential moving average of the speed."""


@attrs.define
class Progress:
    """The progress of a compaction or a scrub of one directory.

    The speed is measured over recent steps, so the estimated time to the end adapts quickly when the speed limit
    changes.

    :ivar done: number of bytes that are processed.
    :ivar left: number of bytes that are left.
    :ivar began: when the work began, in seconds of any clock.
    """

    began: float
    done: int = 0
    left: int = 0
    _last: float = attrs.field(init=False, default=attrs.Factory(lambda self: self.began, takes_self=True))
    _recent_bytes: float = attrs.field(init=False, default=0.0)
    _recent_seconds: float = attrs.field(init=False, default=0.0)

    def advance(self, n_bytes: int, now: float) -> None:
        """Count a completed step.

        :param n_bytes: number of bytes of the step.
        :param now: the present time, in seconds of the same clock as ``began``.
        """
        self.done += n_bytes
        self.left = max(self.left - n_bytes, 0)
        recent_bytes, self._recent_seconds = self._recent(now)
        self._recent_bytes = recent_bytes + n_bytes
        self._last = max(now, self._last)

    def eta(self, now: float) -> float | None:
        """Return the seconds until the end at the present speed, or None while the speed is unknown.

        :param now: the present time, in seconds of the same clock as ``began``.
        """
        n_bytes, seconds = self._recent(now)
        return self.left * seconds / n_bytes if n_bytes else None

    def _recent(self, now: float) -> tuple[float, float]:
        """Return weighted sums of the bytes and of the seconds of all steps; recent steps have more weight."""
        elapsed = max(now - self._last, 0.0)
        weight = math.exp(-elapsed / _MEMORY)
        return self._recent_bytes * weight, self._recent_seconds * weight + elapsed


class Suspension:
    """A switch by which work is suspended between two of its steps.

    :ivar suspended: whether the work waits before its next step.
    """

    def __init__(self) -> None:
        self.suspended = False
        self._resumed: Deferred[None] | None = None

    def suspend(self) -> None:
        """Suspend the work before its next step."""
        self.suspended = True

    def resume(self) -> None:
        """Resume the suspended work."""
        self.suspended = False
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.callback(None)

    async def passed(self) -> None:
        """Wait until the work is no longer suspended; return immediately if it is not."""
        while self.suspended:
            self._resumed = Deferred()
            await self._resumed

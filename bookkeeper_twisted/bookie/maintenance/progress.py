"""The progress of background work, such as a compaction, and the switch that suspends it."""

import math
from collections.abc import Awaitable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...limits.throttle import Throttle

_MEMORY = 15.0
"""The time constant, in seconds of work, of the exponential moving average of the speed, unless steps are long."""

_STEPS = 8
"""The time constant is not shorter than this number of steps, because the speed of a single step says little."""


@attrs.define(eq=False)
class Progress:
    """The progress of a compaction or a scrub of one directory.

    The speed is measured over recent steps.  The time in which the work waits for a speed limit, or is suspended, does
    not count (:meth:`idle`).  Instead, :meth:`eta` computes from the present limits how long the rest of the work takes
    at least, so it follows a changed limit immediately.  What was requested of a limit (:meth:`acquire`) is not left
    for it any more, so the time to the end becomes less also during the wait for a long step.

    :ivar limits: the speed limits of the work.
    :ivar done: number of bytes that are processed.
    :ivar left: number of bytes that are left.
    :ivar entries_left: number of entries that are left.
    :ivar began: when the work began, in seconds of any clock.
    """

    began: float
    limits: Sequence[Throttle] = ()
    done: int = 0
    left: int = 0
    entries_left: int = 0
    _last: float = attrs.field(init=False, default=attrs.Factory(lambda self: self.began, takes_self=True))
    _idle: float = attrs.field(init=False, default=0.0)  # seconds of all complete waits
    _idle_since: float | None = attrs.field(init=False, default=None)
    _recent_steps: float = attrs.field(init=False, default=0.0)
    _recent_bytes: float = attrs.field(init=False, default=0.0)
    _recent_seconds: float = attrs.field(init=False, default=0.0)
    _entries_done: int = attrs.field(init=False, default=0)
    # for each limit, the entries and bytes requested so far, and those of the newest request, with its user
    _requested: dict[Throttle, tuple[int, int]] = attrs.field(init=False, factory=dict)
    _newest: dict[Throttle, tuple[str, int, int]] = attrs.field(init=False, factory=dict)

    def advance(self, n_bytes: int, now: float, entries: int = 0) -> None:
        """Count a completed step.

        :param n_bytes, entries: number of bytes and of entries of the step.
        :param now: the present time, in seconds of the same clock as ``began``.
        """
        self.done += n_bytes
        self.left = max(self.left - n_bytes, 0)
        self.entries_left = max(self.entries_left - entries, 0)
        self._entries_done += entries
        weight, elapsed = self._since_last(now)
        self._recent_steps = self._recent_steps * weight + 1
        self._recent_bytes = self._recent_bytes * weight + n_bytes
        self._recent_seconds = self._recent_seconds * weight + elapsed
        self._last += elapsed

    async def acquire(
        self, limit: Throttle, size: tuple[int, int], user: str, clock: IReactorTime, n_bytes: int
    ) -> None:  # fmt: skip
        """Wait until a ``limit`` allows a piece of the work; this time does not count for the speed.

        :param size: number of bytes and of entries to request.
        :param user: name of the work; operators see it.
        :param clock: the clock of ``began``.
        :param n_bytes: number of bytes by which ``done`` grows with this piece; a read of whole pages requests more.
        """
        entries, requested = self._requested.get(limit, (0, 0))
        self._requested[limit] = entries + size[1], requested + n_bytes
        self._newest[limit] = user, size[1], n_bytes
        await self.idle(limit.acquire(*size, user), clock)

    async def idle(self, waiting: Awaitable[None], clock: IReactorTime) -> None:
        """Wait for a speed limit, or for the end of a suspension; this time does not count for the speed.

        :param waiting: the wait.
        :param clock: the clock of ``began``.
        """
        self._idle_since = clock.seconds()
        try:
            await waiting
        finally:
            self._idle += max(clock.seconds() - self._idle_since, 0.0)
            self._idle_since = None

    def eta(self, now: float, beside: Sequence["Progress"] = ()) -> float | None:
        """Return the seconds until the end at the recent speed, and not less than the present speed limits allow.

        The result is None if neither the speed nor a limit is known.

        :param now: the present time, in seconds of the same clock as ``began``.
        :param beside: the progress of all jobs that use the same speed limits now, this one included.  Each of them
            gets the same share of a limit until it ends.
        """
        weight, elapsed = self._since_last(now)
        recent_bytes = self._recent_bytes * weight
        at_limits = self._seconds_at_limits(beside or (self,))
        if not recent_bytes:
            return at_limits or None
        return max(self.left * (self._recent_seconds * weight + elapsed) / recent_bytes, at_limits)

    def _seconds_at_limits(self, beside: Sequence["Progress"]) -> float:
        """Return the least number of seconds in which the limits allow the rest of this work."""
        return max([self._seconds_at(limit, beside) for limit in self.limits], default=0.0)

    def _seconds_at(self, limit: Throttle, beside: Sequence["Progress"]) -> float:
        """Return the least number of seconds until a ``limit`` has granted all of this work.

        The end does not wait until the tokens of the last step are paid off; that step is taken to be like the newest.
        """
        user, entries, n_bytes = self._newest.get(limit, ("", 0, 0))
        left = self._unrequested(limit)
        if user and not any(left):
            return limit.rate.seconds(*limit.backlog(user))
        ahead = limit.backlog()
        before = ahead[0] - min(entries, left[0]), ahead[1] - min(n_bytes, left[1])
        return limit.rate.shared_seconds(left, [job._unrequested(limit) for job in beside], before)

    def _unrequested(self, limit: Throttle) -> tuple[int, int]:
        """Return the numbers of entries and bytes that are left and were not requested of a ``limit``."""
        entries, n_bytes = self._requested.get(limit, (0, 0))
        return (
            max(min(self._entries_done + self.entries_left - entries, self.entries_left), 0),
            max(min(self.done + self.left - n_bytes, self.left), 0),
        )

    def _since_last(self, now: float) -> tuple[float, float]:
        """Return the weight of all steps until now, and the seconds of work since the end of the last step."""
        worked = (now if self._idle_since is None else self._idle_since) - self._idle
        elapsed = max(worked - self._last, 0.0)
        memory = max(_MEMORY, _STEPS * self._recent_seconds / self._recent_steps) if self._recent_steps else _MEMORY
        return math.exp(-elapsed / memory), elapsed


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

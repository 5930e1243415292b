"""Limits the time for which entries wait for their ack quorum: one timer for all of a writer's entries."""

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ...attended_time import AttendedTime

_MOST_LOOKS = 4
"""For one entry: each look notices whether the process was held up since the one before."""


class QuorumTimeout:
    """Watches the oldest entry that waits.

    The clock must be monotonic: no wall clock, which may jump.

    :param oldest: what :meth:`start` returned for it, None if nothing waits.
    :param expired: called when it waited ``seconds``, without the time in which the process was held up.
    """

    def __init__(
        self, clock: IReactorTime, seconds: float, oldest: Callable[[], float | None], expired: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._oldest = oldest
        self._expired = expired
        self._call: IDelayedCall | None = None
        self._time = AttendedTime(clock.seconds)

    def start(self) -> float:
        """Begins to watch, if it does not.

        :returns: the time at which an entry begins to wait now.
        """
        if self._call is None:
            self._look_after(self._seconds / _MOST_LOOKS)
        return self._time.seconds()

    def _look_after(self, delay: float) -> None:
        self._time.scheduled(delay)
        self._call = self._clock.callLater(delay, self._look)

    def _look(self) -> None:
        self._call = None
        self._time.arrived()
        sent_at = self._oldest()
        if sent_at is None:
            return
        left = sent_at + self._seconds - self._time.seconds()
        if left <= 0:
            self._expired()
        else:
            self._look_after(min(left, self._seconds / _MOST_LOOKS))

    def stop(self) -> None:
        """Watches no more."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

"""A clock for the deadlines of peers, which counts only the time in which this process handles its events.

A process that is stopped, swapped out or busy does not read what its peers have sent, and may not even have sent them
its requests.  When it goes on, all its timers are late, and fire before it reads the sockets.  The peers could not use
the seconds by which a timer is late, so the clock leaves these seconds out.
"""

from collections.abc import Callable

TOLERANCE = 0.1
"""Seconds by which a timer may be late although the process was not held up: the length of a reactor turn."""


class AttendedTime:
    """A clock in seconds that omits the time in which the process was held up.

    It measures this time by a timer of its owner, which calls :meth:`scheduled` when it starts the timer and
    :meth:`arrived` when the timer fires.

    :ivar held_up: seconds in which the process was held up.
    """

    __slots__ = ("held_up", "_seconds", "_due")

    def __init__(self, seconds: Callable[[], float]) -> None:
        """:param seconds: returns the time of the clock, in seconds."""
        self.held_up = 0.0
        self._seconds = seconds
        self._due = 0.0

    def seconds(self) -> float:
        """Return the attended time now, in seconds."""
        return self._seconds() - self.held_up

    def scheduled(self, delay: float) -> None:
        """Record that a call is scheduled ``delay`` seconds from now."""
        self._due = self._seconds() + delay

    def arrived(self) -> bool:
        """Record that the scheduled call runs now; if it is late, the clock leaves the delay out.

        :returns: whether it was late.
        """
        late = self._seconds() - self._due
        if late <= TOLERANCE:
            return False
        self.held_up += late
        return True

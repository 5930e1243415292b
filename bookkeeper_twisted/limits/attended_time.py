"""A clock for the deadlines of peers, which counts only the time in which this process handles its events.

A process that is stopped, swapped out or busy does not read what its peers have sent, and may not have sent
their requests.  Its timers are late then, all at once, and fire before the sockets are read.  The peers could not use
the seconds by which a timer is late, so these are subtracted from the clock.
"""

from collections.abc import Callable

TOLERANCE = 0.1
"""Seconds by which a timer may be late without counting: the length of a turn."""


class AttendedTime:
    """A clock in seconds that omits the time in which the process was held up.

    It measures that time by the timer of its owner, who reports for when a call is scheduled, and when it came.

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
        """Record that the scheduled call runs now; if it is late, its delay is not counted as time of the clock.

        :returns: whether it was late.
        """
        late = self._seconds() - self._due
        if late <= TOLERANCE:
            return False
        self.held_up += late
        return True

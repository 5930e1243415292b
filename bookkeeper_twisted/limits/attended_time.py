"""A clock for the deadlines of peers, which counts only the time in which this process handles its events.

A process that is stopped, swapped out or busy does not read the replies of its peers, and may not even have sent its
requests to them.  When the process continues, the reactor calls the late timers before it reads the sockets.  With an
ordinary clock, a deadline could pass although the reply has already arrived.  So this clock does not count the seconds
by which a timer was late.
"""

from collections.abc import Callable

TOLERANCE = 0.1
"""Seconds by which a timer may be late before the process counts as held up."""


class AttendedTime:
    """A clock in seconds that omits the time in which the process was held up.

    The owner of the clock runs a timer.  The owner calls :meth:`scheduled` when it starts the timer, and
    :meth:`arrived` when the timer fires.  If the timer fires some seconds late, the process was held up in these
    seconds.

    :ivar held_up: number of seconds in which the process was held up so far.
    """

    __slots__ = ("held_up", "_seconds", "_due")

    def __init__(self, seconds: Callable[[], float]) -> None:
        """:param seconds: a function that returns the time of a clock, in seconds."""
        self.held_up = 0.0
        self._seconds = seconds
        self._due = 0.0

    def seconds(self) -> float:
        """Return the present time of this clock, in seconds."""
        return self._seconds() - self.held_up

    def scheduled(self, delay: float) -> None:
        """Record that a call is scheduled ``delay`` seconds from now."""
        self._due = self._seconds() + delay

    def arrived(self) -> bool:
        """Record that the timer has fired; if it is late, this clock omits the seconds by which it is late.

        :returns: whether the timer fired late.
        """
        late = self._seconds() - self._due
        if late <= TOLERANCE:
            return False
        self.held_up += late
        return True

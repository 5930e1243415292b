"""Keeps the timers of a process on time when the clock of the system is set.

Twisted schedules a delayed call at a time of the system's clock.  If the clock is then set back by an hour, for example
by the first synchronization after a boot, every delayed call is an hour late: there would be no checkpoint and no look
at the free space of the disks in this hour.  If the clock is set forward, all delayed calls are early.
"""

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

_CLOCK = 0  # CLOCK_REALTIME
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # TFD_NONBLOCK and TFD_CLOEXEC
_ABSOLUTE, _CANCEL_ON_SET = 1, 2  # TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET
_NEVER = 1 << 33  # seconds since 1970, some 270 years

LEAST_STEP = 0.1
"""Seconds by which the clock must have been set before the delayed calls are moved."""


def open_timer() -> int:
    """Open a timer of Linux that becomes readable whenever the clock of the system is set; return its descriptor.

    A read of the timer then fails with ECANCELED.

    :raises OSError: the system has no such timers.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux") or not hasattr(library, "timerfd_create"):
        raise OSError(errno.ENOSYS, "this system does not tell when its clock is set")
    descriptor = int(library.timerfd_create(_CLOCK, _FLAGS))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    expiry = (ctypes.c_long * 4)(0, 0, _NEVER, 0)  # struct itimerspec: no repetition; seconds and nanoseconds
    if library.timerfd_settime(descriptor, _ABSOLUTE | _CANCEL_ON_SET, expiry, None) < 0:
        number = ctypes.get_errno()
        os.close(descriptor)
        raise OSError(number, "timerfd_settime")
    return descriptor


@implementer(IReadDescriptor)
class ClockSteps:
    """Moves the delayed calls of a reactor when the clock is set, so that each waits as long as it would have waited.

    :param reactor: the reactor of the process.
    :param wall: returns the time of the clock that may be set, in seconds.
    :param monotonic: returns the time of a clock that is never set, in seconds.
    :param opened: opens the descriptor that becomes readable when the clock is set (:func:`open_timer`).
    """

    _log = Logger()

    def __init__(
        self, reactor: Any, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic,
        opened: Callable[[], int] = open_timer,
    ) -> None:  # fmt: skip
        self._reactor = reactor
        self._wall = wall
        self._monotonic = monotonic
        self._opened = opened
        self._descriptor = -1
        self._difference = 0.0

    def start(self) -> None:
        """Begin to watch the clock; do nothing if the system does not tell when its clock is set."""
        try:
            self._descriptor = self._opened()
        except OSError as error:
            if error.errno == errno.ENOSYS:
                self._log.debug("steps of the clock are not noticed: {error}", error=error)
            else:  # the system could tell, so somebody may rely on it
                self._log.warn(
                    "steps of the clock are not noticed, so one that sets it back delays checkpoints, disk checks and "
                    "all other timers: {error}", error=error,
                )  # fmt: skip
            return
        self._difference = self._wall() - self._monotonic()
        self._reactor.addReader(self)

    def stop(self) -> None:
        """Stop watching the clock, if it is watched."""
        if self._descriptor >= 0:
            self._reactor.removeReader(self)
            os.close(self._descriptor)
            self._descriptor = -1

    def fileno(self) -> int:
        return self._descriptor

    def logPrefix(self) -> str:
        return "clock"

    def doRead(self) -> None:
        """Move the delayed calls by the seconds by which the clock was set."""
        try:
            os.read(self._descriptor, 8)
        except OSError as error:
            if error.errno not in (errno.ECANCELED, errno.EAGAIN):
                raise
        now = self._wall()
        before, self._difference = self._difference, now - self._monotonic()
        step = self._difference - before
        if abs(step) < LEAST_STEP:
            self._difference = before  # add up steps that are too small
            return
        self._log.warn(
            "the clock of the system was set {direction} by {seconds:.1f} s: delayed work keeps its pace",
            direction="forward" if step > 0 else "back", seconds=abs(step),
        )  # fmt: skip
        for call in self._reactor.getDelayedCalls():
            call.reset(max(call.getTime() + step - now, 0.0))

    def connectionLost(self, reason: Failure) -> None:
        """Do nothing: the reactor calls this method when it stops; :meth:`stop` closes the descriptor."""

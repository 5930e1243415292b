"""Bounds of a test run: seconds and bytes a test may take, after which it fails with the place where it was.

A signal interrupts the main thread once a second.  It raises :class:`Overrun` in the running test when the test
is over its bound, and again every few seconds while the test goes on.  A test that does not return to the
interpreter, or that catches everything, ends with its process: the stacks of all threads are printed.  After
the first overrun no further test runs, so that a failing suite ends within its usual time plus one bound.
"""

import faulthandler
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

SECONDS = 120.0
"""Seconds of a test that sets no ``timeout`` of its own; waiting for a processor that others use does not count."""

BYTES = 1 << 30
"""Resident bytes a test may add to what the process had before it."""

_STDERR = 2
"""The process's standard error; ``sys.stderr`` may be a test's."""

AGAIN = 5.0
GRACE = 15.0
"""Seconds between an overrun and the end of the process."""


class Overrun(BaseException):
    """A test took too long or too much memory; not an ``Exception``, so that the code under test lets it pass."""


def resident_bytes() -> int:
    """The size of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def seconds() -> float:
    """A clock that stands still while this thread waits for a processor, where the system tells."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return time.monotonic() - int(file.read().split()[1]) / 1e9
    except OSError:
        return time.monotonic()


def bound_of(test: Any, default: float) -> float:
    """Seconds a test may take: its own ``timeout`` or the default; asynchronous ones end by themselves a bit earlier.

    An asynchronous test without a ``timeout`` is given the default.
    """
    test = getattr(test, "_originalTest", test)  # trial wraps synchronous tests
    own: float | None = getattr(test, "timeout", None)
    if not hasattr(test, "getTimeout"):
        return own or default
    if own is None and test.getTimeout() > default:
        test.timeout = default
    return float(test.getTimeout()) + AGAIN


class Watchdog:
    """Raises :class:`Overrun` in the main thread while the test in progress is over its bounds.

    :ivar overrun: what the test in progress has exceeded, or nothing.
    """

    def __init__(self, seconds: float = SECONDS, added_bytes: int = BYTES) -> None:
        self._seconds = seconds
        self._grace = min(GRACE, 2.0 + seconds)
        self._added_bytes = added_bytes
        self._deadline = self._most_bytes = float("inf")
        self.overrun = ""

    def arm(self) -> None:
        """Begin to interrupt the main thread."""
        signal.signal(signal.SIGALRM, self.tick)
        interval = min(1.0, self._seconds / 4)
        signal.setitimer(signal.ITIMER_REAL, interval, interval)

    def began(self, test: Any) -> None:
        """A test begins: its bounds hold from now on."""
        allowed = bound_of(test, self._seconds)
        self.overrun = ""
        self._most_bytes = resident_bytes() + self._added_bytes
        self._deadline = seconds() + allowed
        self._stop_at_the_latest()

    def ended(self) -> str:
        """The test has ended: no bound holds until the next begins; returns the overrun."""
        self._deadline = self._most_bytes = float("inf")
        faulthandler.cancel_dump_traceback_later()
        return self.overrun

    def disarm(self) -> None:
        """No test follows: a thread that keeps the process alive longer than this is an error."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.stdout.flush()
        faulthandler.dump_traceback_later(self._grace, exit=True, file=_STDERR)

    def _stop_at_the_latest(self) -> None:
        faulthandler.dump_traceback_later(self._deadline - seconds() + self._grace, exit=True, file=_STDERR)

    def tick(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal.

        :raises Overrun: the test in progress is over a bound.
        """
        if self._deadline == float("inf"):
            return  # between two tests
        now = seconds()
        if now < self._deadline:
            self._stop_at_the_latest()  # anew: the processor may have been taken away meanwhile
        if now >= self._deadline:
            self.overrun = "time limit: the test was still running"
        elif resident_bytes() >= self._most_bytes:
            self.overrun = "memory limit: the test took too many bytes"
        else:
            return
        self._deadline = now + AGAIN
        raise Overrun(self.overrun)

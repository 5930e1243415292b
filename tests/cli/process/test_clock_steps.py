"""Timers of a process whose system's clock is set."""

import errno
import os
import select
import sys

from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.process.clock_steps import ClockSteps, open_timer

HOUR = 3600.0


class StepTests(SynchronousTestCase):
    """A clock that is set by hand; a pipe stands for the timer of the kernel."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.reactor.advance(1000 * HOUR)
        self.set_by = 0.0
        self.timer, self.told = os.pipe()
        self.addCleanup(os.close, self.told)
        self.steps = ClockSteps(
            self.reactor, self.reactor.seconds, lambda: self.reactor.seconds() - self.set_by, lambda: self.timer
        )
        self.steps.start()
        self.called: list[str] = []

    def _set(self, seconds: float) -> None:
        """Set the clock, without a call of what becomes due by that; let the kernel tell."""
        self.reactor.rightNow += seconds
        self.set_by += seconds
        os.write(self.told, bytes(8))
        (reader,) = self.reactor.getReaders()
        self.assertEqual(reader.fileno(), self.timer)
        reader.doRead()

    def _wait(self, seconds: float) -> list[str]:
        self.reactor.advance(seconds)
        called = list(self.called)
        self.called.clear()
        return called

    def test_set_back(self) -> None:
        """A call that was due in ten seconds is made in ten seconds, not an hour later."""
        self.reactor.callLater(10, self.called.append, "ten")
        self.reactor.callLater(20, self.called.append, "twenty")
        self._set(-HOUR)
        self.assertEqual([self._wait(9.9), self._wait(0.2), self._wait(10)], [[], ["ten"], ["twenty"]])

    def test_set_forward(self) -> None:
        """The same call is not made an hour early, and one that was due is made at once."""
        self.reactor.callLater(0, self.called.append, "now")
        self.reactor.callLater(10, self.called.append, "ten")
        self._set(HOUR)
        self.assertEqual([self._wait(0), self._wait(9.9), self._wait(0.2)], [["now"], [], ["ten"]])

    def test_again_and_again(self) -> None:
        """Each step counts by itself, and steps too small to matter are added up."""
        self.reactor.callLater(10, self.called.append, "ten")
        for seconds in (-HOUR, 2 * HOUR, *[-0.06] * 4):
            self._set(seconds)
        self.assertEqual([self._wait(9.7), self._wait(0.4)], [[], ["ten"]])

    def test_said_once(self) -> None:
        """A step has a line, and a notice without a step has none."""
        with capturedLogs() as logged:
            self._set(-HOUR)
            self._set(0.0)
        self.assertEqual(
            [formatEvent(event) for event in logged],
            ["the clock of the system was set back by 3600.0 s: delayed work keeps its pace"],
        )

    def test_stop(self) -> None:
        """The end closes the timer; ending twice is harmless."""
        self.steps.stop()
        self.assertEqual(self.reactor.getReaders(), [])
        self.assertRaises(OSError, os.fstat, self.timer)
        self.steps.stop()

    def test_no_such_timers(self) -> None:
        """A system that does not tell leaves the process without, and nobody is bothered, unless it could tell."""
        for number, level in ((errno.ENOSYS, "debug"), (errno.EPERM, "warn"), (errno.EMFILE, "warn")):

            def refused(number: int = number) -> int:
                raise OSError(number, "no timers")

            reactor = MemoryReactorClock()
            steps = ClockSteps(reactor, opened=refused)
            with capturedLogs() as logged:
                steps.start()
                steps.stop()
            self.assertEqual(reactor.getReaders(), [])
            self.assertEqual([event["log_level"].name for event in logged], [level])


class KernelTests(SynchronousTestCase):
    """The timer of Linux itself, whose clock no test sets."""

    if not sys.platform.startswith("linux"):
        skip = "needs Linux"

    def test_timer(self) -> None:
        """As long as nobody sets the clock, the reactor is not woken, and a read does not wait."""
        timer = open_timer()
        self.addCleanup(os.close, timer)
        self.assertEqual(select.select([timer], [], [], 0), ([], [], []))
        self.assertRaises(BlockingIOError, os.read, timer, 8)

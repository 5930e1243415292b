"""How far a piece of background work has come, and its suspension."""

import math

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance.progress import Progress, Suspension


class ProgressTests(SynchronousTestCase):
    """The time to the end."""

    def _steps(self, progress: Progress, begin: int, end: int, n_bytes: int) -> None:
        for second in range(begin, end):
            progress.advance(n_bytes, second + 1.0)

    def test_even(self) -> None:
        """At an even speed it is what is left by the speed; before the first step it is not known."""
        progress = Progress(0.0, left=1000)
        self.assertIsNone(progress.eta(1.0))
        self._steps(progress, 0, 40, 10)
        self.assertEqual((progress.done, progress.left), (400, 600))
        self.assertAlmostEqual(progress.eta(40.0) or 0.0, 60)

    def test_slowed_down(self) -> None:
        """A speed that changes shows within a minute."""
        progress = Progress(0.0, left=100_000)
        self._steps(progress, 0, 100, 100)
        self._steps(progress, 100, 160, 1)
        expected = progress.left / 1
        self.assertLess(progress.eta(160.0) or math.inf, expected)
        self.assertGreater(progress.eta(160.0) or 0.0, expected / 4)

    def test_stopped(self) -> None:
        """Work that takes no steps is farther from its end with every second."""
        progress = Progress(0.0, left=100)
        progress.advance(50, 1.0)
        etas = [progress.eta(now) or 0.0 for now in (1.0, 2.0, 60.0)]
        self.assertEqual(etas, sorted(etas))
        self.assertGreater(etas[2], 60)

    def test_steps_at_once(self) -> None:
        """Steps that take no time, a clock that goes back, and more bytes than were expected do no harm."""
        progress = Progress(5.0, left=10)
        for now in (5.0, 5.0, 4.0):
            progress.advance(10, now)
        self.assertEqual((progress.done, progress.left, progress.eta(5.0)), (30, 0, 0.0))


class SuspensionTests(SynchronousTestCase):
    """The pause between two steps."""

    def test_passes(self) -> None:
        """Work that is not suspended goes on at once; work that is waits until it is resumed."""
        suspension = Suspension()
        self.successResultOf(Deferred.fromCoroutine(suspension.passed()))
        suspension.suspend()
        waiting = Deferred.fromCoroutine(suspension.passed())
        self.assertNoResult(waiting)
        suspension.resume()
        self.successResultOf(waiting)
        suspension.resume()

    def test_cancelled(self) -> None:
        """Work that is cancelled while it is suspended ends; resuming afterwards does no harm."""
        suspension = Suspension()
        suspension.suspend()
        waiting = Deferred.fromCoroutine(suspension.passed())
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        suspension.resume()

"""Waits for a LAC."""

from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.ledger_handle import LacWatches, LedgerHandles
from bookkeeper_twisted.errors import TooManyRequestsError

from .rig import Rig


class WatchTests(SynchronousTestCase):
    """Beginning and end of waits."""

    def setUp(self) -> None:
        rig = Rig()
        self.clock = Clock()
        self.flushes: list[None] = []
        self.handle = LedgerHandles(rig.storage, rig.engine.commits).get(1)
        self.watches = LacWatches(self.clock, lambda: self.flushes.append(None), limit=2)

    def test_limit(self) -> None:
        """S11: there are only so many waits, and each that ends makes room."""
        first = self.watches.wait(self.handle, 0, 10)
        self.watches.wait(self.handle, 0, 10)
        self.failureResultOf(self.watches.wait(self.handle, 0, 10), TooManyRequestsError)
        first.addErrback(lambda _: None).cancel()
        self.assertNoResult(self.watches.wait(self.handle, 0, 10))

    def test_advance(self) -> None:
        """Only those whose LAC has passed are woken."""
        low, high = self.watches.wait(self.handle, 3, 10), self.watches.wait(self.handle, 8, 10)
        self.clock.advance(2)
        self.handle.advance_lac(5)
        self.assertEqual(self.successResultOf(low), 2000)
        self.assertNoResult(high)
        self.assertEqual(self.flushes, [])

    def test_timeout_ends_a_batch(self) -> None:
        """A timeout flushes its own reply."""
        waiting = self.watches.wait(self.handle, 3, 10)
        self.clock.advance(10)
        self.assertIsNone(self.successResultOf(waiting))
        self.assertEqual(self.flushes, [None])
        self.assertTrue(self.handle.is_idle)

    def test_held_up(self) -> None:
        """A time-out that comes late lets the reactor read its sockets once before it ends a wait."""
        waiting = self.watches.wait(self.handle, 3, 10)
        self.clock.rightNow += 30  # and the calls that are due are made one by one, as a reactor's turns do
        self.clock.calls.pop(0).func()
        self.assertNoResult(waiting)
        self.handle.advance_lac(5)
        self.assertEqual(self.successResultOf(waiting), 30_000)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_cancelled_in_a_wake(self) -> None:
        """A wait that is withdrawn while others are woken is not woken."""
        first, second = self.watches.wait(self.handle, 3, 10), self.watches.wait(self.handle, 3, 10)

        def withdraw(_: float | None) -> None:
            second.cancel()

        first.addCallback(withdraw)
        self.handle.advance_lac(5)
        self.failureResultOf(second, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

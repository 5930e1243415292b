"""What averages say about the appends to come."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.append_tracker import MAX_APPENDS, AppendTracker

LINGER = 0.02


class AppendTrackerTests(SynchronousTestCase):
    """A tracker that is told the time."""

    def setUp(self) -> None:
        """Begins at 100 s."""
        self.now = 100.0
        self.tracker = AppendTracker(LINGER, self.now)

    def load(self, appends: int, gap: float, size: int, outstanding: int, each: int = 1) -> int:
        """Appends at a rate, ``each`` of them together; returns the block while as many are on their way."""
        for _ in range(appends // each):
            self.now += gap * each
            self.tracker.record(self.now, each, size * each, size * outstanding)
        return self.tracker.block(2, size * outstanding)

    def test_none_outstanding(self) -> None:
        """At first, and whenever no more than one request is outstanding, a block need not wait."""
        self.assertEqual((self.tracker.block(0, 0), self.tracker.block(1, 0)), (0, 0))
        self.load(10_000, 0.0001, 100, 100)
        self.assertEqual((self.tracker.block(0, 0), self.tracker.block(1, 0)), (0, 0))

    def test_two_outstanding(self) -> None:
        """From two outstanding requests on, queued or on their way, there is something to expect."""
        self.assertGreater(self.tracker.block(2, 0), 0)
        self.assertGreater(self.tracker.block(1, 100), 0)

    def test_outstanding(self) -> None:
        """A block has half of what is outstanding where that comes soon, whatever the size."""
        for size in (20, 2000):
            block = self.load(10_000, 0.0001, size, 100)
            self.assertTrue(45 <= block <= 51, block)

    def test_rate(self) -> None:
        """A block has no more than what comes while it may wait."""
        self.assertIn(self.load(10_000, 0.0021, 100, 100), (9, 10))

    def test_slow(self) -> None:
        """Where nothing else comes in that time, an append waits for no other."""
        self.assertEqual(self.load(10_000, 0.1, 100, 100), 1)

    def test_one_by_one(self) -> None:
        """Who has one request outstanding on average waits for no other, however fast it asks."""
        self.assertEqual(self.load(10_000, 0.0001, 100, 1), 1)

    def test_limit(self) -> None:
        """No block waits for more than its limit."""
        self.assertEqual(self.load(20_000, 0.0, 100, 1_000_000), MAX_APPENDS)

    def test_together(self) -> None:
        """Appends that are asked for together count as so many."""
        alone = self.load(3000, 0.0001, 100, 100)
        self.setUp()
        self.assertLessEqual(abs(self.load(3000, 0.0001, 100, 100, each=50) - alone), 1)

    def test_pause(self) -> None:
        """A pause, however long, changes little."""
        before = self.load(10_000, 0.001, 100, 1000)
        self.now += 3600
        self.assertLessEqual(abs(self.load(1, 0.0, 100, 1000) - before), 1)

    def test_sizes(self) -> None:
        """Where sizes differ, bytes outstanding are taken for so many appends of a size between them."""
        outstanding = 60 * 100 + 60 * 1600
        for step in range(10_000):
            self.tracker.record(self.now, 1, (100, 1600)[step % 2], outstanding)
        block = self.tracker.block(2, outstanding)
        self.assertTrue(60 <= block <= 100, block)

    def test_large_append(self) -> None:
        """One append that is very large does not make the others look like none."""
        self.load(10_000, 0.0001, 100, 100)
        self.tracker.record(self.now, 1, 100_000, 110_000)
        self.tracker.record(self.now, 1000, 100_000, 10_000)
        self.assertGreater(self.tracker.block(2, 10_000), 20)

    def test_separate(self) -> None:
        """Connections have averages of their own, and a new one begins anew."""
        self.load(10_000, 0.0001, 100, 100)
        self.assertLess(AppendTracker(LINGER, self.now).block(2, 10_000), self.tracker.block(2, 10_000) / 4)

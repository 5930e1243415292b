"""How fast the used space of a disk grows."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.disk_history import LEAST_SPAN, MOST_SAMPLES, STEP, DiskHistory


class DiskHistoryTests(SynchronousTestCase):
    """Samples of a disk."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.history = DiskHistory(self.clock.seconds)

    def record(self, *used: int) -> None:
        """Record numbers of bytes, one a step."""
        for n_bytes in used:
            self.history.record(n_bytes)
            self.clock.advance(STEP)

    def speed(self) -> float:
        """The growth over all samples, in bytes per second."""
        assert self.history.growth is not None
        return self.history.growth.speed

    def test_recent(self) -> None:
        """The growth of the last hour counts no sample that is older, and is unknown after an hour without samples."""
        for minute in range(300):
            self.history.record(1000 * minute if minute < 200 else 200_000)
            self.clock.advance(60)
        assert self.history.recent is not None and self.history.growth is not None
        self.assertEqual((self.history.recent.speed, self.history.recent.span), (0.0, 3600.0))
        self.assertGreater(self.history.growth.speed, 5)
        self.clock.advance(3600)
        self.assertIsNone(self.history.recent)

    def test_recycled(self) -> None:
        """Files that are allocated after the start and used again later are no growth, in the hour nor in all time."""
        for minute in range(150):
            self.history.record(min(1000 * minute, 10_000))
            self.clock.advance(60)
            growth, recent = self.history.growth, self.history.recent
            self.assertLessEqual(growth.speed if growth is not None else 0.0, 0.0)
            self.assertLessEqual(recent.speed if recent is not None else 0.0, 0.0)

    def test_fallen(self) -> None:
        """A disk whose use has just fallen, or has stopped to grow, does not grow in the last hour."""
        for last, until, expected in ((2000, 29, False), (29_000, 29, False), (40_000, 40, True)):
            history = DiskHistory(self.clock.seconds)
            for minute in range(41):
                history.record(1000 * minute if minute < until else last)
                self.clock.advance(60)
            assert history.recent is not None
            self.assertEqual(history.recent.speed > 0, expected, last)

    def test_seldom(self) -> None:
        """Two samples that are far apart have the growth between them."""
        for used in (0, 7200):
            self.history.record(used)
            self.clock.advance(7200)
        self.assertEqual(self.speed(), 1.0)

    def test_unknown(self) -> None:
        """Without samples, and with those of a short time, no growth is claimed."""
        self.assertIsNone(self.history.growth)
        for n_bytes in range(int(LEAST_SPAN)):
            self.history.record(n_bytes)
            self.clock.advance(1)
        self.assertIsNone(self.history.growth)

    def test_frequent(self) -> None:
        """Checks every second do not displace what is older."""
        for n_bytes in range(int(2 * LEAST_SPAN)):
            self.history.record(n_bytes)
            self.clock.advance(1)
        self.assertAlmostEqual(self.speed(), 1.0)

    def test_growth(self) -> None:
        """Samples on a line have the slope of the line; a disk that empties has a negative growth."""
        self.record(*range(1000, 7000, 1000))
        self.assertAlmostEqual(self.speed(), 1000 / STEP)
        self.record(*range(5000, -15000, -1000))
        self.assertLess(self.speed(), 0)

    def test_sawtooth(self) -> None:
        """Space that compactions free again and again is no growth."""
        self.record(*[1000 + 100 * (n % 10) for n in range(400)])
        self.assertLess(abs(self.speed()), 20 / STEP)

    def test_bounded(self) -> None:
        """What is older than the samples that are kept does not count."""
        self.record(*[0] * 10, *[1000 * n for n in range(MOST_SAMPLES)])
        self.assertAlmostEqual(self.speed(), 1000 / STEP)

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
        self.assertAlmostEqual(self.history.growth or 0.0, 1.0)

    def test_growth(self) -> None:
        """Samples on a line have the slope of the line; a disk that empties has a negative growth."""
        self.record(*range(1000, 7000, 1000))
        self.assertAlmostEqual(self.history.growth or 0.0, 1000 / STEP)
        self.record(*range(5000, -15000, -1000))
        self.assertLess(self.history.growth or 0.0, 0)

    def test_sawtooth(self) -> None:
        """Space that compactions free again and again is no growth."""
        self.record(*[1000 + 100 * (n % 10) for n in range(400)])
        self.assertLess(abs(self.history.growth or 0.0), 20 / STEP)

    def test_bounded(self) -> None:
        """What is older than the samples that are kept does not count."""
        self.record(*[0] * 10, *[1000 * n for n in range(MOST_SAMPLES)])
        self.assertAlmostEqual(self.history.growth or 0.0, 1000 / STEP)

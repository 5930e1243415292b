"""What a connection has to do, as a number."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.traffic import Traffic


class TrafficTests(SynchronousTestCase):
    """Bytes of one connection."""

    def test_load(self) -> None:
        """Unacknowledged bytes count until they are acknowledged, written ones less and less."""
        clock = Clock()
        traffic = Traffic(clock.seconds)
        self.assertEqual(traffic.load(), 0)
        traffic.unacknowledged += 500
        traffic.wrote(1000)
        self.assertEqual(traffic.load(), 1500)
        clock.advance(10)
        self.assertAlmostEqual(traffic.load(), 1000)
        traffic.wrote(500)
        self.assertAlmostEqual(traffic.recent(), 1000)
        clock.advance(10)
        traffic.unacknowledged -= 500
        self.assertAlmostEqual(traffic.load(), 500)

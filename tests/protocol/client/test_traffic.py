"""What a connection has to do, as a number."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.in_flight import InFlight
from bookkeeper_twisted.protocol.client.request_ids import FlowIds
from bookkeeper_twisted.protocol.client.request_writer import RequestWriter, WriteHistograms
from bookkeeper_twisted.protocol.client.traffic import Traffic


class TrafficTests(SynchronousTestCase):
    """Bytes of one connection."""

    def test_load(self) -> None:
        """Unacknowledged bytes count until they are acknowledged, written ones less and less."""
        clock = Clock()
        writer, in_flight = RequestWriter(clock, WriteHistograms()), InFlight(True, FlowIds())
        writer.start(StringTransport())
        traffic = Traffic(clock.seconds)
        self.assertEqual(traffic.load(), 0)
        traffic.measure(writer, in_flight)
        in_flight.call(in_flight.own, 1, 500, 5.0, 7, 0, int, int, Deferred())
        writer.send(1, bytes(1000), 1)
        self.assertEqual(traffic.load(), 1500)
        clock.advance(10)
        self.assertAlmostEqual(traffic.load(), 1000)
        writer.send(1, bytes(500), 1)
        self.assertAlmostEqual(traffic.recent(), 1000)
        clock.advance(10)
        in_flight.take_call(1)
        self.assertAlmostEqual(traffic.load(), 500)

    def test_before_the_connection(self) -> None:
        """What a connection is expected to write counts before it is there, and goes on to count then."""
        clock = Clock()
        traffic = Traffic(clock.seconds)
        traffic.wrote(1000)
        self.assertEqual((traffic.load(), traffic.unacknowledged), (1000, 0))
        writer = RequestWriter(clock, WriteHistograms())
        writer.start(StringTransport())
        traffic.measure(writer, InFlight(True, FlowIds()))
        writer.send(1, bytes(10), 1)
        traffic.wrote(5)
        self.assertEqual((traffic.load(), traffic.load()), (1015, 1015))

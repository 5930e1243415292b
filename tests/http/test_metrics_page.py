"""``/metrics`` in slices."""

from collections.abc import Iterator

from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.channel import BoundedSite
from bookkeeper_twisted.http.hosts import HostNames
from bookkeeper_twisted.http.metrics_page import MetricsPage


class MetricsPageTests(SynchronousTestCase):
    """Pieces that take a millisecond each."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.made: list[int] = []
        self.wrong = False
        self.site = BoundedSite(MetricsPage(self._pieces, self.clock), self.clock, HostNames())

    def _pieces(self) -> Iterator[bytes]:
        for n in range(5):
            self.made.append(n)
            if self.wrong:
                raise ValueError("a gauge")
            self.clock.rightNow += 0.001
            yield b"%d\n" % n

    def scrape(self) -> StringTransport:
        """A request that has its turn."""
        channel, transport = self.site.buildProtocol(None), StringTransport()
        channel.makeConnection(transport)
        channel.dataReceived(b"GET /metrics HTTP/1.0\r\n\r\n")
        return transport

    def turn(self) -> None:
        """What is due, without what it schedules."""
        due = [call for call in self.clock.calls if call.getTime() <= self.clock.rightNow]
        for call in due:
            self.clock.calls.remove(call)
            call.func(*call.args, **call.kw)

    def test_slices(self) -> None:
        """A turn makes no more than takes half a millisecond; the text is whole."""
        found = self.scrape()
        self.turn()
        for n in range(1, 6):
            self.turn()
            self.assertEqual(len(self.made), n)
        self.turn()
        self.assertTrue(found.value().endswith(b"\r\n\r\n0\n1\n2\n3\n4\n"))

    def test_shared(self) -> None:
        """Requests that wait together get one text, made after they came; texts take a tenth of the time at most."""
        found = [self.scrape()]
        for _ in range(4):
            self.turn()
        found += [self.scrape() for _ in range(3)]
        self.clock.advance(0.003)
        self.assertEqual([b"200 OK" in each.value() for each in found], [True, False, False, False])
        self.assertEqual(len(self.made), 5)
        self.clock.advance(0.04)
        self.assertEqual(len(self.made), 5)
        self.clock.advance(0.01)
        self.clock.advance(0.01)
        self.assertTrue(all(b"200 OK" in each.value() for each in found))
        self.assertEqual(len(self.made), 10)

    def test_failure(self) -> None:
        """A metric that fails is answered with 500 and logged; the next scrape is made."""
        self.wrong = True
        found = self.scrape()
        self.clock.advance(0)
        self.assertIn(b" 500 ", found.value())
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.wrong = False
        found = self.scrape()
        self.clock.advance(1)
        self.clock.advance(1)
        self.assertIn(b" 200 ", found.value())

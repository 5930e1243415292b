"""Bookies are told of the LAC of an idle writer."""

from bookkeeper_twisted.config.bookie import ClientConfig
from bookkeeper_twisted.errors import BookieIOError

from .writer_case import LEDGER, WriterTestCase


class ExplicitLacTests(WriterTestCase):
    """Every second."""

    quorums = (4, 3, 2)
    config = ClientConfig(explicit_lac_interval=1000)

    def _told(self) -> dict[str, int]:
        """What each bookie was told."""
        packets = {name: self.bookies[name].explicit_lacs.get(LEDGER) for name in self.names}
        return {name: self.digester.verify_lac(LEDGER, packet) for name, packet in packets.items() if packet}

    def _tick(self) -> None:
        self.clock.advance(1.0)
        self.settle()

    def test_idle(self) -> None:
        """The write set of the last entry learns what no entry carried, once."""
        self.writer.append_many([b"x"] * 2)
        self.settle()
        self._tick()
        self._tick()
        self.assertEqual(self._told(), {"b1": 1, "b2": 1, "b3": 1})
        asked = len(self.bookies["b1"].requests)
        self._tick()
        self.assertEqual(len(self.bookies["b1"].requests), asked)

    def test_timer(self) -> None:
        """There is no timer once they know, and there is one again after the next entry."""
        self.settle()
        idle = len(self.clock.getDelayedCalls())
        for _ in range(2):
            self.writer.append(b"x")
            self.settle()
            self.assertEqual(len(self.clock.getDelayedCalls()), idle + 1)
            for _ in range(2):
                self._tick()
            self.assertEqual(len(self.clock.getDelayedCalls()), idle)
        self.assertEqual(set(self._told().values()), {0, 1})

    def test_busy(self) -> None:
        """While entries carry the LAC along, nothing is written."""
        for _ in range(3):
            self.writer.append(b"x")
            self.settle()
            self.writer.append(b"x")
            self.settle()
            self._tick()
        self.assertEqual(self._told(), {})
        self._tick()
        self.assertEqual(set(self._told().values()), {5})

    def test_too_few(self) -> None:
        """A notice that an ack quorum did not take is repeated."""
        faults = [self.bookies[name].fail("write_lac", BookieIOError, times=1) for name in ("b0", "b1")]
        self.writer.append(b"x")
        self.settle()
        self._tick()
        self.assertEqual(self._told(), {"b2": 0})
        self._tick()
        self.assertEqual(self._told(), {"b0": 0, "b1": 0, "b2": 0})
        self.assertEqual([fault.times for fault in faults], [0, 0])

    def test_close(self) -> None:
        """A closed writer is silent."""
        self.writer.append(b"x")
        self.writer.close()
        self.settle()
        calls = len(self.clock.getDelayedCalls())
        self._tick()
        self.assertEqual(self._told(), {})
        self.assertEqual(len(self.clock.getDelayedCalls()), calls)

    def test_client_closed(self) -> None:
        """So is one whose client was closed."""
        self.writer.append(b"x")
        self.settle()
        self.bookies.close()
        self._tick()
        asked = len(self.bookies["b0"].requests)
        self._tick()
        self.assertEqual((self._told(), len(self.bookies["b0"].requests)), ({}, asked))


class OffTests(WriterTestCase):
    """The default."""

    def test_off(self) -> None:
        """Nothing is ever written."""
        self.writer.append(b"x")
        self.settle()
        self.clock.advance(1e6)
        self.assertEqual({operation for operation, *_ in self.bookies["b0"].requests}, {"add"})

"""When blocks are written."""

from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.protocol.client.block_writer import BlockWriter
from bookkeeper_twisted.protocol.client.traffic import Traffic
from bookkeeper_twisted.protocol.client.write_queue import MAX_BLOCK


class _Filling(StringTransport):
    """Is full after each write."""

    def write(self, data: bytes) -> None:
        super().write(data)
        self.producer.pauseProducing()  # type: ignore[union-attr]


class _Slow(FileDescriptor):
    """Twisted's transport, the peer of which takes 16 KiB with every write event."""

    def __init__(self) -> None:
        super().__init__(MemoryReactor())
        self.connected = True
        self.sent = 0

    def writeSomeData(self, data: bytes) -> int:
        size = min(len(data), 1 << 14)
        self.sent += size
        return size


class BlockWriterTests(SynchronousTestCase):
    """A writer on a transport."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.traffic = Traffic(self.clock.seconds)
        self.blocks: list[tuple[int, int]] = []
        self.writer = BlockWriter(self.clock, self.traffic, lambda *block: self.blocks.append(block))

    def test_turn(self) -> None:
        """What one turn queues is one write at its end, and counts as written."""
        transport = StringTransport()
        self.writer.start(transport)
        verifyObject(IPushProducer, transport.producer)
        self.writer.put(1, b"a", 1)
        self.writer.put(2, b"b", 3)
        self.assertEqual((transport.value(), self.writer.queued), (b"", 2))
        self.clock.advance(0)
        self.assertEqual((transport.value(), self.blocks, self.traffic.recent()), (b"ab", [(4, 2)], 2))

    def test_at_once(self) -> None:
        """A batch is written when it is sent, behind what is queued; nothing is left for the end of the turn."""
        transport = StringTransport()
        self.writer.start(transport)
        self.writer.send(1, b"a", 1)
        self.assertEqual((transport.value(), self.clock.getDelayedCalls()), (b"a", []))
        self.writer.put(2, b"b", 1)
        self.writer.send(1, b"cd", 2)
        self.assertEqual((transport.value(), self.writer.queued), (b"abcd", 0))
        self.clock.advance(0)
        self.assertEqual((self.blocks, self.traffic.recent()), ([(1, 1), (3, 3)], 4))

    def test_waits_for_room(self) -> None:
        """A batch for a transport that is full, or not there yet, waits for it."""
        self.writer.send(1, b"a", 1)
        transport = _Filling()
        self.writer.start(transport)
        self.clock.advance(0)
        self.writer.send(1, b"b", 1)
        self.assertEqual((transport.value(), self.writer.queued), (b"a", 1))
        self.writer.resumeProducing()
        self.assertEqual((transport.value(), self.writer.queued), (b"ab", 0))

    def test_full(self) -> None:
        """A transport that is full gets no more than one block until it has room."""
        transport = _Filling()
        self.writer.start(transport)
        for _ in range(8):
            self.writer.put(1, b"x" * (MAX_BLOCK // 4), 1)
        self.clock.advance(0)
        self.assertEqual((len(transport.value()), self.writer.writable), (MAX_BLOCK, False))
        self.writer.resumeProducing()
        self.assertEqual((len(transport.value()), self.writer.queued), (2 * MAX_BLOCK, 0))

    def test_lose(self) -> None:
        """Given up while its peer is slow, a connection closes once all is sent: its producer does not hold it."""
        transport = _Slow()
        self.writer.start(transport)
        for _ in range(3):
            self.writer.put(1, b"x" * MAX_BLOCK, 1)
        self.clock.advance(0)
        transport.loseConnection()
        self.assertEqual((self.writer.writable, self.writer.queued), (False, 2 * MAX_BLOCK))
        events = 0
        while transport.doWrite() is None and events < 1000:
            events += 1
        self.assertEqual((transport.sent, self.writer.queued), (3 * MAX_BLOCK, 0))
        self.assertLess(events, 1000)

    def test_stop(self) -> None:
        """After the end nothing is written, and no call is left."""
        transport = StringTransport()
        self.writer.start(transport)
        self.writer.put(1, b"a", 1)
        self.writer.stop()
        self.assertEqual((self.clock.getDelayedCalls(), transport.producer), ([], None))
        self.writer.resumeProducing()
        self.assertEqual(transport.value(), b"")

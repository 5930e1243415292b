"""What is written when: queues, blocks, turns, order, room."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.protocol.client.request_writer import (
    MAX_BLOCK,
    MAX_TURN_BYTES,
    MAX_TURN_EVENTS,
    RequestWriter,
    WriteHistograms,
    WriteQueue,
)

from ..connected import Recorded


class WriteQueueTests(SynchronousTestCase):
    """Frames of several flows."""

    def setUp(self) -> None:
        self.queue = WriteQueue()

    def test_grouped(self) -> None:
        """The frames of a flow are next to each other in a block, and in their order."""
        for flow_id, frames in ((1, b"a1"), (2, b"b1"), (1, b"a2"), (2, b"b2")):
            self.queue.put(flow_id, frames, 1)
        self.assertEqual(self.queue.size, 8)
        self.assertEqual(self.queue.block(), (b"a1a2b1b2", 4))
        self.assertEqual((self.queue.size, self.queue.block()), (0, (b"", 0)))

    def test_turns(self) -> None:
        """A flow with much to write does not keep others waiting for more than its turn."""
        for _ in range(20):
            self.queue.put(1, b"a" * (MAX_TURN_BYTES // 2), 1)
        self.queue.put(2, b"b", 1)
        block, _ = self.queue.block()
        self.assertEqual(block.index(b"b"), MAX_TURN_BYTES)

    def test_limits(self) -> None:
        """A block ends when it is full; a turn ends with so many requests."""
        for _ in range(20):
            self.queue.put(1, b"a" * MAX_TURN_BYTES, 1)
        self.assertEqual(len(self.queue.block()[0]), MAX_BLOCK)
        self.queue.clear()
        for flow_id in (1, 2):
            for _ in range(MAX_TURN_EVENTS + 1):
                self.queue.put(flow_id, b"%d" % flow_id, 1)
        block, events = self.queue.block()
        self.assertEqual(block[: MAX_TURN_EVENTS + 1], b"1" * MAX_TURN_EVENTS + b"2")
        self.assertEqual(events, 2 * (MAX_TURN_EVENTS + 1))

    def test_backlog(self) -> None:
        """One flow with a huge backlog delays 99 others by no more than its turn, in every block."""
        for _ in range(1000):
            self.queue.put(1, b"a" * 10_000, 1)
        for _ in range(3):
            for flow_id in range(2, 101):
                self.queue.put(flow_id, b"b", 1)
            block, events = self.queue.block()
            self.assertEqual((block.count(b"b"), block.index(b"b") <= MAX_TURN_BYTES), (99, True))
            self.assertGreaterEqual(events, 99 + MAX_TURN_BYTES // 10_000)

    def test_round_robin(self) -> None:
        """Every flow that waits has a turn before any has its next, across blocks; one without a turn goes first."""
        flows, turns = 20, 3
        for _ in range(turns):
            for flow_id in range(flows):
                self.queue.put(flow_id, bytes((flow_id,)) * MAX_TURN_BYTES, 1)
        order = b""
        while self.queue.size:
            block, _ = self.queue.block()
            self.assertEqual(len(block), MAX_BLOCK)
            order += block[::MAX_TURN_BYTES]
        self.assertEqual(order, bytes(range(flows)) * turns)

    def test_all_in_one_turn(self) -> None:
        """What is no more than a turn leaves whole."""
        for flow_id in range(MAX_TURN_EVENTS // 2):
            self.queue.put(flow_id, b"x", 2)
        self.assertEqual(self.queue.size, MAX_TURN_EVENTS // 2)
        self.assertEqual(self.queue.block(), (b"x" * (MAX_TURN_EVENTS // 2), MAX_TURN_EVENTS))
        self.assertEqual(self.queue.size, 0)

    def test_large(self) -> None:
        """Frames that are larger than a block are one, whole."""
        self.queue.put(1, b"x" * (2 * MAX_BLOCK), 1)
        self.queue.put(1, b"y", 1)
        self.assertEqual(len(self.queue.block()[0]), 2 * MAX_BLOCK)
        self.assertEqual(self.queue.block(), (b"y", 1))

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 40_000), st.integers(1, 400)), max_size=40))
    def test_everything_in_order(self, items: list[tuple[int, int, int]]) -> None:
        """Everything comes out once, of each flow in its order."""
        queue = WriteQueue()
        for number, (flow_id, size, events) in enumerate(items):
            queue.put(flow_id, b"%d:%04d:%06d;" % (flow_id, number, size) + b"." * size, events)
        out = b""
        n_events = 0
        while queue.size:
            block, events = queue.block()
            out += block
            n_events += events
        seen = [part.split(b":") for part in out.replace(b".", b"").split(b";")[:-1]]
        for flow_id in range(1, 5):
            mine = [int(number) for flow, number, _ in seen if int(flow) == flow_id]
            self.assertEqual(mine, [n for n, item in enumerate(items) if item[0] == flow_id])
        self.assertEqual(n_events, sum(events for _, _, events in items))


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


class RequestWriterTests(SynchronousTestCase):
    """A writer on a transport."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.requests: list[int] = []
        self.sizes: list[int] = []
        self.writer = RequestWriter(self.clock, WriteHistograms(Recorded(self.requests), Recorded(self.sizes)))

    def test_turn(self) -> None:
        """What one turn queues is one write at its end, and counts as written."""
        transport = StringTransport()
        self.writer.start(transport)
        verifyObject(IPushProducer, transport.producer)
        self.writer.put(1, b"a", 1)
        self.writer.put(2, b"b", 3)
        self.assertEqual((transport.value(), self.writer.queue.size), (b"", 2))
        self.clock.advance(0)
        self.assertEqual((transport.value(), self.requests, self.sizes, self.writer.written), (b"ab", [4], [2], 2))

    def test_at_once(self) -> None:
        """A batch is written when it is sent, behind what is queued; nothing is left for the end of the turn."""
        transport = StringTransport()
        self.writer.start(transport)
        self.writer.send(1, b"a", 1)
        self.assertEqual((transport.value(), self.clock.getDelayedCalls()), (b"a", []))
        self.writer.put(2, b"b", 1)
        self.writer.send(1, b"cd", 2)
        self.assertEqual((transport.value(), self.writer.queue.size), (b"abcd", 0))
        self.clock.advance(0)
        self.assertEqual((self.requests, self.sizes, self.writer.written), ([1, 3], [1, 3], 4))

    def test_waits_for_room(self) -> None:
        """A batch for a transport that is full, or not there yet, waits for it."""
        self.writer.send(1, b"a", 1)
        transport = _Filling()
        self.writer.start(transport)
        self.clock.advance(0)
        self.writer.send(1, b"b", 1)
        self.assertEqual((transport.value(), self.writer.queue.size), (b"a", 1))
        self.writer.resumeProducing()
        self.assertEqual((transport.value(), self.writer.queue.size), (b"ab", 0))

    def test_full(self) -> None:
        """A transport that is full gets no more than one block until it has room."""
        transport = _Filling()
        self.writer.start(transport)
        for _ in range(8):
            self.writer.put(1, b"x" * (MAX_BLOCK // 4), 1)
        self.clock.advance(0)
        self.assertEqual((len(transport.value()), self.writer.writable), (MAX_BLOCK, False))
        self.writer.resumeProducing()
        self.assertEqual((len(transport.value()), self.writer.queue.size), (2 * MAX_BLOCK, 0))

    def test_lose(self) -> None:
        """Given up while its peer is slow, a connection closes once all is sent: its producer does not hold it."""
        transport = _Slow()
        self.writer.start(transport)
        for _ in range(3):
            self.writer.put(1, b"x" * MAX_BLOCK, 1)
        self.clock.advance(0)
        transport.loseConnection()
        self.assertEqual((self.writer.writable, self.writer.queue.size), (False, 2 * MAX_BLOCK))
        events = 0
        while transport.doWrite() is None and events < 1000:
            events += 1
        self.assertEqual((transport.sent, self.writer.queue.size), (3 * MAX_BLOCK, 0))
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

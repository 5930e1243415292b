"""What is written next: blocks, turns, order."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.write_queue import MAX_BLOCK, MAX_TURN_BYTES, MAX_TURN_EVENTS, WriteQueue


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
        self.assertEqual((bool(self.queue), self.queue.size), (False, 0))

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
        while self.queue:
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
        self.assertEqual((self.queue.size, bool(self.queue)), (0, False))

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
        while queue:
            block, events = queue.block()
            out += block
            n_events += events
        seen = [part.split(b":") for part in out.replace(b".", b"").split(b";")[:-1]]
        for flow_id in range(1, 5):
            mine = [int(number) for flow, number, _ in seen if int(flow) == flow_id]
            self.assertEqual(mine, [n for n, item in enumerate(items) if item[0] == flow_id])
        self.assertEqual(n_events, sum(events for _, _, events in items))

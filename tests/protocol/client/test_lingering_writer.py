"""When blocks of appends leave that may wait for more."""

from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import AddRun, ReadRun
from bookkeeper_twisted.errors import RequestTimeoutError, Status
from bookkeeper_twisted.protocol.client.append_tracker import MAX_APPENDS
from bookkeeper_twisted.protocol.client.block_writer import BlockWriter
from bookkeeper_twisted.protocol.client.lingering_writer import LingeringWriter, writer_of
from bookkeeper_twisted.protocol.client.traffic import Traffic
from bookkeeper_twisted.protocol.client.write_queue import MAX_BLOCK

from ..connected import ConnectedTestCase, run_of

LINGER = 0.005
SIZE = 100
BLOCK = 20
"""Appends of a block under the load of these tests: half of those outstanding."""


class LingeringWriterTests(SynchronousTestCase):
    """A writer that was busy for a while, and has requests on their way."""

    def setUp(self) -> None:
        """40 appends are outstanding on average, 10 come in a millisecond."""
        self.clock = Clock()
        self.traffic = Traffic(self.clock.seconds)
        self.blocks: list[int] = []
        self.transport = StringTransport()
        self.writer = LingeringWriter(self.clock, self.traffic, lambda events, size: self.blocks.append(events), LINGER)
        self.writer.start(self.transport)
        for _ in range(1000):
            self.traffic.unacknowledged = 30 * SIZE
            self.append(10)
            self.clock.advance(0.001)
        self.clock.advance(LINGER)
        self.settle(30)

    def settle(self, on_the_way: int) -> None:
        """Everything was written, so much of it is without a reply; forgets what was seen."""
        self.assertEqual(self.writer.queued, 0)
        self.traffic.unacknowledged = on_the_way * SIZE
        self.transport.clear()
        self.blocks.clear()

    def append(self, count: int = 1, flow_id: int = 1, size: int = SIZE) -> None:
        """Asks for appends of a flow."""
        self.writer.append(flow_id, b"%d" % flow_id * size * count, count)
        self.traffic.unacknowledged += size * count

    def left(self) -> list[int]:
        """The appends of each block that left by the end of this turn."""
        self.clock.advance(0)
        return self.blocks

    def test_time(self) -> None:
        """A block waits until its first append has waited long enough, and no longer when others follow."""
        self.append()
        self.clock.advance(0.003)
        self.append()
        self.clock.advance(0.0019)
        self.assertEqual(self.blocks, [])
        self.clock.advance(0.00011)
        self.assertEqual(self.blocks, [2])

    def test_time_of_the_next(self) -> None:
        """The next block has a time of its own."""
        for _ in range(2):
            self.append()
            self.clock.advance(0.004)
            self.assertEqual(self.left(), [])
            self.clock.advance(0.0011)
            self.assertEqual(self.left(), [1])
            self.settle(30)

    def test_expected(self) -> None:
        """A block that has what is to be expected leaves at the end of the turn, with all flows in it."""
        self.append(BLOCK - 1, flow_id=1)
        self.assertEqual(self.left(), [])
        self.append(2, flow_id=2)
        self.assertEqual(self.blocks, [])
        self.assertEqual(self.left(), [BLOCK + 1])
        self.assertEqual(self.transport.value(), b"1" * (BLOCK - 1) * SIZE + b"2" * 2 * SIZE)

    def test_one_turn(self) -> None:
        """What comes in one turn and suffices does not wait."""
        self.append(BLOCK)
        self.append()
        self.assertEqual(self.left(), [BLOCK + 1])

    def test_most_appends(self) -> None:
        """A block waits for no more than 500 appends."""
        self.append(100_000, size=1)
        self.left()
        self.settle(1000)
        self.append(MAX_APPENDS - 1)
        self.assertEqual(self.left(), [])
        self.append()
        self.assertEqual(self.left(), [MAX_APPENDS])

    def test_most_bytes(self) -> None:
        """A block of 256 KiB leaves, however few appends that are."""
        self.append(1, size=MAX_BLOCK - 1)
        self.assertEqual(self.left(), [])
        self.append(1, size=1)
        self.assertEqual(self.left(), [2])

    def test_alone(self) -> None:
        """An append does not wait while nothing else is outstanding."""
        self.settle(0)
        self.append()
        self.assertEqual(self.left(), [1])

    def test_left_alone(self) -> None:
        """An append whose companions were answered while it waited does not wait longer."""
        self.append()
        self.left()
        self.traffic.unacknowledged = 2 * SIZE
        self.writer.answered()
        self.assertEqual(self.left(), [])
        self.traffic.unacknowledged = SIZE
        self.writer.answered()
        self.assertEqual(self.blocks, [])
        self.assertEqual(self.left(), [1])

    def test_new(self) -> None:
        """A new connection, which knows nothing yet, waits for little."""
        writer = LingeringWriter(self.clock, Traffic(self.clock.seconds), lambda *block: None, LINGER)
        transport = StringTransport()
        writer.start(transport)
        writer.append(1, b"a", 1)
        writer.append(2, b"b", 1)
        self.clock.advance(0)
        self.assertEqual(transport.value(), b"ab")

    def test_barrier(self) -> None:
        """Another request leaves at the end of its turn, behind the appends of its flow that waited."""
        self.append()
        self.left()
        self.writer.put(1, b"read", 1)
        self.assertEqual(self.blocks, [])
        self.assertEqual(self.left(), [2])
        self.assertEqual(self.transport.value(), b"1" * SIZE + b"read")

    def test_barrier_in_the_turn(self) -> None:
        """Appends that are asked for in the same turn leave with it, before and after."""
        self.append()
        self.writer.put(1, b"read", 1)
        self.append()
        self.assertEqual(self.left(), [3])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_after_barrier(self) -> None:
        """Appends of the turns after it wait again."""
        self.writer.put(1, b"read", 1)
        self.left()
        self.append()
        self.assertEqual(self.left(), [1])
        self.clock.advance(LINGER)
        self.assertEqual(self.blocks, [1, 1])

    def test_one_call(self) -> None:
        """There is one scheduled call, whatever happens."""
        for step in range(300):
            if step % 7 == 6:
                self.writer.put(2, b"read", 1)
            self.append(step % 4) if step % 4 else self.writer.answered()
            self.assertLessEqual(len(self.clock.getDelayedCalls()), 1)
            self.clock.advance(0.0007)

    def test_full(self) -> None:
        """While the transport is full nothing leaves, however long; then everything does, at once."""
        self.append()
        self.left()
        self.writer.pauseProducing()
        self.clock.advance(2 * LINGER)
        self.append(BLOCK)
        self.assertEqual(self.left(), [])
        self.writer.resumeProducing()
        self.assertEqual(self.blocks, [BLOCK + 1])

    def _left_early(self) -> None:
        """A block waited and has left before its time, 3 ms ago; its call is still to come."""
        self.append()
        self.left()
        self.writer.pauseProducing()
        self.writer.resumeProducing()
        self.clock.advance(0.003)
        self.settle(30)

    def test_time_after_early_leave(self) -> None:
        """A block keeps its time when the call of one before comes, which left early."""
        self._left_early()
        self.append()
        self.clock.advance(0.003)
        self.assertEqual(self.left(), [])
        self.clock.advance(0.0021)
        self.assertEqual(self.left(), [1])

    def test_alone_after_early_leave(self) -> None:
        """An append that is alone does not wait for the call of a block before, which left early."""
        self._left_early()
        self.settle(0)
        self.append()
        self.assertEqual(self.left(), [1])

    def test_stop(self) -> None:
        """After the end nothing is written, and no call is left."""
        self.append()
        self.left()
        self.traffic.unacknowledged = 0
        self.writer.stop()
        self.writer.answered()
        self.assertEqual((self.left(), self.clock.getDelayedCalls()), ([], []))


class WriterOfTests(SynchronousTestCase):
    """The choice of a writer."""

    def test_off(self) -> None:
        """Nothing is tracked unless appends may wait."""
        clock = Clock()
        kinds = [type(writer_of(clock, Traffic(clock.seconds), lambda *block: None, linger)) for linger in (0.0, 0.001)]
        self.assertEqual(kinds, [BlockWriter, LingeringWriter])


class ConnectionTests(ConnectedTestCase):
    """A connection whose appends may wait, with many on their way."""

    append_linger = 0.02

    def setUp(self) -> None:
        super().setUp()
        self.add(run_of(0, 1000))
        (self.earlier,) = self.asked()
        self.answers = self.add(run_of(1000, 1))
        self.assertEqual(self.asked(), [])

    def test_time(self) -> None:
        """An add waits as long as it may."""
        self.clock.advance(0.019)
        self.assertEqual(self.asked(), [])
        self.clock.advance(0.0011)
        (add,) = self.asked()
        self.assertIsInstance(add, AddRun)

    def test_read(self) -> None:
        """A read does not wait, and takes along the adds that do."""
        self.connection.read(self.ids, 7, [0])
        self.assertEqual([type(each) for each in self.asked()], [AddRun, ReadRun])

    def test_batch_read(self) -> None:
        """A call does not wait, either."""
        self.connection.read_batch(self.ids, 7, 0, 10, 1000)
        self.assertEqual(len(self.asked()), 2)

    def test_replies(self) -> None:
        """An add leaves when all others have been answered."""
        self.connection.dataReceived(self.earlier.replies(Status.EOK))
        self.assertEqual(len(self.asked()), 1)

    def test_time_out(self) -> None:
        """The time an add may take begins when it is asked for, not when it leaves."""
        self.clock.pump([1.0] * 3)
        self.assertEqual(self.answers, [])
        self.clock.advance(1.0)
        ((_, _, error),) = self.answers
        self.assertIsInstance(error, RequestTimeoutError)

    def test_lost(self) -> None:
        """A connection that is lost leaves no call."""
        self.lose()
        self.assertEqual(self.clock.getDelayedCalls(), [])

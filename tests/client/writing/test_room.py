"""Room: what is held back while a writer, or its client, has too many bytes in flight, and in what order it ends."""

from functools import partial

from twisted.python.failure import Failure

from bookkeeper_twisted.client.writing.adv_write_handle import AdvLedgerWriter
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import LedgerFencedError, RequestTimeoutError, TooManyRequestsError
from bookkeeper_twisted.model import WriteFlag

from .batch_case import HeldCase
from .writer_case import LEDGER, WriterTestCase


def _note(order: list[int], number: int, failure: Failure) -> None:
    order.append(number)


class WriterRoomTests(HeldCase):
    """A writer with room for two entries and the beginning of another; their frames are of 74 bytes."""

    config = ClientConfig(max_in_flight_bytes=200)
    writers_count = 1

    def test_parts(self) -> None:
        """Entries that were appended together go as far as there is room, with their own ids and lengths."""
        many = self.writers[0].append_many([b"0123456789"] * 7)
        for sent in (3, 6, 7):
            self.turn()
            keys = [key for request in self.asked("b0") for key in request]
            self.assertEqual(keys, [(1, n) for n in range(sent)])
            self.assertFalse(many.called)
            for name in self.names:
                self.bookies.answer(name)
        self.assertEqual(self.successResultOf(many), (0, 6))
        self.assertEqual([self.header("b0", 1, n)[1] for n in range(7)], [10 * (n + 1) for n in range(7)])
        self.assertEqual(self.writers[0]._held_size, 0)

    def test_refused(self) -> None:
        """What is held back is limited, too: what is appended together is refused as single entries are (S11)."""
        (writer,) = self.writers
        refused = [writer.append_many([b"0123456789"]) for _ in range(20)][6:]
        for one in refused:
            self.failureResultOf(one, TooManyRequestsError)
        self.assertEqual(writer.last_add_pushed, 5)

    def test_order_of_failures(self) -> None:
        """Entries in flight fail before those that are held back."""
        order = list[int]()
        for n in range(5):
            self.writers[0].append(b"0123456789").addErrback(partial(_note, order, n))
        self.turn()
        self.assertEqual(len(self.asked("b0")[0]), 3)
        self.bookies.answer("b0", error=LedgerFencedError(1))
        self.assertEqual(order, list(range(5)))

    def test_order_behind_a_gap(self) -> None:
        """Entries behind a gap fail in the order of their ids."""
        order = list[int]()
        writer = AdvLedgerWriter(self.ledger(10))
        for n in (5, 3, 4):
            writer.write(n, b"x").addErrback(partial(_note, order, n))
        writer.close()
        self.assertEqual(order, [3, 4, 5])


class ClientRoomTests(HeldCase):
    """A client whose first writer takes all the room."""

    config = ClientConfig(max_client_in_flight_bytes=200)
    writers_count = 2

    def setUp(self) -> None:
        super().setUp()
        self.writers[0].append(bytes(200))
        self.turn()

    def test_idle(self) -> None:
        """A writer with nothing in flight may send one entry, so that none starves."""
        many = self.writers[1].append_many([b"x", b"y"])
        self.turn()
        self.assertEqual(self.asked("b0")[1:], [[(2, 0)]])
        self.finish()
        self.assertEqual(self.successResultOf(many), (0, 1))
        self.assert_quiet()

    def test_busy(self) -> None:
        """A writer with an entry in flight may not."""
        waiters = [self.writers[0].append(b"x"), self.writers[1].append(b"x"), self.writers[1].append(b"y")]
        self.turn()
        self.assertEqual(self.asked("b0")[1:], [[(2, 0)]])
        self.finish()
        self.assertEqual(self.results(waiters), [1, 0, 1])
        self.assert_quiet()


class ClosingTests(HeldCase):
    """A close that waits."""

    def test_batches(self) -> None:
        """It waits for the last of several batches, and then ends, with its flow."""
        (writer, *_) = self.writers
        for _ in range(3):
            writer.append(b"x")
            self.turn()
        closed = writer.close()
        for n in range(3):
            self.assertNoResult(closed)
            for name in self.names:
                self.bookies.requests(name)[n].answer()
        self.successResultOf(closed)
        (flow,) = [flow for flow in self.bookies.flows if flow is writer._ledger.bookies]
        self.assertIsNotNone(flow.end)


class ForceTests(WriterTestCase):
    """Deferred sync: a force covers what was acknowledged when it began."""

    write_flags = WriteFlag.DEFERRED_SYNC
    config = ClientConfig(explicit_lac_interval=1000)

    def append(self, payload: bytes) -> None:
        self.writer.append(payload)
        self.settle()

    def test_meanwhile(self) -> None:
        """What is acknowledged while it is under way is not confirmed, nor counted in the length."""
        self.append(b"aa")
        self.bookies["b0"].delay = 1.0
        forced = self.writer.force()
        self.append(b"b")
        self.assertEqual(self.writer._quorum.completed, 1)
        self.clock.advance(1.0)
        self.successResultOf(forced)
        self.assertEqual(self.writer.last_add_confirmed, 0)
        self.bookies["b0"].delay = 0.0
        self.bookies["b0"].fail("force", RequestTimeoutError)
        closed = self.writer.close()
        self.settle()
        self.failureResultOf(closed, RequestTimeoutError)
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (0, 2))

    def test_overtaken(self) -> None:
        """A force that ends after a later one takes nothing back (S13)."""
        self.append(b"aa")
        self.bookies["b0"].delay = 1.0
        first = self.writer.force()
        self.bookies["b0"].delay = 0.0
        self.append(b"b")
        second = self.writer.force()
        self.settle()
        self.successResultOf(second)
        self.assertEqual(self.writer.last_add_confirmed, 1)
        self.clock.advance(1.0)
        self.successResultOf(first)
        self.assertEqual(self.writer.last_add_confirmed, 1)

    def test_explicit_lac(self) -> None:
        """Bookies are told of the LAC that a force has moved, though nothing is appended."""
        self.append(b"aa")
        for _ in range(5):
            self.clock.advance(1.0)
            self.settle()
        self.assertEqual(self.bookies["b1"].explicit_lacs, {})
        self.writer.force()
        self.settle()
        for _ in range(3):
            self.clock.advance(1.0)
            self.settle()
        packet = self.bookies["b1"].explicit_lacs[LEDGER]
        self.assertEqual(self.digester.verify_lac(LEDGER, packet), 0)

"""How entries of mixed runs complete, and what is left of them."""

import gc
from typing import Any
from weakref import ref

from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_twisted.client.writing.batch import Batch
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieIOError, LedgerClosedError
from bookkeeper_twisted.model import LedgerState

from .batch_case import BatchCase

Told = list[tuple[int, int]]
"""Ledger and entry, in the order in which those who wait were told."""


def note(waiter: "Deferred[int]", writer: LedgerWriter, told: Told) -> None:
    """Notes when the one who waits is told."""

    def tell(entry_id: int) -> None:
        told.append((writer.ledger_id, entry_id))

    waiter.addCallback(tell)


class CompletionTests(BatchCase):
    """When enough bookies have them."""

    def test_ack_quorum(self) -> None:
        """No callback comes before the ack quorum, all come with it, in the order of the calls; once."""
        self.hold()
        order: Told = []
        for writer in self.writers:
            note(writer.append(b"x"), writer, order)
        self.turn()
        self.bookies.answer("b1")
        self.assertEqual(order, [])
        self.assertEqual([writer.last_add_confirmed for writer in self.writers], [-1] * 3)
        self.bookies.answer("b0")
        self.assertEqual(order, [(1, 0), (2, 0), (3, 0)])
        self.bookies.answer("b2")
        self.assertEqual(len(order), 3)

    def test_in_parts(self) -> None:
        """Bookies may answer for some entries now and for others later, each for others."""
        self.hold()
        waiters = self.append()
        self.turn()
        steps: tuple[tuple[str, tuple[int, ...], list[int]], ...] = (
            ("b0", (1, 2), []), ("b2", (2, 3), [2]), ("b1", (3,), [2, 3]), ("b0", (3,), [2, 3]),
            ("b1", (2, 1), [1, 2, 3]),
        )  # fmt: skip
        for name, ledgers, fired in steps:
            self.bookies.answer(name, *ledgers)
            self.assertEqual([n for n, waiter in enumerate(waiters, 1) if waiter.called], fired)
        self.assertEqual(self.context.budget.used, 0)

    def test_position(self) -> None:
        """Last add confirmed, last add pushed and length are those of the ledger."""
        for turn, payload in enumerate((b"a", b"", b"cde")):
            self.append(payload)
            for writer in self.writers:
                self.assertEqual((writer.last_add_pushed, writer.last_add_confirmed), (turn, turn - 1))
            self.settle()
            for writer in self.writers:
                self.assertEqual((writer.last_add_pushed, writer.last_add_confirmed), (turn, turn))
        self.assertEqual([writer.length for writer in self.writers], [4] * 3)
        for name in self.names:
            self.assertEqual([self.header(name, 2, n)[:2] for n in range(3)], [(-1, 1), (0, 1), (1, 4)])

    def test_by_turns(self) -> None:
        """Entries of mixed runs and of the writer's own follow each other with the right ids, LACs and lengths."""
        writer = self.writers[1]
        for _ in range(2):
            self.append(b"ab")
            self.settle()
            writer.append_many([b"c", b"def"])
            self.settle()
        self.append(b"g")
        writer.append(b"h")
        self.settle()
        headers = [(-1, 2), (0, 3), (0, 6), (2, 8), (3, 9), (3, 12), (5, 13), (5, 14)]
        self.assertEqual([self.header("b2", 2, n)[:2] for n in range(8)], headers)
        self.assertEqual((writer.last_add_confirmed, writer.length), (7, 14))
        self.assertIn([(1, 1), (2, 3), (3, 1)], self.asked("b0"))

    def test_budget(self) -> None:
        """What is on its way counts against the client's limit until all of it has its ack quorum."""
        self.hold()
        self.append(bytes(100))
        self.turn()
        size = sum(map(len, self.bookies.requests("b0")[0].frames))
        self.assertEqual(self.context.budget.used, size)
        self.bookies.answer("b0")
        self.bookies.answer("b1", 1, 2)
        self.assertEqual(self.context.budget.used, size)
        self.bookies.answer("b1")
        self.assertEqual(self.context.budget.used, 0)

    def test_budget_is_resumed(self) -> None:
        """A writer that found no room goes on once a mixed run has completed."""
        self.context = self.client(max_client_in_flight_bytes=500)
        self.writers = [self.open(n, context=self.context) for n in (11, 12, 13)]
        self.hold()
        self.append(bytes(200))
        self.turn()
        more = self.writers[0].append_many([b"y"] * 2)
        self.turn()
        self.assertNotIn([(11, 1), (11, 2)], self.asked("b0"))
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.turn()
        self.bookies.held.clear()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.settle()
        self.assertEqual(self.successResultOf(more), (1, 2))
        self.assert_quiet()

    def test_cancel(self) -> None:
        """A cancelled append has no further callback; the entry is written, and the others complete."""
        self.hold()
        waiters = self.append()
        waiters[0].cancel()
        self.turn()
        waiters[2].cancel()
        self.bookies.answer("b0")
        self.bookies.answer("b1")
        self.assertEqual(self.successResultOf(waiters[1]), 0)
        for waiter in (waiters[0], waiters[2]):
            self.failureResultOf(waiter, CancelledError)
        self.assertEqual([writer.last_add_confirmed for writer in self.writers], [0, 0, 0])


class CallbackTests(BatchCase):
    """What callbacks do while a run is completed."""

    def test_append_again(self) -> None:
        """Appends to the same writers are one mixed run again."""
        again: list[Deferred[int]] = []

        def more(_: int, writer: LedgerWriter) -> None:
            again.append(writer.append(b"y"))

        for writer in self.writers:
            writer.append(b"x").addCallback(more, writer)
        self.settle()
        self.assertEqual(self.results(again), [1, 1, 1])
        self.assertEqual(self.asked("b0")[1:], [[(1, 1), (2, 1), (3, 1)]])

    def test_append_to_another(self) -> None:
        """An append to a writer whose entry the same answer acknowledged, and who is not told yet, comes after it."""
        first, second, third = self.writers
        order: Told = []

        def more(entry_id: int) -> None:
            order.append((1, entry_id))
            for writer in (second, third):
                note(writer.append(b"y"), writer, order)

        first.append(b"x").addCallback(more)
        for writer in (second, third):
            note(writer.append(b"x"), writer, order)
        self.settle()
        self.assertEqual(order, [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1)])
        self.assertEqual(self.header("b0", 3, 1), (0, 2, b"y"))
        self.assertEqual(self.asked("b0")[1:], [[(2, 1), (3, 1)]])

    def test_append_to_one_that_waits(self) -> None:
        """An append to a writer whose entry still waits leaves that where it is, with its acknowledgements."""
        patient = self.open(4, quorums=(3, 3, 3))
        self.hold()
        more: list[Deferred[int]] = []
        self.writers[0].append(b"x").addCallback(lambda _: more.append(patient.append(b"y")))
        waiter = patient.append(b"x")
        self.turn()
        self.bookies.answer("b0")
        self.bookies.answer("b2")
        self.assertEqual((len(more), waiter.called), (1, False))
        self.bookies.requests("b1")[1].answer()
        self.assertEqual(self.successResultOf(waiter), 0)
        self.turn()
        for name in self.names:
            self.assertEqual(self.asked(name)[2:], [[(4, 1)]])
            self.bookies.answer(name)
        self.assertEqual(self.results(more), [1])
        self.assert_quiet()

    def test_close(self) -> None:
        """Callbacks may close their writer, and others of the run."""
        closed: list[Deferred[None]] = []
        first, second, third = self.writers
        first.append(b"x").addCallback(lambda _: closed.extend(writer.close() for writer in (third, first)))
        waiters = [second.append(b"x"), third.append(b"x")]
        self.settle()
        self.assertEqual(self.results(waiters), [0, 0])
        self.results(closed)
        for ledger_id, state in ((1, LedgerState.CLOSED), (2, LedgerState.OPEN), (3, LedgerState.CLOSED)):
            self.assertIs(self.metadata(ledger_id).state, state)
        self.assertEqual((self.metadata(3).last_entry_id, self.metadata(3).length), (0, 1))
        self.failureResultOf(third.append(b"y"), LedgerClosedError)

    def test_raise(self) -> None:
        """A callback that fails does not affect the others."""
        waiters = self.append()
        waiters[0].addCallback(lambda _: 1 // 0)
        self.settle()
        self.failureResultOf(waiters[0], ZeroDivisionError)
        self.assertEqual(self.results(waiters[1:]), [0, 0])

    def test_append_within_the_call(self) -> None:
        """Bookies may answer within the call."""
        self.bookies.at_once = {"b0", "b1", "b2"}
        again: list[Deferred[int]] = []
        waiters = self.append()
        waiters[0].addCallback(lambda _: again.extend(self.append()))
        self.turn()
        self.assertEqual(self.results(waiters[1:]), [0, 0])
        self.turn()
        self.assertEqual(self.results(again), [1, 1, 1])
        for name in self.names:
            self.assertEqual(self.asked(name), [[(n, turn) for n in (1, 2, 3)] for turn in (0, 1)])
        self.assert_quiet()


class CloseTests(BatchCase):
    """Writers that are closed."""

    def test_unsent(self) -> None:
        """Closing waits for an entry that was not even sent, which stays in its run."""
        waiters = self.append()
        closed = self.writers[1].close()
        self.failureResultOf(self.writers[1].append(b"y"), LedgerClosedError)
        self.assertNoResult(closed)
        self.settle()
        self.assertEqual(self.asked("b0"), [[(1, 0), (2, 0), (3, 0)]])
        self.assertEqual(self.results(waiters), [0, 0, 0])
        self.successResultOf(closed)
        self.assertEqual((self.metadata(2).last_entry_id, self.metadata(2).length), (0, 1))

    def test_sent(self) -> None:
        """Closing waits for an entry on its way; the waiter is told before."""
        self.hold()
        order: list[str] = []
        waiters = self.append()
        waiters[1].addCallback(lambda _: order.append("appended"))
        self.turn()
        closed = self.writers[1].close().addCallback(lambda _: order.append("closed"))
        self.bookies.answer("b2")
        self.assertNoResult(closed)
        self.bookies.answer("b0")
        self.assertEqual(order, ["appended", "closed"])
        self.assertEqual(self.metadata(2).last_entry_id, 0)
        self.bookies.answer("b1")
        self.assertIs(self.metadata(1).state, LedgerState.OPEN)

    def test_afterwards(self) -> None:
        """A writer whose entries were mixed closes at the last of them."""
        for _ in range(3):
            self.append(b"ab")
            self.settle()
        for writer in self.writers:
            self.successResultOf(writer.close())
            stored = self.metadata(writer.ledger_id)
            self.assertEqual((stored.state, stored.last_entry_id, stored.length), (LedgerState.CLOSED, 2, 6))


class ExplicitLacTests(BatchCase):
    """Writers that tell bookies their LAC when they fall idle."""

    config = ClientConfig(explicit_lac_interval=1000)

    def test_idle(self) -> None:
        """What no entry carried is written once the writers are idle, and no more than once."""
        for _ in range(2):
            self.append()
            self.settle()
        for _ in range(6):
            self.clock.advance(1)
        for writer in self.writers:
            packets = [self.bookies[name].explicit_lacs[writer.ledger_id] for name in self.names]
            self.assertEqual([self.digester.verify_lac(writer.ledger_id, packet) for packet in packets], [1] * 3)
            writes = [each for each in self.bookies["b0"].requests if each[:2] == ("write_lac", writer.ledger_id)]
            self.assertEqual(len(writes), 1)

    def test_busy(self) -> None:
        """As long as entries carry the LAC to the bookies nothing is written."""
        for _ in range(8):
            self.append()
            self.clock.advance(0)
            self.clock.advance(0)
            self.clock.advance(0.5)
        self.assertNotIn("write_lac", [each[0] for each in self.bookies["b0"].requests])


class MemoryTests(BatchCase):
    """What is left behind, without a garbage collection."""

    spares = 1

    def setUp(self) -> None:
        super().setUp()
        gc.collect()
        self.before = len(self._batches())
        gc.disable()
        self.addCleanup(gc.enable)

    def _batches(self) -> list[Batch[Any]]:
        return [each for each in gc.get_objects() if isinstance(each, Batch)]

    def _append(self) -> "list[ref[Deferred[int]]]":
        waiters = [writer.append(b"x") for writer in self.writers]
        for waiter in waiters:
            waiter.addErrback(lambda _: None)
        return [ref(waiter) for waiter in waiters]

    def test_completed(self) -> None:
        """A run that all bookies answered is gone, and so are its waiters."""
        waiters = self._append()
        self.settle()
        self.bookies.sent.clear()
        self.assertEqual([waiter() for waiter in waiters], [None] * 3)
        self.assertEqual(len(self._batches()), self.before)

    def test_told(self) -> None:
        """Each who was told is gone before the next is told."""
        alive: list[list[bool]] = []
        waiters: list[ref[Deferred[int]]] = []

        def look(entry_id: int) -> int:
            alive.append([waiter() is not None for waiter in waiters])
            return entry_id

        for writer in self.writers:
            waiters.append(ref(writer.append(b"x").addCallback(look)))
        self.settle()
        self.assertEqual([states.count(True) for states in alive], [3, 2, 1])

    def test_owed(self) -> None:
        """The waiters are gone with the ack quorum, though answers are still to come."""
        self.hold("b2")
        waiters = self._append()
        self.settle()
        self.assertEqual([waiter() for waiter in waiters], [None] * 3)

    def test_others_wait(self) -> None:
        """A waiter is gone with its entry, though others of the batch wait; so are batches in front of the last ones
        of a writer that always has entries on their way."""
        self.hold("b1", "b2")
        waiters = self._append()
        self.settle()
        self.bookies.answer("b1", 1, 2)
        self.assertEqual([waiter() is None for waiter in waiters], [True, True, False])
        writer = self.writers[0]
        for _ in range(5):
            writer.append(b"x")
            self.settle()
            (*before, _) = self.bookies.requests("b1")
            for request in before:
                request.answer(1)
            self.assertLessEqual(len(writer._quorum.batches), 2)

    def test_left(self) -> None:
        """Nothing is left of entries that left their run, unsent or sent, nor of those that a bookie failed."""
        self.hold()
        waiters = self._append()
        self.writers[0].append(b"y")
        self.turn()
        self.writers[1].append(b"y")
        self.bookies.answer("b0", 3, error=BookieIOError())
        self.bookies.held.clear()
        for _ in range(3):
            for name in self.names:
                self.bookies.answer(name)
            self.settle()
        self.bookies.sent.clear()
        self.assertEqual([waiter() for waiter in waiters], [None] * 3)
        self.assertEqual(len(self._batches()), self.before)

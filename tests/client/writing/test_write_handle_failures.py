"""The writer when bookies fail without a spare: at every position, in every way."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    IllegalOperationError,
    LedgerFencedError,
    NotEnoughBookiesError,
    RequestTimeoutError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.model import LedgerState

from .writer_case import LEDGER, WriterTestCase


class StripedTests(WriterTestCase):
    """More bookies than an entry has copies."""

    quorums = (5, 3, 2)
    config = ClientConfig(delay_ensemble_change=True)

    def test_write_sets(self) -> None:
        """Each bookie gets exactly its entries, whatever the runs."""
        for count in (1, 7, 2, 30):
            self.writer.append_many([b"x"] * count)
            self.settle()
        self.assertEqual(self.writer.last_add_confirmed, 39)
        for position in range(5):
            expected = [n for n in range(40) if (position - n) % 5 < 3]
            self.assertEqual(self.held(position), expected)

    def test_one_down(self) -> None:
        """With one bookie down every write set still has its ack quorum."""
        self.bookies["b2"].up = False
        done = self.writer.append_many([b"x"] * 20)
        self.settle()
        self.assertEqual(self.successResultOf(done), (0, 19))

    def test_two_down(self) -> None:
        """With two down the first entry that both should keep ends the writer, those before it succeed."""
        self.bookies["b2"].up = self.bookies["b3"].up = False
        # write sets of 0: 0 1 2, of 1: 1 2 3
        self.bookies["b4"].delay = 1.0
        adds = [self.writer.append(b"x") for _ in range(4)]
        self.settle()
        self.assertEqual(self.successResultOf(adds[0]), 0)
        for add in adds[1:]:
            self.failureResultOf(add, NotEnoughBookiesError)


class DelayedFailureTests(WriterTestCase):
    """Without spares, where bookies are replaced only when there is no other way."""

    config = ClientConfig(delay_ensemble_change=True)

    def test_each_position(self) -> None:
        """With 3, 3, 2 any one bookie may fail, in any way."""
        for index, error in enumerate((BookieIOError, RequestTimeoutError, BookieHandleNotAvailableError)):
            for position in range(3):
                ledger_id = 100 + 10 * index + position
                writer = self.make(self.config, ledger_id)
                fault = self.bookies[self.names[position]].fail("add", error)
                done = writer.append_many([b"a", b"b"])
                self.settle()
                self.assertEqual(self.successResultOf(done), (0, 1))
                self.bookies[self.names[position]].faults.remove(fault)
                self.assertEqual(len(self.stored(ledger_id).segments), 1)

    def test_two_positions(self) -> None:
        """When two of three fail, adds fail in order, and nothing succeeds afterwards."""
        good = self.writer.append(b"good")
        self.settle()
        for name in ("b0", "b2"):
            self.bookies[name].fail("add", BookieIOError, first=2)
        order: list[Any] = []
        adds = [self.writer.append(b"x") for _ in range(4)]
        for number, add in enumerate(adds, 1):
            add.addCallbacks(order.append, lambda f, n=number: order.append((n, f.type)))
        self.settle()
        self.assertEqual(order, [1, *((n, NotEnoughBookiesError) for n in (2, 3, 4))])
        self.assertEqual(self.successResultOf(good), 0)
        self.failureResultOf(self.writer.append(b"later"), NotEnoughBookiesError)
        self.failureResultOf(self.writer.append_many([b"later"]), NotEnoughBookiesError)
        self.settle()
        self.assertEqual(self.writer.last_add_confirmed, 1)

    def test_length_of_a_part(self) -> None:
        """Closed in the middle of a run, the length is that of the acknowledged entries."""
        for name in self.names:
            self.bookies[name].fail("add", BookieIOError, first=2)
        self.writer.append_many([b"a", b"bb", b"ccc", b"dddd"]).addErrback(lambda _: None)
        self.settle()
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (1, 3))

    def test_time_out(self) -> None:
        """A silent bookie delays nothing; two fail the add when they time out."""
        self.bookies["b0"].silent = True
        add = self.writer.append(b"a")
        self.settle()
        self.assertEqual(self.successResultOf(add), 0)
        self.bookies["b1"].silent = True
        add = self.writer.append(b"b")
        self.settle()
        self.assertNoResult(add)
        self.clock.advance(5.0)
        self.failureResultOf(add, NotEnoughBookiesError)


class EndTests(WriterTestCase):
    """What ends a writer, and how."""

    def test_no_spare(self) -> None:
        """Bookies that cannot be replaced end a writer that needs one: adds fail in order, none succeeds afterwards."""
        self.writer.append_many([b"aa", b"b"])
        self.settle()
        self.bookies["b1"].up = self.bookies["b2"].up = False
        adds = [self.writer.append(b"lost"), self.writer.append(b"lost")]
        order: list[Any] = []
        for number, add in enumerate(adds):
            add.addCallbacks(order.append, lambda f, n=number: order.append((n, f.type)))
        self.settle()
        self.assertEqual(order, [(0, NotEnoughBookiesError), (1, NotEnoughBookiesError)])
        self.failureResultOf(self.writer.append(b"later"), NotEnoughBookiesError)

    def test_acknowledged_before_the_end(self) -> None:
        """What has its ack quorum when no bookie can be replaced still succeeds: nothing changed."""
        self.bookies["b2"].delay = 1.0
        self.bookies["b2"].fail("add", BookieIOError, first=1)
        adds = [self.writer.append(b"a"), self.writer.append(b"b")]
        self.bookies["b1"].delay = 0.5
        self.settle()
        self.assertNoResult(adds[0])
        self.clock.advance(0.5)
        self.assertEqual([self.successResultOf(add) for add in adds], [0, 1])
        self.clock.advance(0.5)
        self.bookies["b1"].up = False
        lost = self._settled(self.writer.append(b"c"))
        self.clock.advance(1.0)
        self.failureResultOf(lost, NotEnoughBookiesError)
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (1, 2))

    def test_failed_writer_closes(self) -> None:
        """A writer that failed closes the ledger at its last acknowledged entry; close says what happened."""
        self.writer.append_many([b"aa", b"b"])
        self.settle()
        for name in self.names:
            self.bookies[name].fail("add", BookieIOError)
        self.failureResultOf(self._settled(self.writer.append(b"lost")), NotEnoughBookiesError)
        stored = self.stored()
        self.assertEqual((stored.state, stored.last_entry_id, stored.length), (LedgerState.CLOSED, 1, 3))
        self.failureResultOf(self.writer.close(), NotEnoughBookiesError)
        self.assertEqual((self.writer.length, self.writer.last_add_pushed), (3, 1))

    def _settled(self, deferred: "Deferred[Any]") -> "Deferred[Any]":
        self.settle()
        return deferred

    def test_fenced(self) -> None:
        """One fenced answer ends the writer at once, whatever the others say."""
        self.bookies["b1"].fenced.add(LEDGER)
        self.bookies["b0"].delay = self.bookies["b2"].delay = 1.0
        adds = [self.writer.append(b"a"), self.writer.append(b"b")]
        self.settle()
        for add in adds:
            self.failureResultOf(add, LedgerFencedError)
        self.clock.advance(1.0)
        self.assertEqual(self.writer.last_add_confirmed, -1)
        self.failureResultOf(self.writer.append(b"c"), LedgerFencedError)
        self.failureResultOf(self.writer.close(), LedgerFencedError)
        self.assertIs(self.stored().state, LedgerState.CLOSED)

    def test_fatal_answers(self) -> None:
        """A refused key and an operation the wire cannot carry end the writer and close the ledger."""
        fatal: tuple[Callable[[], Exception], ...] = (UnauthorizedAccessError, IllegalOperationError)
        for number, error in enumerate(fatal):
            ledger_id = 200 + number
            fault = self.bookies["b1"].fail("add", error)
            add = self.make(self.config, ledger_id).append(b"a")
            self.settle()
            self.failureResultOf(add, UnauthorizedAccessError, IllegalOperationError)
            self.assertEqual((self.stored(ledger_id).state, self.stored(ledger_id).last_entry_id), (3, -1))
            self.bookies["b1"].faults.remove(fault)

    def test_late_answers(self) -> None:
        """Answers for entries that failed before complete nothing."""
        self.bookies["b2"].delay = 3.0
        for name in ("b0", "b1"):
            self.bookies[name].fail("add", BookieIOError)
        self.failureResultOf(self._settled(self.writer.append(b"a")), NotEnoughBookiesError)
        self.clock.advance(3.0)
        self.assertEqual(self.writer.last_add_confirmed, -1)

    def test_client_closed(self) -> None:
        """A closed client fails the adds and leaves the metadata alone."""
        for name in self.names:
            self.bookies[name].delay = 1.0
        add = self.writer.append(b"a")
        self.clock.advance(0)
        self.bookies.close()
        self.failureResultOf(add, ClientClosedError)
        self.settle()
        self.assertIs(self.stored().state, LedgerState.OPEN)
        self.failureResultOf(self.writer.close(), ClientClosedError)

    def test_failure_in_the_call(self) -> None:
        """A bookie client that fails within the call is a failure as any other."""
        self.bookies.close()
        self.failureResultOf(self._settled(self.writer.append(b"a")), ClientClosedError)

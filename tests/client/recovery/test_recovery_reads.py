"""Reading beyond the LAC: batches, votes, the end."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_twisted.client.recovery.recovery_reads import RecoveryReads
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    BookieIOError,
    DigestMatchError,
    NoSuchEntryError,
    RequestTimeoutError,
    UnexpectedConditionError,
)
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.model import MAX_ENTRY_ID
from bookkeeper_twisted.testing.sealing import sealed

from .recovery_case import LEDGER, RecoveryTestCase


class RecoveryReadsTests(RecoveryTestCase):
    """Twenty entries on all bookies."""

    batch_size = 1 << 20

    def setUp(self) -> None:
        """Stores the entries."""
        super().setUp()
        self.leave_range(0, 19)
        self.reads = self.make()

    def make(self) -> RecoveryReads:
        """New reads."""
        rules = RecoveryRules(self.stored())
        support = self.context.batch_support
        return RecoveryReads(self.bookies, self.digester, LEDGER, rules, support, self.batch_size, 8)

    def read(self, first: int) -> "Deferred[Any]":
        """A read that has begun."""
        return Deferred.fromCoroutine(self.reads.entries_from(first))

    def all_from(self, first: int) -> list[int]:
        """Ids of everything up to the end."""
        ids: list[int] = []
        while (run := self.successResultOf(self.finished(self.read(first)))) is not None:
            self.assertLess(len(ids), 1000)
            self.digester.verify(run)
            self.assertEqual(run.first, first)
            ids.extend(range(run.first, run.last + 1))
            first = run.last + 1
        return ids

    def test_all(self) -> None:
        """Everything is found, and the end."""
        self.assertEqual(self.all_from(3), list(range(3, 20)))
        self.assertEqual(self.all_from(20), [])

    def test_highest_id(self) -> None:
        """Nothing is asked for behind the highest id that there is."""
        for entry_id in range(MAX_ENTRY_ID - 4, MAX_ENTRY_ID + 1):
            stored = sealed(self.digester, LEDGER, entry_id, entry_id - 1, 0, [b"x"])
            for name in self.names:
                self.bookies[name].entries[LEDGER][entry_id] = stored.entry(entry_id)
        self.assertEqual(self.all_from(MAX_ENTRY_ID - 4), list(range(MAX_ENTRY_ID - 4, MAX_ENTRY_ID + 1)))
        asked = {entry_id for name in self.names for _, _, entry_id, *_ in self.bookies[name].requests}
        self.assertLessEqual(max(asked), MAX_ENTRY_ID)

    def test_fences(self) -> None:
        """Every request fences: votes, and batches (S17)."""
        self.all_from(20)
        self.assertGreaterEqual(sum(LEDGER in self.bookies[name].fenced for name in self.names), 2)
        source = self.successResultOf(self.finished(self.read(10)))
        self.assertIsNotNone(source)
        for name in self.names:
            self.bookies[name].fenced.clear()
        self.successResultOf(self.finished(self.read(11)))
        self.assertTrue(any(LEDGER in self.bookies[name].fenced for name in self.names))

    def test_damage(self) -> None:
        """A damaged copy is passed over, wherever it is."""
        for name in ("b0", "b1"):
            self.bookies[name].damage(LEDGER, 7)
        self.assertEqual(self.all_from(3), list(range(3, 20)))
        self.bookies["b2"].damage(LEDGER, 7)
        self.reads = self.make()
        self.assertEqual(self.successResultOf(self.finished(self.read(6))).last, 6)
        self.failureResultOf(self.finished(self.read(7)), DigestMatchError)

    def test_empty_success(self) -> None:
        """A success without an entry is not taken for one, nor for a negative."""
        for name in self.names:
            self.bookies[name].entries[LEDGER][20] = b""
        self.failureResultOf(self.finished(self.read(20)), DigestMatchError)

    def test_undecided(self) -> None:
        """Errors do not end the ledger; the most telling one is reported."""
        self.bookies["b0"].fail("read", BookieIOError, first=20)
        self.bookies["b1"].fail("read", BookieHandleNotAvailableError, first=20)
        self.failureResultOf(self.finished(self.read(20)), BookieIOError)

    def test_hole(self) -> None:
        """The ledger ends before an entry that was never acknowledged, whatever comes after it."""
        for name in ("b0", "b1"):
            del self.bookies[name].entries[LEDGER][9]
        self.bookies["b2"].delay = 0.1
        self.bookies["b2"].fail("read_batch", BookieIOError, first=9)
        self.assertEqual(self.all_from(3), list(range(3, 9)))

    def test_hole_among_votes(self) -> None:
        """So it does where entries behind the hole were put to the vote together with it (S17)."""
        for name in self.names:
            del self.bookies[name].entries[LEDGER][12]
            self.bookies[name].fail("read_batch", BookieIOError, first=9)
        self.assertEqual(self.all_from(3), list(range(3, 12)))

    def test_crash(self) -> None:
        """An error that is none of ours is not swallowed, and nothing hangs."""
        self.bookies["b0"].fail("read", lambda: ZeroDivisionError(), first=3, times=1)
        self.bookies["b1"].delay = self.bookies["b2"].delay = 0.1
        self.failureResultOf(self.finished(self.read(3)), ZeroDivisionError)

    def test_cancel(self) -> None:
        """Cancelling ends all requests."""
        for name in self.names:
            self.bookies[name].delay = 1.0
        reading = self.read(3)
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def count(self, operation: str) -> int:
        """How many requests of a kind there were."""
        return sum(op == operation for name in self.names for op, *_ in self.bookies[name].requests)

    def test_batches(self) -> None:
        """After the first entry the bookie that had it is asked for the rest."""
        self.all_from(3)
        self.assertEqual(self.count("read_batch"), 2)

    def test_window(self) -> None:
        """Where batch reads fail now and then, one entry is put to the vote at a time."""
        for name in self.names:
            self.bookies[name].fail("read_batch", BookieIOError)
        for first in range(3, 7):
            self.assertEqual(self.successResultOf(self.finished(self.read(first))).count, 1)

    def test_batches_unanswered(self) -> None:
        """A bookie that does not answer a batch read is asked for no other; more and more entries are voted on then."""
        for error in (RequestTimeoutError, UnexpectedConditionError, BookieHandleNotAvailableError):
            for name in self.names:
                self.bookies[name].requests.clear()
                self.bookies[name].faults.clear()
                self.bookies[name].fail("read_batch", error)
                self.context.batch_support.gave_one(name)
            self.reads = self.make()
            counts, first = list[int](), 0
            while (run := self.successResultOf(self.finished(self.read(first)))) is not None:
                counts.append(run.count)
                first = run.last + 1
            for name in self.names:
                self.assertLessEqual(sum(op == "read_batch" for op, *_ in self.bookies[name].requests), 1)
            self.assertEqual((sum(counts), max(counts)), (20, 8))

    def test_batches_remembered(self) -> None:
        """A bookie that did so in two recoveries, and answered plain reads, is not asked by other readers either."""
        for name in self.names:
            self.bookies[name].fail("read_batch", RequestTimeoutError)
        for expected in (True, False):
            self.reads = self.make()
            self.all_from(0)
            self.assertEqual(all(map(self.context.batch_support.is_expected, self.names)), expected)

    def test_batches_unknown(self) -> None:
        """Bookies that refuse batch reads are not asked again; a batch that fails says nothing about the end."""
        for error in (BadRequestError, NoSuchEntryError, RequestTimeoutError):
            for name in self.names:
                self.bookies[name].requests.clear()
                self.bookies[name].faults.clear()
                self.bookies[name].fail("read_batch", error)
            self.reads = self.make()
            self.assertEqual(self.all_from(3), list(range(3, 20)))
            if error is BadRequestError:
                self.assertLessEqual(self.count("read_batch"), len(self.names))


class VotesTests(RecoveryReadsTests):
    """The same without batch reads."""

    batch_size = 0

    def test_batches_unanswered(self) -> None:
        """There are none."""

    test_batches_remembered = test_batches_unanswered

    def test_batches(self) -> None:
        """More and more entries are asked for at a time, up to a limit."""
        self.assertEqual(self.successResultOf(self.finished(self.read(0))).count, 1)
        self.assertEqual(self.successResultOf(self.finished(self.read(1))).count, 2)
        self.assertEqual(self.successResultOf(self.finished(self.read(3))).count, 4)
        self.assertEqual(self.successResultOf(self.finished(self.read(7))).count, 8)
        self.assertEqual(self.successResultOf(self.finished(self.read(15))).count, 5)
        self.assertIsNone(self.successResultOf(self.read(20)))
        self.assertEqual(self.count("read_batch"), 0)

    def test_error_behind_entries(self) -> None:
        """Entries found before one whose vote is undecided are given; the error comes with the next read."""
        self.assertEqual(self.all_from(17), [17, 18, 19])  # by now, four at a time
        for name in self.names:
            self.bookies[name].fail("read", BookieIOError, first=5)
        run = self.successResultOf(self.finished(self.read(3)))
        self.assertEqual((run.first, run.last), (3, 4))
        self.failureResultOf(self.finished(self.read(5)), BookieIOError)

    def test_window(self) -> None:
        """No more entries are put to the vote at a time than allowed."""
        self.leave_range(20, 39)
        counts = list[int]()
        first = 0
        while (run := self.successResultOf(self.finished(self.read(first)))) is not None:
            counts.append(run.count)
            first = run.last + 1
        self.assertEqual(counts, [1, 2, 4, 8, 8, 8, 8, 1])

    def test_cancel_several(self) -> None:
        """Cancelling ends the votes on all entries."""
        self.all_from(16)
        for name in self.names:
            self.bookies[name].delay = 1.0
        reading = self.read(3)
        self.assertGreater(len(self.clock.getDelayedCalls()), len(self.names))
        reading.cancel()
        self.failureResultOf(reading, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

"""What answers of replicas are worth, without a bookie."""

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    DigestMatchError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    Status,
    UnauthorizedAccessError,
    UnexpectedConditionError,
)
from bookkeeper_twisted.ledger.read_answers import (
    FIRST_ENTRIES,
    FIRST_GUESS,
    SingleReads,
    UsualSize,
    entry_or_error,
    failed_request,
    least_certain,
    most_telling,
    usual_size_of,
    verified_batch,
)
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.sealing import sealed

LEDGER = 4


class _CountingDigester(Digester):
    """Counts what is verified one by one."""

    singly = 0

    def entry(self, ledger_id: int, entry_id: int | None, stored: bytes) -> Any:
        type(self).singly += 1
        return super().entry(ledger_id, entry_id, stored)


class AnswerCase(SynchronousTestCase):
    """Entries 0 to 9 of a ledger."""

    def setUp(self) -> None:
        """Seals them."""
        _CountingDigester.singly = 0
        self.digester = _CountingDigester(DigestType.CRC32C, b"")
        self.sealed = sealed(self.digester, LEDGER, 0, -1, 0, [b"payload %d" % n * (n + 1) for n in range(10)])

    def stored(self, *entry_ids: int) -> dict[int, bytes | Exception]:
        """What a bookie gives."""
        return {entry_id: self.sealed.entry(entry_id) for entry_id in entry_ids}

    def damaged(self, entry_id: int) -> dict[int, bytes | Exception]:
        """An entry whose last bit has changed."""
        stored = self.sealed.entry(entry_id)
        return {entry_id: stored[:-1] + bytes((stored[-1] ^ 1,))}


class SingleReadTests(AnswerCase):
    """Entries that are read one by one."""

    def setUp(self) -> None:
        """Wants all of them."""
        super().setUp()
        self.reads = SingleReads(LEDGER, range(10), self.digester)

    def test_all_at_once(self) -> None:
        """A range of which everything came is verified by columns, and is the run that is returned."""
        self.reads.take("a", self.stored(0, 2, 4, 6, 8))
        self.reads.take("b", self.stored(9, 7, 5, 3, 1))
        self.assertEqual((self.reads.missing(), self.reads.check()), ([], []))
        self.assertEqual(self.reads.run().data, self.sealed.data)
        self.assertEqual((self.reads.gave, self.digester.singly, len(self.reads.stored)), ({"a", "b"}, 0, 10))

    def test_damage(self) -> None:
        """A damaged entry is missing once it was verified, and comes from another bookie."""
        self.reads.take("a", {**self.stored(*range(10)), **self.damaged(3)})
        self.assertEqual(self.reads.missing(), [])
        ((bookie_id, entry_id, error),) = self.reads.check()
        self.assertEqual((bookie_id, entry_id, error.entry_id, self.reads.missing()), ("a", 3, 3, [3]))
        self.reads.take("b", self.stored(3))
        self.assertEqual((self.reads.check(), self.reads.missing()), ([], []))
        self.assertEqual(self.reads.run().data, self.sealed.data)

    def test_twice(self) -> None:
        """An entry that two bookies gave, as one of them was slow, is taken from the one that has it whole."""
        for order in ((self.damaged(2), self.stored(2)), (self.stored(2), self.damaged(2))):
            reads = SingleReads(LEDGER, range(2, 5), self.digester)
            for bookie_id, answer in zip("ab", order, strict=True):
                reads.take(bookie_id, {**self.stored(3, 4), **answer})
            reads.check()
            self.assertEqual(reads.run().data, self.sealed.slice(2, 3).data)

    def test_prefix(self) -> None:
        """Entries behind one that no replica gave are left out; without the first there is an error."""
        self.reads.take("a", {**self.stored(0, 1, 3, 4), 2: NoSuchEntryError(LEDGER, 2)})
        self.reads.take("b", {2: BookieIOError(LEDGER, 2)})
        self.reads.check()
        self.assertEqual(self.reads.missing(), [2, 5, 6, 7, 8, 9])
        self.assertEqual(self.reads.run().data, self.sealed.slice(0, 2).data)
        reads = SingleReads(LEDGER, range(2, 4), self.digester)
        reads.take("a", {2: NoSuchEntryError(LEDGER, 2)})
        reads.take("b", {2: BookieIOError(LEDGER, 2), **self.stored(3)})
        reads.check()
        self.assertRaises(BookieIOError, reads.run)
        self.assertEqual(list(reads.errors[2]), ["a", "b"])

    def test_scattered(self) -> None:
        """Entries that do not follow each other are verified one by one."""
        reads = SingleReads(LEDGER, (1, 5, 8), self.digester)
        reads.take("a", self.stored(1, 5, 8))
        self.assertEqual((reads.check(), reads.stored), ([], self.stored(1, 5, 8)))
        self.assertEqual(self.digester.singly, 3)

    def test_entries_of_another_ledger(self) -> None:
        """Bytes that are right elsewhere are not taken."""
        reads = SingleReads(LEDGER + 1, range(2), self.digester)
        reads.take("a", self.stored(0, 1))
        self.assertEqual([entry_id for _, entry_id, _ in reads.check()], [0, 1])
        self.assertRaises(DigestMatchError, reads.run)
        self.assertEqual(reads.gave, set())


class BatchTests(AnswerCase):
    """Replies to batch reads."""

    def test_prefix(self) -> None:
        """What is right before a damaged entry is kept, and no more than was asked for."""
        self.assertEqual(verified_batch(self.sealed, LEDGER, 0, 3, self.digester).count, 3)
        damaged = EntryRun.of_entries(LEDGER, 0, [*self.stored(0, 1).values(), *self.damaged(2).values()])  # type: ignore[list-item]
        self.assertEqual(verified_batch(damaged, LEDGER, 0, 10, self.digester).count, 2)
        self.assertRaises(DigestMatchError, verified_batch, damaged.slice(2, 1), LEDGER, 2, 10, self.digester)

    def test_other_entries(self) -> None:
        """A reply without entries, or with others, is no answer."""
        for run, ledger_id, first in ((None, LEDGER, 0), (self.sealed, LEDGER, 1), (self.sealed, LEDGER + 1, 0)):
            self.assertRaises(UnexpectedConditionError, verified_batch, run, ledger_id, first, 10, self.digester)


class ReplyTests(SynchronousTestCase):
    """Replies to single reads, sizes, and errors."""

    def test_reply(self) -> None:
        """Bytes, the error of the status, or an error where a success has no bytes."""
        self.assertEqual(entry_or_error(ReadReply(Status.EOK, LEDGER, 1, None, b"x"), LEDGER, 1), b"x")
        for reply, kind in (
            (ReadReply(Status.ENOENTRY, LEDGER, 1, None, None), NoSuchEntryError),
            (ReadReply(Status.EOK, LEDGER, 1, None, None), DigestMatchError),
        ):
            error = entry_or_error(reply, LEDGER, 1)
            assert isinstance(error, kind)
            self.assertEqual((error.ledger_id, error.entry_id), (LEDGER, 1))

    def test_usual_size(self) -> None:
        """As many entries as fit by the size of those that came last, at least one."""
        size = UsualSize()
        self.assertEqual([size.entries_in(n * FIRST_GUESS, 100) for n in (10, 100)], [10, FIRST_ENTRIES])
        self.assertEqual(UsualSize(10).entries_in(1000, 100), 100)
        size.learn(4, 4000)
        self.assertEqual([size.entries_in(n_bytes, 8) for n_bytes in (0, 2999, 1 << 20)], [1, 2, 8])
        size.learn(0, 0)
        self.assertEqual(size.n_bytes, 1000)
        size.learn(5, 0)
        self.assertEqual(size.n_bytes, 1)

    def test_usual_size_of_ledger(self) -> None:
        """The mean size of a closed ledger's entries counts as known; that of an open or empty ledger is a guess."""
        open_ledger = LedgerMetadata(3, 2, 2, (Segment(0, ("a", "b", "c")),))
        closed = attrs.evolve(open_ledger, state=LedgerState.CLOSED, length=100_000, last_entry_id=99)
        self.assertEqual(usual_size_of(closed).n_bytes, 1040)
        self.assertEqual(usual_size_of(closed).entries_in(1 << 20, 500), 500)
        for one in (open_ledger, attrs.evolve(closed, length=0, last_entry_id=-1)):
            self.assertEqual(usual_size_of(one).n_bytes, FIRST_GUESS)
            self.assertEqual(usual_size_of(one).entries_in(1 << 20, 500), FIRST_ENTRIES)

    def test_precedence(self) -> None:
        """A hard error before "no connection" before "missing"."""
        missing, unknown = NoSuchEntryError(), NoSuchLedgerError()
        away, late, broken = BookieHandleNotAvailableError(), RequestTimeoutError(), BookieIOError()
        table: list[tuple[list[Any], Exception]] = [
            ([missing, unknown], unknown),
            ([missing, away, unknown], away),
            ([missing, away, late, broken], late),
            ([broken, missing], broken),
        ]
        for errors, expected in table:
            self.assertIs(most_telling(errors), expected)

    def test_least_certain(self) -> None:
        """An entry is lost only if each bookie that was reached lacks it or has damaged it: other errors come first."""
        missing, damaged, broken = NoSuchEntryError(), DigestMatchError(7, 3, "wrong"), BookieIOError()
        away, refused, late = BookieHandleNotAvailableError(), UnauthorizedAccessError(), RequestTimeoutError()
        table: list[tuple[list[Any], Exception]] = [
            ([missing, damaged], damaged),
            ([missing, away, missing], away),
            ([away, damaged], damaged),
            ([damaged, away, refused], refused),
            ([damaged, late], late),
            ([missing, broken, missing], broken),
            ([missing, missing], missing),
        ]
        for errors, expected in table:
            self.assertIs(least_certain(errors), expected)
            named = {f"b:{number}": error for number, error in enumerate(errors)}
            self.assertIs(type(failed_request(named, 7, 3, least_certain)), type(expected))

    def test_failed_request(self) -> None:
        """The error of a request names the ledger, the entry, the bookie it is from, and all that were asked."""
        cause = ValueError("cause")
        lost = BookieHandleNotAvailableError("the connection to b:1 was lost")
        lost.__cause__ = cause
        table: list[tuple[dict[str, Exception], int, str]] = [
            ({"b:1": lost}, 3, "ledger 7 entry 3: the connection to b:1 was lost"),
            ({"b:1": lost}, -1, "ledger 7: the connection to b:1 was lost"),
            ({"b:11": lost, "b:2": lost}, 3, "ledger 7 entry 3: bookie b:11: the connection to b:1 was lost; "
             "bookies asked: b:11, b:2"),
            ({"b:1": NoSuchEntryError(7, 3)}, 3, "no such entry: ledger 7 entry 3, bookie b:1"),
            ({"b:1": NoSuchEntryError(7, 3), "b:2": NoSuchEntryError(7, 3, "why")}, 3,
             "no such entry: ledger 7 entry 3, bookie b:2: why; bookies asked: b:1, b:2"),
            ({"b:1": NoSuchEntryError(7, 3), "b:2": DigestMatchError(7, 3, "wrong")}, 3,
             "ledger 7 entry 3: wrong (bookie b:2); bookies asked: b:1, b:2"),
            ({"b:1": RequestTimeoutError("bookie b:1 gave no reply to a read of ledger 7 entry 3")}, 3,
             "bookie b:1 gave no reply to a read of ledger 7 entry 3"),
            ({"b:1": UnexpectedConditionError()}, 3, "ledger 7 entry 3: bookie b:1: UnexpectedConditionError"),
        ]  # fmt: skip
        for errors, entry_id, text in table:
            error = failed_request(errors, 7, entry_id)
            self.assertEqual((str(error), type(error)), (text, type(most_telling(errors.values()))))
        self.assertIs(failed_request({"b:1": lost}, 7).__cause__, cause)
        closed = ClientClosedError("the client was closed")
        self.assertIs(failed_request({"b:1": closed, "b:2": lost}, 7), closed)

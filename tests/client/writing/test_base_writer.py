"""Deferred sync and force, ensemble changes seen by a writer's caller, close against others."""

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.writing.base_writer import close_ledger
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    AddEntryQuorumTimeoutError,
    BookieHandleNotAvailableError,
    BookieIOError,
    LedgerClosedError,
    LedgerFencedError,
    MetadataVersionError,
    RequestTimeoutError,
    WriteError,
)
from bookkeeper_twisted.model import LedgerState, WriteFlag

from .writer_case import LEDGER, WriterTestCase


class DeferredSyncTests(WriterTestCase):
    """Entries are acknowledged before they are on disk."""

    write_flags = WriteFlag.DEFERRED_SYNC
    spares = 2

    def test_lac(self) -> None:
        """Appends succeed, the LAC moves with force only, and entries carry the LAC of the last force."""
        first = self.writer.append_many([b"aa", b"b"])
        self.settle()
        self.assertEqual(self.successResultOf(first), (0, 1))
        self.assertEqual(self.writer.last_add_confirmed, -1)
        self.writer.append(b"c")
        forced = self.writer.force()
        self.settle()
        self.successResultOf(forced)
        self.assertEqual(self.writer.last_add_confirmed, 1)
        self.writer.append(b"d")
        self.settle()
        held = self.bookies["b0"].entries[LEDGER]
        lacs = [self.digester.entry(LEDGER, entry_id, held[entry_id]).last_add_confirmed for entry_id in range(4)]
        self.assertEqual(lacs, [-1, -1, -1, 1])

    def test_force_fails(self) -> None:
        """A force that one bookie refuses moves nothing, and may be tried again."""
        self.writer.append(b"a")
        self.settle()
        self.bookies["b2"].fail("force", BookieIOError, times=1)
        forced = self.writer.force()
        self.settle()
        self.failureResultOf(forced, BookieIOError)
        self.assertEqual(self.writer.last_add_confirmed, -1)
        self.bookies["b2"].up = False
        forced = self.writer.force()
        self.settle()
        error = self.failureResultOf(forced, BookieHandleNotAvailableError).value
        self.assertEqual(str(error), f"ledger {LEDGER}: no connection to b2")
        self.bookies["b2"].up = True
        forced = self.writer.force()
        self.settle()
        self.successResultOf(forced)
        self.assertEqual(self.writer.last_add_confirmed, 0)

    def test_nothing_to_force(self) -> None:
        """A force of nothing succeeds and asks no bookie."""
        self.successResultOf(self.writer.force())
        self.assertEqual(self.bookies["b0"].requests, [])

    def test_closing_forces(self) -> None:
        """Close syncs first, so that no acknowledged entry is cut off, and the length fits the last entry."""
        self.writer.append_many([b"aa", b"b"])
        closed = self.writer.close()
        self.settle()
        self.successResultOf(closed)
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (1, 3))
        self.assertIn(("force", LEDGER, -1, 1), self.bookies["b2"].requests)

    def test_closing_cannot_force(self) -> None:
        """If it cannot, the ledger ends at the last synced entry, with its length, and close says so."""
        self.writer.append(b"aa")
        self.settle()
        self.writer.force()
        self.writer.append(b"b")
        self.settle()
        self.bookies["b0"].fail("force", RequestTimeoutError)
        closed = self.writer.close()
        self.settle()
        self.failureResultOf(closed, RequestTimeoutError)
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (0, 2))

    def test_bookie_fails(self) -> None:
        """A bookie that fails ends the writer, whatever there is to spare: it may have lost what it acknowledged."""
        good = self.writer.append(b"a")
        self.settle()
        self.bookies["b1"].up = False
        add = self.writer.append(b"b")
        self.settle()
        self.assertEqual(self.successResultOf(good), 0)
        error = self.failureResultOf(add, WriteError).value
        text = "b1 failed, and bookies of a ledger with deferred sync cannot be replaced; no connection to b1"
        self.assertEqual(str(error), f"ledger {LEDGER}: {text}")
        self.assertEqual((self.stored().state, self.stored().last_entry_id), (LedgerState.CLOSED, -1))

    def test_ended_while_forced(self) -> None:
        """A force that is answered after the writer ended is no success: the ledger was closed before its entries."""
        self.writer.append(b"a")
        self.settle()
        self.bookies["b0"].delay = 1.0
        forced = self.writer.force()
        self.bookies["b1"].fenced.add(LEDGER)
        self.writer.append(b"b").addErrback(lambda _: None)
        self.settle()
        self.assertEqual(self.stored().last_entry_id, -1)
        self.clock.advance(1.0)
        self.failureResultOf(forced, LedgerFencedError)
        self.assertEqual(self.writer.last_add_confirmed, -1)

    def test_closed(self) -> None:
        """A closed writer forces nothing."""
        self.successResultOf(self.writer.close())
        self.failureResultOf(self.writer.force(), LedgerClosedError)


class ForceTests(WriterTestCase):
    """An ordinary ledger."""

    def test_force(self) -> None:
        """Force is allowed, and asks every bookie, although all is on disk already."""
        self.writer.append(b"a")
        self.settle()
        forced = self.writer.force()
        self.settle()
        self.successResultOf(forced)
        self.assertEqual(self.writer.last_add_confirmed, 0)
        for name in self.names:
            self.assertIn(("force", LEDGER, -1, 1), self.bookies[name].requests)


class ChangeTests(WriterTestCase):
    """A caller does not notice that bookies are replaced."""

    spares = 2

    def test_goes_on(self) -> None:
        """Appends before and after a change succeed, in order; the entries are where the metadata says (S16)."""
        adds = [self.writer.append(b"a")]
        self.settle()
        self.bookies["b1"].up = False
        adds += [self.writer.append(b"b"), self.writer.append(b"c")]
        self.settle()
        adds.append(self.writer.append(b"d"))
        self.settle()
        self.assertEqual([self.successResultOf(add) for add in adds], [0, 1, 2, 3])
        second = self.stored().segments[1]
        self.assertEqual(second.first_entry_id, 1)
        for name in second.bookies:
            self.assertEqual([n for n in self.held_by(name) if n >= 1], [1, 2, 3])
        self.assertEqual(self.writer.metadata, self.stored())
        self.successResultOf(self.writer.close())
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (3, 4))
        self.assertEqual(len(self.stored().segments), 2)

    def test_quorum_timeout(self) -> None:
        """With a limit, an append that waits too long fails, and the ledger is closed."""
        writer = self.make(ClientConfig(add_entry_quorum_timeout_sec=2.0), 8)
        self.bookies["b0"].silent = self.bookies["b1"].silent = True
        add = writer.append(b"a")
        self.clock.advance(0)
        self.clock.pump([0.25] * 8)
        self.failureResultOf(add, AddEntryQuorumTimeoutError)
        self.assertIs(self.stored(8).state, LedgerState.CLOSED)

    def test_in_recovery(self) -> None:
        """A writer that finds its ledger in recovery leaves the end to the recovery."""
        self.store(state=LedgerState.IN_RECOVERY)
        self.bookies["b1"].up = False
        add = self.writer.append(b"a")
        self.settle()
        self.failureResultOf(add, LedgerFencedError)
        self.failureResultOf(self.writer.close(), LedgerFencedError)
        self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)


class MemoryTests(WriterTestCase):
    """What is kept of entries between their append and their end."""

    spares = 2

    def entry(self, name: str, entry_id: int) -> bytes:
        """What a bookie keeps."""
        return self.bookies[name].entries[LEDGER][entry_id]

    def assert_idle(self) -> None:
        """Nothing is kept."""
        quorum = self.writer._quorum
        self.assertEqual((quorum.batches, quorum.in_flight, self.writer._budget.used), ([], 0, 0))

    def test_idle(self) -> None:
        """A writer without entries in flight keeps nothing, before and after."""
        self.assert_idle()
        for _ in range(3):
            self.writer.append(b"x" * 100)
            self.writer.append_many([b"y" * 1000] * 10)
            self.assertGreater(self.writer._budget.used, 10_000)
            self.settle()
            self.assert_idle()

    def test_slow_bookie(self) -> None:
        """For a bookie beyond the ack quorum that has not answered yet nothing is kept, and it gets what was sent."""
        self.bookies["b2"].delay = 1.0
        first = self.writer.append_many([b"x" * 1000] * 5)
        self.settle()
        self.successResultOf(first)
        self.assert_idle()
        self.writer.append_many([b"y" * 1000] * 5)
        self.settle()
        self.clock.advance(1.0)
        for entry_id in range(10):
            self.assertEqual(self.entry("b2", entry_id), self.entry("b0", entry_id))

    def test_sent_again(self) -> None:
        """New bookies get the bytes the others have, which are kept until the entries complete."""
        self.writer.append(b"a")
        self.settle()
        self.bookies["b1"].silent = self.bookies["b2"].silent = True
        add = self.writer.append_many([b"x" * 1000] * 10)
        self.settle()
        self.clock.pump([1.0] * 6)
        self.settle()
        self.assertEqual(self.successResultOf(add), (1, 10))
        new = {*self.writer.metadata.segments[-1].bookies} - {*self.names}
        self.assertEqual(new, {"s0", "s1"})
        for name in new:
            self.assertEqual(sorted(self.bookies[name].entries[LEDGER]), list(range(1, 11)))
            for entry_id in range(1, 11):
                self.assertEqual(self.entry(name, entry_id), self.entry("b0", entry_id))
        self.assert_idle()

    def test_ended(self) -> None:
        """A writer that ends keeps nothing, whatever was in flight or held back, sent or not."""
        self.writer = self.make(ClientConfig(max_in_flight_bytes=8000), LEDGER + 1)
        self.bookies["b1"].fenced.add(LEDGER + 1)
        adds = [self.writer.append_many([b"x" * 1000] * 12)]
        self.clock.advance(0)
        adds.append(self.writer.append_many([b"y"] * 2))
        self.settle()
        for add in adds:
            self.failureResultOf(add, LedgerFencedError)
        self.assert_idle()
        self.assertEqual((self.writer._held, self.writer._held_size), ([], 0))


class LateAnswerTests(WriterTestCase):
    """Answers that come when all is said."""

    def test_fenced_after_the_end(self) -> None:
        """Once everything is acknowledged, a late answer does not spoil the close."""
        self.bookies["b2"].fenced.add(LEDGER)
        self.bookies["b2"].delay = 1.0
        add, closed = self.writer.append(b"a"), self.writer.close()
        self.settle()
        self.assertEqual(self.successResultOf(add), 0)
        self.clock.advance(1.0)
        self.successResultOf(closed)
        self.failureResultOf(self.writer.append(b"b"), LedgerClosedError)


class CloseAgainstRecoveryTests(WriterTestCase):
    """Another client recovers the ledger while it is closed (S14)."""

    def setUp(self) -> None:
        """Two entries are acknowledged."""
        super().setUp()
        self.writer.append_many([b"a", b"b"])
        self.settle()

    def test_writer_first(self) -> None:
        """The writer's end stands; a recovery that finds fewer entries cannot have read them all."""
        self.store(state=LedgerState.IN_RECOVERY)
        found = self.do(self.driver.ledgers.read(LEDGER))
        self.successResultOf(self.writer.close())
        self.assertEqual((self.stored().state, self.stored().last_entry_id), (LedgerState.CLOSED, 1))
        other = Deferred.fromCoroutine(close_ledger(self.driver.ledgers, LEDGER, found, 0, 1))
        self.failureResultOf(other, MetadataVersionError)

    def test_same_end(self) -> None:
        """A recovery that ended at the same entry makes the close a success."""
        self.store(state=LedgerState.CLOSED, last_entry_id=1, length=2)
        self.successResultOf(self.writer.close())

    def test_other_end(self) -> None:
        """One that ended elsewhere makes it an error, and the ledger stays as it is."""
        self.store(state=LedgerState.CLOSED, last_entry_id=2, length=3)
        self.failureResultOf(self.writer.close(), MetadataVersionError)
        self.assertEqual((self.stored().last_entry_id, self.stored().length), (2, 3))

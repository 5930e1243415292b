"""Reading from replicas: which are asked, what counts, what is reported."""

from functools import partial

from twisted.internet.defer import CancelledError

from bookkeeper_twisted.client.reading.speculation import Patience
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    BookieIOError,
    DigestMatchError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    Status,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.batch_support import REMEMBERED, BatchSupport
from bookkeeper_twisted.ledger.read_answers import MAX_SINGLE_READS
from bookkeeper_twisted.model import Segment
from bookkeeper_twisted.testing.sealing import sealed

from .replica_case import LEDGER, ReplicaCase


def _same(value: EntryRun | None) -> EntryRun | None:
    return value


class BatchTests(ReplicaCase):
    """Batch reads."""

    def test_batch(self) -> None:
        """One request gives what was asked for."""
        self.assertEqual(self.good(0), range(20))
        self.assertEqual(self.good(5, 7), range(5, 12))
        self.assertEqual(len(self.asked()), 2)

    def test_load_is_spread(self) -> None:
        """The first bookie asked is the first of the entry's write set."""
        for first in range(3):
            self.good(first, 1)
        self.assertEqual([len(self.bookies[b].requests) for b in ("b0", "b1", "b2")], [1, 1, 1])

    def test_size(self) -> None:
        """Sizes out of range mean what a frame holds; small ones give one entry at least."""
        self.assertEqual(len(self.good(0, 1000, 100)), 1)
        for size in (0, -1, -(1 << 63), 1 << 62):
            self.assertEqual(len(self.good(0, 1000, size)), 20)

    def test_longer_than_asked(self) -> None:
        """A bookie that gives more than asked for is cut."""
        self.bookies["b0"].forged = lambda: self.run_stored
        self.assertEqual(self.good(0, 3), range(3))

    def test_each_error(self) -> None:
        """After any error the next replica is asked."""
        for error in (
            BookieIOError, NoSuchEntryError, NoSuchLedgerError, RequestTimeoutError, BookieHandleNotAvailableError,
            UnauthorizedAccessError, BadRequestError,
        ):  # fmt: skip
            fault = self.bookies["b0"].fail("read_batch", error)
            self.assertEqual(self.good(0), range(20))
            self.bookies["b0"].faults.remove(fault)
            self.support = self.replicas._support = BatchSupport(self.clock.seconds)

    def test_damage_at_each_replica(self) -> None:
        """A damaged first entry leads to the next replica; with all damaged it is an error (S18)."""
        for name in ("b0", "b1"):
            self.bookies[name].damage(LEDGER, 0)
            self.assertEqual(self.good(0), range(20))
        self.bookies["b2"].damage(LEDGER, 0)
        error = self.failureResultOf(self.fetch(0), DigestMatchError).value
        self.assertRegex(str(error), rf"^ledger {LEDGER} entry 0: .* \(bookie b.\); bookies asked: b0, b1, b2$")

    def test_damage_later(self) -> None:
        """What verified before a damaged entry is kept; the rest comes from another replica."""
        self.bookies["b0"].damage(LEDGER, 6)
        self.assertEqual(self.good(0), range(6))
        self.bookies["b0"].damage(LEDGER, 3)
        self.assertEqual(self.good(0), range(3))
        self.assertEqual(self.good(3), range(3, 20))

    def test_other_entries(self) -> None:
        """Entries of another id or ledger do not pass, however well sealed."""
        for ledger_id, entry_id in ((LEDGER, 1), (LEDGER + 1, 0)):
            other = sealed(self.digester, ledger_id, entry_id, -1, 0, [b"x"])
            self.bookies["b0"].forged = partial(_same, other)
            self.assertEqual(self.good(0), range(20))
            claimed = EntryRun(LEDGER, 0, 1, other.data, other.stride)
            self.bookies["b0"].forged = partial(_same, claimed)
            self.assertEqual(self.good(0), range(20))

    def test_empty_success(self) -> None:
        """A batch read that succeeds without entries is not taken for an answer: the entries are read one by one."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].forged = partial(_same, None)
        self.assertEqual(self.good(0), range(20))
        for name in ("b0", "b1", "b2"):
            self.bookies[name].fail("read_many", BookieIOError)
        self.failureResultOf(self.fetch(0), BookieIOError)

    def test_missing(self) -> None:
        """An entry is missing only if every replica says so."""
        self.failureResultOf(self.fetch(20), NoSuchEntryError)
        self.bookies["b1"].fail("read_batch", RequestTimeoutError)
        self.failureResultOf(self.fetch(20), NoSuchEntryError)
        self.bookies["b1"].fail("read_many", RequestTimeoutError)
        error = self.failureResultOf(self.fetch(20), RequestTimeoutError).value
        self.assertRegex(str(error), f"^ledger {LEDGER} entry 20: bookie b1: .*; bookies asked: b2, b0, b1$")

    def test_time_out(self) -> None:
        """The error of a read that no bookie answers says of what ledger and entry, how long, and who was asked."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].silent = True
        fetched = self.fetch(0)
        self.clock.pump([0.5] * 80)
        error = self.failureResultOf(fetched, RequestTimeoutError).value
        asked = f"read_many of ledger {LEDGER} entry 0; bookies asked: b0, b1, b2"
        self.assertEqual(str(error), f"bookie b0 gave no reply in 5 s to {asked}")

    def test_deleted(self) -> None:
        """The error of a ledger that was deleted names the ledger and the bookie that says so."""
        for name in ("b0", "b1", "b2"):
            del self.bookies[name].entries[LEDGER]
        error = self.failureResultOf(self.fetch(0), NoSuchLedgerError).value
        self.assertRegex(str(error), f"^no such ledger on this bookie: ledger {LEDGER} entry 0, bookie b[012]")

    def test_missing_and_down(self) -> None:
        """A bookie that cannot be reached may have the entry."""
        self.bookies["b1"].up = False
        self.failureResultOf(self.fetch(20), BookieHandleNotAvailableError)

    def test_cancel(self) -> None:
        """Cancelling a read ends it and asks no other bookie."""
        self.bookies["b0"].delay = 1.0
        fetched = self.fetch(0)
        fetched.cancel()
        self.failureResultOf(fetched, CancelledError)
        self.settle()
        self.assertEqual(self.asked(), ["b0"])


class SegmentTests(ReplicaCase):
    """A ledger whose ensemble changed."""

    segments = (Segment(0, ("b0", "b1", "b2")), Segment(7, ("b0", "b1", "b3")), Segment(20, ("b0", "b2", "b3")))

    def test_boundary(self) -> None:
        """A read ends with its segment, and an empty last segment does no harm."""
        self.assertEqual(self.good(0), range(7))
        self.assertEqual(self.good(7), range(7, 20))

    def test_replicas_of_the_segment(self) -> None:
        """The bookies of the entry's own segment are asked."""
        for name in ("b0", "b1"):
            self.bookies[name].up = False
        self.assertEqual(self.good(0), range(7))
        self.assertEqual(self.good(7), range(7, 20))
        self.assertEqual(set(self.asked()), {"b0", "b1", "b2", "b3"})


class SupportTests(ReplicaCase):
    """Bookies that do not know batch reads."""

    def test_refused(self) -> None:
        """A bookie that refuses the operation is not asked again for a while; the others are."""
        self.bookies["b0"].fail("read_batch", BadRequestError)
        for _ in range(3):
            self.assertEqual(self.good(0), range(20))
        self.assertEqual(self.asked(), ["b0", "b1", "b1", "b1"])
        self.clock.advance(REMEMBERED)
        self.good(0)
        self.assertEqual(self.asked().count("b0"), 2)

    def test_refused_by_all(self) -> None:
        """If no replica knows it, entries are read one by one, in one request."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].fail("read_batch", BadRequestError)
        self.assertEqual(self.good(0, 20), range(20))
        self.assertEqual(sorted(self.asked("read_many")), ["b0", "b1", "b2"])

    def test_refused_by_one_and_missing_at_others(self) -> None:
        """An entry that only a bookie without batch reads has is found."""
        self.bookies["b0"].fail("read_batch", BadRequestError)
        for name in ("b1", "b2"):
            del self.bookies[name].entries[LEDGER][3]
        self.assertEqual(self.good(3, 5), range(3, 8))
        for name in ("b1", "b2"):
            self.bookies[name].fail("read_batch", RequestTimeoutError)
        self.assertEqual(self.good(3, 5), range(3, 8))

    def test_connection_closed(self) -> None:
        """An old bookie closes the connection: single reads that work, twice, show what it lacks."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].fail("read_batch", BookieHandleNotAvailableError)
        self.assertEqual(self.good(0), range(20))
        self.assertTrue(self.support.is_expected("b0"))
        self.assertEqual(self.good(0), range(20))
        self.assertEqual([self.support.is_expected(b) for b in ("b0", "b1", "b2")], [False] * 3)

    def test_outage(self) -> None:
        """An outage says nothing about what a bookie knows."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].up = False
        self.failureResultOf(self.fetch(0), BookieHandleNotAvailableError)
        self.assertTrue(self.support.is_expected("b0"))


class OneByOneTests(ReplicaCase):
    """Batch reads turned off."""

    batch_enabled = False

    def test_range(self) -> None:
        """All entries of a range are asked for at once, each of its own first replica."""
        self.assertEqual(self.good(2, 9), range(2, 11))
        self.assertEqual([sum(count for *_, count in self.bookies[b].requests) for b in ("b0", "b1", "b2")], [3, 3, 3])
        self.assertEqual(self.asked(), [])

    def test_each_error(self) -> None:
        """An entry that one replica does not give comes from the next; the others are not asked again."""
        for error in (BookieIOError, NoSuchEntryError, RequestTimeoutError, BookieHandleNotAvailableError):
            faults = [self.bookies[b].fail("read_many", error, first=4, last=4) for b in ("b1", "b2")]
            if error in (RequestTimeoutError, BookieHandleNotAvailableError):
                for fault, b in zip(faults, ("b1", "b2"), strict=True):
                    self.bookies[b].faults.remove(fault)
                self.bookies["b1"].up = False
            self.assertEqual(self.good(0), range(20))
            self.bookies["b1"].up = True
            self.bookies["b1"].faults.clear()
            self.bookies["b2"].faults.clear()

    def test_damage(self) -> None:
        """Damaged copies are passed over; an entry damaged everywhere ends the result before it (S18)."""
        for name in ("b1", "b2"):
            self.bookies[name].damage(LEDGER, 4)
        self.assertEqual(self.good(0), range(20))
        self.bookies["b0"].damage(LEDGER, 4)
        self.assertEqual(self.good(0), range(4))
        self.failureResultOf(self.fetch(4), DigestMatchError)

    def test_damage_beside_a_slow_bookie(self) -> None:
        """While one bookie is slow, what another gave damaged is asked of the next one, too."""
        self.replicas._patience = Patience(1.0, 1.0)
        self.bookies["b1"].delay = 5.0
        self.bookies["b2"].damage(LEDGER, 5)
        fetched = self.fetch(4, 2)
        self.clock.advance(1.0)
        self.settle()
        self.assertEqual(self.successResultOf(fetched).data, self.run_stored.slice(4, 2).data)

    def test_entry_of_a_refusal(self) -> None:
        """An entry that comes with an error counts as little as none."""
        read_many, statuses = self.bookies.read_many, [Status.ENOENTRY] * 3

        def refused(replies: list[ReadReply]) -> list[ReadReply]:
            return [reply._replace(status=statuses.pop()) if statuses else reply for reply in replies]

        self.patch(self.bookies, "read_many", lambda *asked: read_many(*asked).addCallback(refused))
        self.good(0, 3)
        self.assertEqual(len(self.asked("read_many")), 6)

    def test_lac_of_a_damaged_reply(self) -> None:
        """The LAC that comes with a reply counts if an entry of its bookie is right."""
        read_many = self.bookies.read_many

        def with_lac(replies: list[ReadReply]) -> list[ReadReply]:
            return [reply._replace(max_lac=17) for reply in replies]

        self.patch(self.bookies, "read_many", lambda *asked: read_many(*asked).addCallback(with_lac))
        self.good(0, 3)
        self.assertEqual(set(self.heard), {17})
        self.heard.clear()
        for name in ("b0", "b1", "b2"):
            self.bookies[name].damage(LEDGER, 4)
        self.failureResultOf(self.fetch(4, 1), DigestMatchError)
        self.assertEqual(self.heard, [])

    def test_window(self) -> None:
        """As many entries are asked for as the size allows by what entries measured so far, within a limit."""
        self.good(0)  # now a record is known to have 51 bytes
        self.assertEqual(len(self.good(0, 1000, 500)), 500 // 51)
        self.assertEqual(len(self.good(0, 1000, 1)), 1)
        self.assertGreaterEqual(MAX_SINGLE_READS, 20)

    def test_missing(self) -> None:
        """Entries that are missing everywhere end the result, or are the error, which names a bookie."""
        self.assertEqual(self.good(15, 10), range(15, 20))
        error = self.failureResultOf(self.fetch(20, 5), NoSuchEntryError).value
        self.assertRegex(str(error), f"^no such entry: ledger {LEDGER} entry 20, bookie b[012]")

    def test_cancel(self) -> None:
        """Cancelling ends all requests."""
        for name in ("b0", "b1", "b2"):
            self.bookies[name].delay = 1.0
        fetched = self.fetch(0)
        fetched.cancel()
        self.failureResultOf(fetched, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class StripedTests(ReplicaCase):
    """Entries spread over more bookies than have a copy."""

    segments = (Segment(0, ("b0", "b1", "b2", "b3")),)
    quorums = (4, 2, 2)

    def test_read(self) -> None:
        """Each entry is read from where it is."""
        self.assertEqual(self.good(0), range(20))
        self.assertEqual(self.asked(), [])

    def test_one_down(self) -> None:
        """With one bookie down all entries are readable."""
        self.bookies["b2"].up = False
        self.assertEqual(self.good(0), range(20))

"""Scans of replicas, with answers given by hand; the findings over real reads are tested with Spark's checks."""

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieIOError,
    BookKeeperError,
    DataUnknownError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    TooManyRequestsError,
)
from bookkeeper_twisted.ledger.replica_scan import (
    DAMAGED,
    MISSING,
    OK,
    UNREACHABLE,
    Answer,
    ReplicaBatchRead,
    ReplicaRead,
    ReplicaScan,
    ReplicaSingleReads,
    Scanning,
    lost_ranges,
    state_of,
)
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed

DIGESTER = Digester(DigestType.CRC32C, b"")
RUN = sealed(DIGESTER, 7, 0, -1, 0, [b"payload"] * 20)


class ScanTests(SynchronousTestCase):
    """Reads and findings."""

    def setUp(self) -> None:
        """A ledger without striping."""
        self.asked: list[ReplicaRead] = []
        self.scan = ReplicaScan(7, Schedule(3, 3, 2), 0, DIGESTER)

    def run_scan(self, reads: Scanning, *answers: Answer) -> list[tuple[int, int, str]]:
        """What is found with some answers, all of which are asked for."""
        given = iter(answers)
        try:
            read = next(reads)
            while True:
                self.asked.append(read)
                read = reads.send(next(given))
        except StopIteration:
            self.assertEqual(list(given), [])
        return [(one.first, one.last, one.status) for one in self.scan.findings]

    def single(self, *entry_ids: int, **errors: BookKeeperError) -> Mapping[int, bytes | Exception]:
        """Answers to single reads, errors by ``e<id>``."""
        found: dict[int, bytes | Exception] = {n: RUN.entry(n) for n in entry_ids}
        found.update({int(name[1:]): error for name, error in errors.items()})
        return found

    def test_batches(self) -> None:
        """A batch that ends early is followed by another one; all is one finding."""
        found = self.run_scan(self.scan.whole(0, 19), RUN.slice(0, 5), RUN.slice(5, 15))
        self.assertEqual(found, [(0, 19, OK)])
        self.assertEqual(self.asked, [ReplicaBatchRead(0, 20), ReplicaBatchRead(5, 15)])
        self.assertEqual((self.scan.findings[0].entries, self.scan.findings[0].n_bytes), (20, RUN.size))

    def test_overload_is_no_loss(self) -> None:
        """A bookie that is overloaded, or does not answer, says nothing of its entries, and is asked no more."""
        for error in (TooManyRequestsError(7), RequestTimeoutError("late")):
            self.scan.findings.clear()
            self.assertEqual(self.run_scan(self.scan.whole(0, 19), RUN.slice(0, 5), error),
                             [(0, 4, OK), (5, 19, UNREACHABLE)])  # fmt: skip
        self.scan.findings.clear()
        found = self.run_scan(self.scan.some([0, 19]), self.single(0, e19=TooManyRequestsError(7)))
        self.assertEqual(found, [(0, 0, OK), (19, 19, UNREACHABLE)])

    def test_unknown_state(self) -> None:
        """A bookie that does not know what it lost has not got the entry."""
        self.assertEqual(state_of(DataUnknownError(7)), MISSING)
        self.assertEqual(state_of(BookieIOError(7)), DAMAGED)

    def test_refused_batches(self) -> None:
        """A bookie without batch reads is asked for single entries from then on."""
        found = self.run_scan(self.scan.whole(0, 3), BadRequestError(7), self.single(0, 1, 3, e2=NoSuchEntryError(7)))
        self.assertEqual(found, [(0, 1, OK), (2, 2, MISSING), (3, 3, OK)])
        self.assertEqual(self.asked, [ReplicaBatchRead(0, 4), ReplicaSingleReads(range(4))])
        self.assertFalse(self.scan.batching)

    def test_no_ledger(self) -> None:
        """A bookie without the ledger lacks all of it, whichever way it was asked."""
        self.assertEqual(self.run_scan(self.scan.whole(0, 9), NoSuchLedgerError(7)), [(0, 9, MISSING)])
        self.scan.findings.clear()
        self.assertEqual(self.run_scan(self.scan.some([0, 9]), self.single(9, e0=NoSuchLedgerError(7))),
                         [(0, 9, MISSING)])  # fmt: skip
        self.assertEqual(list(lost_ranges(self.scan.findings, MISSING)), [(0, 9)])

    def test_damage_in_a_batch(self) -> None:
        """The entries around a damaged one are fine, and so is that one if the bookie gives it whole by itself."""
        stored = list(RUN.entries())
        stored[3] = stored[4]
        bad = EntryRun.of_entries(7, 0, stored)
        found = self.run_scan(self.scan.whole(0, 19), bad, bad.slice(3, 17), RUN.slice(4, 16))
        self.assertEqual(found, [(0, 2, OK), (3, 3, DAMAGED), (4, 19, OK)])
        self.scan.findings.clear()
        found = self.run_scan(self.scan.whole(0, 19), bad, RUN.slice(3, 1), RUN.slice(4, 16))
        self.assertEqual(found, [(0, 19, OK)])

    def test_striped(self) -> None:
        """A striped ledger is asked for the entries of the position, one by one."""
        self.scan = ReplicaScan(7, Schedule(3, 2, 2), 1, DIGESTER)
        found = self.run_scan(self.scan.whole(0, 5), self.single(0, 1, 3, 4))
        self.assertEqual((found, self.asked), ([(0, 4, OK)], [ReplicaSingleReads([0, 1, 3, 4])]))

    def test_striped_loss(self) -> None:
        """What a position of a striped ledger lacks is one finding, however many stripes it has, and is counted."""
        self.scan = ReplicaScan(7, Schedule(3, 2, 2), 1, DIGESTER)
        gone = {f"e{n}": BookieIOError(7, n) for n in (1, 3, 4, 6, 7)}
        found = self.run_scan(self.scan.whole(0, 9), self.single(0, 9, **gone))
        self.assertEqual(found, [(0, 0, OK), (1, 7, DAMAGED), (9, 9, OK)])
        self.assertEqual([one.entries for one in self.scan.findings], [1, 5, 1])
        self.scan.findings.clear()
        found = self.run_scan(self.scan.some([0, 1, 6, 9]), self.single(0, 9, e1=gone["e1"], e6=gone["e6"]))
        self.assertEqual(found, [(0, 0, OK), (1, 1, DAMAGED), (6, 6, DAMAGED), (9, 9, OK)])

    def test_count_of_a_refusal(self) -> None:
        """An answer that holds for all entries is counted for each that the position should keep."""
        for error, state in ((NoSuchLedgerError(7), MISSING), (RequestTimeoutError("late"), UNREACHABLE)):
            for schedule, count in ((Schedule(3, 3, 2), 10), (Schedule(3, 2, 2), 7)):
                self.scan = ReplicaScan(7, schedule, 1, DIGESTER)
                self.run_scan(self.scan.whole(0, 9), error)
                (one,) = self.scan.findings
                self.assertEqual((one.first, one.last, one.status, one.entries), (0, 9, state, count))

    def test_nothing_to_scan(self) -> None:
        """An empty range asks nothing."""
        self.assertEqual(self.run_scan(self.scan.whole(0, -1)), [])
        self.assertEqual(self.run_scan(self.scan.some([])), [])

"""Copying parts of fragments between bookies in memory."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import ReadLimits
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.ledger.fragments import LedgerFragment
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.spark.pipelines.copying import CopyResult, LackingPart, LackingPartCopier

from ...blocking_reads.made_up import DIGESTER, LEDGER, Cluster, stored_entries

COUNT = 300
ENTRIES = stored_entries([b"%d" % n * 30 for n in range(COUNT)])

Ranges = tuple[tuple[int, int], ...]


class PartCopyTests(SynchronousTestCase):
    """Three bookies, of which some lack entries."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(3)
        self.spent = [0, 0]

    def lose(self, position: int, ranges: Ranges) -> None:
        """A bookie loses entries."""
        for first, last in ranges:
            for entry_id in range(first, last + 1):
                self.cluster.bookies[position].entries.pop(entry_id, None)

    def copy(self, write_quorum: int, lacking: dict[int, Ranges]) -> CopyResult:
        """Give bookies back what they lack."""
        addresses = {address.bookie_id: address for address in self.cluster.addresses}
        ensemble = tuple(addresses)
        fragment = LedgerFragment(LEDGER, 0, COUNT - 1, ensemble, Schedule(3, write_quorum, 1), True)
        losses = [
            ReplicaLoss(position, ensemble[position], LossKind.MISSING, ranges)
            for position, ranges in lacking.items()
        ]
        targets = {position: ensemble[position] for position in lacking}
        part = LackingPart(0, fragment, tuple(losses), targets, addresses)
        return LackingPartCopier(self.cluster.pool, part, DIGESTER, self.spend, ReadLimits(batch_bytes=4000)).run()

    def spend(self, entries: int, n_bytes: int) -> None:
        """Notes what is paid for."""
        self.spent[0] += entries
        self.spent[1] += n_bytes

    def test_what_is_lacking(self) -> None:
        """Each bookie gets what it lacks and keeps, and nothing else is sent, in whole and in striped ledgers."""
        for write_quorum in (3, 2):
            with self.subTest(write_quorum=write_quorum):
                self.cluster = Cluster.of(3)
                self.cluster.store(ENTRIES, write_quorum)
                kept = [dict(bookie.entries) for bookie in self.cluster.bookies]
                lacking: dict[int, Ranges] = {
                    0: ((0, COUNT - 1),),
                    2: ((10, 10), (13, 13), (199, 199)),
                }  # the others have these
                for position, ranges in lacking.items():
                    self.lose(position, ranges)
                lost = [len(kept[position]) - len(self.cluster.bookies[position].entries) for position in (0, 2)]
                done = self.copy(write_quorum, lacking)
                self.assertEqual([bookie.entries for bookie in self.cluster.bookies], kept)
                self.assertEqual([done.entries_of[target] for target in ("b0", "b2")], lost)
                self.assertEqual((done.failed, done.unreadable), ({}, {}))
                self.assertFalse([one for one in self.cluster.bookies[1].requests if "adds" in one])

    def test_limit(self) -> None:
        """What is read is paid for, and what is written once for each bookie that gets it."""
        self.cluster.store(ENTRIES, 3)
        self.lose(0, ((0, COUNT - 1),))
        self.lose(1, ((0, COUNT - 1),))
        self.copy(3, {0: ((0, COUNT - 1),), 1: ((0, COUNT - 1),)})
        self.assertEqual(self.spent, [3 * COUNT, 3 * sum(map(len, ENTRIES.values()))])

    def test_no_more_than_is_lacking(self) -> None:
        """Entries that nobody lacks are read along where that saves a request, and not otherwise."""
        self.cluster.store(ENTRIES, 3)
        lacking: Ranges = ((10, 10), (13, 13), (250, 250))
        self.lose(0, lacking)
        self.copy(3, {0: lacking})
        self.assertEqual(self.cluster.bookies[0].entries, ENTRIES)
        self.assertEqual(self.spent[0], 4 + 1 + 3)

    def test_lost_entry_read_along(self) -> None:
        """An entry that no replica has is none of the part's unless a target is to get it."""
        self.cluster.store(ENTRIES, 3)
        for position in range(3):
            self.lose(position, ((12, 12),))
        self.lose(0, ((10, 10), (13, 13)))
        done = self.copy(3, {0: ((10, 10), (13, 13))})
        self.assertEqual((done.unreadable, done.entries_of), ({}, {"b0": 2}))

    def test_damaged_source(self) -> None:
        """A damaged replica is not copied: a bookie gets the entries of a sound one."""
        self.cluster.store(ENTRIES, 3)
        self.lose(0, ((0, COUNT - 1),))
        self.cluster.bookies[1].entries[7] = ENTRIES[7][:-1] + b"?"
        self.copy(3, {0: ((0, COUNT - 1),)})
        self.assertEqual(self.cluster.bookies[0].entries, ENTRIES)

    def test_entries_that_are_lost(self) -> None:
        """An entry that no replica has is named; all others are copied."""
        self.cluster.store(ENTRIES, 3)
        for position in range(3):
            self.lose(position, ((50, 50),))
        self.lose(0, ((0, COUNT - 1),))
        done = self.copy(3, {0: ((0, COUNT - 1),)})
        self.assertEqual(set(done.unreadable), {50})
        self.assertEqual(len(self.cluster.bookies[0].entries), COUNT - 1)

    def test_target_that_refuses(self) -> None:
        """A target that does not take entries is reported, and the others get theirs."""
        self.cluster.store(ENTRIES, 3)
        for position in (0, 1):
            self.lose(position, ((0, COUNT - 1),))
        self.cluster.bookies[0].refuses = Status.EREADONLY
        done = self.copy(3, {0: ((0, COUNT - 1),), 1: ((0, COUNT - 1),)})
        self.assertEqual(set(done.failed), {"b0"})
        self.assertEqual(self.cluster.bookies[1].entries, ENTRIES)

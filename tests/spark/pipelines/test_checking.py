"""Checking replicas, on bookies in memory."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.ledger.replica_scan import Finding
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.spark.pipelines.checking import PositionCheck
from bookkeeper_twisted.testing.sealing import sealed

from ...blocking_reads.made_up import DIGESTER, LEDGER, Cluster, stored_entries

ENTRIES = stored_entries([b"%02d" % n * (1 + n % 3) for n in range(100)])


class CheckTests(SynchronousTestCase):
    """One position of a ledger with a hundred entries."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(3)
        self.spent = [0, 0]

    def check(self, position: int = 0, write_quorum: int = 3) -> list[tuple[int, int, str]]:
        """First, last and state of what is found."""
        return [(one.first, one.last, one.status) for one in self.findings(position, write_quorum)]

    def findings(self, position: int = 0, write_quorum: int = 3, last: int = 99) -> list[Finding]:
        """Everything that is found."""

        def spend(entries: int, n_bytes: int) -> None:
            self.spent[0] += entries
            self.spent[1] += n_bytes

        bookie = self.cluster.bookies[position]
        schedule = Schedule(3, write_quorum, 2)
        check = PositionCheck(self.cluster.pool, bookie.address, LEDGER, schedule, position, DIGESTER, spend)
        return check.findings(0, last)

    def test_whole(self) -> None:
        """A replica that is whole is one finding, and every entry was read once."""
        self.cluster.store(ENTRIES, 3)
        (one,) = self.findings()
        self.assertEqual((one.first, one.last, one.status, one.entries), (0, 99, "ok", 100))
        self.assertEqual(self.spent, [100, one.n_bytes])

    def test_exactly_what_is_wrong(self) -> None:
        """Missing and damaged entries are told apart, each exactly."""
        self.cluster.store(ENTRIES, 3)
        entries = self.cluster.bookies[0].entries
        for n in (10, 11, 12, 99):
            del entries[n]
        entries[50] = entries[50][:-1] + b"?"
        entries[51] = entries[52]
        found = self.check()
        self.assertEqual([one for one in found if one[2] != "ok"],
                         [(10, 12, "missing"), (50, 51, "damaged"), (99, 99, "missing")])  # fmt: skip
        self.assertEqual(sum(one.entries for one in self.findings() if one.status == "ok"), 94)

    def test_length(self) -> None:
        """A whole entry whose length contradicts the one before it is found, and the ones after it are fine."""
        self.cluster.store(ENTRIES, 3)
        forged = sealed(DIGESTER, LEDGER, 40, -1, 5, [b"40" * 2]).entry(40)
        self.cluster.bookies[0].entries[40] = forged
        self.assertEqual(next(one for one in self.check() if one[2] != "ok"), (40, 40, "length"))

    def test_no_batch_reads(self) -> None:
        """Entries of a bookie that refuses batch reads, or closes the connection on them, are read one by one."""
        self.cluster.store(ENTRIES, 3)
        for position, batches in ((0, False), (1, None)):
            bookie = self.cluster.bookies[position]
            bookie.batches = batches
            self.assertEqual(self.check(position), [(0, 99, "ok")])
            bookie.requests.clear()
            self.assertEqual(self.check(position), [(0, 99, "ok")])
            self.assertNotIn("batch 0", bookie.requests)

    def test_nothing_there(self) -> None:
        """A bookie that has nothing lacks everything; one that is down says nothing."""
        self.assertEqual(self.check(), [(0, 99, "missing")])
        self.cluster.bookies[0].down = True
        self.cluster.lose_idle_connections()
        self.assertEqual(self.check(), [(0, 99, "unreachable")])

    def test_striped(self) -> None:
        """Of a striped ledger only the entries of the position are expected."""
        self.cluster.store(ENTRIES, 2)
        for position in range(3):
            self.assertEqual({one[2] for one in self.check(position, 2)}, {"ok"})
            held = len(self.cluster.bookies[position].entries)
            self.assertEqual(sum(one.entries for one in self.findings(position, 2)), held)
        del self.cluster.bookies[1].entries[4]
        self.assertEqual([one for one in self.check(1, 2) if one[2] != "ok"], [(4, 4, "missing")])

    def test_lost_log(self) -> None:
        """Entries that a bookie has lost with their log are missing, those that it cannot read are damaged; V2 has one
        code for both."""
        self.cluster.store(ENTRIES, 3)
        unreadable = self.cluster.bookies[0].unreadable
        unreadable.update(dict.fromkeys(range(10, 100), Status.EUNKNOWNLEDGERSTATE))
        unreadable[50] = Status.EIO
        self.assertEqual(self.check(), [(0, 9, "ok"), (10, 49, "missing"), (50, 50, "damaged"), (51, 99, "missing")])
        self.cluster.store(ENTRIES, 2)
        unreadable[50] = Status.EUNKNOWNLEDGERSTATE
        found = [(one.first, one.last, one.status, one.entries) for one in self.findings(0, 2)]
        self.assertEqual(found, [(0, 9, "ok", 7), (11, 99, "missing", 60)])

    def test_bookie_without_batch_reads(self) -> None:
        """A bookie that does not know batch reads is checked entry by entry."""
        self.cluster.store(ENTRIES, 3)
        self.cluster.bookies[0].batches = False
        self.assertEqual(self.check(), [(0, 99, "ok")])

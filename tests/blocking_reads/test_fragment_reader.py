"""Reading fragments from bookies in memory."""

from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads import Fragment, FragmentReader, ReadLimits
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import NoSuchEntryError, ReadError

from .made_up import DIGESTER, LEDGER, Cluster, stored_entries

PAYLOADS = [b"%03d" % n * (1 + n % 3) for n in range(100)]
ENTRIES = stored_entries(PAYLOADS)
LIMITS = ReadLimits(batch_bytes=400)


class FragmentCase(SynchronousTestCase):
    """Helpers."""

    def cluster(self, count: int = 3, write_quorum: int = 3) -> Cluster:
        """Bookies that hold a hundred entries."""
        cluster = Cluster.of(count)
        cluster.store(ENTRIES, write_quorum)
        return cluster

    def reader(
        self, cluster: Cluster, first: int = 0, last: int = 99, write_quorum: int = 3, limits: ReadLimits = LIMITS,
        preferred: int = 0,
    ) -> FragmentReader:  # fmt: skip
        """A reader of a part of them."""
        fragment = Fragment(LEDGER, first, last, cluster.addresses, write_quorum)
        return FragmentReader(cluster.pool, fragment, DIGESTER, limits, preferred)

    def assertReads(self, runs: Iterator[EntryRun], first: int = 0, last: int = 99) -> None:
        """The runs are these entries, each once and in order."""
        found: list[tuple[int, bytes]] = []
        for run in runs:
            found += zip(range(run.first, run.last + 1), DIGESTER.payloads(run), strict=True)
        self.assertEqual(found, [(n, PAYLOADS[n]) for n in range(first, last + 1)])


class BatchTests(FragmentCase):
    """Ledgers whose bookies have every entry."""

    def test_whole_and_part(self) -> None:
        """All entries of the fragment come in order, those before and after it do not."""
        for wire in (2, 3):
            for first, last in ((0, 99), (13, 57), (99, 99)):
                with self.subTest(wire=wire, first=first, last=last):
                    runs = self.reader(self.cluster(), first, last, limits=ReadLimits(wire, 400)).runs()
                    self.assertReads(runs, first, last)

    def test_one_bookie_over_one_connection(self) -> None:
        """A bookie that answers well is the only one asked, over one connection, which is kept for the next reader."""
        cluster = self.cluster()
        self.assertReads(self.reader(cluster, preferred=1).runs())
        self.assertReads(self.reader(cluster, preferred=1).runs())
        self.assertEqual([bookie.dialled for bookie in cluster.bookies], [0, 1, 0])

    def test_asks_ahead(self) -> None:
        """The next batch is asked for before the caller has worked on the last one."""
        cluster = self.cluster()
        runs = self.reader(cluster).runs()
        run = next(runs)
        self.assertEqual(cluster.bookies[0].requests, ["batch 0", f"batch {run.last + 1}"])
        runs.close()
        self.assertTrue(cluster.connections[0].closed)  # a reply is under way on it

    def test_lost_idle_connection(self) -> None:
        """A connection that the bookie closed while it was idle costs no error and no replica."""
        cluster = self.cluster(1)
        self.assertReads(self.reader(cluster, write_quorum=1).runs())
        cluster.lose_idle_connections()
        self.assertReads(self.reader(cluster, write_quorum=1).runs())
        self.assertEqual(cluster.bookies[0].dialled, 2)

    def test_next_replica(self) -> None:
        """A bookie that is down, silent, without an entry or with a damaged one is replaced by the next."""
        for fault in ("down", "silent", "missing", "damaged"):
            with self.subTest(fault):
                cluster = self.cluster()
                bookie = cluster.bookies[0]
                if fault == "missing":
                    del bookie.entries[40]
                elif fault == "damaged":
                    bookie.entries[40] = bookie.entries[40][:-1] + b"?"
                else:
                    setattr(bookie, fault, True)
                self.assertReads(self.reader(cluster).runs())

    def test_unreachable_bookie_is_asked_last_for_a_while(self) -> None:
        """A bookie that could not be reached is not the first to be asked during the next minute."""
        cluster = self.cluster()
        cluster.bookies[0].down = True
        self.assertReads(self.reader(cluster).runs())
        dialled = cluster.bookies[0].dialled
        self.assertReads(self.reader(cluster).runs())
        self.assertEqual(cluster.bookies[0].dialled, dialled)
        cluster.now, cluster.bookies[0].down = 61.0, False
        self.assertReads(self.reader(cluster).runs())
        self.assertEqual(cluster.bookies[0].dialled, dialled + 1)

    def test_missing_everywhere(self) -> None:
        """An entry that no bookie has is reported as missing, after the entries before it were given."""
        cluster = self.cluster()
        for bookie in cluster.bookies:
            del bookie.entries[40]
        runs, seen = self.reader(cluster).runs(), -1
        with self.assertRaises(NoSuchEntryError) as caught:
            for run in runs:
                seen = run.last
        self.assertEqual((seen, caught.exception.entry_id), (39, 40))

    def test_error_names_every_bookie(self) -> None:
        """What is neither read nor missing everywhere is an error with the answer of each bookie."""
        cluster = self.cluster()
        cluster.bookies[0].down = True
        del cluster.bookies[1].entries[0]
        cluster.bookies[2].entries[0] = b"x" * 60
        with self.assertRaises(ReadError) as caught:
            next(self.reader(cluster).runs())
        self.assertRegex(str(caught.exception), "entry 0 of ledger 7.*b0: no connection.*b1: no such.*b2: .*digest")


class SingleReadTests(FragmentCase):
    """Where batch reads are of no use."""

    def test_striped(self) -> None:
        """A ledger whose bookies have every other entry is read from all of them, in either protocol."""
        for wire in (2, 3):
            with self.subTest(wire=wire):
                cluster = self.cluster(3, 2)
                self.assertReads(self.reader(cluster, write_quorum=2, limits=ReadLimits(wire, 400)).runs())
                self.assertTrue(all(bookie.requests for bookie in cluster.bookies))

    def test_striped_replica(self) -> None:
        """What one bookie of a striped ledger does not give comes from the other."""
        cluster = self.cluster(3, 2)
        cluster.bookies[0].down = True
        cluster.bookies[1].entries[9] = b"x" * 60
        self.assertRaises(ReadError, lambda: list(self.reader(cluster, write_quorum=2).runs()))  # 9: on 0 and 1
        cluster.bookies[1].entries[9] = ENTRIES[9]
        self.assertReads(self.reader(cluster, write_quorum=2).runs())

    def test_idle_connection_lost(self) -> None:
        """Single reads are repeated over a new connection where the bookie closed the old one."""
        cluster = self.cluster(2, 1)
        self.assertReads(self.reader(cluster, write_quorum=1).runs())
        cluster.lose_idle_connections()
        self.assertReads(self.reader(cluster, write_quorum=1).runs())

    def test_bookies_without_batch_reads(self) -> None:
        """Bookies that refuse batch reads, or close the connection, are read by entry, and not asked again."""
        for batches in (False, None):
            with self.subTest(batches=batches):
                cluster = self.cluster()
                for bookie in cluster.bookies:
                    bookie.batches = batches
                self.assertReads(self.reader(cluster).runs())
                for bookie in cluster.bookies:
                    bookie.requests.clear()
                self.assertReads(self.reader(cluster).runs())
                self.assertNotIn("batch 0", [r for bookie in cluster.bookies for r in bookie.requests])

    def test_one_bookie_without_batch_reads(self) -> None:
        """Where another bookie knows batch reads, that one is read."""
        cluster = self.cluster()
        cluster.bookies[0].batches = False
        self.assertReads(self.reader(cluster).runs())
        self.assertIn("batch 0", cluster.bookies[1].requests)

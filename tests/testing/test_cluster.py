"""The cluster in memory that applications test themselves with."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client import BookKeeper, LedgerWriter, WhenFull
from bookkeeper_twisted.errors import NotEnoughBookiesError
from bookkeeper_twisted.testing.cluster import MemoryCluster


class MemoryClusterTests(SynchronousTestCase):
    """Three bookies on a clock."""

    def setUp(self) -> None:
        """Connects."""
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock)
        self.bk: BookKeeper = self.do(self.cluster.connect())

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine, after some turns of the clock."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.clock.pump([0] * 20)
        return self.successResultOf(deferred)

    def test_shared(self) -> None:
        """What one client wrote another reads, and closing one leaves the other alone."""
        ledger: LedgerWriter = self.do(self.bk.create_ledger())
        self.do(ledger.append(b"a"))
        self.do(ledger.close())
        self.do(self.bk.close())
        other = self.do(self.cluster.connect())
        reader = self.do(other.open_ledger(0))
        self.assertEqual(self.do(reader.read_entry(0)).data, b"a")

    def test_bookies(self) -> None:
        """A bookie that is stopped is not chosen any more, one that is started is."""
        self.do(self.cluster.stop_bookie("bookie-1"))
        self.failureResultOf(self.bk.create_ledger(3, 3, 3), NotEnoughBookiesError)
        self.do(self.cluster.start_bookie("another"))
        ledger = self.do(self.bk.create_ledger(3, 3, 3))
        self.assertEqual(set(ledger.metadata.segments[0].bookies), {"bookie-0", "bookie-2", "another"})

    def test_fault(self) -> None:
        """A bookie that does not answer holds an append up until its time is over."""
        ledger = self.do(self.bk.create_ledger(3, 3, 3))
        self.cluster.bookies["bookie-1"].silent = True
        appending = ledger.append(b"a")
        self.clock.pump([0] * 20)
        self.assertNoResult(appending)

    def test_appender(self) -> None:
        """On a clock an appender works in the thread of the test."""
        ledger = self.do(self.bk.create_ledger())
        ledger.appender(WhenFull.CODE).offer(b"a")
        self.do(ledger.close())
        self.assertEqual(ledger.last_add_confirmed, 0)

    def test_seed(self) -> None:
        """The same seed chooses the same bookies."""
        ensembles = []
        for _ in range(2):
            bk = self.do(MemoryCluster(self.clock, 20, seed=5).connect())
            ensembles.append(self.do(bk.create_ledger()).metadata.segments)
        self.assertEqual(ensembles[0], ensembles[1])

"""The simulated index keeps the contract and obeys its disk."""

import errno

from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.interfaces import IndexBatch, IRunIndex
from bookkeeper_twisted.testing.contracts import index_contract

from ..storage.entries import row
from .sim_disk import SimDisk
from .sim_index import SimIndex


class SimIndexTests(index_contract.RunIndexContract):
    """The contract, and faults."""

    def make(self) -> IRunIndex:
        """On a new disk each."""
        self.disk = SimDisk()
        return SimIndex.open(self.disk, "/")

    def reopen(self, index: IRunIndex) -> IRunIndex:
        """From the same disk after a power cut that kept nothing pending."""
        index.close()
        self.disk = self.disk.crash(())
        return SimIndex.open(self.disk, "/")

    def test_failed_commit(self) -> None:
        """A commit that fails leaves everything as it was."""
        index = self.make()
        index.commit(IndexBatch(runs=[row(1, 0, 9)]))
        for number, error in ((errno.EIO, StorageError), (errno.ENOSPC, NoWritableDirectoryError)):
            self.disk.fail(number)
            self.assertRaises(error, index.commit, IndexBatch(runs=[row(1, 5, 14)], deleted_ledgers=[1]))
            self.assertEqual([*index.rows(1)], [row(1, 0, 9)])

    def test_failed_commits(self) -> None:
        """What a restart finds of a commit is not known if the one after it fails, too; the next one settles it."""
        index = self.make()
        index.commit(IndexBatch(runs=[row(1, 0, 9)]))
        self.disk.fail(errno.EIO, times=2)
        self.assertRaises(StorageError, index.commit, IndexBatch(deleted_ledgers=[1]))
        self.assertRaises(StorageError, index.check)
        for kept, rows in (((), [row(1, 0, 9)]), ((0,), []), (None, [row(1, 0, 9)])):
            self.assertEqual([*SimIndex.open(self.disk.crash(kept), "/").rows(1)], rows)
        index.commit(IndexBatch(runs=[row(2, 0, 9)]))
        index.check()
        self.assertEqual(self.disk.pending_count(), 0)
        self.assertEqual([*self.reopen(index).rows(1)], [row(1, 0, 9)])

    def test_failed_look_up(self) -> None:
        """A read that fails is an error, not an absence (S5)."""
        index = self.make()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "committed")
        self.assertRaises(StorageError, index.find, 1, 0)

    def test_fresh(self) -> None:
        """A fresh index forgets what was there."""
        index = self.make()
        index.commit(IndexBatch(runs=[row(1, 0, 9)], complete=True))
        index = SimIndex.open(self.disk, "/", True)
        self.assertEqual(([*index.rows(1)], index.complete), ([], False))

"""Which directory each ledger lies in, when directories join."""

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import IndexBatch, LedgerRow

from ..simulated_disk.sim_index import SimIndex
from .entries import mixed, run
from .ledger_storages import DIRECTORIES, LedgerStorageTestCase, checkpoint, make_directories, open_storage


class DirectoryMapTests(LedgerStorageTestCase):
    """A storage whose directories are not those of the time before."""

    def test_directories_changed(self) -> None:
        """Ledgers stay in their directory when others join or directories change places; new ones go to all."""
        for ledger_id in range(6):
            self.storage.put_ledger(LedgerRow(ledger_id, b"key"))
            self.storage.add(run(ledger_id, 0, 5))
        checkpoint(self.storage)
        for directories in (("/l1", "/l0"), ("/l0", "/l1", "/l2"), ("/l2", "/l1", "/l0")):
            disk = make_directories(self.disk.crash(()), directories)
            for first in (5, 10):
                self.storage = open_storage(disk, directories=directories)
                for ledger_id in range(6):
                    self.check(ledger_id, range(first))
                for ledger_id in range(6):
                    self.storage.add(run(ledger_id, first, 2))
                self.storage.add(mixed(*[run(ledger_id, first + 2, 3) for ledger_id in range(6)]))
                for ledger_id in range(6, 12):
                    self.storage.put_ledger(LedgerRow(ledger_id, b"key"))
                    self.storage.add(run(ledger_id, first, 5))
                checkpoint(self.storage)
                self.storage.close()
            for number, directory in enumerate(self.storage.directories):
                stored = {row.ledger_id for row in SimIndex.open(disk, directory.path).ledgers()}
                old = {n for n in range(6) if directory.path == f"/l{n % 2}"}
                self.assertEqual(stored, old | {n for n in range(6, 12) if n % len(directories) == number})

    def test_deleted_elsewhere(self) -> None:
        """A ledger that is deleted in the directory of the time before, and added again, is there once."""
        self.storage.put_ledger(LedgerRow(1, b"key"))
        self.storage.add(run(1, 0, 5))
        checkpoint(self.storage)
        directories = ("/l1", "/l0")
        disk = make_directories(self.disk.crash(()), directories)
        for add_again in (True, False):
            storage = open_storage(disk, directories=directories)
            storage.forget([1], 1)
            if add_again:
                storage.put_ledger(LedgerRow(1, b"key"))
                storage.add(run(1, 3, 5))
            checkpoint(storage)
            storage.close()
            storage = open_storage(disk, directories=directories)
            self.assertEqual(storage.entry_ranges(1), [(3, 7)] if add_again else [])
            storage.close()

    def test_copied_directory(self) -> None:
        """A ledger that lies in two directories is noticed: one of them is a copy, and may be old (S5)."""
        for path in DIRECTORIES:
            SimIndex.open(self.disk, path).commit(IndexBatch(ledgers=[LedgerRow(2)]))
        error = self.assertRaises(StorageError, open_storage, self.disk)
        self.assertIn("ledger 2 lies in /l0 and in /l1", str(error))

"""Entries in entry logs whose rows the index refuses: written once, never lost, never back once deleted."""

import errno
from functools import partial

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import JournalPosition, LedgerRow
from bookkeeper_twisted.storage.maintenance.log_space import LogSpace

from ..simulated_disk.sim_disk import Operation
from .entries import run
from .ledger_storages import CheckpointCase, checkpoint, open_storage, read, write


class UncommittedTests(CheckpointCase):
    """Two directories; the index of the second one takes no commits at times."""

    def test_directories_beside_a_refusing_one(self) -> None:
        """An index that takes no rows holds up no other directory, and no log mark moves."""
        self.refuse()
        self.storage.add(run(0, 0, 10))
        self.storage.add(run(1, 0, 10))
        for _ in range(3):
            begun = self.begin()
            begun.write(0)
            self.assertRaises(StorageError, begun.write, 1)
            begun.finish()
        self.assertEqual(self.log_marks.written, [])
        self.assertEqual(self.storage.directories[0].index.last_entry(0), 9)

    def refuse(self, error: int = errno.EIO) -> None:
        """Have the index of the second directory take nothing until the disk is healed."""
        self.disk.fail(error, when=lambda op: op.name == "commit" and op.path.startswith("/l1"), times=1 << 30)

    def log_bytes(self) -> int:
        """The size of the second directory's entry logs."""
        return sum(self.disk.open(f"/l1/{name}").size() for name in self.disk.list("/l1") if name.endswith(".log"))

    def fail_checkpoint(self, number: int = 1) -> None:
        begun = self.begin(number)
        self.assertRaises(StorageError, write, begun)
        begun.finish()

    def test_refused_rows(self) -> None:
        """While the index takes no rows, no retry writes anything; each entry is in an entry log once in the end."""
        for error in (errno.EIO, errno.ENOSPC):
            with self.subTest(errno.errorcode[error]):
                self.setUp()
                self.refuse(error)
                self.storage.put_ledger(LedgerRow(1, b"key"))
                self.storage.add(run(1, 0, 20))
                self.fail_checkpoint()
                before = self.log_bytes()
                for turn in range(3):
                    self.storage.add(run(1, 20 + turn, 1))
                    begun = self.begin()
                    self.storage.add(run(1, 0, 1, salt=turn))
                    self.assertRaises(StorageError, write, begun)
                    begun.finish()
                    self.assertEqual(read(self.storage, 1, 0), run(1, 0, salt=turn).entry(0))
                    self.assertEqual(read(self.storage, 1, 5), run(1, 5).entry(5))
                self.assertLessEqual(self.log_bytes(), before + 100)  # the map of the log that was closed
                self.assertEqual(self.log_marks.written, [])
                self.disk.heal()
                checkpoint(self.storage, 2)
                self.assertEqual(self.storage.pending_bytes(), 0)
                self.assertEqual(self.storage.entry_count(), 20 + 3 + 1)
                self.assertEqual(self.log_marks.written, [(JournalPosition(1, 2),)])
                live = self.storage.directories[1].index.live()
                self.assertEqual(sum(count for count, _ in live.values()), 23)
                after = open_storage(self.disk.crash(()))
                for entry_id in range(23):
                    expected = run(1, entry_id, salt=0 if entry_id else 2)
                    self.assertEqual(read(after, 1, entry_id), expected.entry(entry_id))

    def test_space_that_a_flush_takes(self) -> None:
        """Entries that are in entry logs already take no more space there, whatever the write cache has."""
        self.refuse()
        self.storage.add(run(1, 0, 10))
        self.fail_checkpoint()
        directory = self.storage.directories[1]
        self.assertEqual((directory.unwritten, directory.active.bytes), ((0, 0), run(1, 0, 10).size))
        self.storage.add(run(1, 10, 2))
        self.assertEqual(directory.unwritten, (run(1, 10, 2).size, 0))
        self.disk.heal()
        checkpoint(self.storage)
        self.storage.add(run(1, 12, 3))
        self.assertEqual(directory.unwritten, (run(1, 12, 3).size, 0))

    def test_rows_that_become_known(self) -> None:
        """Rows that are committed at last count even if the later entries cannot be written, which are kept alone."""
        self.refuse()
        self.storage.add(run(1, 0, 10))
        self.fail_checkpoint()
        self.storage.add(run(1, 10, 5))
        self.disk.heal()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite", times=1 << 30)
        self.fail_checkpoint()
        self.assertEqual(self.storage.pending_entries(), 5)
        self.assertEqual(self.storage.entry_ranges(1), [(0, 14)])
        self.disk.heal()
        checkpoint(self.storage)
        self.assertEqual(self.storage.entry_count(), 15)

    def test_refused_rows_of_deleted_ledgers(self) -> None:
        """Neither the rows of a ledger come back that was deleted meanwhile, nor do those go that came after it."""
        for moment in ("before", "while synced", "before the end", "after"):
            with self.subTest(moment):
                self.setUp()
                self.storage.put_ledger(LedgerRow(1, b"key"))
                self.storage.add(run(1, 0, 10))
                self.storage.add(run(3, 0, 10))
                if moment == "before":
                    self.create_again()
                self.refuse()
                begun = self.begin()
                if moment == "while synced":
                    self.disk.observer = self.create_again_at_sync
                self.assertRaises(StorageError, write, begun)
                if moment == "before the end":
                    self.create_again()
                begun.finish()
                if moment == "after":
                    self.create_again()
                self.fail_checkpoint()
                self.disk.heal()
                self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and ".log" in op.path, times=1 << 30)
                self.storage.add(run(3, 10, 1))
                self.fail_checkpoint()
                self.disk.heal()
                checkpoint(self.storage)
                self.assertEqual([self.storage.entry_ranges(ledger_id) for ledger_id in (1, 3)], [[(4, 5)], [(0, 10)]])
                self.assertEqual(read(self.storage, 1, 4), run(1, 4, salt=7).entry(4))

    def create_again_at_sync(self, operation: Operation) -> None:
        if operation.name == "sync" and operation.path == "/l1/0.log" and operation.number > 12:  # not of its header
            self.disk.observer = None
            self.create_again()

    def create_again(self) -> None:
        """Delete the ledger 1, and add other entries of it."""
        self.storage.forget([1], 1)
        self.storage.put_ledger(LedgerRow(1, b"new"))
        self.storage.add(run(1, 4, 2, salt=7))

    def test_deleted_while_later_entries_are_written(self) -> None:
        """Entries do not come back of a ledger that is deleted while a flush writes them, after it has committed rows.

        Nor if the flush then fails, as it writes them or as it commits their rows.
        """
        for name in ("pwrite", "commit"):
            with self.subTest(name):
                self.setUp()
                self.storage.put_ledger(LedgerRow(1, b"key"))
                self.refuse()
                self.storage.add(run(3, 0, 10))
                self.fail_checkpoint()
                self.storage.add(run(1, 0, 10))
                self.disk.heal()
                begun = self.begin()
                self.disk.observer = partial(self.create_again_and_fail, name)
                self.assertRaises(StorageError, write, begun)
                begun.finish()
                self.assertEqual(self.storage.entry_ranges(1), [(4, 5)])
                self.disk.heal()
                checkpoint(self.storage)
                self.assertEqual(self.storage.entry_ranges(1), [(4, 5)])
                self.assertEqual(read(self.storage, 1, 4), run(1, 4, salt=7).entry(4))

    def create_again_and_fail(self, name: str, operation: Operation) -> None:
        """Delete the ledger 1, as it is written, and create it again; let the next operations ``name`` fail."""
        if operation.name == "pwrite" and operation.path.endswith(".log"):
            self.disk.observer = None
            self.create_again()
            self.disk.fail(errno.EIO, when=lambda op: op.name == name and op.path.startswith("/l1"), times=1 << 30)

    def test_logs_of_refused_rows(self) -> None:
        """The logs of entries whose rows the index refused are not offered for deletion, sealed or not."""
        self.refuse(errno.ENOSPC)
        self.storage.add(run(1, 0, 10))
        self.fail_checkpoint()
        space = LogSpace(self.disk, self.storage.directories[1])
        self.assertIsNone(self.storage.directories[1].log.active_log_id)
        self.assertEqual(space.sealed_logs(), [])
        self.disk.heal()
        checkpoint(self.storage)
        self.assertEqual(space.sealed_logs(), [0])

    def test_compaction_beside_refused_rows(self) -> None:
        """Logs of a compaction get no ids above those of refused rows: it fails, or all entries are written again."""
        directory = self.storage.directories[1]
        for index_path in ("/index", ""):
            directory.index_path = index_path
            self.refuse()
            self.storage.add(run(1, 0, 10))
            self.fail_checkpoint()
            if index_path:
                self.assertIn("/index", str(self.assertRaises(StorageError, directory.reserve_logs, 1)))
            else:
                (reserved,) = directory.reserve_logs(1)
            self.disk.heal()
            checkpoint(self.storage)
        (row,) = directory.index.rows(1)
        self.assertGreater(row.log_id, reserved)

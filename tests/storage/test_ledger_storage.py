"""The ledger storage as a bookie uses it."""

import errno
import os
from functools import partial

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import DamageError, NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import ILedgerStorage, IndexBatch, JournalPosition, LedgerRow
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ..simulated_disk.sim_disk import Operation
from ..simulated_disk.sim_index import SimIndex
from .entries import mixed, row, run, uneven
from .ledger_storages import (
    SMALL,
    LedgerStorageTestCase,
    LogMarks,
    checkpoint,
    open_storage,
    read,
    write,
)


class EntryTests(LedgerStorageTestCase):
    """Entries through caches and logs."""

    def test_interface(self) -> None:
        """It has what the interface names."""
        verifyObject(ILedgerStorage, self.storage)

    def test_add_and_read(self) -> None:
        """An entry is read from memory before the checkpoint, during it, after it, and after a restart."""
        self.storage.add(run(1, 0, 10))
        self.storage.add(run(2, 0, 3))
        self.check(1, range(10))
        begun = self.storage.begin_checkpoint([JournalPosition(1, 1)])
        assert begun is not None
        self.storage.add(run(1, 10, 10))
        self.check(1, range(20))
        write(begun)
        self.check(1, range(20))
        begun.finish()
        self.check(1, range(20))
        self.assertIsNone(self.storage.cached(1, 5))
        checkpoint(self.storage, 2)
        self.restart()
        self.check(1, range(20))
        self.check(2, range(3))

    def test_negatives(self) -> None:
        """What was never there is not found, in memory or on disk (S5)."""
        self.storage.add(run(1, 5, 10))
        checkpoint(self.storage)
        for ledger_id, entry_id in ((1, 4), (1, 15), (3, 5), (2, 5)):
            self.assertIsNone(self.storage.cached(ledger_id, entry_id))
            self.assertIsNone(self.storage.load(ledger_id, entry_id, 100))

    def test_load_a_batch(self) -> None:
        """One load brings as many entries as fit, by one pread; kept, they are in memory."""
        self.storage.put_ledger(LedgerRow(1))
        self.storage.add(run(1, 0, 40))
        checkpoint(self.storage)
        loaded = self.storage.load(1, 10, 20 * 56)
        assert loaded is not None
        self.assertEqual((loaded.first, loaded.count), (10, 20))
        self.assertEqual(self.storage.directories[1].reader.reads, 1)
        self.storage.keep(loaded, self.storage.epoch)
        self.assertIs(self.storage.cached(1, 29), loaded)

    def test_recent_rows(self) -> None:
        """What was written last is found without the index."""
        self.storage.add(run(1, 0, 40))
        checkpoint(self.storage)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "committed", times=1000)
        self.check(1, range(40))

    def test_directory_of_a_ledger(self) -> None:
        """A ledger lies in the directory of its id modulo their number."""
        for ledger_id in range(6):
            self.storage.add(run(ledger_id, 0))
        self.storage.add(mixed(*[run(ledger_id, 1) for ledger_id in range(6)]))
        checkpoint(self.storage)
        for number in range(2):
            index = self.storage.directories[number].index
            self.assertEqual([i for i in range(6) if index.last_entry(i) == 1], [number, number + 2, number + 4])

    def test_newest_copy(self) -> None:
        """The newest copy of an entry wins, in every place."""
        self.storage.put_ledger(LedgerRow(1))
        self.storage.add(run(1, 0, 10))
        checkpoint(self.storage)
        kept = self.storage.load(1, 0, 1000)
        assert kept is not None
        self.storage.keep(kept, self.storage.epoch)
        self.assertGreater(self.storage.read_cache_bytes(), 0)
        self.assertEqual(self.storage.read_cache_entries(), 10)
        begun = self.storage.begin_checkpoint([])
        assert begun is not None
        self.storage.add(run(1, 3, 4, salt=1))
        self.storage.keep(kept, self.storage.epoch)
        self.check(1, range(3, 7), salt=1)
        write(begun)
        begun.finish()
        checkpoint(self.storage)
        self.check(1, range(3), salt=0)
        self.check(1, range(3, 7), salt=1)
        self.check(1, range(7, 10), salt=0)
        self.restart()
        self.check(1, range(3, 7), salt=1)

    def test_overtaken_load(self) -> None:
        """What was loaded while a newer copy was added, or the ledger deleted and made again, is not kept."""
        for deleted in (False, True):
            self.storage.put_ledger(LedgerRow(1))
            self.storage.add(run(1, 0, 10))
            checkpoint(self.storage)
            for entry_id in (0, 3):
                epoch, loaded = self.storage.epoch, self.storage.load(1, entry_id, 100)
                assert loaded is not None
                if deleted and entry_id:
                    self.storage.forget([1], 100)
                    self.storage.put_ledger(LedgerRow(1))
                elif entry_id:
                    self.storage.add(run(1, 3, 1, salt=1))
                taken = self.storage.keep(loaded, epoch)
                self.assertEqual(taken.entry(entry_id), loaded.entry(entry_id))
            checkpoint(self.storage)
            self.assertEqual(read(self.storage, 1, 3), None if deleted else run(1, 3, 1, salt=1).entry(3))

    def test_last_entry(self) -> None:
        """The last entry in memory and on disk."""
        self.assertEqual((self.storage.last_cached(1), self.storage.last_entry(1)), (-1, -1))
        self.storage.add(run(1, 0, 10))
        checkpoint(self.storage)
        self.storage.add(run(1, 10, 10))
        self.assertEqual((self.storage.last_cached(1), self.storage.last_entry(1)), (19, 9))

    def test_ranges(self) -> None:
        """Ranges join what is on disk, in the flushing and in the active cache."""
        self.storage.add(run(1, 0, 10))
        self.storage.add(run(1, 40, 2))
        checkpoint(self.storage)
        self.storage.add(run(1, 10, 5))
        self.storage.add(run(1, 30, 1))
        begun = self.storage.begin_checkpoint([])
        assert begun is not None
        self.storage.add(run(1, 15, 5))
        self.storage.add(run(1, 3, 2))
        self.assertEqual(self.storage.entry_ranges(1), [(0, 19), (30, 30), (40, 41)])
        self.assertEqual(self.storage.entry_ranges(5), [])

    def test_interleaved_ledgers(self) -> None:
        """Single entries of many ledgers in turns become one row a ledger."""
        for entry_id in range(15):
            for ledger_id in (1, 3, 5):
                self.storage.add(run(ledger_id, entry_id))
        checkpoint(self.storage)
        rows = [len([*self.storage.directories[1].index.rows(i)]) for i in (1, 3, 5)]
        self.assertEqual(rows, [1, 1, 1])

    def test_resident(self) -> None:
        """What memory holds of the disk is answered and counted, and not held a second time."""
        self.disk.resident = lambda: True
        self.storage.add(run(1, 0, 10))
        checkpoint(self.storage)
        self.storage.keep(self.storage.load(1, 2, 0) or run(9, 9), self.storage.epoch)
        self.assertIsNotNone(self.storage.resident(1, 2, 3, 1000))
        self.assertEqual((self.storage.resident_hits, self.storage.read_cache_bytes()), (1, 0))

    def test_statistics(self) -> None:
        """Hits, misses, loads, checkpoints and sizes are counted."""
        self.storage.put_ledger(LedgerRow(1))
        self.storage.add(run(1, 0, 10))
        self.assertEqual((self.storage.pending_bytes(), self.storage.pending_entries()), (560, 10))
        self.storage.cached(1, 0)
        checkpoint(self.storage)
        self.storage.cached(1, 0)
        self.storage.keep(self.storage.load(1, 0, 1000) or run(9, 9), self.storage.epoch)
        self.storage.cached(1, 0)
        s = self.storage
        self.assertEqual((s.write_cache_hits, s.read_cache_hits, s.cache_misses), (1, 1, 1))
        self.assertEqual((s.loads, s.checkpoints, s.failed_checkpoints), (1, 1, 0))
        self.assertGreater(s.read_cache_bytes(), 560)

    def test_full(self) -> None:
        """The storage is full when a write cache of a directory is, and empty again with the swap (S11)."""
        storage = open_storage(self.disk, settings=StorageSettings(write_cache_bytes=40_000))
        storage.add(run(1, 0, 10, 400))
        self.assertFalse(storage.is_full())
        storage.add(run(1, 10, 12, 400))
        self.assertTrue(storage.is_full())
        self.assertIsNotNone(storage.begin_checkpoint([]))
        self.assertFalse(storage.is_full())


class LedgerTests(LedgerStorageTestCase):
    """States of ledgers."""

    def test_states(self) -> None:
        """A state is known at once and durable with the next checkpoint, even if no entry is cached (trap 2)."""
        state = LedgerRow(1, b"key", fenced=True, explicit_lac=b"lac")
        self.storage.put_ledger(state)
        self.storage.put_ledger(LedgerRow(2, b"key"))
        self.assertEqual(self.storage.ledger(1), state)
        checkpoint(self.storage)
        self.restart()
        self.assertEqual(self.storage.ledger(1), state)
        self.assertEqual(self.storage.ledger(2), LedgerRow(2, b"key"))
        self.assertIsNone(self.storage.ledger(3))
        self.assertEqual(self.storage.ledger_count(), 2)

    def test_changed_during_a_checkpoint(self) -> None:
        """A fence set while a checkpoint is under way is in the next one."""
        self.storage.put_ledger(LedgerRow(1, b"key"))
        begun = self.storage.begin_checkpoint([])
        assert begun is not None
        self.storage.put_ledger(LedgerRow(1, b"key", fenced=True))
        write(begun)
        begun.finish()
        checkpoint(self.storage)
        self.assertEqual(self.restart().ledger(1), LedgerRow(1, b"key", fenced=True))


class OpenTests(LedgerStorageTestCase):
    """What is opened, and what is refused."""

    def test_pairs(self) -> None:
        """Index directories come in pairs with ledger directories."""
        for ledger_dirs, index_dirs in (((), ()), (("/l0", "/l1"), ("/l0",))):
            self.assertRaises(
                StorageError, LedgerStorage.open, self.disk, ledger_dirs, index_dirs, SMALL, SimIndex.open,
                self.log_marks.persist,
            )  # fmt: skip

    def test_index_lost(self) -> None:
        """Entry logs without their index are refused, not called empty; the text says what to do (S5)."""
        self.storage.put_ledger(LedgerRow(1, b"key"))
        self.storage.add(run(1, 0, 100))
        checkpoint(self.storage)
        self.disk.unlink("/l1/index.sim")
        for _ in range(2):  # a refusal does not make the index complete
            error = self.assertRaises(StorageError, self.restart)
            self.assertIn("/l1", str(error))
            self.assertIn("rebuildIndex=true", str(error))
        self.disk.heal()
        self.restart(StorageSettings(rebuild_index=True))
        self.check(1, range(100))
        self.assertEqual(self.storage.ledger(1), LedgerRow(1, b"", fenced=True))
        self.assertEqual([d.rebuilt.entries for d in self.storage.directories if d.rebuilt], [0, 100])
        self.restart()
        self.check(1, range(100))

    def test_unreadable_directory(self) -> None:
        """A directory that cannot be listed is an error that names it."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == "list")
        error = self.assertRaises(StorageError, open_storage, self.disk)
        self.assertIn("/l0", str(error))

    def test_close_seals(self) -> None:
        """A clean close writes the ledgers maps; the next start begins new logs."""
        self.storage.add(run(1, 0, 5))
        checkpoint(self.storage)
        self.storage.close()
        self.assertEqual(self.disk.open("/l1/0.log").pread(8, 8), (4096).to_bytes(8, "big"))
        self.restart().add(run(1, 5, 5))
        checkpoint(self.storage)
        self.assertEqual([n for n in self.disk.list("/l1") if n.endswith(".log")], ["0.log", "1.log"])
        self.check(1, range(10))

    def test_failed_close(self) -> None:
        """A failure while closing is reported after everything is closed."""
        for ledger_id in (0, 1):
            self.storage.add(run(ledger_id, 0, 5))
        checkpoint(self.storage)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pwrite")
        self.assertRaises(StorageError, self.storage.close)
        self.assertNotEqual(self.disk.open("/l1/0.log").pread(8, 8), bytes(8))


class DamageTests(LedgerStorageTestCase):
    """Bytes on disk that are not what was written (S5, S9)."""

    def setUp(self) -> None:
        super().setUp()
        for ledger_id in (1, 3):
            self.storage.put_ledger(LedgerRow(ledger_id, b"key"))
            self.storage.add(run(ledger_id, 0, 10))
        checkpoint(self.storage)

    def test_damaged_entry(self) -> None:
        """An entry whose ids are damaged is an error that names file and offset; other ledgers are served."""
        self.disk.open("/l1/0.log").pwrite(b"\xff", 1024 + 6)
        error = self.assertRaises(DamageError, self.storage.load, 1, 0, 10_000)
        self.assertIn("/l1/0.log offset 1024", str(error))
        self.check(3, range(10))

    def test_damaged_bytes(self) -> None:
        """Where a checksum is wrong, the entry that was asked for comes alone: clients verify its digest."""
        self.disk.open("/l1/0.log").pwrite(b"\xff", 1024 + 5 * 56 + 30)
        found = self.storage.load(1, 0, 10_000)
        assert found is not None
        self.assertEqual((found.first, found.count), (0, 1))

    def test_wrong_entry_at_the_place(self) -> None:
        """Records of another ledger at the place the index names are an error."""
        self.storage.directories[1].index.commit(IndexBatch(runs=[row(1, 0, 9, 0, 1024 + 560)]))
        self.restart()
        self.assertRaises(DamageError, self.storage.load, 1, 0, 56)
        self.check(3, range(10))

    def test_missing_log(self) -> None:
        """A log file that is gone is an error, not an absent entry."""
        self.restart()
        self.disk.unlink("/l1/0.log")
        self.assertRaises(DamageError, self.storage.load, 1, 0, 56)
        self.storage.add(run(1, 10, 5))
        checkpoint(self.storage)
        self.check(1, range(10, 15))

    def test_damaged_header(self) -> None:
        """Entries are served from a log whose header is damaged; a rebuild refuses it."""
        self.disk.open("/l1/0.log").pwrite(b"JUNK", 0)
        self.check(1, range(10))
        self.disk = self.disk.crash()
        error = self.assertRaises(DamageError, open_storage, self.disk, settings=StorageSettings(rebuild_index=True))
        self.assertIn("/l1/0.log", str(error))

    def test_unreadable_index(self) -> None:
        """An index that cannot be read is an error, not an absent entry."""
        self.restart()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "committed", times=10)
        for call in (lambda: self.storage.load(1, 0, 56), lambda: self.storage.last_entry(1)):
            self.assertRaises(StorageError, call)

    def test_moved_entry(self) -> None:
        """An entry that moved to another log while it was being read is read there."""
        directory = self.storage.directories[1]
        (new,) = directory.log.append(run(1, 0, 10))
        directory.log.sync()
        directory.index.commit(IndexBatch(runs=[new]))
        old = directory.recent.find(1, 0)
        assert old is not None
        self.assertNotEqual((old.log_id, old.offset), (new.log_id, new.offset))
        self.disk.open("/l1/0.log").pwrite(bytes(560), old.offset)
        self.check(1, range(10))


def _is(name: str, operation: Operation) -> bool:
    return operation.name == name


class FullDiskTests(LedgerStorageTestCase):
    """ENOSPC on ledger storage."""

    def test_full(self) -> None:
        """A full disk is told apart, so that the bookie can go read-only; nothing is lost."""
        self.storage.add(run(1, 0, 10))
        for name in ("create", "pwrite", "sync", "sync_directory", "commit"):
            self.disk.fail(errno.ENOSPC, when=partial(_is, name))
            self.assertRaises(NoWritableDirectoryError, checkpoint, self.storage)
            self.disk.heal()
            self.check(1, range(10))
        self.assertEqual(self.log_marks.written, [])
        self.assertEqual(self.storage.failed_checkpoints, 5)
        checkpoint(self.storage, 7)
        self.assertEqual(self.log_marks.written, [(JournalPosition(1, 7),)])
        self.restart()
        self.check(1, range(10))


class SqliteTests(SynchronousTestCase):
    """On a real file system with the real index."""

    def test_round_trip(self) -> None:
        """Entries of many sizes and ledgers survive checkpoints, rotations and restarts."""
        paths = [os.path.join(self.mktemp(), name) for name in ("a", "b")]
        for path in paths:
            os.makedirs(path)
        fs, log_marks = RealFileSystem(), LogMarks()

        def opened() -> LedgerStorage:
            return LedgerStorage.open(fs, paths, paths, SMALL, SqliteRunIndex.open, log_marks.persist)

        storage = opened()
        for first in range(0, 60, 6):
            for ledger_id in range(4):
                storage.put_ledger(LedgerRow(ledger_id, b"key", fenced=first == 54))
                storage.add(uneven(ledger_id, first, [first, 5, ledger_id, 300, 0, 70]))
            if first % 4 == 0:
                checkpoint(storage, first + 1)
        checkpoint(storage, 100)
        storage.close()
        storage = opened()
        self.addCleanup(storage.close)
        for ledger_id in range(4):
            self.assertEqual(storage.ledger(ledger_id), LedgerRow(ledger_id, b"key", fenced=True))
            self.assertEqual(storage.entry_ranges(ledger_id), [(0, 59)])
            for first in range(0, 60, 6):
                expected = uneven(ledger_id, first, [first, 5, ledger_id, 300, 0, 70])
                for entry_id in range(first, first + 6):
                    self.assertEqual(read(storage, ledger_id, entry_id), expected.entry(entry_id))


class ForgetTests(LedgerStorageTestCase):
    """Deletion of ledgers."""

    def setUp(self) -> None:
        super().setUp()
        self.storage.put_ledger(LedgerRow(1, b"key", fenced=True))
        self.storage.put_ledger(LedgerRow(3, b"key"))

    def gone(self, ledger_id: int) -> None:
        self.assertIsNone(self.storage.ledger(ledger_id))
        self.assertIsNone(self.storage.cached(ledger_id, 0))
        self.assertIsNone(self.storage.load(ledger_id, 0, 100))
        self.assertIsNone(self.storage.resident(ledger_id, 0, 1, 100))
        self.assertEqual({*self.storage.scattered([ledger_id] * 2, [0, 1], 100).entries}, {None})
        self.assertEqual(self.storage.entry_ranges(ledger_id), [])
        self.assertEqual((self.storage.last_entry(ledger_id), self.storage.last_cached(ledger_id)), (-1, -1))

    def test_from_everywhere(self) -> None:
        """Entries in both caches, on disk and in the read cache are found no more; other ledgers are."""
        for ledger_id in (1, 3):
            self.storage.add(run(ledger_id, 0, 5))
        checkpoint(self.storage)
        self.storage.keep(self.storage.load(1, 0, 1000) or run(9, 9), self.storage.epoch)
        self.storage.add(run(1, 5, 5))
        begun = self.storage.begin_checkpoint([])
        assert begun is not None
        self.storage.add(mixed(run(1, 10, 2), run(3, 10, 2)))
        self.storage.forget([1], 100)
        self.gone(1)
        write(begun)
        begun.finish()
        self.gone(1)
        checkpoint(self.storage)
        self.gone(1)
        self.assertEqual(self.storage.entry_ranges(3), [(0, 4), (10, 11)])
        self.restart()
        self.gone(1)
        self.assertTrue(self.storage.was_fenced(1))
        self.assertEqual(self.storage.ledger_ids(), [3])

    def test_counts(self) -> None:
        """A cache that a ledger was dropped from is empty; its single entries are counted until the next checkpoint."""
        self.storage.add(run(1, 0, 5))
        self.storage.add(mixed(run(1, 5, 2)))
        self.storage.forget([1], 100)
        self.assertEqual((self.storage.pending_bytes(), self.storage.pending_entries()), (0, 0))
        directory = self.storage.directories[1]
        self.assertFalse(directory.active)
        checkpoint(self.storage)
        self.assertEqual((directory.active.cost, directory.flushing.cost), (0, 0))

    def test_same_id_again(self) -> None:
        """A new ledger with the id of one that was deleted has only its own entries."""
        self.storage.add(run(3, 0, 5))
        checkpoint(self.storage)
        self.storage.forget([3], 100)
        self.storage.put_ledger(LedgerRow(3, b"new"))
        self.storage.add(run(3, 2, 1, salt=1))
        checkpoint(self.storage)
        self.restart()
        self.assertEqual(self.storage.entry_ranges(3), [(2, 2)])
        self.assertEqual(self.storage.ledger(3), LedgerRow(3, b"new"))

    def test_failed_checkpoint(self) -> None:
        """What a failed checkpoint did not delete, the next one does."""
        self.storage.add(run(3, 0, 5))
        checkpoint(self.storage)
        self.storage.forget([3], 100)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "commit")
        begun = self.storage.begin_checkpoint([])
        assert begun is not None
        self.assertRaises(StorageError, write, begun)
        begun.finish()
        self.gone(3)
        checkpoint(self.storage)
        self.restart()
        self.gone(3)

    def test_fences_expire(self) -> None:
        """The fence of a deleted ledger is forgotten in time, also after a restart."""
        self.storage.forget([1], 100)
        checkpoint(self.storage)
        self.restart()
        self.assertEqual(self.storage.forget_fences(101), 1)
        checkpoint(self.storage)
        self.restart()
        self.assertFalse(self.storage.was_fenced(1))

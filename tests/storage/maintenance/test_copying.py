"""Copying of live runs into a new log."""

import errno
import os
from collections import deque
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import LogDamageError
from bookkeeper_twisted.storage.directory_storage import DirectoryStorage
from bookkeeper_twisted.storage.entry_log.scan import LogScan
from bookkeeper_twisted.storage.files.disk_queue import DiskQueue
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.rows import block_checksums, first_bad_block
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import CHECKSUM_BLOCK, IndexRow, LedgerRow
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings
from bookkeeper_twisted.storage.maintenance import copying
from bookkeeper_twisted.storage.maintenance.copying import LogCopy
from bookkeeper_twisted.storage.maintenance.row_reader import (
    EXTENT_BYTES,
    PAGE,
    RowCutter,
    RowPiece,
    RowReader,
    VerifiedRow,
    extents_of,
)
from bookkeeper_twisted.storage.rebuild import rebuild_index

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..entries import entry, row, run, uneven
from ..ledger_storages import checkpoint, make_directories, open_storage, read

SETTINGS = StorageSettings(log_size_limit=20_000, write_cache_bytes=1 << 20)


class CopyCase(SynchronousTestCase):
    """A storage of one directory, in which every checkpoint makes a log of its own."""

    def setUp(self) -> None:
        self.disk = make_directories(SimDisk(), ["/l0"])
        self.open()

    def open(self) -> None:
        """The storage as a restart finds it."""
        self.storage = open_storage(self.disk, settings=SETTINGS, directories=["/l0"])

    @property
    def directory(self) -> DirectoryStorage:
        return self.storage.directories[0]

    def log_of(self, *runs: EntryRun) -> None:
        """One sealed log with these runs."""
        for each in runs:
            self.storage.put_ledger(LedgerRow(each.ledger_id))
            self.storage.add(each)
        checkpoint(self.storage)
        self.directory.log.close()

    def verified(self, sources: Sequence[int], step: int = 300) -> deque[VerifiedRow]:
        """The rows of some logs."""
        reader = self.reader()
        cutter = RowCutter(self.directory.index, sources=tuple(sources))
        rows: deque[VerifiedRow] = deque()
        while (reading := cutter.next_step(step)) is not None:
            reader.begin(reading)
            rows += [(row, bytes(data)) for row, data in reader.verified(reading)]
        return rows

    def reader(self) -> RowReader:
        """One that is closed at the end."""
        reader = RowReader(self.disk, self.directory, DiskQueue())
        self.addCleanup(reader.queue.close)
        self.addCleanup(reader.close)
        return reader

    def copy(self, rows: deque[VerifiedRow], most_rows: int = 1000) -> list[IndexRow]:
        """Copies rows into one new log, which is finished; those that it doesn't take are left."""
        (log_id,) = self.directory.log.reserve()
        copy = self.new_copy(log_id, most_rows=most_rows)
        copy.write(rows)
        return copy.finish()

    def new_copy(self, log_id: int = 9, **options: Any) -> LogCopy:
        """A copy that has not begun."""
        return LogCopy(self.disk, self.directory, log_id, self.reader().queue, **options)

    def compact(self, sources: Sequence[int]) -> list[IndexRow]:
        """Copies, and commits the rows."""
        rows = self.copy(self.verified(sources))
        self.directory.commit_moved(rows, frozenset(sources))
        self.directory.moved()
        return rows


class LogCopyTests(CopyCase):
    """What the new log holds, and what the index says of it."""

    def test_neighbours_become_one(self) -> None:
        """Runs of two ledgers that were written in turns are one run each."""
        for turn in range(4):
            self.log_of(run(1, turn * 5, 5), uneven(2, turn * 2, [10, 30]))
        self.assertEqual(len([*self.directory.index.rows(1)]), 4)
        self.compact([0, 1, 2, 3])
        for ledger_id, last in ((1, 19), (2, 7)):
            (row,) = self.directory.index.rows(ledger_id)
            self.assertEqual((row.first, row.last, row.log_id), (0, last, 4))
            self.assertTrue(row.checksums)
        self.assertEqual(self.directory.index.live().keys(), {4})
        for entry_id in range(20):
            self.assertEqual(read(self.storage, 1, entry_id), entry(1, entry_id))

    def test_sealed(self) -> None:
        """The new log has a ledgers map of what is in it, and the index can be rebuilt from it alone."""
        self.log_of(run(1, 0, 5), run(3, 0, 5), run(2, 0, 5))
        self.storage.forget([3], 1)
        checkpoint(self.storage)
        self.compact([0])
        scan = LogScan(self.disk, "/l0", 1)
        self.assertEqual(scan.ledgers_map(), {1: 5 * 56, 2: 5 * 56})
        self.disk.unlink("/l0/0.log")
        rebuilt = rebuild_index(self.disk, "/l0", "/l0", SimIndex.open)
        self.assertEqual(rebuilt.entries, 10)

    def test_dead_is_left(self) -> None:
        """Entries that were written again, and ledgers that were deleted, are not copied."""
        self.log_of(run(1, 0, 10), run(2, 0, 10))
        self.log_of(run(1, 3, 2, salt=1))
        self.storage.forget([2], 1)
        checkpoint(self.storage)
        rows = self.compact([0])
        self.assertEqual([(row.ledger_id, row.first, row.last) for row in rows], [(1, 0, 2), (1, 5, 9)])
        self.assertEqual(read(self.storage, 1, 3), entry(1, 3, salt=1))

    def test_newer_copy_stays(self) -> None:
        """An entry that is written again while its older copy is copied is not replaced by that copy."""
        self.log_of(run(1, 0, 10))
        rows = self.copy(self.verified([0]))
        self.log_of(run(1, 4, 2, salt=1))
        self.storage.forget([7], 1)
        self.directory.commit_moved(rows, frozenset([0]))
        for entry_id in range(10):
            self.assertEqual(read(self.storage, 1, entry_id), entry(1, entry_id, salt=int(entry_id in (4, 5))))

    def test_deleted_stays_deleted(self) -> None:
        """A ledger that is deleted while it is copied does not come back."""
        self.log_of(run(1, 0, 10))
        rows = self.copy(self.verified([0]))
        self.storage.forget([1], 1)
        checkpoint(self.storage)
        self.directory.commit_moved(rows, frozenset([0]))
        self.assertEqual([*self.directory.index.rows(1)], [])

    def test_limit_of_rows(self) -> None:
        """A new log has a limit of rows; the others are left for the next one."""
        self.log_of(*[run(ledger_id, 0, 3) for ledger_id in range(5)])
        rows = self.verified([0])
        self.assertEqual([row.ledger_id for row in self.copy(rows, most_rows=2)], [0, 1])
        self.assertEqual([row.ledger_id for row, _ in rows], [2, 3, 4])

    def test_limit_of_size(self) -> None:
        """A new log is not longer than the others."""
        for first in (0, 100, 200):
            self.log_of(run(1, first, 90, size=100))
        rows = self.verified([0, 1, 2])
        self.assertEqual([row.first for row in self.copy(rows)], [0])
        self.assertEqual([row.first for row, _ in rows], [100, 200])

    def test_limits_of_a_row(self) -> None:
        """Rows become one up to a limit of bytes and one of entries; one that is longer already stays as it is."""
        for limit, value in (("JOIN_BYTES", 1000), ("JOIN_ENTRIES", 13)):
            self.patch(copying, limit, value)
            self.open()
            for first, count in ((0, 5), (5, 8), (13, 20), (33, 2)):
                self.log_of(run(1, first, count))
            rows = self.copy(self.verified([row.log_id for row in self.directory.index.rows(1)]))
            self.assertEqual([(row.first, row.last) for row in rows], [(0, 12), (13, 32), (33, 34)])
            self.disk = make_directories(SimDisk(), ["/l0"])

    def test_checksums(self) -> None:
        """The checksums of a row are of its own blocks, wherever those of the rows in it began."""
        settings = StorageSettings(log_size_limit=1 << 20, write_cache_bytes=1 << 20)
        self.storage = open_storage(self.disk, settings=settings, directories=["/l0"])
        for first, count, size in ((0, 40, 7), (40, 1, CHECKSUM_BLOCK - 100), (41, 1, 90), (42, 1, 200_000)):
            self.log_of(run(1, first, count, size=size))
        verified = self.verified(range(4), step=50_000)
        data = b"".join([bytes(each) for _, each in verified])
        (row,) = self.copy(verified)
        self.assertEqual((row.first, row.last), (0, 42))
        self.assertEqual(row.checksums, block_checksums(data))
        self.assertEqual(first_bad_block(row, len(data), 0, data), None)

    def test_steps_are_bounded(self) -> None:
        """A long row is read in pieces, and given when all of it was verified."""
        self.log_of(run(1, 0, 100, size=100))
        reader, cutter = self.reader(), RowCutter(self.directory.index)
        sizes, found = [], []
        while (step := cutter.next_step(1000)) is not None:
            sizes.append(step.n_bytes)
            reader.begin(step)
            found.append([len(data) for _, data in reader.verified(step)])
        self.assertEqual((max(sizes), sum(sizes)), (1000, 13_600))
        self.assertEqual(found, [*[[]] * (len(sizes) - 1), [13_600]])

    def test_disk_bytes(self) -> None:
        """A disk reads whole pages, so a step ends with one: the next one does not read it again."""
        self.log_of(run(1, 0, 100, size=100))
        cutter = RowCutter(self.directory.index)
        found = []
        while (step := cutter.next_step(8000)) is not None:
            found.append((step.n_bytes, step.n_disk_bytes))
        self.assertEqual(found, [(7168, 8192), (6432, 8192)])  # from offset 1024 to 14624

    def test_abandoned(self) -> None:
        """An abandoned copy leaves no file."""
        self.log_of(run(1, 0, 5))
        copy = self.new_copy()
        copy.write(self.verified([0]))
        self.assertTrue(self.disk.exists("/l0/9.log.compacting"))
        copy.abandon()
        self.assertEqual([name for name in self.disk.list("/l0") if name.startswith("9")], [])


class RealDiskTests(SynchronousTestCase):
    """Copies past the page cache of this machine."""

    def test_many_steps(self) -> None:
        """Nothing is written over before it is copied, although some steps pass until there is a block of it."""
        fs, path = RealFileSystem(), os.path.abspath(self.mktemp())
        fs.make_directories(path)
        settings = StorageSettings(log_size_limit=1 << 20, write_cache_bytes=1 << 20)
        storage = LedgerStorage.open(fs, [path], [path], settings, SqliteRunIndex.open, lambda log_marks: None)
        (directory,) = storage.directories
        self.addCleanup(directory.close)
        for turn in range(36):
            for ledger_id in range(1, 9):
                storage.put_ledger(LedgerRow(ledger_id))
                storage.add(run(ledger_id, turn * 3, 3, size=250, salt=ledger_id))
            checkpoint(storage)
        directory.log.close()
        (log_id,) = directory.log.reserve()
        reader = RowReader(fs, directory, DiskQueue())
        self.addCleanup(reader.queue.close)
        self.addCleanup(reader.close)
        copy = LogCopy(fs, directory, log_id, reader.queue)
        cutter = RowCutter(directory.index)
        steps = list(iter(lambda: cutter.next_step(2 * 3 * 286), None))
        reader.begin(steps[0])
        for number, step in enumerate(steps):
            if step is not steps[-1]:
                reader.begin(steps[number + 1])
            copy.write(deque(reader.verified(step)))
        directory.commit_moved(copy.finish(), frozenset([0]))
        self.assertEqual([(row.log_id, row.first, row.last) for row in directory.index.rows(8)], [(log_id, 0, 107)])
        for ledger_id in range(1, 9):
            self.assertEqual(
                [read(storage, ledger_id, entry_id) for entry_id in range(108)],
                [entry(ledger_id, entry_id, 250, ledger_id) for entry_id in range(108)],
            )


class ExtentTests(SynchronousTestCase):
    """What is read at once."""

    def found(self, passed_over: int, *places: tuple[int, int, int], size: int = 100) -> list[tuple[int, int, int]]:
        """Log, first page and end of what is read for pieces at these logs and offsets, of so many entries each."""
        pieces = [RowPiece(row(1, 0, n - 1, log, offset, size), 0, n * size, True) for log, offset, n in places]
        return [(each.log_id, each.start // PAGE, each.end // PAGE) for each in extents_of(pieces, passed_over)]

    def test_neighbours(self) -> None:
        """Pieces that share a page, or follow each other, are read by one call, in whatever order they are wanted."""
        self.assertEqual(self.found(0, (0, 9000, 5), (0, 1024, 50), (0, 8100, 2)), [(0, 0, 3)])
        self.assertEqual(self.found(0, (0, 1024, 10), (1, 1024, 10)), [(0, 0, 1), (1, 0, 1)])

    def test_passed_over(self) -> None:
        """Pages between pieces are read if there are few of them, and only then."""
        places = (0, 0, 10), (0, 5 * PAGE, 10)
        self.assertEqual(self.found(4 * PAGE, *places), [(0, 0, 6)])
        self.assertEqual(self.found(4 * PAGE - 1, *places), [(0, 0, 1), (0, 5, 6)])

    def test_limit(self) -> None:
        """One call reads a limited number of bytes, but for a piece that is longer."""
        half = (EXTENT_BYTES // 2 // 100) + 41
        found = self.found(PAGE, (0, 0, half), (0, EXTENT_BYTES // 2 + PAGE, half))
        self.assertEqual(len(found), 2)
        self.assertEqual(self.found(0, (0, 0, 3 * half)), [(0, 0, -(-300 * half // PAGE))])

    def test_overlapping(self) -> None:
        """A piece inside of another one does not cut the reading of that one."""
        self.assertEqual(self.found(0, (0, 0, 200), (0, 4096, 1)), [(0, 0, 5)])


class DamageTests(CopyCase):
    """Nothing damaged is copied (S9)."""

    def _damaged(self, offset: int, with_checksums: bool = True) -> LogDamageError:
        self.log_of(run(1, 0, 5), run(2, 0, 5))
        if not with_checksums:
            rebuild_index(self.disk, "/l0", "/l0", SimIndex.open)
            self.open()
        file = self.disk.open("/l0/0.log")
        byte = file.pread(1, offset)
        file.pwrite(bytes([byte[0] ^ 4]), offset)
        error: LogDamageError = self.assertRaises(LogDamageError, self.verified, [0])
        self.assertEqual(error.log_id, 0)
        self.assertIn("/l0/0.log offset", str(error))
        return error

    def test_flipped_bit(self) -> None:
        """A flipped bit in the middle of a run is found by its checksum."""
        self.assertIn("entries 0..4", str(self._damaged(1024 + 2 * 56 + 50)))

    def test_without_checksums(self) -> None:
        """Where a row has no checksums, the head of every record is compared."""
        self.assertIn("ledger 1", str(self._damaged(1024 + 2 * 56 + 18, with_checksums=False)))

    def test_cut_off(self) -> None:
        """A log that ends early."""
        self.log_of(run(1, 0, 5))
        self.disk.open("/l0/0.log").truncate(1100)
        self.assertIn("the file ends", str(self.assertRaises(LogDamageError, self.verified, [0])))

    def test_unreadable(self) -> None:
        """A place that the disk cannot read is damage of its log; another failure of the disk is none."""
        self.log_of(run(1, 0, 5), run(2, 0, 5))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread", times=2)
        self.assertIn("cannot read", str(self.assertRaises(LogDamageError, self.verified, [0])))
        self.disk.fail(errno.ENXIO, when=lambda op: op.name == "pread")
        self.assertRaises(OSError, self.verified, [0])

    def test_unreadable_neighbour(self) -> None:
        """What could not be read together is read one by one: what lies between live runs does not matter."""
        self.log_of(run(1, 0, 5), run(2, 0, 5))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.size == 4096)
        self.assertEqual([row.ledger_id for row, _ in self.verified([0])], [1, 2])

    def test_missing(self) -> None:
        """A log that is not there."""
        self.log_of(run(1, 0, 5))
        self.disk.unlink("/l0/0.log")
        self.assertIn("missing", str(self.assertRaises(LogDamageError, self.verified, [0])))

"""Reading slices of entry logs and noticing what is not right."""

import errno
from collections.abc import Callable, Sequence

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import DamageError, LostLogError
from bookkeeper_twisted.storage.cache.mixed_entries import Scattered
from bookkeeper_twisted.storage.entry_log.reader import DECODED_ROWS, MOST_HINTS, WARMED, EntryLogReader
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.index.recent_rows import SortedRows
from bookkeeper_twisted.storage.index.scattered import LogRecords, Lookup
from bookkeeper_twisted.storage.interfaces import IndexRow

from ...simulated_disk.sim_disk import SimDisk, SimFile
from ..entries import run, uneven


class ReaderTests(SynchronousTestCase):
    """Logs written by the writer, on a simulated disk."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.reader = EntryLogReader(self.disk, "/", max_open=2)

    def write(self, *runs: EntryRun, size_limit: int = 1 << 24) -> list[IndexRow]:
        log = EntryLogWriter.open(self.disk, "/", size_limit)
        rows = [row for r in runs for row in log.append(r)]
        log.close()
        return rows

    def flip(self, row: IndexRow, at: int) -> str:
        """Changes a bit, ``at`` bytes behind the begin of a row.

        :returns: its file.
        """
        path = f"/{row.log_id:x}.log"
        file = self.disk.open(path)
        (byte,) = file.pread(1, row.offset + at)
        file.pwrite(bytes([byte ^ 4]), row.offset + at)
        return path

    def test_whole_row(self) -> None:
        """All of a row, even and uneven."""
        for source in (run(1, 5, 50), uneven(2, 0, [3, 0, 500, 20])):
            (row,) = self.write(source)
            found = self.reader.read(row, source.first, 1 << 20)
            self.assertEqual((found.first, found.count, found.data), (source.first, source.count, source.data))
            self.assertEqual([*found.entries()], [*source.entries()])

    def test_cut_log(self) -> None:
        """A log that ends inside its last record is damage for a read of that record (S5)."""
        for source in (run(1, 5, 50), uneven(2, 0, [3, 0, 500, 20])):
            (row,) = self.write(source)
            file = self.disk.open(f"/{row.log_id:x}.log")
            file.truncate(row.offset + source.size - 1)
            error = self.assertRaises(DamageError, self.reader.read, row, source.last, 1 << 20)
            self.assertIn("the file ends", str(error))
            for size in (0, 1 << 20):
                self.assertEqual(self.reader.read(row, source.first, size).count, 1)

    def test_failed_file(self) -> None:
        """A file whose read failed is closed, and opened anew for the next read."""
        (row,) = self.write(run(1, 0, 3))
        self.reader.read(row, 0, 0)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread")
        self.assertRaises(OSError, self.reader.read, row, 0, 0)
        opened: list[str] = []
        self.disk.fail(errno.EIO, when=lambda op: op.name == "open" and bool(opened.append(op.path)))  # type: ignore
        self.reader.read(row, 0, 0)
        self.assertEqual(opened, ["/0.log"])

    def test_every_file_is_closed(self) -> None:
        """Whatever is raised while a file is in use, also for an entry that its row does not have, closes the file."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 3))
        records = LogRecords()
        records.extend([0], [0], [""], [0], [None])  # type: ignore[list-item]
        calls: tuple[Callable[[], object], ...] = (
            lambda: self.reader.read(row, -4096, 1 << 20),
            lambda: self.reader.read_resident(row, -4096, 1, 1 << 20),
            lambda: self.reader.read_scattered(1, row.log_id, records, Scattered()),
        )
        for call in calls:
            self.reader.read(row, 0, 0)
            files: list[SimFile] = []
            for pool in (self.reader._idle, self.reader._resident):
                file = pool.take(row.log_id)
                assert isinstance(file, SimFile)
                pool.put_back(row.log_id, file)
                files.append(file)
            self.assertRaises((IndexError, TypeError), call)
            left = len(self.reader._idle) + len(self.reader._resident)
            self.assertEqual(left, sum(not file._closed for file in files))

    def test_part(self) -> None:
        """From any entry on, as many as fit, one at least; by one pread."""
        source = uneven(2, 10, [3, 0, 500, 20, 7])
        (row,) = self.write(source)
        for entry_id in range(10, 15):
            for max_bytes in (0, 40, 100, 600, 700, 10_000):
                found = self.reader.read(row, entry_id, max_bytes)
                fitting = [n for n in range(1, 15 - entry_id + 1) if source.slice(entry_id, n).size <= max_bytes]
                self.assertEqual(found.count, max(fitting, default=1))
                self.assertEqual([*found.entries()], [*source.slice(entry_id, found.count).entries()])
        self.assertEqual(self.reader.reads, 30)

    def test_open_files_are_bounded(self) -> None:
        """Many logs are read with few open files."""
        rows = self.write(*[run(i, 0, 20) for i in range(10)], size_limit=2000)
        for _ in range(2):
            for row in rows:
                self.reader.read(row, row.first, 1000)
        self.assertEqual(len(self.reader._idle), 2)
        self.reader.close()
        self.assertEqual(len(self.reader._idle), 0)

    def test_decoded_rows_are_bounded(self) -> None:
        """Offset tables of uneven rows are kept, up to a number."""
        rows = self.write(*[uneven(i, 0, [3, 4, 5]) for i in range(DECODED_ROWS + 10)])
        for row in rows:
            self.assertEqual(self.reader.read(row, 2, 1).count, 1)
            self.assertEqual(self.reader.read(row, 1, 1).count, 1)
        self.assertEqual(len(self.reader._offsets), DECODED_ROWS)

    def test_missing_file(self) -> None:
        """A log that is gone is damage that names it, not a missing entry (S5)."""
        (row,) = self.write(run(1, 0, 5))
        self.disk.unlink("/0.log")
        error = self.assertRaises(LostLogError, self.reader.read, row, 0, 100)
        self.assertIn("/0.log offset 1024", str(error))

    def test_short_file(self) -> None:
        """A log that ends too early is damage."""
        (row,) = self.write(run(1, 0, 5))
        self.disk.open("/0.log").truncate(1024 + 3 * 56 + 10)
        self.assertEqual(self.reader.read(row, 0, 3 * 56).count, 3)
        self.assertRaises(DamageError, self.reader.read, row, 3, 56)

    def test_other_entry(self) -> None:
        """Another entry, or another ledger, at the place is damage (S9)."""
        for at in (4, 11, 12, 19):
            (row,) = self.write(run(1, 0, 5))
            self.flip(row, at)
            self.assertRaises(DamageError, self.reader.read, row, 0, 56)
            self.assertEqual(self.reader.read(row, 1, 56).count, 1)

    def test_wrong_size(self) -> None:
        """A size word that is not what the index says, of any record of an even run, of the ends of others."""
        for source, entries in ((run(1, 0, 5), range(5)), (uneven(1, 0, [9, 1, 5]), (0, 2))):
            for number in entries:
                (row,) = self.write(source)
                offset = source.record_offsets()[number]
                for byte in range(4):
                    self.flip(row, offset + byte)
                    self.assertRaises(DamageError, self.reader.read, row, number, 1 << 20)
                    if number:
                        self.assertEqual(self.reader.read(row, 0, 1 << 20).count, 1)
                    self.flip(row, offset + byte)
                self.reader.read(row, 0, 1 << 20)

    def test_changed_payload(self) -> None:
        """A bit in a payload is found where the slice has its whole block; the first entry is read alone then (S9)."""
        (row,) = self.write(run(1, 0, 300, 1000))
        self.flip(row, 70_000)
        self.assertEqual(self.reader.read(row, 0, 1 << 20).count, 1)
        (row,) = self.write(run(1, 0, 1, 100_000))
        path = self.flip(row, 70_000)
        error = self.assertRaises(DamageError, self.reader.read, row, 0, 1 << 20)
        self.assertIn(f"{path} offset {1024 + 65536}", str(error))
        (row,) = self.write(run(1, 0, 300, 1000))
        self.flip(row, 70_000)
        self.assertEqual(self.reader.read(row, 0, 60_000).count, 57)
        self.assertEqual(self.reader.read(row, 200, 1 << 20).count, 100)

    def test_io_error(self) -> None:
        """A failed read is an OSError; the file is opened anew for the next one."""
        (row,) = self.write(run(1, 0, 5))
        self.reader.read(row, 0, 56)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread")
        self.assertRaises(OSError, self.reader.read, row, 0, 56)
        self.assertEqual(self.reader.read(row, 0, 56).count, 1)

    def test_resident(self) -> None:
        """Once a read thread has read a log, what memory holds of it is read without it: what is asked for."""
        self.disk.resident = lambda: True
        for source in (run(1, 10, 50), uneven(2, 10, [3, 0, 500, 20, 7])):
            (row,) = self.write(source)
            self.assertIsNone(self.reader.read_resident(row, 10, 3, 1 << 20))
            self.reader.read(row, 10, 0)
            for first, count, size in (
                (10, 3, 1 << 20),
                (12, 9, 600),
                (10, 9, 0),
                (14, 99, 1 << 20),
                (10, 99, 1 << 20),
            ):
                found = self.reader.read_resident(row, first, count, size)
                assert found is not None
                most = min(count, source.last - first + 1)
                fitting = [n for n in range(1, most + 1) if source.slice(first, n).size <= size]
                self.assertEqual((found.first, found.count), (first, max(fitting, default=1)))
                self.assertEqual([*found.entries()], [*source.slice(first, found.count).entries()])

    def test_not_resident(self) -> None:
        """What memory does not hold is not read; the file stays open for the next time."""
        self.disk.resident = iter([True, False, True]).__next__
        (row,) = self.write(run(1, 0, 5))
        self.reader.read(row, 0, 56)
        self.assertIsNone(self.reader.read_resident(row, 0, 1, 56))
        self.assertIsNotNone(self.reader.read_resident(row, 0, 1, 56))

    def test_nobody_can_tell(self) -> None:
        """Where the file system cannot tell what memory holds it is asked only once."""
        (row,) = self.write(run(1, 0, 5))
        self.assertTrue(self.reader.tells_resident)
        self.reader.read(row, 0, 56)
        self.assertFalse(self.reader.tells_resident)
        self.assertIsNone(self.reader.read_resident(row, 0, 1, 56))
        self.disk.resident = lambda: True
        for code in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM):
            self.reader = EntryLogReader(self.disk, self.reader.directory)
            self.disk.fail(code, when=lambda op: op.name == "pread_resident")
            self.reader.read(row, 0, 56)
            self.assertFalse(self.reader.tells_resident, code)

    def test_resident_but_wrong(self) -> None:
        """Bytes that are not what the index says are left to a read thread, which reports them (S9)."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 300, 1000))
        self.reader.read(row, 0, 1)
        for at, first, count in ((0, 0, 1), (11, 0, 2), (19, 0, 1), (5 * 1036 + 2, 3, 9), (70_000, 0, 300)):
            self.flip(row, at)
            self.assertIsNone(self.reader.read_resident(row, first, count, 1 << 20), at)
            self.flip(row, at)
            self.assertIsNotNone(self.reader.read_resident(row, first, count, 1 << 20), at)

    def test_resident_error(self) -> None:
        """A file that fails is left to a read thread, which opens it anew."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 5))
        self.reader.read(row, 0, 56)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread_resident")
        self.assertEqual([self.reader.read_resident(row, 0, 1, 56) for _ in range(2)], [None, None])
        self.reader.read(row, 0, 56)
        self.assertIsNotNone(self.reader.read_resident(row, 0, 1, 56))

    def scattered(self, row: IndexRow, entry_ids: Sequence[int]) -> list[bytes | None]:
        """Single entries of a row, those that are resident and right."""
        lookup = Lookup([], [SortedRows().joined((row,))], self.reader.offsets_of)
        lookup.find(entry_ids, 1 << 20)
        self.reader.read_scattered(row.ledger_id, row.log_id, lookup.logs[row.log_id], lookup.found)
        self.assertEqual(lookup.found.read, len(entry_ids) - lookup.found.entries.count(None))
        return lookup.found.entries

    def test_scattered(self) -> None:
        """Single entries in any order, once a thread has read the log; those that memory does not hold are left."""
        held = iter([True, True, True, False, True]).__next__
        self.disk.resident = lambda: True
        for source in (run(1, 10, 50), uneven(2, 10, [3, 0, 500, 20, 7])):
            (row,) = self.write(source)
            self.assertEqual(self.scattered(row, [13, 10]), [None, None])
            self.reader.read(row, 10, 0)
            self.assertEqual(self.scattered(row, [13, 10, 12]), [source.entry(i) for i in (13, 10, 12)])
        self.disk.resident = held
        expected = [source.entry(13), source.entry(10), source.entry(13), None, source.entry(11)]
        self.assertEqual(self.scattered(row, [13, 10, 13, 12, 11]), expected)

    def watch_hints(self) -> list[tuple[int, int]]:
        """Offsets and sizes of what is to be brought into memory from now on."""
        hints: list[tuple[int, int]] = []
        self.patch(SimFile, "will_read", lambda _, offset, size: hints.append((offset, size)))
        return hints

    def test_warms(self) -> None:
        """A small read brings its surroundings into memory, a big one does not."""
        (row,) = self.write(run(1, 0, 600, 1000))
        hints = self.watch_hints()
        self.reader.read(row, 300, 2000)
        self.reader.read(row, 0, 1 << 20)
        self.assertEqual(hints, [(WARMED, WARMED)])

    def test_warms_while_it_pays(self) -> None:
        """Where nothing is found in memory, surroundings are no longer read in vain; each use earns a hint."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 20))
        hints = self.watch_hints()
        for _ in range(MOST_HINTS + 10):
            self.reader.read(row, 0, 0)
        self.assertEqual(len(hints), MOST_HINTS)
        self.scattered(row, [3, 1])
        self.reader.read_resident(row, 5, 2, 1000)
        for _ in range(10):
            self.reader.read(row, 0, 0)
        self.assertEqual(len(hints), MOST_HINTS + 3)

    def test_scattered_but_wrong(self) -> None:
        """A record that is not what the index says is left to a read thread, the others are not (S9)."""
        self.disk.resident = lambda: True
        source = run(1, 0, 5)
        (row,) = self.write(source)
        self.reader.read(row, 0, 56)
        for at in (0, 3, 4, 11, 12, 19):
            self.flip(row, 56 + at)
            self.assertEqual(self.scattered(row, [2, 1, 0]), [source.entry(2), None, source.entry(0)])
            self.flip(row, 56 + at)

    def test_scattered_error(self) -> None:
        """A file that fails is left to a read thread, which opens it anew."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 5))
        self.reader.read(row, 0, 56)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread_resident")
        self.assertEqual([self.scattered(row, [1, 3]) for _ in range(2)], [[None, None]] * 2)
        self.reader.read(row, 0, 56)
        self.assertNotIn(None, self.scattered(row, [1, 3]))

    def test_log_gone_meanwhile(self) -> None:
        """A log that goes while it is read costs the reactor its file, not the reader its entry."""
        self.disk.resident = lambda: True
        (row,) = self.write(run(1, 0, 5))
        with self.reader._file(row):
            pass
        self.disk.unlink("/0.log")
        self.assertEqual(self.reader.read(row, 0, 56).count, 1)
        self.assertIsNone(self.reader.read_resident(row, 0, 1, 56))

    def test_files_of_the_reactor(self) -> None:
        """They are bounded, too, and closed in the end."""
        self.disk.resident = lambda: True
        rows = self.write(*[run(i, 0, 20) for i in range(10)], size_limit=2000)
        for row in rows:
            self.reader.read(row, row.first, 100)
        self.assertEqual(len(self.reader._resident), 2)
        last = rows[-1]
        self.assertIsNotNone(self.reader.read_resident(last, last.first, 1, 100))
        self.reader.close()
        self.assertIsNone(self.reader.read_resident(last, last.first, 1, 100))

    def test_two_readers_of_one_log(self) -> None:
        """While one thread has the file, another opens its own; one of them is kept."""
        (row,) = self.write(run(1, 0, 5))
        with self.reader._file(row) as first, self.reader._file(row) as second:
            self.assertIsNot(first, second)
        self.assertEqual(len(self.reader._idle), 1)
        self.assertRaises(OSError, first.size)
        self.assertEqual(second.pread(4, 1024), (52).to_bytes(4, "big"))

"""Writing entry logs: rows, limits, rotation, seals, ids, failures."""

import errno
from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.storage.cache.mixed_entries import SortedEntries
from bookkeeper_twisted.storage.entry_log import writer as entry_log
from bookkeeper_twisted.storage.entry_log.format import parse_header
from bookkeeper_twisted.storage.entry_log.scan import LogScan
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter, first_free_id
from bookkeeper_twisted.storage.index.blocks import rows_of_packed
from bookkeeper_twisted.storage.index.rows import block_checksums, record_offsets, row_of
from bookkeeper_twisted.storage.interfaces import CHECKSUM_BLOCK, IndexRow
from bookkeeper_twisted.storage.mixed_rows import MOST_APART, MixedRows

from ...simulated_disk.sim_disk import Operation, SimDisk
from ..entries import run, uneven


def content(disk: SimDisk, path: str) -> bytes:
    """All bytes of a file."""
    file = disk.open(path)
    return file.pread(file.size(), 0)


def stored(disk: SimDisk, row: IndexRow) -> bytes:
    """The record bytes a row names."""
    return disk.open(f"/{row.log_id:x}.log").pread(record_offsets(row)[-1], row.offset)


def entries_of(runs: list[EntryRun]) -> SortedEntries:
    """Their entries, as the write cache gives single ones."""
    ids = [(r.ledger_id, e) for r in runs for e in range(r.first, r.last + 1)]
    return SortedEntries([i for i, _ in ids], [e for _, e in ids], [e for r in runs for e in r.entries()])


def unpacked(found: tuple[list[IndexRow], list[MixedRows]]) -> list[IndexRow]:
    """Rows as they are used."""
    rows, packed = found
    return [*rows, *(row for each in packed for row in rows_of_packed(each.packed))]


class EntryLogTests(SynchronousTestCase):
    """A writer on a simulated disk."""

    def setUp(self) -> None:
        self.disk = SimDisk()

    def writer(self, size_limit: int = 1 << 20) -> EntryLogWriter:
        return EntryLogWriter.open(self.disk, "/", size_limit)

    def check(self, runs: list[EntryRun], rows: list[IndexRow]) -> None:
        """Rows and files hold the entries of the runs, each once and in order."""
        expected = [(r.ledger_id, e) for r in runs for e in range(r.first, r.last + 1)]
        self.assertEqual([(r.ledger_id, e) for r in rows for e in range(r.first, r.last + 1)], expected)
        self.assertEqual(b"".join(stored(self.disk, r) for r in rows), b"".join(r.data for r in runs))

    def test_one_run(self) -> None:
        """A run is appended as it is, behind the header, and is one row."""
        log, entries = self.writer(), uneven(3, 5, [10, 20, 0])
        rows = log.append(entries)
        log.sync()
        self.assertEqual(rows, [row_of(entries, 0, 1024)])
        self.assertEqual(content(self.disk, "/0.log")[1024:], entries.data.ljust(4096 - 1024, b"\xf0"))

    def test_whole_blocks(self) -> None:
        """Every write ends with a block: what a sync leaves open gets filler, which readers pass over."""
        log, runs = self.writer(), [run(1, 0, 10), run(2, 7, 3), uneven(1, 10, [5000, 3])]
        rows = []
        for r in runs:
            rows += log.append(r)
            log.sync()
        writes = [(op.detail, op.size) for op in self.disk.operations if op.name == "pwrite" and op.path == "/0.log"]
        ends = [int(str(offset)) + size for offset, size in writes[1:]]
        self.assertEqual([end % entry_log.BLOCK for end in ends], [0, 0, 0])
        self.assertEqual([r.offset for r in rows], [1024, *ends[:2]])
        self.check(runs, rows)
        found = [(r.ledger_id, r.entry_id) for r in LogScan(self.disk, "/", 0)]
        self.assertEqual(found, [(r.ledger_id, e) for r in runs for e in range(r.first, r.last + 1)])

    def test_small_pieces(self) -> None:
        """Blocks that many small runs share are written once, in order."""
        log, runs = self.writer(), [run(ledger_id, 0, 1, 30) for ledger_id in range(30_000)]
        rows = [row for r in runs for row in log.append(r)]
        log.sync()
        self.check(runs, rows)
        writes = [op for op in self.disk.operations if op.name == "pwrite" and op.path == "/0.log"]
        self.assertLess(len(writes), 6)

    def test_single_entries(self) -> None:
        """Sorted single entries are written as their runs would be: rows, bytes, map."""
        runs = [run(1, 0, 2), run(2, 0), uneven(2, 2, [5, 6, 7]), run(3, 9, 1, 70_000), run(4, 0, 2, 70_000)]
        for ledger_id in range(5, 300):
            runs.append(uneven(ledger_id, 7, [ledger_id % 3 * 8, 20]))
        for size_limit in (1 << 20, 90_000):
            self.disk = SimDisk()
            log = self.writer(size_limit)
            rows = unpacked(log.append_sorted(entries_of(runs)))
            log.sync()
            self.check(runs, rows)
            for row in rows:
                data = stored(self.disk, row)
                self.assertEqual(row.checksums, block_checksums(data))
                sizes = row.sizes
                self.assertTrue(isinstance(sizes, int) or len(set(sizes[3::4])) > 1)
            log.close()
            self.check_maps(rows)

    def test_packed_rows(self) -> None:
        """Runs of one size are packed whole, short ones of several sizes entry by entry, others not at all."""
        even = [run(1, 0, 2), run(1, 4), run(2, 7, 3)]
        short = [uneven(3, 0, list(range(MOST_APART))), run(4, 9)]
        long = [uneven(3, 0, list(range(MOST_APART + 1)))]
        big = [run(5, 0, 1, CHECKSUM_BLOCK - 36), run(5, 2, 1, CHECKSUM_BLOCK - 35)]
        log = self.writer()
        for runs, expected in (
            (even, [(1, 0, 1), (1, 4, 4), (2, 7, 9)]),
            (short, [*((3, e, e) for e in range(MOST_APART)), (4, 9, 9)]),
            (long, None), (big[:1], [(5, 0, 0)]), (big[1:], None),
        ):  # fmt: skip
            rows, mixed = log.append_sorted(entries_of(runs))
            log.sync()
            self.check(runs, unpacked((rows, mixed)))
            self.assertEqual((bool(rows), len(mixed)), (expected is None, int(expected is not None)))
            packed = None
            for found in mixed:
                packed = list(zip(found.ledger_ids, found.first_ids, found.last_ids, strict=True))
                self.assertEqual([(r.ledger_id, r.first, r.last) for r in unpacked(([], mixed))], packed)
                self.assertEqual({r.log_id for r in unpacked(([], mixed))}, {found.log_id})
                for row in unpacked(([], mixed)):
                    self.assertEqual(row.checksums, block_checksums(stored(self.disk, row)))
            self.assertEqual(packed, expected)

    def check_maps(self, rows: list[IndexRow]) -> None:
        """The map of each log has the bytes of the ledgers in it."""
        for log_id in {row.log_id for row in rows}:
            sizes = dict[int, int]()
            for row in rows:
                if row.log_id == log_id:
                    sizes[row.ledger_id] = sizes.get(row.ledger_id, 0) + record_offsets(row)[-1]
            self.assertEqual(LogScan(self.disk, "/", log_id).ledgers_map(), sizes)

    def test_single_entries_in_parts(self) -> None:
        """Single entries are laid out a slice at a time; one that is bigger than a log has a log of its own."""
        runs = [run(1, 0, 300, 10_000), run(2, 0, 1, 2 << 20), run(3, 0, 2)]
        log = self.writer(1 << 20)
        rows = unpacked(log.append_sorted(entries_of(runs)))
        log.sync()
        self.check(runs, rows)
        self.assertLessEqual(max(record_offsets(row)[-1] for row in rows if row.ledger_id == 1), entry_log.SLICE)
        self.assertEqual([row.log_id for row in rows if row.ledger_id > 1], [3, 4])

    def test_failure_among_single_entries(self) -> None:
        """S10: after a write that failed, what follows goes to a new log, and what was synced stays."""
        log = self.writer(1 << 20)
        rows = log.append(run(1, 0, 3))
        log.sync()
        self.disk.fail(errno.EIO, when=partial(_is_of_a_log, "pwrite"))
        big = [run(ledger_id, 0, 1, 200_000) for ledger_id in range(2, 9)]
        self.assertRaises(OSError, log.append_sorted, entries_of(big))
        again = unpacked(log.append_sorted(entries_of(big)))
        log.sync()
        self.check([run(1, 0, 3), *big], [*rows, *again])
        self.assertNotIn(0, {row.log_id for row in again})

    def test_durable_after_sync(self) -> None:
        """What was synced survives a power cut: name, header and records (safety 3.2)."""
        log, runs = self.writer(), [run(1, 0, 10), run(2, 7, 3), run(1, 10, 5)]
        rows = [row for r in runs for row in log.append(r)]
        log.sync()
        self.disk = self.disk.crash(())
        self.check(runs, rows)
        parse_header(content(self.disk, "/0.log"), "0.log")

    def test_nothing_before_use(self) -> None:
        """No file is made before there is something to write, and an idle sync does nothing."""
        log = self.writer()
        log.sync()
        log.close()
        self.assertEqual(self.disk.operations, [])

    def test_rotation(self) -> None:
        """A log that would exceed its limit is sealed and another one begun; runs are split between entries."""
        log, runs = self.writer(1500), [run(1, 0, 30), run(2, 0, 7)]
        rows = [row for r in runs for row in log.append(r)]
        log.close()
        self.check(runs, rows)
        self.assertEqual(sorted({r.log_id for r in rows}), [0, 1, 2, 3, 4])
        for log_id in range(5):
            scan = LogScan(self.disk, "/", log_id)
            assert scan.header is not None
            self.assertLessEqual(scan.header.map_offset, 4096)  # a block: the limit and the filler behind it
            sizes = dict[int, int]()
            for record in scan:
                sizes[record.ledger_id] = sizes.get(record.ledger_id, 0) + record.size
            self.assertEqual(scan.ledgers_map(), sizes)

    def test_big_entry(self) -> None:
        """An entry bigger than a log gets a log of its own; one bigger than a row a row of its own."""
        log, runs = self.writer(1500), [run(1, 0, 1), run(1, 1, 1, 5000), run(1, 2, 1)]
        rows = [row for r in runs for row in log.append(r)]
        log.sync()
        self.check(runs, rows)
        self.assertEqual([r.log_id for r in rows], [0, 1, 2])

    def test_bounded_rows(self) -> None:
        """A row covers at most 64 Ki entries, and at most 4 MiB."""
        log = self.writer(1 << 30)
        self.assertEqual([r.last for r in log.append(run(1, 0, 65_537, 0))], [65_535, 65_536])
        big = run(2, 0, 5, 1 << 20)
        self.assertEqual([r.last for r in log.append(big)], [2, 4])

    def test_slices(self) -> None:
        """Small runs are written together, much data before all of it is there."""
        log = self.writer(1 << 30)
        for first in range(0, 300, 100):
            log.append(run(1, first, 100, 4000))
        log.append(run(1, 300, 1, 3 << 20))
        log.sync()
        writes = [op.size for op in self.disk.operations if op.name == "pwrite" and op.path == "/0.log"]
        self.assertGreater(len(writes), 2)
        self.assertLess(len(writes), 8)

    def test_not_copied(self) -> None:
        """The complete blocks of a large run are written from its own memory."""
        written: list[Any] = []
        log = self.writer(1 << 30)
        log.append(run(1, 0, 1))
        assert log._log is not None
        self.patch(log._log.file, "pwritev", lambda parts, offset: written.extend(parts))
        large = run(1, 1, 400, 4000)
        log.append(large)
        self.assertEqual([getattr(each, "obj", None) is large.data for each in written], [False, True])

    def test_new_log_after_restart(self) -> None:
        """A log is never appended to after a restart; ids go on above everything ever used."""
        for expected in range(3):
            log = self.writer()
            (row,) = log.append(run(1, expected, 1))
            self.assertEqual(row.log_id, expected)
            log.sync()
        self.disk.unlink("/2.log")
        self.assertEqual(content(self.disk, "/lastId"), b"2\n")
        self.assertEqual(first_free_id(self.disk, "/"), 3)

    def test_ids_of_compaction(self) -> None:
        """Files a compaction left reserve their ids; a lastId that cannot be read does not matter."""
        for name in ("1f.log.compacting", "20.log.3.compacted", "5.log"):
            self.disk.open(f"/{name}", create=True)
        self.assertEqual(first_free_id(self.disk, "/"), 0x21)
        self.disk.open("/lastId", create=True)
        self.assertEqual(first_free_id(self.disk, "/"), 0x21)
        self.disk.open("/lastId").pwrite(b"ff\n", 0)
        self.assertEqual(first_free_id(self.disk, "/"), 0x100)

    def test_newer_than_copies(self) -> None:
        """What is appended after a log of copies was begun lies in a log with a higher id (S9)."""
        log = self.writer()
        runs = [run(1, 0, 3), run(1, 3, 2), run(1, 5, 1), run(1, 6, 1)]
        rows = log.append(runs[0])
        reserved = log.reserve()
        rows += log.append(runs[1]) + log.append(runs[2])
        again = log.reserve(2)
        rows += log.append(runs[3])
        log.sync()
        self.check(runs, rows)
        self.assertEqual((reserved, again, [each.log_id for each in rows]), ([1], [3, 4], [0, 2, 2, 5]))
        self.assertEqual(parse_header(content(self.disk, "/0.log")[:1024], "0").map_ledgers, 1)

    def test_ids_wrap(self) -> None:
        """After the last 31-bit id come the free ones from 0."""
        self.disk.open("/0.log", create=True)
        self.disk.open("/lastId", create=True).pwrite(b"7ffffffe\n", 0)
        log = self.writer()
        self.assertEqual(log.append(run(1, 0))[0].log_id, 1)

    def test_seal_is_ordered(self) -> None:
        """The header never points to a map that is not durable, wherever the power fails."""
        log = self.writer()
        log.append(run(1, 0, 20))
        sealed = set()

        def crash(_: object) -> None:
            for kept in ((), None, *[(i,) for i in range(self.disk.pending_count())]):
                after = self.disk.crash(kept)
                if after.exists("/0.log"):
                    scan = LogScan(after, "/", 0)
                    sealed.add(scan.sealed)
                    if scan.sealed:
                        self.assertEqual(scan.ledgers_map(), {1: 20 * 56})

        self.disk.observer = crash
        log.close()
        crash(None)
        self.assertEqual(sealed, {False, True})


def _is_of_a_log(name: str, operation: Operation) -> bool:
    return operation.name == name and "lastId" not in operation.path


class FailureTests(SynchronousTestCase):
    """Failed operations."""

    def _attempt(self, log: EntryLogWriter, runs: list[EntryRun]) -> list[IndexRow]:
        rows = [row for r in runs for row in log.append(r)]
        log.sync()
        return rows

    def test_any_operation_fails(self) -> None:
        """After a failure of any operation the same runs can be written again, and are durable then (S10)."""
        old, new = [run(1, 0, 10)], [run(1, 10, 20), run(2, 0, 30)]
        for error in (errno.EIO, errno.ENOSPC):
            number = 0
            while True:
                number += 1
                disk = SimDisk()
                log = EntryLogWriter.open(disk, "/", 2000)
                before = self._attempt(log, old)
                disk.fail(error, at=len(disk.operations) + number)
                try:
                    self._attempt(log, new)
                except OSError as e:
                    self.assertEqual(e.errno, error)
                else:
                    break
                rows = self._attempt(log, new)
                after = disk.crash(())
                for source, found in ((old, before), (new, rows)):
                    self.assertEqual(b"".join(stored(after, r) for r in found), b"".join(r.data for r in source))
            self.assertGreater(number, 20)

    def test_failed_sync_abandons_the_log(self) -> None:
        """After a failed sync the data goes to a new log; the old one is never written again (S10)."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 20)
        self._attempt(log, [run(1, 0, 10)])
        disk.fail(errno.EIO, when=lambda op: op.name == "sync")
        self.assertRaises(OSError, self._attempt, log, [run(1, 10, 10)])
        begin = len(disk.operations)
        self.assertEqual({r.log_id for r in self._attempt(log, [run(1, 10, 10)])}, {1})
        self.assertEqual([op for op in disk.operations[begin:] if op.path == "/0.log"], [])

    def test_full_disk_leaves_nothing(self) -> None:
        """Attempts on a full disk do not eat what is left: the log is cut back and used again."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 20)
        self._attempt(log, [run(1, 0, 10)])
        size = disk.open("/0.log").size()
        for _ in range(5):
            disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite")
            self.assertRaises(OSError, self._attempt, log, [run(1, 10, 100)])
            self.assertEqual(disk.open("/0.log").size(), size)
        (row,) = self._attempt(log, [run(1, 10, 10)])
        self.assertEqual((row.log_id, row.offset), (0, size))
        log.close()
        self.assertEqual(LogScan(disk, "/", 0).ledgers_map(), {1: 20 * 56})

    def test_full_disk_in_the_middle(self) -> None:
        """What was written of an attempt before the disk was full goes again, too."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 30)
        self._attempt(log, [run(1, 0, 10)])
        size = disk.open("/0.log").size()
        writes = []
        disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and not writes.append(op) and len(writes) == 3)  # type: ignore
        self.assertRaises(OSError, self._attempt, log, [run(1, first, 100, 20_000) for first in range(10, 310, 100)])
        self.assertEqual((len(writes), disk.open("/0.log").size()), (3, size))
        (row,) = self._attempt(log, [run(1, 10, 10)])
        self.assertEqual((row.log_id, row.offset), (0, size))

    def test_failures_that_end_a_log(self) -> None:
        """A log is used again after a write for which there was no room, and after nothing else (S10)."""
        for name, error, log_id in (
            ("pwrite", errno.ENOSPC, 0), ("pwrite", errno.EDQUOT, 0), ("pwrite", errno.EIO, 1),
            ("sync", errno.ENOSPC, 1), ("sync", errno.EDQUOT, 1), ("sync", errno.EIO, 1),
        ):  # fmt: skip
            with self.subTest(name, error=error):
                disk = SimDisk()
                log = EntryLogWriter.open(disk, "/", 1 << 20)
                self._attempt(log, [run(1, 0, 10)])
                disk.fail(error, when=partial(_is_of_a_log, name))
                self.assertRaises(OSError, self._attempt, log, [run(1, 10, 10)])
                self.assertEqual({row.log_id for row in self._attempt(log, [run(1, 10, 10)])}, {log_id})

    def test_full_disk_without_a_log(self) -> None:
        """A log that could not even be begun is removed."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 20)
        for name in ("pwrite", "sync", "sync_directory"):
            disk.fail(errno.ENOSPC, when=partial(_is_of_a_log, name))
            self.assertRaises(OSError, log.append, run(1, 0, 10))
            self.assertEqual([n for n in disk.list("/") if n.endswith(".log")], [])
            disk.heal()

    def test_failed_close(self) -> None:
        """A seal that fails is reported, and the file is closed."""
        disk = SimDisk()
        log = EntryLogWriter.open(disk, "/", 1 << 20)
        self._attempt(log, [run(1, 0, 10)])
        disk.fail(errno.EIO, when=lambda op: op.name == "pwrite")
        self.assertRaises(OSError, log.close)
        log.close()
        self.assertEqual(len(list(LogScan(disk, "/", 0))), 10)

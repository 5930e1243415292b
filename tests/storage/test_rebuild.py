"""Indexes made from entry logs, our own and Java's."""

import errno
import hashlib
import os
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import DamageError, StorageError
from bookkeeper_twisted.storage.entry_log.scan import Record
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.index_file import IndexDamageError
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IFileSystem, IndexBatch, IndexRow, JournalPosition, LedgerRow
from bookkeeper_twisted.storage.journal.log_mark import LogMark
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings
from bookkeeper_twisted.storage.rebuild import Rebuilt, logs_with_data, rebuild_index, rows_of

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from .entries import row, run, uneven
from .index.java_stores import STORES, java_store
from .ledger_storages import read

REBUILD = StorageSettings(rebuild_index=True)


def write_log(disk: SimDisk, runs: Sequence[EntryRun], size_limit: int = 1 << 20, seal: bool = True) -> list[IndexRow]:
    """Runs in new logs of ``/``."""
    log = EntryLogWriter.open(disk, "/", size_limit)
    rows = [row for r in runs for row in log.append(r)]
    log.sync()
    if seal:
        log.close()
    return rows


def rebuild(disk: SimDisk) -> Rebuilt:
    """The index of ``/``."""
    return rebuild_index(disk, "/", "/", SimIndex.open)


class RowsTests(SynchronousTestCase):
    """Records become rows."""

    def test_cuts(self) -> None:
        """A row ends where ledger or ids break, or where the next record does not follow at once."""
        records = [
            Record(1, 0, 1024, 50), Record(1, 1, 1074, 50), Record(1, 2, 1124, 60), Record(2, 3, 1184, 50),
            Record(2, 5, 1234, 50), Record(2, 6, 1300, 50), Record(2, 6, 1350, 50),
        ]  # fmt: skip
        sizes = bytes.fromhex("00000032 00000032 0000003c")
        self.assertEqual(
            [*rows_of(iter(records), 7)],
            [
                IndexRow(1, 0, 2, 7, 1024, sizes), IndexRow(2, 3, 3, 7, 1184, 50), IndexRow(2, 5, 5, 7, 1234, 50),
                IndexRow(2, 6, 6, 7, 1300, 50), IndexRow(2, 6, 6, 7, 1350, 50),
            ],
        )  # fmt: skip

    def test_bounded(self) -> None:
        """Rows are bounded in entries and in bytes."""
        many = (Record(1, i, 1024 + 36 * i, 36) for i in range(70_000))
        self.assertEqual([r.last for r in rows_of(many, 0)], [65_535, 69_999])
        big = (Record(1, i, 1024 + (i << 20), 1 << 20) for i in range(6))
        self.assertEqual([r.last for r in rows_of(big, 0)], [3, 5])
        self.assertEqual([*rows_of(iter(()), 0)], [])


class RebuildTests(SynchronousTestCase):
    """Our own logs."""

    def test_same_places(self) -> None:
        """The rebuilt rows are those the writer told, but for the checksums."""
        disk = SimDisk()
        rows = write_log(disk, [run(1, 0, 50), uneven(2, 0, [5, 9, 0, 70]), run(1, 50, 30), run(3, 7, 9)], 2500)
        rebuilt = rebuild(disk)
        self.assertTrue(rebuilt.index.complete)
        self.assertEqual((rebuilt.entries, rebuilt.torn), (93, []))
        for each in rows:
            for entry_id in (each.first, each.last):
                found = rebuilt.index.find(each.ledger_id, entry_id)
                assert found is not None
                self.assertEqual(found.log_id, each.log_id)
                self.assertEqual(found.checksums, b"")

    def test_later_log_wins(self) -> None:
        """The copy in the log with the higher id is the one that is served, whatever its length in hex."""
        disk = SimDisk()
        for log_id, salt in ((9, 0), (16, 1), (10, 2)):
            log = EntryLogWriter(disk, "/", 1 << 20, log_id)
            log.append(run(1, 0, 5, salt=salt))
            log.close()
        found = rebuild(disk).index.find(1, 0)
        assert found is not None
        self.assertEqual(found.log_id, 16)

    def test_fenced(self) -> None:
        """Ledgers whose fences were lost are fenced, with a key that is not known (S3)."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5), run(2, 0, 5)])
        self.assertEqual([*rebuild(disk).index.ledgers()], [LedgerRow(1, b"", True), LedgerRow(2, b"", True)])

    def test_states_are_kept(self) -> None:
        """What the old index tells of ledgers is taken over, of those without entries too."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5), run(2, 0, 5)])
        known = [LedgerRow(1, b"key", False, b"lac"), LedgerRow(7, b"other", True)]
        SimIndex.open(disk, "/").commit(IndexBatch(runs=[row(1, 0, 9)], ledgers=known, complete=True))
        rebuilt = rebuild(disk)
        self.assertEqual([*rebuilt.index.ledgers()], [known[0], LedgerRow(2, b"", True), known[1]])
        self.assertEqual(rebuilt.kept_states, 2)
        self.assertEqual(rebuilt.index.last_entry(1), 4)

    def test_deleted_ledgers(self) -> None:
        """A ledger that was deleted here does not come back with the entries that its logs still hold (S8)."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5), run(2, 0, 5)])
        known = [LedgerRow(1, b"key", True, forgotten_at=1_700_000_000)]
        SimIndex.open(disk, "/").commit(IndexBatch(ledgers=known, complete=True))
        index = rebuild(disk).index
        self.assertEqual((index.last_entry(1), index.last_entry(2)), (-1, 4))
        self.assertEqual([*index.ledgers()], [known[0], LedgerRow(2, b"", True)])

    def test_outdated_states(self) -> None:
        """States in an index older than the log mark may be outdated: fenced meanwhile, or not deleted (S3, S5)."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5), run(2, 0, 5)])
        known = [LedgerRow(1, b"key"), LedgerRow(2, b"two", True, forgotten_at=1_700_000_000)]
        SimIndex.open(disk, "/").commit(IndexBatch(ledgers=known, complete=True))
        LogMark(disk, ["/"], "lastMark").advance(JournalPosition(1, 1), [40])
        index = rebuild(disk).index
        self.assertEqual([*index.ledgers()], [LedgerRow(1, b"key", True), LedgerRow(2, b"two", True)])
        self.assertEqual((index.last_entry(1), index.last_entry(2), index.complete), (4, 4, True))
        self.assertGreaterEqual(index.commits, 40)

    def test_cut_sealed_log(self) -> None:
        """A sealed log that ends inside a record, its ledgers map gone, has lost entries (S5)."""
        disk = SimDisk()
        (made,) = write_log(disk, [run(1, 0, 5)])
        disk.open("/0.log").truncate(made.offset + 5 * 56 - 1)
        self.assertIn("runs over its end", str(self.assertRaises(DamageError, rebuild, disk)))

    def test_damaged_index(self) -> None:
        """An index that cannot be read is replaced."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5)])
        disk.fail(errno.EIO, when=lambda op: op.name == "committed")
        self.assertEqual(rebuild(disk).index.last_entry(1), 4)

    def test_damaged_structure(self) -> None:
        """The states that a damaged index still gives are kept: writers are not fenced for nothing."""
        disk, known = SimDisk(), [LedgerRow(1, b"key"), LedgerRow(7, b"other", True)]
        write_log(disk, [run(1, 0, 5), run(2, 0, 5)])

        def damaged(fs: IFileSystem, directory: str, fresh: bool) -> SimIndex:
            if not fresh:
                raise IndexDamageError("hidden rows", known)
            return SimIndex.open(fs, directory, fresh)

        rebuilt = rebuild_index(disk, "/", "/", damaged)
        self.assertEqual([*rebuilt.index.ledgers()], [known[0], LedgerRow(2, b"", True), known[1]])

    def test_index_that_is_not_checked(self) -> None:
        """One that was opened before it was checked is checked; where it is damaged only the states are kept."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5)])
        known, checks = [LedgerRow(7, b"other", True)], iter([DamageError("hidden rows"), None])
        SimIndex.open(disk, "/").commit(IndexBatch(ledgers=known, complete=True))

        def check(index: SimIndex) -> None:
            if error := next(checks):
                raise error

        self.patch(SimIndex, "checked", False)
        self.patch(SimIndex, "check", check)
        for _ in range(2):
            index = rebuild(disk).index
            self.assertEqual((index.last_entry(1), [*index.ledgers()]), (4, [LedgerRow(1, b"", True), *known]))
        self.assertRaises(StopIteration, next, checks)

    def test_cut_off(self) -> None:
        """A rebuild that fails at any commit leaves an index that is not complete, and can be begun anew."""
        number = 0
        while True:
            number += 1
            disk = SimDisk()
            write_log(disk, [run(1, 0, 50)], 1500)
            SimIndex.open(disk, "/").commit(IndexBatch(ledgers=[LedgerRow(1, b"key", True)], complete=True))
            disk.fail(errno.EIO, at=len(disk.operations) + number)
            try:
                rebuild(disk)
                break
            except (StorageError, OSError):
                disk = disk.crash(())
            left = SimIndex.open(disk, "/")
            self.assertFalse(left.complete and [*left.rows(1)])
            rebuilt = rebuild(disk)
            self.assertEqual(rebuilt.index.last_entry(1), 49)
            self.assertTrue(all(r.fenced for r in rebuilt.index.ledgers()))
        self.assertGreater(number, 4)

    def test_torn_tail(self) -> None:
        """A log that was never sealed may end in a torn record, which is told."""
        disk = SimDisk()
        write_log(disk, [run(1, 0, 5)], seal=False)
        disk.open("/0.log").truncate(1024 + 4 * 56 + 30)
        rebuilt = rebuild(disk)
        self.assertEqual(rebuilt.index.last_entry(1), 3)
        self.assertEqual(rebuilt.torn, [f"/0.log offset {1024 + 4 * 56}"])

    def test_damaged_sealed_log(self) -> None:
        """A sealed log that does not hold what its map says is refused, not indexed in part (S5)."""
        second = 1024 + 56
        for at, junk in ((1024, bytes(56)), (second, b"\0\0\0\x33"), (second, b"\x7f"), (second + 4, bytes(8))):
            disk = SimDisk()
            write_log(disk, [run(1, 0, 5)])
            disk.open("/0.log").pwrite(junk, at)
            error = self.assertRaises(DamageError, rebuild, disk)
            self.assertIn("/0.log", str(error))
            self.assertFalse(SimIndex.open(disk, "/").complete)

    def test_unused_logs(self) -> None:
        """Empty files are no data."""
        disk = SimDisk()
        disk.open("/0.log", create=True)
        disk.open("/1.log", create=True).pwrite(bytes(1024), 0)
        self.assertEqual(logs_with_data(disk, "/"), [])
        self.assertEqual(rebuild(disk).entries, 0)
        write_log(disk, [run(1, 0, 5)])
        self.assertEqual(logs_with_data(disk, "/"), [2])


class JavaStoreTests(SynchronousTestCase):
    """Stores written by Java bookies are served whole."""

    def check(self, name: str, storage: LedgerStorage) -> int:
        """Every entry an entry log of the manifest holds is served, byte for byte.

        :returns: how many.
        """
        newest: dict[tuple[int, int], str] = {}
        for log in sorted(java_store(name).manifest["entryLogs"], key=lambda log: log["logId"]):
            for record in log["records"]:
                if record["ledgerId"] >= 0:
                    newest[record["ledgerId"], record["entryId"]] = record["sha256"]
        for (ledger_id, entry_id), sha256 in newest.items():
            data = read(storage, ledger_id, entry_id)
            assert data is not None, (name, ledger_id, entry_id)
            self.assertEqual(hashlib.sha256(data).hexdigest(), sha256, (name, ledger_id, entry_id))
        for ledger_id in {owner for owner, _ in newest}:
            ids = sorted(e for owner, e in newest if owner == ledger_id)
            self.assertEqual([e for a, b in storage.entry_ranges(ledger_id) for e in range(a, b + 1)], ids)
            self.assertIsNone(read(storage, ledger_id, ids[-1] + 1))
        return len(newest)

    def test_refused_before(self) -> None:
        """Without a rebuild a store with entry logs is refused, never served as empty (S5)."""
        store = java_store("db-clean")
        disk, paths = store.disk(), store.ledger_directories()
        for _ in range(2):
            self.assertRaises(
                StorageError, LedgerStorage.open, disk, paths, paths, StorageSettings(), SimIndex.open, lambda m: None
            )

    def test_every_store(self) -> None:
        """All variants: Db, Interleaved, Sorted, direct I/O, compacted, log per ledger, two directories."""
        served = 0
        for name in STORES:
            store = java_store(name)
            disk, paths = store.disk(), store.ledger_directories()
            storage = LedgerStorage.open(disk, paths, paths, REBUILD, SimIndex.open, lambda log_marks: None)
            served += self.check(name, storage)
            storage.close()
            again = LedgerStorage.open(disk, paths, paths, StorageSettings(), SimIndex.open, lambda log_marks: None)
            self.check(name, again)
        self.assertGreater(served, 300)

    def test_with_sqlite(self) -> None:
        """The same with the real index beside the simulated logs."""
        for name in ("db-directio-clean", "db-two-dirs-killed"):
            disk, paths = java_store(name).disk(), java_store(name).ledger_directories()
            real = [os.path.abspath(self.mktemp()) for _ in paths]
            for path in real:
                os.makedirs(path)
                disk.make_directories(path)
            storage = LedgerStorage.open(
                disk, paths, real, REBUILD, lambda _, path, fresh: SqliteRunIndex.open(RealFileSystem(), path, fresh),
                lambda log_marks: None,
            )  # fmt: skip
            self.addCleanup(storage.close)
            self.assertGreater(self.check(name, storage), 10)

    def test_current_of_the_index(self) -> None:
        """What Java's own index points at is what is served, but for compactions that were not finished."""
        for name in STORES:
            manifest = java_store(name).manifest
            if name == "db-compacting-killed" or not manifest.get("current"):
                continue
            store = java_store(name)
            paths = store.ledger_directories()
            storage = LedgerStorage.open(store.disk(), paths, paths, REBUILD, SimIndex.open, lambda log_marks: None)
            dangling = {(d["ledgerId"], d["entryId"]) for d in manifest.get("danglingLocations", ())}
            for ledger_id, entries in manifest["current"].items():
                for each in entries:
                    if (int(ledger_id), each["entryId"]) not in dangling:
                        data = read(storage, int(ledger_id), each["entryId"])
                        assert data is not None
                        self.assertEqual(hashlib.sha256(data).hexdigest(), each["sha256"], (name, ledger_id))

"""The index of ``DbLedgerStorage`` becomes ours."""

import hashlib
import struct
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError, DirectoryLockedError, StorageError
from bookkeeper_twisted.storage.apache.database import LEDGERS, LOCATIONS, database_path, has_index
from bookkeeper_twisted.storage.apache.importing import Imported, check_states, import_index
from bookkeeper_twisted.storage.apache.ledger_data import FLAGS_KEY, encode
from bookkeeper_twisted.storage.apache.rocksdb import RocksKeyValues
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.rows import record_offsets
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexRow, LedgerRow
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.sim_key_values import SimKeyValues
from ..entries import entry, run, uneven
from ..index.java_stores import STORES, java_store
from ..ledger_storages import read
from .test_rocksdb import need_rocksdict

DB_STORES = [name for name in STORES if name.startswith("db-")]


def put(disk: SimDisk, name: str, pairs: list[tuple[bytes, bytes]], directory: str = "/") -> None:
    """Puts pairs into a database of Apache's index."""
    database = SimKeyValues.open(disk, database_path(directory, name), True)
    database.put(pairs)
    database.close()


def locations_of(row: IndexRow) -> list[tuple[bytes, bytes]]:
    """What Apache's bookie keeps in the place of a row."""
    places = [(row.log_id << 32) + row.offset + 4 + offset for offset in [*record_offsets(row)][:-1]]
    return [
        (struct.pack(">qq", row.ledger_id, row.first + number), struct.pack(">q", place))
        for number, place in enumerate(places)
    ]


class ImportTests(SynchronousTestCase):
    """Logs of ours with an index as Apache's bookie keeps it, on a simulated disk."""

    def setUp(self) -> None:
        self.disk = SimDisk()
        log = EntryLogWriter.open(self.disk, "/", 1 << 20)
        runs = [run(1, 0, 50), uneven(2, 0, [5, 9, 0, 70]), run(1, 50, 30), run(3, 7, 9), run(4, 0, 300)]
        self.rows = [row for each in runs for row in log.append(each)]
        log.sync()
        log.close()
        self.states = [LedgerRow(1, b"key"), LedgerRow(2, b"", True), LedgerRow(3, b"k", False, b"lac"),
                       LedgerRow(4, b"k"), LedgerRow(777, b"k", True)]  # fmt: skip
        put(self.disk, LEDGERS, [*map(encode, self.states)])
        self.pairs = [pair for row in self.rows for pair in locations_of(row)]

    def take(self, *more: tuple[bytes, bytes]) -> Imported:
        """Import, after further locations."""
        put(self.disk, LOCATIONS, [*self.pairs, *more])
        return import_index(self.disk, "/", "/", SimIndex.open, SimKeyValues.open)

    def storage(self) -> LedgerStorage:
        """What is served."""
        return LedgerStorage.open(self.disk, ["/"], ["/"], StorageSettings(), SimIndex.open, lambda log_marks: None)

    def test_rows_and_states(self) -> None:
        """Rows are those of the writer, but for the checksums; states are what they were; the databases stay."""
        self.assertEqual(self.take(), Imported(entries=393, states=5))
        index = SimIndex.open(self.disk, "/")
        self.assertTrue(index.complete)
        self.assertEqual([*index.ledgers()], self.states)
        found = [(row.ledger_id, row.first, row.last, row.offset, row.sizes) for row in index.page((-1, -1), 99)]
        self.assertEqual(found, sorted((r.ledger_id, r.first, r.last, r.offset, r.sizes) for r in self.rows))
        self.assertTrue(has_index(self.disk, "/"))

    def test_only_what_it_names(self) -> None:
        """Records that the database does not name are not taken over, though their log holds them."""
        self.pairs = [pair for row in self.rows if row.ledger_id != 4 for pair in locations_of(row)][1:]
        self.assertEqual(self.take().entries, 92)
        storage = self.storage()
        self.assertEqual(storage.entry_ranges(1), [(1, 79)])
        self.assertEqual(storage.entry_ranges(4), [])

    def test_unknown_ledger(self) -> None:
        """A ledger that has entries and no state is fenced (S3)."""
        self.disk.unlink("/ledgers/CURRENT")
        self.assertEqual(self.take(), Imported(entries=393, unknown=4))
        rows = [*SimIndex.open(self.disk, "/").ledgers()]
        self.assertEqual(rows, [LedgerRow(ledger_id, b"", True) for ledger_id in (1, 2, 3, 4)])

    def test_dangling(self) -> None:
        """An entry that is not where the database says fails to be read, until it is added again (S5)."""
        size = self.disk.open("/0.log").size()
        places = [(5, size + 99), (6, 1024 + 4 + 56 + 1), (7, (9 << 32) + 1028), (8, size - 20), (9, 3)]
        more = [(struct.pack(">qq", 1, 100 + number), struct.pack(">q", place)) for number, place in places]
        none = struct.pack(">qq", 1, 200), bytes(8)
        negative = struct.pack(">qq", -2, 5), struct.pack(">q", 1028)
        imported = self.take(*more, none, negative)
        self.assertEqual((imported.entries, imported.dangling), (398, 5))
        storage = self.storage()
        for number, _ in places:
            self.assertRaises((DamageError, OSError), storage.load, 1, 100 + number, 100)
        self.assertEqual(read(storage, 1, 79), entry(1, 79))
        self.assertIsNone(read(storage, 1, 200))
        storage.add(run(1, 105, 1))
        self.assertEqual(read(storage, 1, 105), entry(1, 105))

    def test_damaged(self) -> None:
        """A pair of another length is damage; the databases stay."""
        self.assertRaises(DamageError, self.take, (b"short", bytes(8)))
        self.assertTrue(has_index(self.disk, "/"))

    def test_limbo(self) -> None:
        """Directories whose integrity check is pending are refused."""
        put(self.disk, LOCATIONS, self.pairs)
        check_states(self.disk, "/", SimKeyValues.open)
        key, value = encode(LedgerRow(9, b"k"))
        for pair in ((key, value + b"\x28\x01"), (FLAGS_KEY, b"\0" * 7 + b"\1")):
            before = self.disk.committed("/ledgers/CURRENT")
            put(self.disk, LEDGERS, [pair])
            error = self.assertRaises(StorageError, check_states, self.disk, "/", SimKeyValues.open)
            self.assertIn("integrity", str(error))
            self.disk.commit("/ledgers/CURRENT", before, b"")

    def test_in_use(self) -> None:
        """Databases that are open elsewhere are refused."""
        put(self.disk, LOCATIONS, self.pairs)
        self.disk.lock("/locations/LOCK")
        self.assertRaises(DirectoryLockedError, check_states, self.disk, "/", SimKeyValues.open)


class JavaStoreTests(SynchronousTestCase):
    """Stores written by Java bookies, with their RocksDB."""

    def test_every_store(self) -> None:
        """What Apache's index says of entries and ledgers is what ours says afterwards, in all directories."""
        need_rocksdict()
        n_entries = n_states = 0
        for name in DB_STORES:
            store, folder = java_store(name), Path(self.mktemp()).absolute()
            store.write(folder)
            names = zip(store.directories("ledgerDirectories"), store.directories("indexDirectories"), strict=True)
            for ledgers, indexes in names:
                paths = str(folder / ledgers / "current"), str(folder / indexes / "current")
                imported = import_index(RealFileSystem(), *paths, SqliteRunIndex.open, RocksKeyValues.open)
                self.assertEqual(imported.dangling, 0)
                index = SqliteRunIndex.open(RealFileSystem(), paths[1])
                self.addCleanup(index.close)
                n_states += self._check_states(index, store.manifest["rocksdb"][f"{indexes}/current/ledgers"])
                n_entries += self._check_entries(index, store.manifest, ledgers, paths[0])
        self.assertGreater(n_entries, 250)
        self.assertGreater(n_states, 50)

    def _check_states(self, index: SqliteRunIndex, pairs: list[dict[str, Any]]) -> int:
        expected = [
            LedgerRow(
                pair["ledgerId"], bytes.fromhex(pair["decoded"]["masterKey"]), pair["decoded"]["fenced"],
                bytes.fromhex(pair["decoded"].get("explicitLac", "")),
            )
            for pair in pairs
        ]  # fmt: skip
        known = {row.ledger_id for row in expected}
        self.assertEqual([row for row in index.ledgers() if row.ledger_id in known], expected)
        return len(expected)

    def _check_entries(self, index: SqliteRunIndex, manifest: dict[str, Any], directory: str, path: str) -> int:
        count = 0
        for ledger_id, entries in manifest["current"].items():
            mine = [each for each in entries if each.get("ledgerDir", directory) == directory]
            count += len(mine)
            for each in mine:
                row = index.find(int(ledger_id), each["entryId"])
                assert row is not None
                offsets = record_offsets(row)
                start = row.offset + offsets[each["entryId"] - row.first]
                self.assertEqual((row.log_id, start + 4), (each["logId"], each["offset"]))
                data = Path(path, f"{row.log_id:x}.log").read_bytes()[start + 4 : start + 4 + each["size"]]
                self.assertEqual(hashlib.sha256(data).hexdigest(), each["sha256"])
            found = [e for row in index.rows(int(ledger_id)) for e in range(row.first, row.last + 1)]
            self.assertEqual(found, sorted(each["entryId"] for each in mine))
        return count

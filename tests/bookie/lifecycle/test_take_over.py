"""Directories written by Apache's bookie, served by ours: index, journals and log marks together."""

import hashlib
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.storage.apache.database import has_index
from bookkeeper_twisted.storage.apache.regrouping import Pairs
from bookkeeper_twisted.storage.apache.rocksdb import RocksKeyValues
from bookkeeper_twisted.storage.apache.take_over import discard_left_over, take_over
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_dirs import current
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ...storage.apache.test_importing import DB_STORES
from ...storage.apache.test_rocksdb import need_rocksdict
from ...storage.index.java_stores import after_replay, java_store
from ...storage.ledger_storages import read

FS = RealFileSystem()


class JavaStoreTests(SynchronousTestCase):
    """Stores of ``DbLedgerStorage``, most of them killed."""

    def put(self, name: str) -> tuple[StorePaths, Pairs]:
        """Puts a store on a real disk."""
        need_rocksdict()
        store, folder = java_store(name), Path(self.mktemp()).absolute()
        store.write(folder)
        keys = ("journalDirectories", "ledgerDirectories", "indexDirectories")
        places = [
            tuple(str(folder / each.rpartition("/")[2]) for each in store.manifest["config"][key].split(","))
            for key in keys
            if key in store.manifest["config"]
        ]
        paths = StorePaths(places[0], places[1], places[-1])
        return paths, Pairs([current(path) for path in paths.ledgers], [current(path) for path in paths.indexes])

    def open(self, paths: StorePaths) -> Store:
        """Starts on them."""
        journals = JournalSettings(preallocate=1 << 16, direct=False)
        store = Store.open(
            FS, paths, SqliteRunIndex.open, 1, b"salt", journals, StorageSettings(log_direct=False)
        )  # fmt: skip
        self.addCleanup(store.close)
        store.recover()
        return store

    def test_as_apache(self) -> None:
        """After the replay ours holds what Apache's bookie holds after its own: each entry, key, fence and LAC."""
        n_entries = 0
        for name in DB_STORES:
            expected = after_replay(name)
            if expected is None:
                continue
            paths, pairs = self.put(name)
            take_over(FS, pairs, SqliteRunIndex.open, RocksKeyValues.open)
            store = self.open(paths)
            n_entries += sum(self._check(store, int(each), held) for each, held in expected.items())
        self.assertGreater(n_entries, 100)

    def _check(self, store: Store, ledger_id: int, held: dict[str, Any]) -> int:
        row, state = store.storage.ledger(ledger_id), held["stored"]
        if state is not None:
            assert row is not None
            self.assertEqual(row.master_key.hex(), state["masterKey"])
            self.assertEqual(row.fenced, state["fenced"], ledger_id)
            self.assertEqual(row.explicit_lac.hex(), state.get("explicitLac", ""))
        for entry_id, *_, sha256 in held.get("entries", ()):
            data = read(store.storage, ledger_id, entry_id)  # type: ignore[arg-type]
            assert data is not None, (ledger_id, entry_id)
            self.assertEqual(hashlib.sha256(data).hexdigest(), sha256)
        found = [e for first, last in store.storage.entry_ranges(ledger_id) for e in range(first, last + 1)]
        self.assertEqual(found, sorted(each[0] for each in held.get("entries", ())))
        return len(found)

    def test_lost_fence(self) -> None:
        """A fence that Apache's bookie loses in its replay is kept (S3)."""
        paths, pairs = self.put("db-killed")
        take_over(FS, pairs, SqliteRunIndex.open, RocksKeyValues.open)
        row = self.open(paths).storage.ledger(778)
        assert row is not None
        self.assertTrue(row.fenced)

    def test_again(self) -> None:
        """While a cookie of Apache's is there a take-over begins anew, and nothing of Apache's is removed."""
        paths, pairs = self.put("db-two-dirs-killed")
        first = take_over(FS, pairs, SqliteRunIndex.open, RocksKeyValues.open)
        Path(pairs.ledgers[0], "VERSION").unlink()
        discard_left_over(FS, pairs)
        self.assertEqual(take_over(FS, pairs, SqliteRunIndex.open, RocksKeyValues.open), first)
        self.assertGreater(self.open(paths).storage.ledger_count(), 8)

    def test_left_over(self) -> None:
        """Without such a cookie databases are left over, and go."""
        _, pairs = self.put("db-two-dirs-killed")
        for path in (*pairs.ledgers, *pairs.indexes):
            Path(path, "VERSION").unlink()
        discard_left_over(FS, pairs)
        self.assertEqual([has_index(FS, path) for path in pairs.indexes], [False, False])
        discard_left_over(FS, pairs)

    def test_lost_database(self) -> None:
        """A directory whose locations are lost is scanned, beside one that has them."""
        paths, pairs = self.put("db-two-dirs-killed")
        (Path(pairs.indexes[1]) / "locations" / "CURRENT").unlink()
        take_over(FS, pairs, SqliteRunIndex.open, RocksKeyValues.open)
        storage = self.open(paths).storage
        for entry_id in range(3):
            self.assertIsNotNone(read(storage, 1, entry_id))  # type: ignore[arg-type]

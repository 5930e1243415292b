"""The SQLite run index: the contract, damage, failures, threads."""

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError, NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index import run_index
from bookkeeper_twisted.storage.index.index_file import IndexDamageError, storage_errors
from bookkeeper_twisted.storage.index.run_index import FILE_NAME, SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow, IRunIndex, LedgerRow
from bookkeeper_twisted.testing.contracts import index_contract

from ...sqlite_syncs import recorded_syncs
from ..entries import row


class InADirectory(SynchronousTestCase):
    """Indexes in temporary directories that are closed in the end."""

    def new(self) -> SqliteRunIndex:
        self.directory = self.mktemp()
        os.makedirs(self.directory)
        return self.open()

    def open(self, fresh: bool = False, check_later: bool = False) -> SqliteRunIndex:
        index = SqliteRunIndex.open(RealFileSystem(), self.directory, fresh, check_later)
        self.addCleanup(index.close)
        return index

    @property
    def path(self) -> str:
        return os.path.join(self.directory, FILE_NAME)


class SqliteContractTests(InADirectory, index_contract.RunIndexContract):
    """The contract."""

    def make(self) -> IRunIndex:
        """In a new directory each."""
        return self.new()

    def reopen(self, index: IRunIndex) -> IRunIndex:
        """From the files."""
        index.close()
        return self.open()


class SqliteRunIndexTests(InADirectory):
    """What a file and a database add."""

    def test_known_ledgers(self) -> None:
        """Rows of a commit are all inserted, later ones winning, however few ends of ledgers are kept in mind."""
        for known in (1, 2, 100):
            self.patch(run_index, "_KNOWN_LEDGERS", known)
            index = self.new()
            index.commit(IndexBatch(runs=[row(ledger_id, 0, 9) for ledger_id in range(5)]))
            newer = [row(0, 10, 19, 2), row(1, 5, 14, 2), row(2, 10, 19, 2), row(2, 15, 24, 3), row(3, 20, 29, 2)]
            index.commit(IndexBatch(runs=newer))
            ranges = [[(each.first, each.last, each.log_id) for each in index.rows(number)] for number in range(5)]
            old = row(0, 0, 9).log_id
            self.assertEqual(
                ranges,
                [
                    [(0, 9, old), (10, 19, 2)],
                    [(0, 4, old), (5, 14, 2)],
                    [(0, 9, old), (10, 14, 2), (15, 24, 3)],
                    [(0, 9, old), (20, 29, 2)],
                    [(0, 9, old)],
                ],
            )

    def test_durable_without_close(self) -> None:
        """A copy of the files taken right after a commit holds it."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 9)], complete=True))
        copied = self.mktemp()
        shutil.copytree(self.directory, copied)
        self.directory = copied
        again = self.open()
        self.assertEqual(again.find(1, 9), row(1, 0, 9))
        self.assertTrue(again.complete)

    def test_settled(self) -> None:
        """After a commit the main file alone holds it: damage of the write-ahead log loses nothing (S5)."""
        self.new().commit(IndexBatch(runs=[row(1, 0, 9)], complete=True))
        copied = self.mktemp()
        os.makedirs(copied)
        shutil.copy(self.path, copied)
        self.directory = copied
        self.assertEqual(self.open().find(1, 9), row(1, 0, 9))

    def test_synced_commit(self) -> None:
        """A commit has synced the write-ahead log, also while a reader keeps it from being moved into the file (S7)."""
        with recorded_syncs() as synced:
            index = self.new()
            index.commit(IndexBatch(runs=[row(1, 0, 9)]))
            reader = sqlite3.connect(self.path, isolation_level=None)
            self.addCleanup(reader.close)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM runs").fetchall()
            for first in (10, 20, 30):  # the first one begins the log anew, with a sync of its own
                synced.clear()
                index.commit(IndexBatch(runs=[row(1, first, first + 9)]))
                self.assertIn(f"{FILE_NAME}-wal", synced)

    def test_synced_schema(self) -> None:
        """A new index, empty as it is, has been synced."""
        with recorded_syncs() as synced:
            self.new()
            self.assertIn(f"{FILE_NAME}-wal", synced)

    def test_unmoved_commits(self) -> None:
        """A commit whose log cannot be moved is a commit, counted, and the next one moves both."""
        index = self.new()
        moved = index._writer

        class Unwilling:
            def __getattr__(self, name: str) -> object:
                return getattr(moved, name)

            def execute(self, text: str, *values: Any) -> object:
                if "wal_checkpoint" in text:
                    raise sqlite3.OperationalError("disk I/O error")
                return moved.execute(text, *values)

        index._writer = Unwilling()  # type: ignore[assignment]
        index.commit(IndexBatch(runs=[row(1, 0, 9)]))
        self.assertEqual((index.find(1, 9), index.unmoved_commits), (row(1, 0, 9), 1))
        index._writer = moved
        index.commit(IndexBatch(runs=[row(1, 10, 19)]))
        self.assertEqual((index.last_entry(1), index.unmoved_commits), (19, 1))

    def test_fresh(self) -> None:
        """A fresh index is empty; the old file is kept beside it."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 9)], complete=True))
        index.close()
        index = self.open(fresh=True)
        self.assertIsNone(index.find(1, 0))
        self.assertFalse(index.complete)
        self.assertTrue(os.path.exists(self.path + ".replaced"))

    def test_open_to_read(self) -> None:
        """An index is read while another process commits to it, and after; nothing is written to it."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 4)]))
        reader = SqliteRunIndex.open_to_read(RealFileSystem(read_only=True), self.directory)
        assert reader is not None
        self.addCleanup(reader.close)
        self.assertEqual((list(reader.rows(1)), reader.complete), ([row(1, 0, 4)], False))
        index.commit(IndexBatch(runs=[row(1, 5, 9)]))
        self.assertEqual(list(reader.rows(1)), [row(1, 0, 4), row(1, 5, 9)])
        self.assertRaises(StorageError, reader.commit, IndexBatch(runs=[row(1, 10, 11)]))
        index.commit(IndexBatch(complete=True))
        index.close()
        again = SqliteRunIndex.open_to_read(RealFileSystem(read_only=True), self.directory)
        assert again is not None
        self.addCleanup(again.close)
        self.assertEqual((list(again.rows(1)), again.complete), ([row(1, 0, 4), row(1, 5, 9)], True))

    def test_open_to_read_strange_names(self) -> None:
        """Characters that mean something in a URI may be in the name of a directory."""
        self.directory = os.path.join(self.mktemp(), "a b%20?mode=rw#c")
        os.makedirs(self.directory)
        self.open().commit(IndexBatch(runs=[row(1, 0, 4)]))
        self.assertEqual(os.listdir(os.path.dirname(self.directory)), [os.path.basename(self.directory)])
        reader = SqliteRunIndex.open_to_read(RealFileSystem(), self.directory)
        assert reader is not None
        self.addCleanup(reader.close)
        self.assertEqual(list(reader.rows(1)), [row(1, 0, 4)])

    def test_open_to_read_nothing(self) -> None:
        """Where there is no index, none is made; one of another release is refused."""
        directory = self.mktemp()
        os.makedirs(directory)
        self.assertIs(SqliteRunIndex.open_to_read(RealFileSystem(), directory), None)
        self.assertEqual(os.listdir(directory), [])
        sqlite3.connect(os.path.join(directory, FILE_NAME)).close()
        self.assertRaises(StorageError, SqliteRunIndex.open_to_read, RealFileSystem(), directory)

    def test_no_directory(self) -> None:
        """A directory that is not there is an error."""
        self.directory = "/nonexistent/index"
        self.assertRaises(StorageError, self.open)

    def test_newer_schema(self) -> None:
        """A file of a later release is refused and not changed."""
        self.new().close()
        with sqlite3.connect(self.path) as connection:
            connection.execute("PRAGMA user_version = 4")
        connection.close()
        error = self.assertRaises(StorageError, self.open)
        self.assertIn("schema version 4", str(error))

    def test_other_database(self) -> None:
        """A database that is not ours is refused and not changed."""
        self.directory = self.mktemp()
        os.makedirs(self.directory)
        with sqlite3.connect(self.path) as connection:
            connection.execute("CREATE TABLE songs(title)")
        connection.close()
        self.assertRaises(StorageError, self.open)

    def test_not_a_database(self) -> None:
        """Junk in the place of the file is damage, not an empty index (S5)."""
        self.new().close()
        with open(self.path, "wb") as file:
            file.write(b"junk" * 4096)
        self.assertRaises(DamageError, self.open)

    def test_failed_commit(self) -> None:
        """A commit that fails half-way changes nothing; the next one works."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 9)]))
        with sqlite3.connect(self.path, isolation_level=None) as other:
            other.execute(
                "CREATE TRIGGER full BEFORE INSERT ON ledgers BEGIN SELECT RAISE(ABORT, 'no ledgers today'); END"
            )
        batch = IndexBatch(runs=[row(1, 5, 14, 1), row(1, 20, 29, 1)], ledgers=[LedgerRow(1)])
        self.assertRaises(StorageError, index.commit, batch)
        self.assertEqual([*index.rows(1)], [row(1, 0, 9)])
        other.execute("DROP TRIGGER full")
        other.close()
        index.commit(batch)
        self.assertEqual(index.last_entry(1), 29)
        self.assertEqual([r.first for r in index.rows(1)], [0, 5, 20])

    def test_full_disk(self) -> None:
        """A commit for which there is no room is that of a full disk, and the next one that fits works."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 9)]))
        ((pages,),) = index._writer.execute("PRAGMA page_count").fetchall()
        index._writer.execute(f"PRAGMA max_page_count = {pages}").fetchall()
        many = [row(2, first, first) for first in range(2000)]
        self.assertRaises(NoWritableDirectoryError, index.commit, IndexBatch(runs=many))
        self.assertEqual(index.last_entry(2), -1)
        index.commit(IndexBatch(runs=[row(1, 10, 19)]))
        self.assertEqual(index.last_entry(1), 19)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
        with self.assertRaises(NoWritableDirectoryError) as caught, storage_errors("index"):
            raise error
        self.assertIn("no space", str(caught.exception))

    def test_flipped_values(self) -> None:
        """A changed number in a row or in a ledger state is damage (S5, S9)."""
        for change in ("last = 8", "log = 1", "offset = 1025", "sizes = 57", "sizes = x'00'", "checksums = x'00'"):
            with self.subTest(change):
                index = self.new()
                index.commit(IndexBatch(runs=[row(1, 0, 9)], ledgers=[LedgerRow(1, b"key", True)]))
                self._execute(f"UPDATE runs SET {change}")
                self.assertRaises(DamageError, index.find, 1, 0)
                self.assertRaises(DamageError, index.last_entry, 1)
                self.assertRaises(DamageError, list, index.rows(1))
                self.assertRaises(DamageError, self.open().commit, IndexBatch(runs=[row(1, 20, 29)]))
        for change in ("fenced = 0", "master_key = x'00'", "explicit_lac = 'text'", "ledger = 2"):
            with self.subTest(change):
                index = self.new()
                index.commit(IndexBatch(ledgers=[LedgerRow(1, b"key", True)]))
                self._execute(f"UPDATE ledgers SET {change}")
                self.assertRaises(DamageError, list, index.ledgers())

    def test_damaged_last_row(self) -> None:
        """A damaged last row is not the end of its ledger, nor is the row before it (S5)."""
        for change in ("last = 28", "first = 21", "crc = crc + 1", "log = 1"):
            with self.subTest(change):
                index = self.new()
                index.commit(IndexBatch(runs=[row(1, 0, 9), row(1, 20, 29)]))
                self._execute(f"UPDATE runs SET {change} WHERE first = 20")
                for looked in (index, self.open()):
                    self.assertRaises(DamageError, looked.last_entry, 1)
                    self.assertRaises(DamageError, looked.find, 1, 25)
                    self.assertEqual(looked.find(1, 5), row(1, 0, 9))

    def test_damaged_key(self) -> None:
        """A row whose key was changed to one that fits there does not make an entry of it missing (S5)."""
        rows = [row(2, 0, 9), row(4, 0, 9), row(4, 20, 29), row(4, 40, 49), row(8, 0, 9)]
        for change, first, entry_id in (
            ("first = 21", 20, 20), ("first = 22", 20, 25), ("ledger = 3", 0, 5), ("ledger = 7", 40, 45),
            ("first = 1", 0, 0), ("first = 60", 40, 45),
        ):  # fmt: skip
            with self.subTest(change):
                index = self.new()
                index.commit(IndexBatch(runs=rows))
                self._execute(f"UPDATE runs SET {change} WHERE ledger = 4 AND first = {first}")
                for looked in (index, self.open()):
                    self.assertRaises(DamageError, looked.find, 4, entry_id)
                    self.assertEqual(looked.find(2, 3), rows[0])
                    self.assertIsNone(looked.find(1, 3))

    def test_order_at_the_start(self) -> None:
        """Rows out of order are found at the start, though each page is as it should be (S5)."""
        rows = [IndexRow(ledger_id, 4, 7, 2, 4096, 100, b"%04d" % ledger_id) for ledger_id in (2, 4, 6)]
        self.assertRaises(DamageError, self._write_damaged, rows, rows[0], 0, 4)

    def test_order_in_a_large_index(self) -> None:
        """A key that got out of order after the check hides no row and ends no listing (S5)."""
        self.patch(run_index, "check_to_open", lambda *_: None)
        rows = [
            IndexRow(ledger_id, first, first + 9, 2, 4096, 100, b"%02d%02d" % (ledger_id, first))
            for ledger_id in range(2, 80, 2) for first in range(10, 80, 10)
        ]  # fmt: skip
        for damaged in rows[3::31]:
            for byte, bit in ((byte, bit) for byte in (0, 1) for bit in range(8)):
                with self.subTest(f"{damaged}, byte {byte}, bit {bit}"):
                    index = self._write_damaged(rows, damaged, byte, 1 << bit)
                    self._look(index, damaged)

    def _look(self, index: SqliteRunIndex, damaged: IndexRow) -> None:
        ledger_id, first = damaged.ledger_id, damaged.first
        for entry_id in (first, first + 5, damaged.last):
            self.assertRaises(DamageError, index.find, ledger_id, entry_id)
        self.assertRaises(DamageError, list, index.rows(ledger_id))
        for limit in (1, 7, 10_000):
            self.assertRaises(DamageError, self._pages, index, limit)
        overlapping = IndexBatch(runs=[row(ledger_id, first - 5, first + 14, 3)])
        self.assertRaises(DamageError, index.commit, overlapping)
        if first == 70:
            self.assertRaises(DamageError, index.last_entry, ledger_id)
            self.assertRaises(DamageError, index.commit, IndexBatch(runs=[row(ledger_id, 80, 89)]))
        for undamaged in {2, 24, 78} - {ledger_id}:
            try:
                self.assertEqual(index.last_entry(undamaged), 79)
                self.assertEqual(len([*index.rows(undamaged)]), 7)
            except DamageError:  # the damaged row may lie next to its last one
                self.assertEqual(abs(undamaged - ledger_id), 2)

    def _pages(self, index: SqliteRunIndex, limit: int) -> None:
        after = (-1, -1)
        while page := index.page(after, limit):
            after = page[-1].ledger_id, page[-1].first

    def _write_damaged(self, rows: list[IndexRow], damaged: IndexRow, byte: int, mask: int) -> SqliteRunIndex:
        """Flip bits in the key of a row where it lies, which no statement does.

        :param byte: 0 of the ledger, 1 of the first entry; each has one byte.
        """
        index = self.new()
        index.commit(IndexBatch(runs=rows, complete=True))
        index.close()
        key = bytes((damaged.ledger_id, damaged.first, damaged.last, damaged.log_id))
        with open(self.path, "r+b") as file:
            data = file.read()
            at = data.index(key + damaged.offset.to_bytes(2, "big") + b"\x64" + damaged.checksums)
            file.seek(at + byte)
            file.write(bytes((data[at + byte] ^ mask,)))
        return self.open()

    def _hide_last_row(self) -> None:
        """Have the page of the runs count one row less than it has; both neighbours of the row stay as they are."""
        with open(self.path, "r+b") as file:
            file.seek(4096 + 3)
            count = int.from_bytes(file.read(2), "big")
            file.seek(4096 + 3)
            file.write((count - 1).to_bytes(2, "big"))

    def _with_hidden_row(self) -> None:
        index = self.new()
        index.commit(IndexBatch(runs=[row(ledger_id, 0, 9) for ledger_id in range(1, 20)], complete=True))
        index._writer.execute("DELETE FROM state WHERE rowid = 3")  # earlier versions stored no numbers of rows
        index.close()
        self._hide_last_row()

    def test_hidden_row(self) -> None:
        """A row that its page doesn't count is found at the start, by the check of the structure (S5)."""
        self._with_hidden_row()
        self.assertRaises(DamageError, self.open)

    def test_states_in_a_damaged_index(self) -> None:
        """What is damaged in its structure still gives the states of ledgers that are as they were written (S3)."""
        index = self.new()
        states = [LedgerRow(ledger_id, b"secret", ledger_id == 3) for ledger_id in range(1, 20)]
        index.commit(IndexBatch(runs=[row(ledger_id, 0, 9) for ledger_id in range(1, 20)], ledgers=states))
        index.close()
        self._hide_last_row()
        self.assertEqual(self.assertRaises(IndexDamageError, self.open).states, states)
        with open(self.path, "r+b") as file:
            at = file.read().index(b"secret")
            file.seek(at)
            file.write(b"SECRET")
        self.assertEqual(len(self.assertRaises(IndexDamageError, self.open).states), len(states) - 1)

    def test_hidden_row_in_a_large_index(self) -> None:
        """Before the check of a large index ends, and if it fails, nothing is denied, whatever is committed (S5)."""
        self.patch(run_index, "CHECKED_WHOLE", 0)
        self._with_hidden_row()
        index = self.open(check_later=True)
        self.assertFalse(index.checked)
        self.assertEqual(index.find(3, 5), row(3, 0, 9))
        self._denies_nothing(index)
        index.commit(IndexBatch(deleted_ledgers=list(range(1, 19))))  # nothing is left of the page, as it seems
        self._denies_nothing(index)
        self.assertRaises(DamageError, index.check)
        self.assertFalse(index.checked)
        self._denies_nothing(index)

    def _denies_nothing(self, index: SqliteRunIndex) -> None:
        self.assertRaises(StorageError, index.find, 19, 5)
        self.assertRaises(StorageError, index.last_entry, 19)
        self.assertRaises(StorageError, list, index.rows(19))

    def test_large_index(self) -> None:
        """A large index that is as it should be denies, too, once it was checked."""
        self.patch(run_index, "CHECKED_WHOLE", 0)
        self.new().commit(IndexBatch(runs=[row(1, 0, 9)], ledgers=[LedgerRow(1, b"key")], complete=True))
        index = self.open(check_later=True)
        self.assertEqual(([*index.ledgers()], index.complete), ([LedgerRow(1, b"key")], True))
        self.assertRaises(StorageError, index.find, 2, 5)
        index.commit(IndexBatch(runs=[row(1, 10, 19)]))
        index.check()
        self.assertTrue(index.checked)
        self.assertEqual((index.find(2, 5), index.last_entry(1)), (None, 19))
        index.check()
        self.assertEqual(os.path.getsize(f"{self.path}-wal") > 0, True)
        index.commit(IndexBatch(runs=[row(1, 20, 29)]))
        self.assertEqual(index.unmoved_commits, 0)

    def test_hidden_ledger(self) -> None:
        """The states of ledgers are checked at the start however large the index is: all of them are read then (S3)."""
        self.patch(run_index, "CHECKED_WHOLE", 0)
        index = self.new()
        index.commit(IndexBatch(ledgers=[LedgerRow(ledger_id, b"key", True) for ledger_id in range(1, 9)]))
        index.close()
        with open(self.path, "r+b") as file:
            file.seek(2 * 4096 + 3)
            file.write((7).to_bytes(2, "big"))
        self.assertRaises(DamageError, self.open, check_later=True)

    def test_damaged_schema(self) -> None:
        """A table that has another beginning, name or text than it was made with is damage, whatever the text says."""
        for change in (
            "rootpage = 5 - rootpage WHERE name <> 'state'", "name = 'rons' WHERE name = 'runs'",
            "sql = replace(sql, 'first', 'furst')", "sql = cast(x'43ff' AS TEXT)",
        ):  # fmt: skip
            with self.subTest(change):
                self.new().close()
                connection = sqlite3.connect(self.path)
                connection.execute("PRAGMA writable_schema = ON")
                connection.execute(f"UPDATE sqlite_master SET {change}")
                connection.commit()
                connection.close()
                self.assertRaises(DamageError, self.open)
                self.assertRaises(DamageError, SqliteRunIndex.open_to_read, RealFileSystem(), self.directory)

    def _execute(self, text: str) -> None:
        with sqlite3.connect(self.path) as connection:
            connection.execute(text)
        connection.close()

    def test_damaged_pages(self) -> None:
        """With any page of the file overwritten, no entry that was stored is said to be missing (S5)."""
        index = self.new()
        rows = [row(1, 10 * i, 10 * i + 9, offset=1024 + i) for i in range(400)]
        index.commit(IndexBatch(runs=rows, ledgers=[LedgerRow(i, b"key") for i in range(200)], complete=True))
        index.close()
        with open(self.path, "rb") as file:
            good = file.read()
        self.assertGreater(len(good) // 4096, 6)
        for page in range(len(good) // 4096):
            for junk in (b"\0", b"\xff", b"\x5a"):
                with open(self.path, "wb") as file:
                    file.write(good[: page * 4096] + junk * 4096 + good[(page + 1) * 4096 :])
                with self.subTest(page=page, junk=junk):
                    self._never_missing([r.first for r in rows[::7]])

    def _never_missing(self, entry_ids: list[int]) -> None:
        try:
            index = self.open()
        except StorageError:
            return
        for entry_id in entry_ids:
            try:
                self.assertIsNotNone(index.find(1, entry_id))
            except StorageError:
                continue

    def test_threads(self) -> None:
        """Look-ups on several threads while commits go on see whole commits only."""
        index = self.new()
        index.commit(IndexBatch(runs=[row(1, 0, 99, 0), row(2, 0, 99, 0)]))

        def look() -> set[tuple[int, ...]]:
            seen = set()
            for _ in range(150):
                seen.add(tuple(r.log_id for r in index.rows(1)))
            return seen

        with ThreadPoolExecutor(3) as pool:
            results = [pool.submit(look) for _ in range(3)]
            for log_id in range(1, 40):
                index.commit(IndexBatch(runs=[row(1, 0, 49, log_id), row(1, 50, 99, log_id)]))
            seen = set().union(*(r.result() for r in results))
        self.assertLessEqual(seen, {(0,), *((i, i) for i in range(1, 40))})

"""The reserve of a SQLite store on a full disk."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from errno import ENOSPC
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataSpaceError
from bookkeeper_twisted.metadata.embedded.sqlite_reserve import SIZE, StoreReserve
from bookkeeper_twisted.metadata.embedded.sqlite_sessions import SessionFiles
from bookkeeper_twisted.metadata.embedded.sqlite_store import SqliteStore


class _OnFullDisk:
    """A connection that finds no space for commits, and for the log of a store that is opened, beside the reserve."""

    def __init__(self, connection: sqlite3.Connection, is_full: Callable[[], bool], statements: list[str]) -> None:
        self._connection = connection
        self._is_full = is_full
        self._statements = statements

    @property
    def in_transaction(self) -> bool:
        """As of the connection."""
        return self._connection.in_transaction

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute it, unless it needs space."""
        self._statements.append(statement)
        word = statement.split()[0]
        needs_space = word == "COMMIT" or "sqlite_master" in statement
        needs_space = needs_space or (word in ("DELETE", "UPDATE") and not self.in_transaction)
        if needs_space and self._is_full():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return self._connection.execute(statement, values)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class FullDiskTests(SynchronousTestCase):
    """A store on a disk on which nothing but the reserve can be had."""

    def setUp(self) -> None:
        self.path = os.path.abspath(self.mktemp())
        self.reserve = StoreReserve(self.path)
        self.full, self.has_reserve = False, True
        self.statements: list[str] = []
        connect: Any = sqlite3.connect
        self.patch(
            sqlite3, "connect",
            lambda *args, **kwargs: _OnFullDisk(connect(*args, **kwargs), self.is_full, self.statements),
        )  # fmt: skip
        self.store = self.open()

    def open(self) -> SqliteStore:
        """Open a session."""
        store = SqliteStore(self.path, SessionFiles(f"{self.path}-sessions"))
        store.open(lambda: None, lambda: None)
        self.addCleanup(store.close)
        return store

    def is_full(self) -> bool:
        """Whether there is no space, as nobody has given the reserve up."""
        return self.full and not (self.has_reserve and os.path.getsize(self.reserve.path) == 0)

    def test_taken(self) -> None:
        """A store has it from the beginning; what is missing is taken as soon as something is changed."""
        self.assertEqual(os.stat(self.reserve.path).st_blocks * 512, SIZE)
        os.truncate(self.reserve.path, 4096)
        self.store.register("b", False, b"")
        self.assertEqual(os.path.getsize(self.reserve.path), SIZE)

    def test_changes(self) -> None:
        """What gives space back, and what keeps a cluster going, finds space; new ledgers do not."""
        for ledger_id in (1, 2):
            self.store.create_ledger(ledger_id, b"one")
        self.full = True
        self.assertRaises(MetadataSpaceError, self.store.create_ledger, 3, b"")
        self.assertRaises(MetadataSpaceError, self.store.next_ledger_id)
        store = self.store
        for change in (
            lambda: store.register("b", True, b""), lambda: store.unregister("b"),
            lambda: store.write_ledger(1, b"", 0), lambda: store.remove_ledger(2, 0),
            lambda: store.write_mark(1, b"", None), lambda: store.lock_ledger(1, ""),
            lambda: store.describe_lock(1, "x"), lambda: store.unlock_ledger(1), lambda: store.remove_mark(1, 0),
            lambda: store.vote("b"), store.withdraw_vote, lambda: store.write_cookie("b", b"", None),
            lambda: store.remove_cookie("b", 0), lambda: store.write_setting("s", b""), store.clear_settings,
        ):  # fmt: skip
            change()
            self.assertEqual(self.statements[-1], "PRAGMA wal_checkpoint(PASSIVE)")
            self.assertEqual(os.path.getsize(self.reserve.path), SIZE)
        self.assertEqual(self.store.ledger_ids(0, 9, 9), [1])

    def test_no_reserve(self) -> None:
        """Where the reserve is gone, too, a change fails, and the next one is made once there is space."""
        self.store.create_ledger(1, b"")
        self.full = True
        self.has_reserve = False
        for _ in range(2):
            error = self.assertRaises(MetadataSpaceError, self.store.remove_ledger, 1, 0)
            self.assertIn(self.path, str(error))
        os.unlink(self.reserve.path)
        self.assertRaises(MetadataSpaceError, self.store.remove_ledger, 1, 0)
        self.full = False
        self.store.remove_ledger(1, 0)

    def test_reads(self) -> None:
        """The lists of bookies, locks and votes need no space: what dead sessions left stays, and does not count."""
        dead = self.open()
        dead.register("dead", False, b"")
        self.store.register("b", False, b"")
        dead._disconnect()
        self.full = True
        before = len(self.statements)
        self.assertEqual(self.store.bookies(), (frozenset({"b"}), frozenset()))
        self.assertEqual((self.store.locks(), self.store.votes()), ({}, []))
        self.assertNotIn("PRAGMA wal_checkpoint(PASSIVE)", self.statements[before:])
        self.assertEqual(len(self.store._run("SELECT 1 FROM registrations")), 2)
        self.store.register("b", False, b"")
        self.assertEqual(len(self.store._run("SELECT 1 FROM registrations")), 1)

    def test_begin(self) -> None:
        """The file of a session, too, finds space on a full disk."""
        opened: Any = os.open

        def open_file(path: str, flags: int, mode: int = 0o777) -> int:
            if flags & os.O_CREAT and "-sessions/" in path and not os.path.exists(path) and self.is_full():
                raise OSError(ENOSPC, "full")
            return int(opened(path, flags, mode))

        self.patch(os, "open", open_file)
        self.full = True
        self.assertEqual(self.open().bookies(), (frozenset(), frozenset()))

    def test_open(self) -> None:
        """A store is opened, and closed, on a full disk."""
        self.full = True
        again = self.open()
        again.register("b", False, b"")
        again.close()
        self.assertEqual(self.store.bookies(), (frozenset(), frozenset()))
        self.has_reserve = False
        self.store.close()


class StoreReserveTests(SynchronousTestCase):
    """The file."""

    def setUp(self) -> None:
        self.reserve = StoreReserve(os.path.abspath(self.mktemp()))

    def size(self) -> int:
        """Its bytes."""
        return os.path.getsize(self.reserve.path)

    def test_lent(self) -> None:
        """Whoever has it has all of it, and nobody takes it back meanwhile."""
        with self.reserve.released():
            self.assertFalse(os.path.exists(self.reserve.path))
        self.reserve.fill()
        with self.reserve.released():
            self.assertEqual(self.size(), 0)
            StoreReserve(self.reserve.path.removesuffix("-reserve")).fill()
            self.assertEqual(self.size(), 0)
        self.assertEqual(self.size(), SIZE)

    def test_little_space(self) -> None:
        """Where there is less it takes some of that, and the rest later."""
        allocate = os.posix_fallocate
        free = SIZE // 2

        def allocate_some(file: int, offset: int, size: int) -> None:
            if size > free:
                raise OSError(ENOSPC, "full")
            allocate(file, offset, size)

        self.patch(os, "posix_fallocate", allocate_some)
        self.reserve.fill()
        self.assertEqual(self.size(), SIZE // 2)
        self.reserve.fill()
        self.assertEqual(self.size(), SIZE // 2)
        free = SIZE
        self.reserve.fill()
        self.assertEqual(self.size(), SIZE)

    def test_no_place(self) -> None:
        """Where there cannot be a file there is no reserve, and no error."""
        os.mkdir(self.reserve.path)
        self.reserve.fill()
        with self.reserve.released():
            self.assertTrue(os.path.isdir(self.reserve.path))

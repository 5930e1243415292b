"""The SQLite store beyond the contract: foreign files, dead sessions, durability settings."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import (
    BookieRegisteredError,
    CookieExistsError,
    LedgerExistsError,
    LedgerLockedError,
    MetadataError,
    MetadataOutcomeUnknownError,
    MetadataUnavailableError,
    MetadataVersionError,
    NotInitializedError,
)
from bookkeeper_twisted.metadata.embedded import sqlite_store
from bookkeeper_twisted.metadata.embedded.interfaces import Creation, IMetadataStore
from bookkeeper_twisted.metadata.embedded.sqlite_sessions import SessionFiles
from bookkeeper_twisted.metadata.embedded.sqlite_store import SqliteStore

from ...sqlite_syncs import recorded_syncs


def _ignore() -> None:
    """The listener of a session of which nothing is wanted."""


class SqliteStoreTests(SynchronousTestCase):
    """:class:`SqliteStore`."""

    def setUp(self) -> None:
        self.path = os.path.abspath(self.mktemp())

    def _store(self) -> tuple[SqliteStore, SessionFiles]:
        sessions = SessionFiles(f"{self.path}-sessions")
        store = SqliteStore(self.path, sessions)
        self.addCleanup(store.close)
        return store, sessions

    def _open(self) -> tuple[SqliteStore, SessionFiles]:
        store, sessions = self._store()
        store.open(_ignore, _ignore)
        return store, sessions

    def test_owner_alone(self) -> None:
        """The store has the passwords of ledgers: no one but its owner can read it, nor any file beside it."""
        self.path = os.path.join(self.path, "made", "store")
        self.addCleanup(os.umask, os.umask(0))
        self._open()
        base = os.path.dirname(self.path)
        found = [base, *(os.path.join(folder, name) for folder, a, b in os.walk(base) for name in [*a, *b])]
        self.assertEqual(
            sorted({os.path.basename(path): oct(os.stat(path).st_mode & 0o777) for path in found}.values()),
            ["0o600"] * 6 + ["0o700"] * 2,
        )

    def test_locked(self) -> None:
        """A store that another process keeps locked is given up in time, and nothing is done."""
        store = SqliteStore(self.path, SessionFiles(f"{self.path}-sessions"), patience=0.05)
        self.addCleanup(store.close)
        store.open(_ignore, _ignore)
        with closing(sqlite3.connect(self.path)) as other:
            other.execute("BEGIN EXCLUSIVE")
            error = self.assertRaises(MetadataUnavailableError, store.create_ledger, 7, b"metadata")
            self.assertNotIsInstance(error, MetadataOutcomeUnknownError)
            self.assertEqual(str(error), f"{self.path}: another process has had the store locked for 0.05 s")
            other.rollback()
        store.create_ledger(7, b"metadata")

    def test_locked_at_the_end(self) -> None:
        """The end of a session does not wait long for the lock of another process, as nobody needs its rows."""
        self.patch(sqlite_store, "PATIENCE_AT_END", 0.02)
        sessions = SessionFiles(f"{self.path}-sessions")
        store = SqliteStore(self.path, sessions, patience=24.0)
        store.open(_ignore, _ignore)
        store.register("a:1", False, b"")
        with closing(sqlite3.connect(self.path)) as other:
            other.execute("BEGIN EXCLUSIVE")
            error = self.assertRaises(MetadataUnavailableError, store.close)
            self.assertEqual(str(error), f"{self.path}: another process has had the store locked for 0.02 s")
        self.assertEqual(sessions.session_id, "")
        self.assertEqual(self._with(_ignore).bookies(), (set(), set()))

    def _with(self, while_locked: Callable[[], None]) -> SqliteStore:
        store = SqliteStore(self.path, SessionFiles(f"{self.path}-sessions"), while_locked=while_locked)
        self.addCleanup(store.close)
        store.open(_ignore, _ignore)
        return store

    def test_locked_for_a_while(self) -> None:
        """While a change waits, the store can be read, in no transaction; then the change is made, once."""
        found: list[object] = []

        def while_locked() -> None:
            found.append((store.ledger_ids(0, 9, 9), store.bookies(), store.locks(), store.votes()))
            if len(found) == 2:
                other.rollback()

        store = self._with(while_locked)
        store.create_ledger(1, b"")
        with closing(sqlite3.connect(self.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("DELETE FROM ledgers")
            store.create_ledger(2, b"")
            self.assertEqual(found, [([1], (set(), set()), {}, [])] * 2)
            self.assertEqual(store.ledger_ids(0, 9, 9), [1, 2])

    def test_given_up_while_locked(self) -> None:
        """A change ends, and nothing is done, with the error that whoever is served meanwhile raises."""
        store = self._with(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
        with closing(sqlite3.connect(self.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            for change in (lambda: store.create_ledger(1, b""), lambda: store.unlock_ledger(1), store.format):
                self.assertRaises(ZeroDivisionError, change)
        self.assertEqual(store.ledger_ids(0, 9, 9), [])
        store.create_ledger(1, b"")

    def test_locks_of_other_kinds(self) -> None:
        """A lock for the recovery of the log is waited for, too; one that is met in a transaction ends that."""
        called: list[None] = []
        store = self._with(lambda: called.append(None))
        connection: Any = store._db
        failing = ["SELECT", "BEGIN"]

        class Locked:
            in_transaction = property(lambda _: connection.in_transaction)
            close = connection.close

            def execute(self, statement: str, values: Sequence[object]) -> sqlite3.Cursor:
                word = statement.split()[0]
                if word in failing:
                    failing.remove(word)
                    error = sqlite3.OperationalError("database is locked")
                    error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
                    raise error
                found: sqlite3.Cursor = connection.execute(statement, values)
                return found

        self.patch(store, "_db", Locked())
        self.assertEqual(store.ledger_ids(0, 9, 9), [])
        store.create_ledger(1, b"")
        self.assertEqual((failing, len(called)), ([], 2))
        failing.append("COMMIT")
        self.assertRaises(MetadataUnavailableError, store.create_ledger, 2, b"")
        self.assertEqual((store.ledger_ids(0, 9, 9), len(called)), ([1], 2))

    def test_file_is_gone(self) -> None:
        """What is done in a file that was removed or replaced would be found by nobody, so it is not done."""
        store, _ = self._open()
        away = f"{self.path}.away"
        os.rename(self.path, away)
        for make in (lambda: None, lambda: shutil.copy(away, self.path)):
            make()
            error = self.assertRaises(MetadataUnavailableError, store.create_ledger, 7, b"metadata")
            self.assertEqual(str(error), f"{self.path}: the file of the open store was removed or replaced")
            self.assertRaises(MetadataUnavailableError, store.bookies)
        os.rename(away, self.path)
        store.create_ledger(7, b"metadata")

    def _refused(self) -> str:
        store, sessions = self._store()
        error = self.assertRaises(MetadataError, store.open, _ignore, _ignore)
        self.assertEqual(sessions.session_id, "")
        return str(error)

    def test_interface(self) -> None:
        """It provides what it declares."""
        verifyObject(IMetadataStore, self._store()[0])

    def _of(self, creation: Creation) -> SqliteStore:
        store = SqliteStore(self.path, SessionFiles(f"{self.path}-sessions"), creation)
        self.addCleanup(store.close)
        return store

    def test_not_made(self) -> None:
        """What is not to be made is an error that says what makes it; nothing is left on the disk, no folder either."""
        self.path = os.path.join(os.path.abspath(self.mktemp()), "deep", "metadata.db")
        error = self.assertRaises(NotInitializedError, self._of(Creation.NEVER).open, _ignore, _ignore)
        self.assertEqual(
            str(error), f"{self.path} does not exist (moved or removed?); a first start of a bookie makes a new, empty "
            "one; bookkeeper-twisted shell initnewcluster makes a new, empty cluster",
        )  # fmt: skip
        self.assertFalse(os.path.exists(os.path.dirname(os.path.dirname(self.path))))

    def test_unused(self) -> None:
        """A store that was made for a session which stored nothing goes with it, all files of it."""
        store = self._of(Creation.UNTIL_USED)
        self.assertTrue(store.open(_ignore, _ignore))
        store.register("b", False, b"")
        store.close()
        folder, name = os.path.split(self.path)
        self.assertEqual([found for found in os.listdir(folder) if found.startswith(name)], [])

    def _killed(self) -> bytes:
        """Leave the files that a killed process leaves, with ledger 7 in the log; return the content of the log."""
        store, _ = self._open()
        store.create_ledger(7, b"metadata")
        for suffix in ("", "-wal"):
            shutil.copy(self.path + suffix, f"{self.path}-killed{suffix}")
        store.close()
        for suffix in ("", "-wal"):
            os.replace(f"{self.path}-killed{suffix}", self.path + suffix)
        return self._log()

    def _log(self) -> bytes:
        with open(f"{self.path}-wal", "rb") as file:
            return file.read()

    def test_lost_file(self) -> None:
        """Where the file is gone or empty, its log stays, and no store is made: put back, the file has all commits."""
        log = self._killed()
        os.rename(self.path, f"{self.path}-away")
        for creation in (Creation.ALWAYS, Creation.UNTIL_USED):
            error = self.assertRaises(MetadataError, self._of(creation).open, _ignore, _ignore)
            self.assertRegex(str(error), f"{self.path} is missing or empty, but {self.path}-wal has commits of it: put")
            self.assertFalse(os.path.exists(self.path))
        with open(self.path, "wb"):
            pass
        for creation in Creation:
            self.assertRaises(MetadataError, self._of(creation).open, _ignore, _ignore)
        self.assertEqual(self._log(), log)
        os.replace(f"{self.path}-away", self.path)
        self.assertEqual(self._open()[0].read_ledger(7).value, b"metadata")

    def test_lost_file_behind_a_link(self) -> None:
        """So it is where a symbolic link points to the place of the lost file, beside which its log is."""
        log = self._killed()
        os.rename(self.path, f"{self.path}-away")
        link = f"{self.path}-link"
        os.symlink(self.path, link)
        store = SqliteStore(link, SessionFiles(f"{link}-sessions"))
        self.assertRaises(MetadataError, store.open, _ignore, _ignore)
        self.assertEqual(self._log(), log)

    def test_lost_log(self) -> None:
        """A store of which only the file is left is not taken for a new one, so a start that is refused keeps it."""
        log = self._killed()
        os.unlink(f"{self.path}-wal")
        store = self._of(Creation.UNTIL_USED)
        self.assertFalse(store.open(_ignore, _ignore))
        store.close()
        with open(f"{self.path}-wal", "wb") as file:
            file.write(log)
        self.assertEqual(self._open()[0].read_ledger(7).value, b"metadata")

    def test_used(self) -> None:
        """It stays once something is stored, and as long as another session uses it."""
        store, other = self._of(Creation.UNTIL_USED), self._of(Creation.UNTIL_USED)
        store.open(_ignore, _ignore)
        other.open(_ignore, _ignore)
        store.close()
        other.write_cookie("b", b"cookie", None)
        other.close()
        again = self._of(Creation.NEVER)
        again.open(_ignore, _ignore)
        self.assertEqual(again.read_cookie("b").value, b"cookie")

    def test_durable_commits(self) -> None:
        """The file is in WAL mode; the folder of a new one is made."""
        self.path = os.path.join(self.mktemp(), "deep", "metadata.db")
        self._open()
        with closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("PRAGMA journal_mode").fetchone(), ("wal",))

    def test_synced_commits(self) -> None:
        """Whatever is changed has been synced when the call returns, in a new file and in one opened again."""
        with recorded_syncs() as synced:
            for _ in range(2):
                store = self._open()[0]
                ledger_id = store.next_ledger_id()
                for change in (
                    store.next_ledger_id,
                    lambda store=store, ledger_id=ledger_id: store.create_ledger(ledger_id, b"one"),
                    lambda store=store, ledger_id=ledger_id: store.write_ledger(ledger_id, b"two", 0),
                    lambda store=store, ledger_id=ledger_id: store.remove_ledger(ledger_id, 1),
                    lambda store=store: store.write_cookie("a:1", b"cookie", None),
                    lambda store=store: store.remove_cookie("a:1", 0),
                    lambda store=store: store.register("a:1", False, b""),
                    lambda store=store: store.unregister("a:1"),
                    store.format,
                ):
                    synced.clear()
                    change()
                    self.assertIn(f"{os.path.basename(self.path)}-wal", synced)
                store.close()

    def _overtaken(self, change: Callable[[SqliteStore], object], by: Callable[[SqliteStore], object]) -> None:
        """Refuse a change that another store overtakes while it waits for its turn."""
        store, other = self._open()[0], self._open()[0]
        store.create_ledger(1, b"one")
        store.write_cookie("a:1", b"one", None)
        assert store._db is not None
        connection = store._db
        overtaken: list[str] = []

        def overtake(statement: str) -> None:
            if statement.startswith("BEGIN") and not overtaken:
                overtaken.append(statement)
                by(other)

        connection.set_trace_callback(overtake)
        self.assertRaises((MetadataVersionError, LedgerExistsError, CookieExistsError), change, store)
        connection.set_trace_callback(None)
        self.assertEqual(len(overtaken), 1)

    def test_overtaken(self) -> None:
        """Versions are compared once it is this store's turn to write, not before."""

        def write(store: SqliteStore) -> object:
            return store.write_ledger(1, b"two", 0)

        def write_cookie(store: SqliteStore) -> object:
            return store.write_cookie("a:1", b"two", 0)

        for change, by in (
            (write, write),
            (lambda store: store.remove_ledger(1, 0), write),
            (lambda store: store.create_ledger(2, b"two"), lambda store: store.create_ledger(2, b"other")),
            (write_cookie, write_cookie),
            (lambda store: store.remove_cookie("a:1", 0), write_cookie),
            (
                lambda store: store.write_cookie("b:1", b"", None),
                lambda store: store.write_cookie("b:1", b"other", None),
            ),
        ):
            self.path = os.path.abspath(self.mktemp())
            self._overtaken(change, by)

    def test_failed_change(self) -> None:
        """A change that fails half-way leaves nothing of it behind, and the next one works."""
        store = self._open()[0]
        store.create_ledger(1, b"one")
        store.write_cookie("a:1", b"one", None)
        assert store._db is not None

        def deny(action: int, table: str | None, *rest: object) -> int:
            denied = action == sqlite3.SQLITE_UPDATE and table == "bookkeeper_store"
            return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

        store._db.set_authorizer(deny)
        self.assertRaises(MetadataError, store.format)
        store._db.set_authorizer(None)
        self.assertEqual((store.ledger_ids(0, 9, 9), store.cookie_ids()), ([1], {"a:1"}))
        store.format()
        self.assertEqual((store.ledger_ids(0, 9, 9), store.cookie_ids()), ([], frozenset()))

    def test_ids_overtaken(self) -> None:
        """An id that another store draws meanwhile is not drawn again."""
        store, other = self._open()[0], self._open()[0]
        assert store._db is not None
        drawn: list[int] = []

        def draw(statement: str) -> None:
            if statement.startswith("BEGIN") and not drawn:
                drawn.append(other.next_ledger_id())

        store._db.set_trace_callback(draw)
        self.assertEqual((store.next_ledger_id(), drawn), (1, [0]))

    def test_foreign_database(self) -> None:
        """Tables of something else are named, and nothing is added to them."""
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("CREATE TABLE customers (name TEXT)")
        self.assertIn("customers", self._refused())
        with closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT name FROM sqlite_master").fetchall(), [("customers",)])

    def test_other_schema(self) -> None:
        """A file of a later program is not touched."""
        self._open()[0].close()
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("UPDATE bookkeeper_store SET schema_version = 4")
            db.commit()
        self.assertIn("schema version", self._refused())

    def test_earlier_schema(self) -> None:
        """A file from before the election of auditors gets what it lacks, and keeps what it holds."""
        store, _ = self._open()
        store.write_mark(5, b"mark", None)
        store.close()
        with closing(sqlite3.connect(self.path)) as db:
            db.executescript(
                """DROP TABLE auditor_votes; DROP TABLE autorecovery_settings;
                ALTER TABLE bookkeeper_store DROP COLUMN mark_changes;
                UPDATE bookkeeper_store SET schema_version = 2;"""
            )
        store, _ = self._open()
        self.assertEqual(store.mark_ids(0, 9, 9), [5])
        self.assertEqual((store.votes(), store.read_setting("disable")), ([], None))
        before = store.replication_state()
        store.write_mark(6, b"mark", None)
        self.assertNotEqual(store.replication_state(), before)

    def test_votes_of_the_dead(self) -> None:
        """The votes and the locks of a process that died count no more; its numbers do not come back."""
        store, _ = self._open()
        other, dead = self._open()
        self.assertLess(other.vote("a:1"), store.vote("b:1"))
        other.lock_ledger(5, "host")
        self.assertEqual((len(store.votes()), store.locks()), (2, {5: "host"}))
        dead.end()
        self.assertEqual([candidate for _, candidate in store.votes()], ["b:1"])
        self.assertEqual(store.locks(), {})
        numbers = [number for number, _ in store.votes()]
        store.withdraw_vote()
        self.assertGreater(store.vote("b:1"), numbers[0])
        store.lock_ledger(6, "host")
        with closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT candidate FROM auditor_votes").fetchall(), [("b:1",)])
            self.assertEqual(db.execute("SELECT ledger_id FROM replication_locks").fetchall(), [(6,)])

    def test_lost_row(self) -> None:
        """A file without its one row is refused."""
        self._open()[0].close()
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("DELETE FROM bookkeeper_store")
            db.commit()
        self.assertIn("schema version", self._refused())

    def test_damaged_database(self) -> None:
        """Damage found later is an error of the store, with its path."""
        store, _ = self._open()
        store.create_ledger(1, b"x" * 100)
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("DROP TABLE ledgers")
        self.assertIn(self.path, str(self.assertRaises(MetadataError, store.ledger_ids, 0, 9, 9)))
        self.assertIn(self.path, str(self.assertRaises(MetadataError, store.create_ledger, 2, b"")))
        store.write_cookie("a:1", b"after", None)

    def test_dead_session_is_not_seen(self) -> None:
        """Bookies of a session that ended without closing are gone at once, their rows at the next registration."""
        dead, dead_sessions = self._open()
        watching, _ = self._open()
        dead.register("a:1", False, b"")
        dead.register("b:1", True, b"")
        self.assertEqual(watching.bookies(), ({"a:1"}, {"b:1"}))
        dead_sessions.end()  # what the kernel does for a killed process
        self.assertRaises(MetadataError, watching.service_info, "a:1")
        self.assertEqual(watching.bookies(), (set(), set()))
        watching.register("c:1", False, b"")
        with closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT bookie_id FROM registrations").fetchall(), [("c:1",)])

    def test_lock_of_a_dead_session(self) -> None:
        """The replication lock of a process that was killed can be taken; while it lived it could not."""
        dead, dead_sessions = self._open()
        live, _ = self._open()
        dead.lock_ledger(5, "host")
        self.assertRaises(LedgerLockedError, live.lock_ledger, 5, "other")
        dead_sessions.end()
        self.assertTrue(live.lock_ledger(5, "other"))

    def test_dead_session_is_taken_over(self) -> None:
        """A bookie that was killed registers again at once; while it lived it could not."""
        dead, dead_sessions = self._open()
        restarted, _ = self._open()
        dead.register("a:1", False, b"")
        self.assertRaises(BookieRegisteredError, restarted.register, "a:1", False, b"")
        dead_sessions.end()
        restarted.register("a:1", False, b"again")
        self.assertEqual(restarted.service_info("a:1"), b"again")

    def test_revision(self) -> None:
        """The revision changes with every write of any session, and only then."""
        one, two = self._open()[0], self._open()[0]
        first = one.revision()
        one.bookies()
        self.assertEqual(one.revision(), first)
        two.create_ledger(1, b"")
        second = one.revision()
        self.assertNotEqual(second, first)
        one.create_ledger(2, b"")
        self.assertNotEqual(one.revision(), second)

    def test_not_open(self) -> None:
        """A store that is not open, or not any more, says so."""
        store, _ = self._store()
        self.assertIn("not open", str(self.assertRaises(MetadataError, store.bookies)))
        store.open(_ignore, _ignore)
        store.close()
        store.close()
        self.assertRaises(MetadataError, store.bookies)

"""The embedded store in a SQLite file in WAL mode: every commit is synced, and only one process writes at a time."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

from zope.interface import implementer

from ...errors import (
    NO_SPACE,
    BookieRegisteredError,
    CookieExistsError,
    CookieNotFoundError,
    LedgerExistsError,
    LedgerLockedError,
    MetadataError,
    MetadataSpaceError,
    MetadataUnavailableError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
    NotInitializedError,
    NotUnderreplicatedError,
)
from ...sqlite_files import has_lost_file, make_private_file
from ..interfaces import ANY_VERSION, Versioned
from .interfaces import PATIENCE_AT_END, Creation, IMetadataStore
from .sqlite_reserve import StoreReserve
from .sqlite_sessions import SessionFiles, file_identity, is_file

SCHEMA_VERSION = 3
_TABLES = (
    """CREATE TABLE bookkeeper_store (
        schema_version INTEGER NOT NULL, instance_id TEXT NOT NULL, next_ledger_id INTEGER NOT NULL)""",
    """CREATE TABLE registrations (
        bookie_id TEXT PRIMARY KEY, read_only INTEGER NOT NULL,
        session TEXT NOT NULL, info BLOB NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE cookies (
        bookie_id TEXT PRIMARY KEY, version INTEGER NOT NULL, cookie BLOB NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE ledgers (
        ledger_id INTEGER PRIMARY KEY, version INTEGER NOT NULL, metadata BLOB NOT NULL)""",
    """CREATE TABLE replication_marks (
        ledger_id INTEGER PRIMARY KEY, version INTEGER NOT NULL, mark BLOB NOT NULL)""",
    """CREATE TABLE replication_locks (
        ledger_id INTEGER PRIMARY KEY, session TEXT NOT NULL, holder TEXT NOT NULL)""",
)
_TABLES_SINCE_3 = (
    """CREATE TABLE auditor_votes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL UNIQUE, candidate TEXT NOT NULL)""",
    """CREATE TABLE autorecovery_settings (
        name TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID""",
    "ALTER TABLE bookkeeper_store ADD COLUMN mark_changes INTEGER NOT NULL DEFAULT 0",
)
_OF_SESSIONS = ("registrations", "replication_locks", "auditor_votes")
_OF_USERS = ("cookies", "ledgers", "replication_marks", "autorecovery_settings")
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_ATTEMPT = 0.01  # seconds for which SQLite waits for a lock of another process before reads are served

P = ParamSpec("P")
T = TypeVar("T")


def _with_reserve(change: "Callable[Concatenate[SqliteStore, P], T]") -> "Callable[Concatenate[SqliteStore, P], T]":
    """Wrap a method that makes a ``change`` of the store: on a full disk, repeat it in the reserved disk space."""

    @wraps(change)
    def changed(store: "SqliteStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            result = change(store, *args, **kwargs)
        except MetadataSpaceError:
            return store.change_in_reserve(change, *args, **kwargs)
        store.reserve.fill()
        return result

    return changed


@implementer(IMetadataStore)
class SqliteStore:
    """One driver's session on a metadata store in a SQLite file.

    A registration contains the id of its session, and is valid while the process of this session lives.  After the
    process has died, the next registration of any bookie deletes it.  Locks and votes are treated in the same way.

    :ivar reserve: disk space for use when the disk is full; all changes may use it except the creation of ledgers and
        :meth:`format`.
    :param path: path of the file; a missing folder is created.
    :param patience: maximum number of seconds that a call waits for the write transactions of other processes.
    :param while_locked: called again and again while a call waits for another process, outside of any transaction; it
        may read the store.  If it raises an error, the call ends with this error and changes nothing.
    """

    def __init__(
        self, path: str, sessions: SessionFiles, creation: Creation = Creation.ALWAYS, patience: float = 24.0,
        while_locked: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.reserve = StoreReserve(path)
        self._path = path
        self._patience = patience
        self._while_locked = while_locked
        self._identity: tuple[int, int] | None = None
        self._creation = creation
        self._made = False
        self._sessions = sessions
        self._db: sqlite3.Connection | None = None

    # -- the session --

    def open(self, changed: Callable[[], None], expired: Callable[[], None]) -> bool:
        """Begin the session; both callbacks are unused: drivers poll this store, and its sessions do not expire.

        :raises NotInitializedError: the store does not exist, and :class:`.Creation` forbids to create it.
        :raises MetadataError: the file of the store is missing or empty although its write-ahead log has data.
        """
        if self._creation is Creation.NEVER and not is_file(self._path):
            text = f"{self._path} does not exist (moved or removed?); a first start of a bookie makes a new, empty one"
            raise NotInitializedError(text)
        with self._errors():
            opening = self._sessions.lock_opening()
            try:
                if has_lost_file(self._path):
                    text = f"{self._path} is missing or empty, but {self._path}-wal has commits of it"
                    raise MetadataError(f"{text}: put the file back, or remove that one to begin with an empty store")
                self._begin_session()
                make_private_file(self._path)  # private: the file contains the passwords of ledgers
                self._db = sqlite3.connect(self._path, timeout=_ATTEMPT, isolation_level=None, check_same_thread=False)
                self._identity = file_identity(self._path)
                self._made = self._initialize()
                self.reserve.fill()
                return self._made
            except BaseException:
                self._disconnect()
                raise
            finally:
                self._sessions.unlock_opening(opening)

    def _begin_session(self) -> None:
        try:
            self._sessions.begin()
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            with self.reserve.released():
                self._sessions.begin()

    def close(self) -> None:
        self._patience = min(self._patience, PATIENCE_AT_END)
        try:
            if self._db is not None:
                with suppress(MetadataSpaceError):  # the session is dead, so its remaining rows have no effect
                    self._end_session()
                if self._made and self._creation is Creation.UNTIL_USED:
                    self._remove_unused()
        finally:
            self._disconnect()

    @_with_reserve
    def _end_session(self) -> None:
        for table in _OF_SESSIONS:
            self._run(f"DELETE FROM {table} WHERE session = ?", self._sessions.session_id)

    def change_in_reserve(self, change: Callable[..., T], *args: object, **kwargs: object) -> T:
        """Make a ``change`` in the reserved disk space; then checkpoint SQLite's log, so that the log does not grow.

        :raises MetadataSpaceError: the reserved space is too small for the change.
        """
        with self.reserve.released():
            result = change(self, *args, **kwargs)
            with suppress(MetadataError):
                self._run("PRAGMA wal_checkpoint(PASSIVE)")
            return result

    def _remove_unused(self) -> None:
        """Remove the files of a store that this session made, unless the store has data or another session uses it."""
        with self._errors():
            opening = self._sessions.lock_opening()
            try:
                used = any(self._run(f"SELECT 1 FROM {table} LIMIT 1") for table in _OF_USERS)
                if used or self._sessions.others():
                    return
                self._disconnect()
                self._sessions.remove_all(self._path)
            finally:
                self._sessions.unlock_opening(opening)

    def revision(self) -> object:
        ((others,), (own,)) = self._run("PRAGMA data_version") + self._run("SELECT total_changes()")
        return others, own

    def _disconnect(self) -> None:
        """Close the database and end the session; registrations of the session in the file are invalid from then on."""
        db, self._db = self._db, None
        try:
            if db is not None:
                db.close()
        finally:
            self._sessions.end()

    @_with_reserve
    def _initialize(self) -> bool:
        """Create or check the schema; return True if it is new.  The caller holds the lock of ``lock_opening``."""
        self._run("PRAGMA synchronous = FULL")  # with NORMAL, a power failure can undo the last commits in WAL mode
        tables = {name for (name,) in self._run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._run("PRAGMA journal_mode = WAL")
            with self._transaction():
                for statement in _TABLES + _TABLES_SINCE_3:
                    self._run(statement)
                self._run("INSERT INTO bookkeeper_store VALUES (?, ?, 0, 0)", SCHEMA_VERSION, str(uuid.uuid4()))
            # write the tables into the file now: without them, it would look like a new store if the WAL were lost
            with suppress(MetadataError):
                self._run("PRAGMA wal_checkpoint(PASSIVE)")
        elif "bookkeeper_store" not in tables:
            raise MetadataError(f"{self._path}: a database of something else, with tables {', '.join(sorted(tables))}")
        found = self._run("SELECT schema_version FROM bookkeeper_store")
        if found == [(2,)]:  # version 3 adds auditor votes and settings
            with self._transaction():
                for statement in _TABLES_SINCE_3:
                    self._run(statement)
                self._run("UPDATE bookkeeper_store SET schema_version = ?", SCHEMA_VERSION)
            found = [(SCHEMA_VERSION,)]
        if found != [(SCHEMA_VERSION,)]:
            raise MetadataError(f"{self._path}: schema version {found}, this program knows {SCHEMA_VERSION}")
        return not tables

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert errors of SQLite and of the disk to MetadataError, with the path of the file in the text."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # extended codes have more bits
                text = f"{self._path}: another process has had the store locked for {self._patience:g} s"
                raise MetadataUnavailableError(text) from error
            if getattr(error, "sqlite_errorcode", None) in _FULL or getattr(error, "errno", None) in NO_SPACE:
                raise MetadataSpaceError(f"{self._path}: its disk has no space ({error})") from error
            raise MetadataError(f"{self._path}: {error}") from error

    def _run(self, statement: str, *values: object) -> list[Any]:
        if self._db is None:
            raise MetadataError(f"{self._path}: not open")
        in_transaction = self._db.in_transaction
        if not in_transaction and file_identity(self._path) != self._identity:
            # The file was removed or replaced.  SQLite would change the old file, which no other process can open.
            raise MetadataUnavailableError(f"{self._path}: the file of the open store was removed or replaced")
        until = monotonic() + self._patience
        while True:
            try:
                with self._errors():
                    return self._db.execute(statement, values).fetchall()
            except MetadataUnavailableError:  # another process has the lock, so nothing was done
                if in_transaction or monotonic() >= until:
                    raise
            self._while_locked()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the ``with`` block as one write transaction: commit at its end, or roll back if it raises an error."""
        # IMMEDIATE waits for other writers here; a transaction that begins with a read could fail at its first write
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._db is not None and self._db.in_transaction:  # SQLite itself rolls back after some errors
                self._run("ROLLBACK")
            raise

    # -- bookies --

    def instance_id(self) -> str:
        ((instance_id,),) = self._run("SELECT instance_id FROM bookkeeper_store")
        return str(instance_id)

    def format(self) -> None:
        with self._transaction():
            self._run("DELETE FROM cookies")
            self._run("DELETE FROM ledgers")
            self._run("DELETE FROM replication_marks")
            self._run("DELETE FROM replication_locks")
            self._marks_changed()
            self._run("UPDATE bookkeeper_store SET instance_id = ?, next_ledger_id = 0", str(uuid.uuid4()))

    @_with_reserve
    def register(self, bookie_id: str, read_only: bool, info: bytes) -> None:
        own = self._sessions.session_id
        with self._transaction():
            self._remove_dead("registrations")
            if self._run("SELECT 1 FROM registrations WHERE bookie_id = ? AND session <> ?", bookie_id, own):
                raise BookieRegisteredError(f"bookie {bookie_id} is registered by another session")
            self._run("INSERT OR REPLACE INTO registrations VALUES (?, ?, ?, ?)", bookie_id, read_only, own, info)

    @_with_reserve
    def unregister(self, bookie_id: str) -> None:
        own = self._sessions.session_id
        self._run("DELETE FROM registrations WHERE bookie_id = ? AND session = ?", bookie_id, own)

    def bookies(self) -> tuple[frozenset[str], frozenset[str]]:
        rows = self._live(self._run("SELECT bookie_id, read_only, session FROM registrations"))
        return frozenset(b for b, ro, _ in rows if not ro), frozenset(b for b, ro, _ in rows if ro)

    def service_info(self, bookie_id: str) -> bytes:
        rows = self._run("SELECT info, session FROM registrations WHERE bookie_id = ?", bookie_id)
        for info, _ in self._live(rows):
            return bytes(info)
        raise MetadataError(f"bookie {bookie_id} is not registered")

    def _live(self, rows: list[Any]) -> list[Any]:
        """Return those of the ``rows`` whose last column is the id of a live session."""
        with self._errors():
            live = {session for session in {row[-1] for row in rows} if self._sessions.is_alive(session)}
        return [row for row in rows if row[-1] in live]

    def _remove_dead(self, table: str) -> None:
        """Delete the rows of dead sessions from a ``table``; the caller has begun a transaction."""
        sessions = self._run(f"SELECT DISTINCT session FROM {table}")
        for dead in set(sessions) - set(self._live(sessions)):
            self._run(f"DELETE FROM {table} WHERE session = ?", *dead)

    # -- cookies --

    def cookie_ids(self) -> frozenset[str]:
        return frozenset(bookie_id for (bookie_id,) in self._run("SELECT bookie_id FROM cookies"))

    def read_cookie(self, bookie_id: str) -> Versioned[bytes]:
        for cookie, version in self._run("SELECT cookie, version FROM cookies WHERE bookie_id = ?", bookie_id):
            return Versioned(bytes(cookie), version)
        raise CookieNotFoundError(f"no cookie of bookie {bookie_id}")

    @_with_reserve
    def write_cookie(self, bookie_id: str, cookie: bytes, version: int | None) -> int:
        with self._transaction():
            if version is None:
                if self._run("SELECT 1 FROM cookies WHERE bookie_id = ?", bookie_id):
                    raise CookieExistsError(f"bookie {bookie_id} has a cookie")
                new_version = 0
            else:
                _check_version(f"cookie of {bookie_id}", self.read_cookie(bookie_id).version, version)
                new_version = version + 1
            self._run("INSERT OR REPLACE INTO cookies VALUES (?, ?, ?)", bookie_id, new_version, cookie)
            return new_version

    @_with_reserve
    def remove_cookie(self, bookie_id: str, version: int) -> None:
        with self._transaction():
            _check_version(f"cookie of {bookie_id}", self.read_cookie(bookie_id).version, version)
            self._run("DELETE FROM cookies WHERE bookie_id = ?", bookie_id)

    # -- ledgers --

    def next_ledger_id(self) -> int:
        with self._transaction():
            ((ledger_id,),) = self._run("SELECT next_ledger_id FROM bookkeeper_store")
            while self._run("SELECT 1 FROM ledgers WHERE ledger_id = ?", ledger_id):  # skip ids that clients chose
                ledger_id += 1
            self._run("UPDATE bookkeeper_store SET next_ledger_id = ?", ledger_id + 1)
            return int(ledger_id)

    def create_ledger(self, ledger_id: int, metadata: bytes) -> None:
        with self._transaction():
            if self._run("SELECT 1 FROM ledgers WHERE ledger_id = ?", ledger_id):
                raise LedgerExistsError(f"ledger {ledger_id} exists")
            self._run("INSERT INTO ledgers VALUES (?, 0, ?)", ledger_id, metadata)

    def read_ledger(self, ledger_id: int) -> Versioned[bytes]:
        for metadata, version in self._run("SELECT metadata, version FROM ledgers WHERE ledger_id = ?", ledger_id):
            return Versioned(bytes(metadata), version)
        raise NoSuchLedgerMetadataError(f"ledger {ledger_id} does not exist")

    @_with_reserve
    def write_ledger(self, ledger_id: int, metadata: bytes, version: int) -> int:
        with self._transaction():
            _check_version(f"ledger {ledger_id}", self.read_ledger(ledger_id).version, version)
            self._run(
                "UPDATE ledgers SET version = ?, metadata = ? WHERE ledger_id = ?", version + 1, metadata, ledger_id
            )
            return version + 1

    @_with_reserve
    def remove_ledger(self, ledger_id: int, version: int) -> None:
        with self._transaction():
            found = self.read_ledger(ledger_id).version
            _check_version(f"ledger {ledger_id}", found, found if version == ANY_VERSION else version)
            self._run("DELETE FROM ledgers WHERE ledger_id = ?", ledger_id)

    def ledger_ids(self, first: int, last: int, limit: int) -> list[int]:
        query = "SELECT ledger_id FROM ledgers WHERE ledger_id BETWEEN ? AND ? ORDER BY ledger_id LIMIT ?"
        return [ledger_id for (ledger_id,) in self._run(query, first, last, limit)]

    # -- underreplicated marks and replication locks --

    def read_mark(self, ledger_id: int) -> Versioned[bytes]:
        for mark, version in self._run("SELECT mark, version FROM replication_marks WHERE ledger_id = ?", ledger_id):
            return Versioned(bytes(mark), version)
        raise NotUnderreplicatedError(f"ledger {ledger_id} is not marked")

    @_with_reserve
    def write_mark(self, ledger_id: int, mark: bytes, version: int | None) -> int:
        with self._transaction():
            if version is None:
                if self._run("SELECT 1 FROM replication_marks WHERE ledger_id = ?", ledger_id):
                    raise MetadataVersionError(f"ledger {ledger_id} is marked already")
                new_version = 0
            else:
                _check_version(f"mark of ledger {ledger_id}", self.read_mark(ledger_id).version, version)
                new_version = version + 1
            self._run("INSERT OR REPLACE INTO replication_marks VALUES (?, ?, ?)", ledger_id, new_version, mark)
            self._marks_changed()
            return new_version

    @_with_reserve
    def remove_mark(self, ledger_id: int, version: int) -> None:
        with self._transaction():
            _check_version(f"mark of ledger {ledger_id}", self.read_mark(ledger_id).version, version)
            self._run("DELETE FROM replication_marks WHERE ledger_id = ?", ledger_id)
            self._marks_changed()

    def _marks_changed(self) -> None:
        self._run("UPDATE bookkeeper_store SET mark_changes = mark_changes + 1")

    def mark_ids(self, first: int, last: int, limit: int) -> list[int]:
        query = "SELECT ledger_id FROM replication_marks WHERE ledger_id BETWEEN ? AND ? ORDER BY ledger_id LIMIT ?"
        return [ledger_id for (ledger_id,) in self._run(query, first, last, limit)]

    @_with_reserve
    def lock_ledger(self, ledger_id: int, holder: str) -> bool:
        own = self._sessions.session_id
        with self._transaction():
            self._remove_dead("replication_locks")
            query = "SELECT session, holder FROM replication_locks WHERE ledger_id = ?"
            for session, found in self._run(query, ledger_id):
                if session == own:
                    return False
                raise LedgerLockedError(f"the replication lock of ledger {ledger_id} is held by {found}")
            self._run("INSERT INTO replication_locks VALUES (?, ?, ?)", ledger_id, own, holder)
            return True

    @_with_reserve
    def unlock_ledger(self, ledger_id: int) -> None:
        own = self._sessions.session_id
        self._run("DELETE FROM replication_locks WHERE ledger_id = ? AND session = ?", ledger_id, own)

    @_with_reserve
    def describe_lock(self, ledger_id: int, text: str) -> None:
        own = self._sessions.session_id
        self._run("UPDATE replication_locks SET holder = ? WHERE ledger_id = ? AND session = ?", text, ledger_id, own)

    def locks(self) -> dict[int, str]:
        rows = self._live(self._run("SELECT ledger_id, holder, session FROM replication_locks ORDER BY ledger_id"))
        return {ledger_id: holder for ledger_id, holder, _ in rows}

    def replication_state(self) -> object:
        return self._run("SELECT mark_changes FROM bookkeeper_store"), list(self.locks())

    # -- auditors --

    @_with_reserve
    def vote(self, candidate: str) -> int:
        own = self._sessions.session_id
        with self._transaction():
            self._remove_dead("auditor_votes")
            self._run("INSERT OR IGNORE INTO auditor_votes (session, candidate) VALUES (?, ?)", own, candidate)
            ((number,),) = self._run("SELECT number FROM auditor_votes WHERE session = ?", own)
            return int(number)

    @_with_reserve
    def withdraw_vote(self) -> None:
        self._run("DELETE FROM auditor_votes WHERE session = ?", self._sessions.session_id)

    def votes(self) -> list[tuple[int, str]]:
        rows = self._live(self._run("SELECT number, candidate, session FROM auditor_votes ORDER BY number"))
        return [(number, candidate) for number, candidate, _ in rows]

    def read_setting(self, name: str) -> Versioned[bytes] | None:
        for value, version in self._run("SELECT value, version FROM autorecovery_settings WHERE name = ?", name):
            return Versioned(bytes(value), version)
        return None

    @_with_reserve
    def write_setting(self, name: str, value: bytes | None) -> bool:
        with self._transaction():
            found = self.read_setting(name)
            if value is None:
                self._run("DELETE FROM autorecovery_settings WHERE name = ?", name)
            else:
                row = name, found.version + 1 if found else 0, value
                self._run("INSERT OR REPLACE INTO autorecovery_settings VALUES (?, ?, ?)", *row)
            return found is not None

    @_with_reserve
    def clear_settings(self) -> None:
        self._run("DELETE FROM autorecovery_settings")


def _check_version(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise MetadataVersionError(f"{what} has version {found}, not {expected}")

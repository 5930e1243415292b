"""The SQLite file of an index, which tells where entries are: schema, connections, structure checks and errors."""

import posixpath
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote

from ...crc32c import crc32c
from ...errors import DamageError, NoWritableDirectoryError, StorageError
from ...sqlite_files import make_private_file
from ..interfaces import IFileSystem, LedgerRow
from .blocks import BlockSet, block_sets_from, pack_block_sets
from .row_values import ledger_from

Connection = sqlite3.Connection
"""A connection to the SQLite file of an index."""

SCHEMA_VERSION = 3
APPLICATION_ID = 0x424B5458  # the bytes "BKTX"

_SCHEMA = (
    "CREATE TABLE runs(ledger INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, log INTEGER NOT NULL,"
    " offset INTEGER NOT NULL, sizes NOT NULL, checksums BLOB NOT NULL, crc INTEGER NOT NULL,"
    " PRIMARY KEY(ledger, first)) WITHOUT ROWID",
    "CREATE TABLE ledgers(ledger INTEGER PRIMARY KEY, master_key BLOB NOT NULL, fenced INTEGER NOT NULL,"
    " explicit_lac BLOB NOT NULL, forgotten_at INTEGER NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE state(complete INTEGER NOT NULL, generations BLOB NOT NULL)",
    "CREATE TABLE blocks(id INTEGER PRIMARY KEY, packed BLOB NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE block_keys(generation INTEGER NOT NULL, first BLOB NOT NULL, block INTEGER NOT NULL,"
    " PRIMARY KEY(generation, first)) WITHOUT ROWID",
    f"INSERT INTO state VALUES (0, x'{pack_block_sets([]).hex()}')",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_NAMES = ("runs", "ledgers", "state", "blocks", "block_keys")
_TABLES = [("table", name, name, 2 + i, _SCHEMA[i]) for i, name in enumerate(_NAMES)]
"""The rows of ``sqlite_schema`` that an index file must have; each contains the number of a table's first page.

Each start of the bookie compares the stored schema with this one, because the schema has no checksum.
"""

EVERY_TABLE = ("1",)
"""The argument for SQLite's structure check that makes it check all tables and stop at the first problem."""
READ_AT_START = ("ledgers", "state")

_MISLED = 2  # a value of the column ``complete``, which is else 0 or 1

_COMMITS = struct.Struct(">QI")
_TOTALS, _CRC = struct.Struct(">QQQ"), struct.Struct(">I")

# number of instructions after which SQLite calls the progress handler, about every 10 ms
_INSTRUCTIONS = 100_000

LEDGER_COLUMNS = "ledger, master_key, fenced, explicit_lac, forgotten_at, crc"

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class IndexDamageError(DamageError):
    """The structure of an index file is damaged.

    :ivar states: the ledger states that could be read.  Each is correct, but some may be missing.
    """

    def __init__(self, text: str, states: Sequence[LedgerRow] = ()) -> None:
        super().__init__(text)
        self.states = states


def connect(path: str, read_only: bool = False) -> sqlite3.Connection:
    """Open the SQLite file of an index; create the file if it does not exist.

    :param path: path of the file.
    :param read_only: whether to open an existing file for reading only.
    """
    if not read_only:
        make_private_file(path)  # SQLite gives its other files (-wal, -shm) the same permission mode as this file
    uri = f"file:{quote(path)}?mode={'ro' if read_only else 'rwc'}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None, timeout=60)
    for pragma in ("synchronous = FULL", "cell_size_check = ON", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def snapshot_of(path: str) -> sqlite3.Connection:
    """Open a connection that sees the index file ``path`` as it is now, without later commits."""
    connection = connect(path)
    connection.execute("BEGIN")
    is_complete(connection)
    return connection


def prepare(writer: sqlite3.Connection, path: str) -> None:
    """Create the schema in a new index file, or check the schema of an existing file.

    :param writer: the connection that commits to the index.
    :param path: path of the file, for error texts.
    :raises StorageError: the file has another schema.
    """
    (mode,) = writer.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StorageError(f"{path}: its file system does not allow a write-ahead log")
    if not writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        for statement in ("BEGIN IMMEDIATE", *_SCHEMA, "COMMIT"):
            writer.execute(statement)
    check_version(writer, path)


def check_version(connection: sqlite3.Connection, path: str) -> None:
    """Check the schema of the index file ``path``.

    :param connection: a connection to the file.
    :raises StorageError: another release wrote the file.
    :raises DamageError: the schema is damaged.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise StorageError(f"{path}: index schema version {version}, this release knows {SCHEMA_VERSION}")
    found = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master").fetchall()
    if found != _TABLES:
        raise damaged(path, "it has other tables than were made")


def is_complete(connection: sqlite3.Connection) -> bool:
    """Test whether the index is marked as complete: it covers all entry logs of its directory.

    :param connection: a connection to the index file.
    """
    return _state(connection, "complete", 1) == 1


def mark_misled(connection: sqlite3.Connection) -> None:
    """Mark the index as incomplete because a damaged row has misled a change of the index, within a transaction.

    A new row may be at a place where searches do not expect it.  Then they miss other rows, although all rows that they
    see are intact.  The mark is in the file so that it becomes valid together with this change, for all processes, and
    remains until the index is made anew.

    :param connection: the connection that commits to the index file.
    """
    connection.execute("UPDATE state SET complete = ? WHERE rowid = 1", (_MISLED,))


def is_misled(connection: sqlite3.Connection) -> bool:
    """Test whether the index is marked by :func:`mark_misled`.

    :param connection: a connection to the index file.
    """
    return _state(connection, "complete", 1) == _MISLED


def check_not_misled(connection: sqlite3.Connection, path: str) -> None:
    """Check that the index is not marked by :func:`mark_misled`.

    :param connection: a connection to the index file.
    :param path: path of the file, for error texts.
    :raises DamageError: the index is marked.
    """
    if is_misled(connection):
        raise damaged(path, "rows were changed beside a damaged row, so that searches may miss rows")


def read_commits(connection: sqlite3.Connection) -> int:
    """Return the number of commits of the index; 0 if only earlier versions of this bookie have written it.

    The number is stored in the column ``generations`` of row 2 of the table ``state``.  In row 1, this column has the
    list of block sets (the blocks that each flush or merge wrote).  Earlier versions of this bookie know only row 1,
    but they write the list to all rows, and so overwrite the number.  Therefore, a value in row 2 that does not have
    the length of an encoded number (12 bytes) counts as missing.

    :param connection: a connection to the index file.
    :raises DamageError: the number is damaged.
    """
    packed = _state(connection, "generations", 2)
    if not isinstance(packed, bytes) or len(packed) != _COMMITS.size:
        return 0
    (commits, _) = _COMMITS.unpack(packed)
    if packed != _packed_commits(commits):
        raise DamageError("the number of commits of an index is damaged")
    return int(commits)


def save_commits(connection: sqlite3.Connection, commits: int) -> None:
    """Store the number of commits of the index, within a transaction.

    :param connection: the connection that commits to the index file.
    """
    statement = "INSERT OR REPLACE INTO state(rowid, complete, generations) VALUES (2, 0, ?)"
    connection.execute(statement, (_packed_commits(commits),))


def _packed_commits(commits: int) -> bytes:
    return _COMMITS.pack(commits, crc32c(commits.to_bytes(8, "big")))


class TableSizes(NamedTuple):
    """The numbers of rows in the tables of an index that searches read."""

    runs: int
    ledgers: int
    block_keys: int


def read_totals(connection: sqlite3.Connection) -> TableSizes | None:
    """Return the numbers of rows that the last commit has stored; None if an earlier version of this bookie made it.

    The numbers are stored like the number of commits (:func:`read_commits`), in row 3 of the table ``state``.

    :param connection: a connection to the index file.
    :raises DamageError: the numbers are damaged.
    """
    packed = _state(connection, "generations", 3)
    if not isinstance(packed, bytes) or len(packed) != _TOTALS.size + _CRC.size:
        return None
    totals = TableSizes(*_TOTALS.unpack(packed[: _TOTALS.size]))
    if packed != _packed_totals(totals):
        raise DamageError("the numbers of rows of an index are damaged")
    return totals


def save_totals(connection: sqlite3.Connection, totals: TableSizes) -> None:
    """Store the numbers of rows that the tables have after this commit, within its transaction.

    :param connection: the connection that commits to the index file.
    """
    statement = "INSERT OR REPLACE INTO state(rowid, complete, generations) VALUES (3, 0, ?)"
    connection.execute(statement, (_packed_totals(totals),))


def _packed_totals(totals: TableSizes) -> bytes:
    packed = _TOTALS.pack(*totals)
    return packed + _CRC.pack(crc32c(packed))


def count_rows(connection: sqlite3.Connection, tables: Sequence[str] = TableSizes._fields) -> list[int]:
    """Count the rows of some tables; this reads all their pages.

    :param connection: a connection to the index file.
    """
    return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def check_totals(connection: sqlite3.Connection, path: str, tables: Sequence[str]) -> None:
    """Check that tables have as many rows as the commits have stored.

    One flipped bit in the head of a page can hide rows.  SQLite's check of the structure finds this, but not after a
    commit has changed the page: then the page is consistent, and the rows are gone.

    :param connection: a connection to the index file.
    :param path: path of the file, for error texts.
    :param tables: names of tables.
    :raises DamageError: a table has fewer or more rows.
    """
    totals = read_totals(connection)
    if totals is None:
        return
    counted = [name for name in TableSizes._fields if name in tables or tables is EVERY_TABLE]
    for name, found in zip(counted, count_rows(connection, counted), strict=True):
        if found != getattr(totals, name):
            raise damaged(path, f"{name} has {found} rows instead of {getattr(totals, name)}")


def _state(connection: sqlite3.Connection, column: str, row: int) -> object:
    """Return a value of the table ``state``; None if it does not have this row."""
    found = connection.execute(f"SELECT {column} FROM state WHERE rowid = ?", (row,)).fetchone()
    return None if found is None else found[0]


def read_block_sets(connection: sqlite3.Connection) -> list[BlockSet]:
    """Return the list of block sets, oldest first; a block set is the blocks that one flush or merge wrote.

    :param connection: a connection to the index file.
    :raises DamageError: the list of block sets is damaged.
    """
    kept = "CASE typeof(generations) WHEN 'blob' THEN generations END"
    return block_sets_from(_state(connection, kept, 1))


def file_size(connection: sqlite3.Connection) -> int:
    """Return the size of the index file in bytes.

    :param connection: a connection to the file.
    """
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages * page_size)


def check_structure(connection: sqlite3.Connection, path: str, tables: Sequence[str] = EVERY_TABLE) -> None:
    """Check the pages of the index file, the order of the rows in its tables, and the number of rows.

    :param path: path of the file, for error texts.
    :param connection: a connection to the file.
    :param tables: the names of the tables to check.
    :raises DamageError: the structure is damaged.
    """
    for table in tables:
        problems: Sequence[tuple[str]] = connection.execute(f"PRAGMA integrity_check({table})").fetchmany(1)
        if problems != [("ok",)]:
            raise damaged(path, problems[0][0])
    check_not_misled(connection, path)
    check_totals(connection, path, tables)


def check_snapshot(connection: sqlite3.Connection, path: str) -> None:
    """Check the structure of the index file as it is now (:func:`check_structure`), while another process may commit.

    :param connection: a connection to the file, without a transaction.
    :param path: path of the file, for error texts.
    :raises DamageError: the structure is damaged.
    """
    connection.execute("BEGIN")
    try:
        check_structure(connection, path)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class StructureCheck:
    """A check of the structure of the index file ``path``; another thread may interrupt it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: Connection | None = None
        self._interrupted = False

    def run(self, connection: Connection) -> int:
        """Check the pages of the index file, and the order of the rows in its tables.

        To interrupt SQLite at any time, two methods are needed.  ``Connection.interrupt`` works only while SQLite
        checks the pages.  A progress handler works only while SQLite compares the rows.

        :param connection: a connection to the file; the check reads the state of the file that this connection sees.
        :returns: the size of the file in bytes.
        :raises StorageError: the check was interrupted.
        :raises DamageError: the structure is damaged.
        """
        connection.set_progress_handler(lambda: self._interrupted, _INSTRUCTIONS)
        self._connection = connection
        try:
            if self._interrupted:
                raise StorageError(f"{self._path}: the check was interrupted")
            check_structure(connection, self._path)
        finally:
            self._connection = None
            connection.set_progress_handler(None, 0)
        return file_size(connection)

    def interrupt(self) -> None:
        """Make the running check, if any, and all later checks fail with an error."""
        self._interrupted = True
        connection = self._connection
        if connection is not None:
            connection.interrupt()


def check_to_open(writer: sqlite3.Connection, path: str, tables: Sequence[str]) -> None:
    """Check the structure of an index that is being opened, and its list of block sets.

    A block set is the blocks that one flush or merge wrote.

    :param writer: the connection that commits to the index.
    :param path: path of the file, for error texts.
    :param tables: the names of the tables to check.
    :raises IndexDamageError: the index is damaged.
    """
    try:
        check_structure(writer, path, tables)
        read_block_sets(writer)
        read_commits(writer)
        has_totals = read_totals(writer) is not None
    except DamageError as error:
        raise IndexDamageError(str(error), _readable_ledgers(writer)) from error
    if tables is EVERY_TABLE and not has_totals:
        _add_totals(writer)


def _add_totals(writer: sqlite3.Connection) -> None:
    """Store the numbers of rows of a file without them, which is new or from an earlier version, and was checked.

    If this fails, for example on a full disk, the next commit stores them.
    """
    try:
        writer.execute("BEGIN IMMEDIATE")
        save_totals(writer, TableSizes(*count_rows(writer)))
        writer.execute("COMMIT")
    except sqlite3.Error:
        if writer.in_transaction:
            writer.execute("ROLLBACK")


def _readable_ledgers(connection: sqlite3.Connection) -> list[LedgerRow]:
    """Return the ledger states that can be read from a damaged index, by scanning the table from both ends."""
    found: dict[int, LedgerRow] = {}
    for order in ("", " DESC"):
        try:
            for values in connection.execute(f"SELECT {LEDGER_COLUMNS} FROM ledgers ORDER BY ledger{order}"):
                try:
                    row = ledger_from(values)
                except DamageError:
                    continue
                found[row.ledger_id] = row
        except (sqlite3.Error, UnicodeDecodeError):
            continue  # a scan stops at damage; the scan from the other end reads the rows after it
    return [row for _, row in sorted(found.items())]


def set_aside(fs: IFileSystem, path: str) -> None:
    """Rename the index file ``path``, and SQLite's files beside it, so that a new index can be created.

    The index file is renamed before its write-ahead log.  If a crash comes between the two, the log remains without the
    file, and SQLite ignores it.  In the opposite order, the file could remain without the log: SQLite would accept it,
    and the commits in the log would be lost.

    :param fs: the file system.
    """
    for suffix in ("", "-wal", "-shm"):
        if fs.exists(path + suffix):
            fs.rename(path + suffix, f"{path}.replaced{suffix}")
            fs.sync_directory(posixpath.dirname(path))


def damaged(path: str, why: str) -> DamageError:
    """Make the error of a damaged index file, with a text in one line that says how the bookie can start.

    :param path: path of the file.
    :param why: what is damaged, perhaps in several lines of SQLite.
    """
    said = " ".join(why.removeprefix("*** in database main ***").split())
    return DamageError(
        f"{path} is damaged: {said}; start once with rebuildIndex=true to make the index from the entry logs"
    )


@contextmanager
def storage_errors(path: str) -> Iterator[None]:
    """Convert SQLite's errors in a ``with`` statement to storage errors.

    So a search that failed never looks like a search that found no entry.

    :param path: path of the index file, for error texts.
    """
    try:
        yield
    except sqlite3.Error as e:
        extended = getattr(e, "sqlite_errorcode", 0)
        code = extended & 0xFF
        if code in _DAMAGED or "decode" in str(e):  # "decode" is in SQLite's error for a text that is not UTF-8
            raise damaged(path, str(e)) from e
        if extended == sqlite3.SQLITE_IOERR_SHMSIZE:  # the disk has no space for SQLite's file of shared memory
            raise NoWritableDirectoryError(f"{path}: the disk has no space for the 32 KiB that opening it takes") from e
        if code in _FULL:
            raise NoWritableDirectoryError(f"{path}: {e}") from e
        raise StorageError(f"{path}: {e}") from e
    except UnicodeDecodeError as e:  # a text in the file, or in SQLite's error message, is not UTF-8
        raise damaged(path, "a text of it cannot be decoded") from e

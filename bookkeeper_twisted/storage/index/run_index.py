"""The run index of one ledger directory, in one SQLite file: it tells where in the entry logs each entry is.

::

    runs(ledger, first, last, log, offset, sizes, checksums, crc)     primary key (ledger, first)
    blocks(id, packed, crc)     primary key (id)
    block_keys(generation, first, block)     primary key (generation, first)
    ledgers(ledger, master_key, fenced, explicit_lac, forgotten_at, crc)    primary key (ledger)
    state(complete, generations)    a second row has the number of commits

``sizes`` is an integer or a blob (:mod:`.row_values`).  ``packed`` is a block of packed rows, which one flush wrote for
many ledgers (:mod:`.blocks`); a *block set* is the blocks that one flush or merge wrote, and the column ``generation``
has its id.  Each entry is in only one row of ``runs`` and ``blocks``.  ``crc`` is a CRC32C over the rest of the row.
It is needed because SQLite notices a broken structure, but not a flipped bit in a value.

A damaged key can mislead a search, so that it misses a row that exists.  The rows are stored in the order of the keys
with which they were written, and every search ends between two adjacent rows.  If both are undamaged, and the wanted
key belongs between them, no row with this key exists.  So before the index reports that an entry is missing, or that a
ledger has no more entries, it verifies the CRC of both rows, even if they are of other ledgers.

This needs rows in order, so each commit verifies that no damaged key misled an insertion: the rows before and after new
rows must be undamaged, too.  If not, a merge of blocks is undone, and a commit that replaces rows fails.  But a flush
must not fail for a damaged row of other ledgers.  Its rows are stored, perhaps out of order, and the commit marks the
file.  A marked index still finds most rows, but reports nothing as missing; the next start refuses it as damaged.

These checks do not find a damaged page from which rows have disappeared.  A check of the whole file finds it: SQLite's
check of the structure, or if a later commit made the page consistent, the number of rows, which each commit stores.  So
a large file is checked only after the start of the bookie, in a snapshot from before the first commit.  Until this
check has ended, the index reports no entry as missing; nor after any check that found damage.

Each commit syncs SQLite's write-ahead log and then copies its content to the database file, because SQLite ignores all
commits after damage in the log.  If a sync fails, the log may still contain the complete commit, and a restart would
apply it.  So a failed commit is overwritten by an empty commit.  One connection commits.  Each search uses a
connection of its own, so that threads never share a connection.
"""

import posixpath
import sqlite3
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, compress
from operator import attrgetter, le

from zope.interface import implementer

from ...errors import DamageError, NoWritableDirectoryError, StorageError
from ...sqlite_files import has_lost_file
from ..cache.mixed_entries import ascending
from ..interfaces import IFileSystem, IndexBatch, IndexRow, IRunIndex, LedgerRow
from ..mixed_rows import MixedRows
from .block_writer import BlockWriter, Span
from .blocks import rows_of_packed
from .index_file import (
    EVERY_TABLE,
    LEDGER_COLUMNS,
    READ_AT_START,
    StructureCheck,
    TableSizes,
    check_not_misled,
    check_snapshot,
    check_to_open,
    check_version,
    connect,
    count_rows,
    file_size,
    is_complete,
    prepare,
    read_commits,
    read_totals,
    save_commits,
    save_totals,
    set_aside,
    snapshot_of,
    storage_errors,
)
from .row_values import Values, ledger_from, stored_bytes
from .rows import still_at, without
from .run_writer import RunWriter
from .state_writer import StateWriter
from .stored_blocks import StoredBlocks, find_row
from .stored_runs import MAX_ID, StoredRuns

FILE_NAME = "index.sqlite"
CHECKED_WHOLE = 128 * 1024 * 1024
"""An index of at most this number of bytes is checked completely at the start of a bookie, a larger one later.

The check reads about 130 MB/s.  It includes the order of the rows, which SQLite's quick check leaves out.
"""

_ledger = attrgetter("ledger_id")
_LEDGERS = f"SELECT {LEDGER_COLUMNS} FROM ledgers WHERE ledger > ? ORDER BY ledger LIMIT ?"

_PAGE = 500
_KNOWN_LEDGERS = 1 << 18  # maximum number of ledgers whose last entry ids are kept in memory, in up to 28 MiB


@implementer(IRunIndex)
class SqliteRunIndex:
    """The run index of one ledger directory, in one SQLite file: it tells where in the entry logs each entry is.

    :meth:`open` creates this object.

    :ivar commits: number of commits of the file since it was created.
    :ivar in_doubt: whether a failed commit may be in the write-ahead log, so that a restart applies it.
    :ivar unmoved_commits: number of commits whose copy from the write-ahead log to the file failed at first.
    :param unchecked: a connection that sees the file as it was at the start, for the check of its structure; None if
        the structure was checked already.
    """

    def __init__(
        self, path: str, writer: sqlite3.Connection, complete: bool, read_only: bool = False,
        unchecked: sqlite3.Connection | None = None,
    ) -> None:  # fmt: skip
        self.path = path
        self._unchecked = unchecked
        self._damage = ""
        self._structure = StructureCheck(path)
        self._read_only = read_only
        self.complete = complete
        self.commits = read_commits(writer)
        self.unmoved_commits = 0
        self.in_doubt = False
        self._writer = writer
        self._stored = RunWriter(writer)
        self._readers: list[sqlite3.Connection] = []
        self._last: dict[int, int] = {}

    @classmethod
    def open(cls, fs: IFileSystem, directory: str, fresh: bool = False, check_later: bool = False) -> "SqliteRunIndex":
        """Open the index of a directory; create it if it does not exist.

        :param fresh: whether to begin a new index; the old file is renamed to ``.replaced``.
        :param check_later: whether to check only the ledger states of a large index now, and the rest by :meth:`check`.
        :raises DamageError: the file is damaged.
        :raises StorageError: the index cannot be opened; or another release wrote it; or its write-ahead log has
            commits, but the index file itself is missing or empty.
        """
        path = posixpath.join(directory, FILE_NAME)
        if fresh:
            set_aside(fs, path)
        elif has_lost_file(path):
            raise StorageError(
                f"{path} is missing or empty, but {path}-wal has commits of it: put the file back, or start once with"
                " rebuildIndex=true to make the index from the entry logs"
            )
        with storage_errors(path):
            writer = connect(path)
            try:
                prepare(writer, path)
                later = check_later and file_size(writer) > CHECKED_WHOLE
                check_to_open(writer, path, READ_AT_START if later else EVERY_TABLE)
                return cls(path, writer, is_complete(writer), unchecked=snapshot_of(path) if later else None)
            except BaseException:
                writer.close()
                raise

    @classmethod
    def open_to_serve(cls, fs: IFileSystem, directory: str, fresh: bool = False) -> "SqliteRunIndex":
        """Open the index of a directory for a bookie; the bookie calls :meth:`check` later if the index is large.

        :param directory: path of the index directory; an index is created if it has none.
        :param fresh: whether to begin a new index.
        """
        return cls.open(fs, directory, fresh, check_later=True)

    @classmethod
    def open_to_read(cls, fs: IFileSystem, directory: str) -> "SqliteRunIndex | None":
        """Open the index of a directory for searches, even while another process commits to it.

        The structure of a small index is checked, as at the start of a bookie; that of a large one is not.

        :returns: None if the directory has no index.
        :raises DamageError: the file is damaged.
        :raises StorageError: another release wrote it.
        """
        path = posixpath.join(directory, FILE_NAME)
        if not fs.exists(path):
            return None
        with storage_errors(path):
            connection = connect(path, read_only=True)
            try:
                check_version(connection, path)
                if file_size(connection) <= CHECKED_WHOLE:
                    check_snapshot(connection, path)
                return cls(path, connection, is_complete(connection), read_only=True)
            except BaseException:
                connection.close()
                raise

    # -- commit --

    def commit(self, batch: IndexBatch) -> None:
        try:
            with storage_errors(self.path):
                complete = self._commit(batch)
        except StorageError as error:
            # drop the last entry ids in memory, because the failed commit may have changed them
            self._last.clear()
            self._stored.forget()
            # on a full disk, do not overwrite the failed commit: SQLite's log has only a part of it, and ignores that
            if not isinstance(error, NoWritableDirectoryError):
                self._overwrite()
            raise
        self.in_doubt = False
        self.commits = self._next(batch)
        self.complete = complete
        self._move_wal()

    def _next(self, batch: IndexBatch) -> int:
        """Return the number of commits that the index will have after the commit of ``batch``."""
        return max(self.commits + 1, batch.least_commits)

    def _overwrite(self) -> None:
        """Overwrite a failed commit in the write-ahead log with an empty commit."""
        self.in_doubt = True
        # change a value and change it back: without a changed page, SQLite would write nothing over the failed commit
        change = "UPDATE state SET complete = complete + ?"
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany(change, [(1,), (-1,)])
            self._writer.execute("COMMIT")
        except sqlite3.Error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            return
        self.in_doubt = False

    def _commit(self, batch: IndexBatch) -> bool:
        """Commit ``batch`` in one transaction; return whether the index is complete then."""
        execute = self._writer.execute
        execute("BEGIN IMMEDIATE")
        try:
            runs, ledgers, keys = read_totals(self._writer) or count_rows(self._writer)
            blocks, states = BlockWriter(self._writer), StateWriter(self._writer)
            if batch.without_runs:
                runs = keys = 0
                execute("DELETE FROM runs")
                execute("UPDATE state SET complete = 0")
                blocks.clear()
                self._last.clear()
                self._stored.forget()
            self._stored.begin()
            states.delete(batch.deleted_ledgers)
            self._delete(blocks, batch.deleted_ledgers)
            self._learn(blocks, batch)
            self._put(blocks, batch.runs)
            self._put_mixed(blocks, batch.mixed)
            self._move(blocks, batch)
            states.put(batch.ledgers)
            blocks.save()
            if batch.complete:
                execute("UPDATE state SET complete = 1 WHERE complete = 0")
            complete = is_complete(self._writer)
            save_commits(self._writer, self._next(batch))
            changed = runs + self._stored.change, ledgers + states.change, keys + blocks.change
            save_totals(self._writer, TableSizes(*changed))
            execute("COMMIT")
            return complete
        except BaseException:
            if self._writer.in_transaction:
                execute("ROLLBACK")
            raise

    def _delete(self, blocks: BlockWriter, ledger_ids: Sequence[int]) -> None:
        for ledger_id in ledger_ids:
            self._stored.delete(ledger_id)
            self._last.pop(ledger_id, None)
        blocks.delete(ledger_ids)

    def _learn(self, blocks: BlockWriter, batch: IndexBatch) -> None:
        """Load into memory the last indexed entry id of each ledger in a ``batch``, unless it is there already."""
        known = self._last
        columns = [list(map(_ledger, batch.runs)), *[rows.ledger_ids for rows in batch.mixed]]
        fresh = {ledger_id for ledger_ids in columns for ledger_id in set(ledger_ids).difference(known)}
        if len(known) + len(fresh) > _KNOWN_LEDGERS:
            known.clear()
            fresh = set(chain.from_iterable(columns))
        unknown = ascending(fresh)
        known.update(dict.fromkeys(unknown, -1))
        for found in (self._stored.last_entries(unknown), blocks.last_entries(unknown)):
            for ledger_id, last in found.items():
                known[ledger_id] = max(last, known[ledger_id])

    def _put(self, blocks: BlockWriter, rows: Sequence[IndexRow]) -> None:
        """Insert index rows into the SQLite table ``runs``; remove their entries from older index rows.

        Rows with only new entries are inserted by few statements, other rows one by one.
        """
        known, begin = self._last, 0
        late = [_span(row) for row in rows if row.first <= known[row.ledger_id]]
        if late:  # blocks may have older rows of these entries: move them to the table ``runs``, to cut them there
            self._stored.insert(blocks.take_out_older(late))
        for index, row in enumerate(rows):
            ledger_id, first, last = row[:3]
            before = known[ledger_id]
            if first <= before:
                self._stored.append(rows[begin:index])
                self._stored.make_room(row, self._stored.overlapped(*_span(row)))
                self._stored.insert([row])
                begin = index + 1
            known[ledger_id] = last if last > before else before
        self._stored.append(rows[begin:])

    def _put_mixed(self, blocks: BlockWriter, mixed: Sequence[MixedRows]) -> None:
        """Store the packed index rows (36 bytes each) that one flush has written for several ledgers.

        Rows with higher entry ids than all older rows of their ledger are stored as new blocks.  The other rows replace
        older rows, so they are unpacked and inserted into the SQLite table ``runs``.
        """
        known, late = self._last, list[IndexRow]()
        behind: list[MixedRows] = []
        for rows in mixed:
            before = map(known.__getitem__, rows.ledger_ids)
            is_late = list(map(le, rows.first_ids, before))
            if True in is_late:
                late += rows_of_packed(compress(rows.packed, is_late))
                rows = rows.but(is_late)
            behind.append(rows)
            known.update(zip(rows.ledger_ids, rows.last_ids, strict=True))
        blocks.add(behind)
        self._put(blocks, late)

    def _move(self, blocks: BlockWriter, batch: IndexBatch) -> None:
        """Replace the index rows of entries that a compaction copied by rows that refer to the copies.

        A row that refers to a log from which nothing was copied stays: its entries were written again meanwhile.
        """
        moved = sorted(batch.moved)
        taken = deque(sorted(blocks.take_out(map(_span, moved), batch.moved_from)) if moved else ())
        fresh: list[IndexRow] = []
        for row in moved:
            packed: list[IndexRow] = []
            while taken and _span(taken[0])[:2] <= (row.ledger_id, row.last):
                old = taken.popleft()
                (packed if old.ledger_id == row.ledger_id else fresh).append(old)
            stored = self._stored.overlapped(*_span(row))
            for part in still_at(row, sorted(stored + packed), batch.moved_from):
                self._stored.make_room(part, stored if part is row else self._stored.overlapped(*_span(part)))
                fresh.append(part)
            left = [part for old in packed for part in without(old, row.first, row.last)]
            fresh += [part for part in left if part.last < row.first]
            taken.extendleft(part for part in left if part.first > row.last)
        self._stored.insert([*fresh, *taken])

    def _move_wal(self) -> None:
        """Copy the commits in the write-ahead log to the database file.

        A failure loses nothing, because the log is durable; the next call tries again.
        """
        try:
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error:
            self.unmoved_commits += 1

    # -- check --

    @property
    def checked(self) -> bool:
        return self._unchecked is None

    def check(self) -> int:
        if self.in_doubt:
            raise StorageError(f"{self.path}: a commit failed, and whether a restart finds it is not known")
        try:
            return self._check()
        except DamageError as error:
            self._damage = str(error)
            raise

    def _check(self) -> int:
        unchecked = self._unchecked
        if unchecked is None:
            with self._snapshot() as connection:
                return self._structure.run(connection)
        with storage_errors(self.path):
            n_bytes = self._structure.run(unchecked)
            self._unchecked = None
            unchecked.close()
            return n_bytes

    def interrupt(self) -> None:
        self._structure.interrupt()

    def _deny(self, connection: sqlite3.Connection) -> None:
        """Raise a StorageError if an entry that a search does not find may still exist.

        This is so until the check of the index has ended, after a check that found damage, and after a damaged row may
        have misled an insertion.

        :param connection: the connection that has searched, still in the transaction of the search.
        """
        if self._unchecked is not None:
            raise StorageError(f"{self.path} is being checked; what it does not hold is not known before")
        if self._damage:
            raise DamageError(self._damage)
        check_not_misled(connection, self.path)

    # -- searches, any thread --

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        with self._snapshot() as connection:
            row = find_row(connection, ledger_id, entry_id)
            if row is None:
                self._deny(connection)
        return row

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> Sequence[IndexRow | bytes]:
        with self._snapshot() as connection:
            packed = StoredBlocks(connection).rows_ahead(ledger_id, entry_id, limit)
            return packed or StoredRuns(connection).rows_ahead(ledger_id, entry_id, limit)

    def rows(self, ledger_id: int) -> Iterator[IndexRow]:
        first = 0
        while True:
            rows = self._rows(ledger_id, first)
            yield from rows
            if len(rows) < _PAGE or rows[-1].last == MAX_ID:
                return
            first = rows[-1].last + 1

    def _rows(self, ledger_id: int, first: int) -> list[IndexRow]:
        with self._snapshot() as connection:
            rows = StoredRuns(connection).rows(ledger_id, first, _PAGE)
            if len(rows) < _PAGE:
                self._deny(connection)
            rows += StoredBlocks(connection).rows(ledger_id, first, _PAGE)
        return sorted(rows)[:_PAGE]

    def last_entry(self, ledger_id: int) -> int:
        with self._snapshot() as connection:
            self._deny(connection)
            return max(StoredRuns(connection).last_entry(ledger_id), StoredBlocks(connection).last_entry(ledger_id))

    def ledgers(self) -> Iterator[LedgerRow]:
        after = -1
        keys: dict[bytes, bytes] = {}  # store equal master keys once: most ledgers of a user have the same one
        while page := self._query(_LEDGERS, (after, _PAGE)):
            for ledger_id, key, *rest in page:
                yield ledger_from((ledger_id, keys.setdefault(key, key), *rest))
            after = page[-1][0]

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        with self._snapshot() as connection:
            rows = StoredRuns(connection).page(after, limit, log_ids)
            rows += StoredBlocks(connection).page(after, limit, log_ids)
        return sorted(rows)[:limit]

    def live(self) -> dict[int, tuple[int, int]]:
        with self._snapshot() as connection:
            live = StoredBlocks(connection).live()
            for log_id, (count, n_bytes) in StoredRuns(connection).live().items():
                packed_count, packed_bytes = live.get(log_id, (0, 0))
                live[log_id] = packed_count + count, packed_bytes + n_bytes
        return live

    def _query(self, text: str, values: Values) -> list[Values]:
        with storage_errors(self.path), self._reader() as connection:
            return connection.execute(text, values).fetchall()

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Provide a connection that sees one state of the index, for the duration of a ``with`` statement."""
        with storage_errors(self.path), self._reader() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = connect(self.path, self._read_only)
            connection.execute("PRAGMA query_only = ON")
            connection.create_function("stored_bytes", 2, stored_bytes, deterministic=True)
        try:
            yield connection
        finally:
            self._readers.append(connection)

    def close(self) -> None:
        with storage_errors(self.path):
            while self._readers:
                self._readers.pop().close()
            if self._unchecked is not None:
                self._unchecked.close()
            self._writer.close()


def _span(row: IndexRow) -> Span:
    return row.ledger_id, row.first, row.last

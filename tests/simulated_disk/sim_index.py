"""The run index on a simulated disk: the same contract as the SQLite one, kept as simple as can be.

Each commit replaces the whole state by one atomic operation of the disk.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from itertools import chain

import attrs
from zope.interface import implementer

from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.directory_storage import storage_error
from bookkeeper_twisted.storage.index.blocks import pack_row, rows_of_packed
from bookkeeper_twisted.storage.index.rows import can_be_packed, row_bytes, still_at, without
from bookkeeper_twisted.storage.interfaces import IFileSystem, IndexBatch, IndexRow, IRunIndex, LedgerRow
from bookkeeper_twisted.storage.mixed_rows import packed_of

from .sim_disk import SimDisk

FILE_NAME = "index.sim"


@attrs.frozen
class _State:
    """What is committed.  Never changed, only replaced; ledgers without change are shared."""

    rows: dict[int, tuple[IndexRow, ...]] = attrs.field(factory=dict)
    ledgers: dict[int, LedgerRow] = attrs.field(factory=dict)
    complete: bool = False
    commits: int = 0
    digest: bytes = b""


@implementer(IRunIndex)
class SimIndex:
    """See the module docstring; made by :meth:`open`."""

    def __init__(self, disk: SimDisk, path: str, state: _State) -> None:
        self._disk = disk
        self._path = path
        self._state = state
        self.in_doubt = False

    @classmethod
    def open(cls, fs: IFileSystem, directory: str, fresh: bool = False) -> "SimIndex":
        """Opens the index of a directory of a :class:`~.sim_disk.SimDisk`."""
        assert isinstance(fs, SimDisk)
        path = posixpath.join(directory, FILE_NAME)
        try:
            if fresh and fs.exists(path):
                fs.unlink(path)
            return cls(fs, path, fs.committed(path) or _State())
        except OSError as e:
            raise storage_error(e, path) from e

    @property
    def complete(self) -> bool:
        return self._state.complete

    @property
    def commits(self) -> int:
        return self._state.commits

    checked = True

    def check(self) -> int:
        """Reads it."""
        if self.in_doubt:
            raise StorageError(f"{self._path}: a commit failed, and whether a restart finds it is not known")
        self._read()
        return sum(map(len, self._state.rows.values()))

    def interrupt(self) -> None:
        """A check takes no time."""

    def commit(self, batch: IndexBatch) -> None:
        before = self._state
        rows, ledgers = {} if batch.without_runs else dict(before.rows), dict(before.ledgers)
        for ledger_id in batch.deleted_ledgers:
            rows.pop(ledger_id, None)
            ledgers.pop(ledger_id, None)
        for row in [*batch.runs, *rows_of_packed(packed_of(batch.mixed))]:
            parts = [row]
            for old in rows.get(row.ledger_id, ()):
                parts += without(old, row.first, row.last)
            rows[row.ledger_id] = tuple(sorted(parts, key=_first))
        for row in batch.moved:
            for part in still_at(row, _overlapping(rows.get(row.ledger_id, ()), row), batch.moved_from):
                parts = [part]
                for old in rows[row.ledger_id]:
                    parts += without(old, part.first, part.last)
                rows[row.ledger_id] = tuple(sorted(parts, key=_first))
        ledgers.update((row.ledger_id, row) for row in batch.ledgers)
        digest = blake2b(before.digest + repr(batch).encode(), digest_size=16).digest()
        complete = batch.complete or (before.complete and not batch.without_runs)
        state = _State(rows, ledgers, complete, max(before.commits + 1, batch.least_commits), digest)
        try:
            self._disk.commit(self._path, state, digest)
        except OSError as e:
            error = storage_error(e, self._path)
            if not isinstance(error, NoWritableDirectoryError):
                self._overwrite()
            raise error from e
        self.in_doubt = False
        self._state = state

    def _overwrite(self) -> None:
        """Commit the present state, in the place of a commit that failed."""
        self.in_doubt = True
        try:
            self._disk.commit(self._path, self._state, self._state.digest)
        except OSError:
            return
        self.in_doubt = False

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        rows = self._rows(ledger_id)
        index = bisect_right(rows, entry_id, key=_first) - 1
        return rows[index] if index >= 0 and rows[index].last >= entry_id else None

    def rows_ahead(self, ledger_id: int, entry_id: int, limit: int) -> Sequence[IndexRow | bytes]:
        rows = [row for row in self._rows(ledger_id) if row.last >= entry_id][:limit]
        if not rows or rows[0].first > entry_id:
            return []
        return [pack_row(row) if can_be_packed(row) else row for row in rows]

    def rows(self, ledger_id: int) -> Iterator[IndexRow]:
        yield from self._rows(ledger_id)

    def last_entry(self, ledger_id: int) -> int:
        rows = self._rows(ledger_id)
        return rows[-1].last if rows else -1

    def ledgers(self) -> Iterator[LedgerRow]:
        ledgers = self._read().ledgers
        yield from (ledgers[ledger_id] for ledger_id in sorted(ledgers))

    def page(self, after: tuple[int, int], limit: int, log_ids: Collection[int] | None = None) -> list[IndexRow]:
        rows = self._read().rows
        found = [
            row
            for ledger_id in sorted(rows)
            for row in rows[ledger_id]
            if (ledger_id, row.first) > after and (log_ids is None or row.log_id in log_ids)
        ]
        return found[:limit]

    def live(self) -> dict[int, tuple[int, int]]:
        live: dict[int, tuple[int, int]] = {}
        for row in chain.from_iterable(self._read().rows.values()):
            count, n_bytes = live.get(row.log_id, (0, 0))
            live[row.log_id] = count + row.last - row.first + 1, n_bytes + row_bytes(row)
        return live

    def close(self) -> None:
        """Nothing is open."""

    def _rows(self, ledger_id: int) -> tuple[IndexRow, ...]:
        return self._read().rows.get(ledger_id, ())

    def _read(self) -> _State:
        """The state, by a read that the disk may fail."""
        try:
            state: _State = self._disk.committed(self._path) or _State()
        except OSError as e:
            raise storage_error(e, self._path) from e
        return state


def _overlapping(rows: Sequence[IndexRow], row: IndexRow) -> list[IndexRow]:
    return [old for old in rows if old.last >= row.first and old.first <= row.last]


def _first(row: IndexRow) -> int:
    return row.first

"""A read-only view of the files of a ledger directory, which a bookie may serve at the same time.

The entries of an index row may have moved to another log, or been deleted, before they are read: they are looked
up again before a report.  A directory that has no index yet, because Apache's bookie wrote it, is read
through its entry logs; the later copy of an entry counts, as in a rebuild.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import attrs

from ..errors import DamageError, StorageError
from .entry_log.reader import EntryLogReader
from .entry_log.scan import LogScan
from .index.rows import live_bytes, row_bytes, without
from .interfaces import IFileSystem, IndexRow, IRunIndex, LedgerRow
from .ledger_dirs import entry_log_ids, entry_log_name, log_bytes
from .rebuild import check_sealed, counted, rows_of

PAGE = 500
_WHOLE_ROW = 1 << 40
_first = attrgetter("first")


@attrs.frozen
class Inconsistency:
    """A contradiction between index and entry logs.

    :ivar ledger_id, entry_id: None for a whole entry log.
    """

    reason: str
    ledger_id: int | None = None
    entry_id: int | None = None


OpenIndex = Callable[[IFileSystem, str], IRunIndex | None]
"""Opens the index of a directory for look-ups; None if there is none."""


@attrs.frozen
class StoredDirectory:
    """The index and entry logs of one ledger directory, open for reading.

    :ivar path: ``current`` included.
    :ivar index: None if there is none, or one that does not cover every entry log.
    """

    fs: IFileSystem
    path: str
    index: IRunIndex | None

    @classmethod
    def open(cls, fs: IFileSystem, path: str, index_path: str, open_index: OpenIndex) -> "StoredDirectory":
        """Open a directory for reading.

        :param path: of the entry logs, ``current`` included.
        :param index_path: of the index, likewise.
        :param open_index: returns None where there is no index; an incomplete index counts as none.
        :raises StorageError: the index cannot be opened.
        """
        index = open_index(fs, index_path)
        if index is not None and not index.complete:
            index.close()
            index = None
        return cls(fs, path, index)

    def close(self) -> None:
        """Close the index."""
        if self.index is not None:
            self.index.close()

    def state(self, ledger_id: int) -> LedgerRow | None:
        """Return the state of ``ledger_id`` in the index, or None if the state or the index is missing."""
        if self.index is None:
            return None
        return next((row for row in self.index.ledgers() if row.ledger_id == ledger_id), None)

    def rows(self, ledger_id: int) -> Iterator[IndexRow]:
        """Yield the rows of a ledger, ascending.

        :raises DamageError: the index, or an entry log where there is no index, is damaged.
        """
        if self.index is not None:
            return self.index.rows(ledger_id)
        return iter(self._scanned_rows(ledger_id))

    def _scanned_rows(self, ledger_id: int) -> list[IndexRow]:
        held: list[IndexRow] = []
        for log_id in entry_log_ids(self.fs, self.path):
            for row in rows_of(iter(LogScan(self.fs, self.path, log_id)), log_id):
                if row.ledger_id == ledger_id:
                    _put(held, row)
        return held

    def bytes_to_read(self) -> int:
        """Return the bytes that :meth:`inconsistencies` has to read."""
        return log_bytes(self.fs, self.path) if self.index is None else live_bytes(self.index)

    def inconsistencies(self, advance: Callable[[int], object] = int) -> Iterator[Inconsistency]:
        """Verify every entry in the index by the checksums of its block; without an index, read every log.

        :param advance: called with the number of bytes that were just read.
        """
        return self._of_logs(advance) if self.index is None else self._of_rows(self.index, advance)

    def _of_logs(self, advance: Callable[[int], object]) -> Iterator[Inconsistency]:
        for log_id in entry_log_ids(self.fs, self.path):
            sizes: dict[int, int] = {}
            try:
                scan = LogScan(self.fs, self.path, log_id)
                for _ in counted(scan, sizes):
                    pass
                check_sealed(scan, sizes)
                advance(scan.file_size)
            except (StorageError, OSError) as error:
                yield Inconsistency(str(error))

    def _of_rows(self, index: IRunIndex, advance: Callable[[int], object]) -> Iterator[Inconsistency]:
        reader = EntryLogReader(self.fs, self.path)
        try:
            after = (-1, -1)
            while page := index.page(after, PAGE):
                for row in page:
                    reason = _damage(index, reader, row)
                    if reason is not None:
                        yield Inconsistency(reason, row.ledger_id, row.first)
                    advance(row_bytes(row))
                after = page[-1].ledger_id, page[-1].first
        finally:
            reader.close()


def _damage(index: IRunIndex, reader: EntryLogReader, row: IndexRow) -> str | None:
    """Describe the damage of a row's entries, in whichever log they lie now; return None without damage."""
    while True:
        try:
            reader.read_slice(row, row.first, _WHOLE_ROW)
            return None
        except (DamageError, OSError) as error:
            now = index.find(row.ledger_id, row.first)
            if now is None:
                return None  # the ledger was deleted
            if now == row:
                return str(error)
            row = now


def _put(held: list[IndexRow], row: IndexRow) -> None:
    """Insert a row into ascending rows, and remove the parts of older rows that the row overlaps."""
    low = max(bisect_right(held, row.first, key=_first) - 1, 0)
    high = bisect_right(held, row.last, key=_first)
    kept = [part for old in held[low:high] for part in without(old, row.first, row.last)]
    held[low:high] = sorted([*kept, row], key=_first)


def logs_of_id(fs: IFileSystem, directories: Sequence[str], log_id: int) -> list[str]:
    """Return the directories that hold an entry log ``log_id``, as each directory has log ids of its own.

    :param directories: their paths, ``current`` included.
    """
    return [path for path in directories if fs.exists(posixpath.join(path, entry_log_name(log_id)))]

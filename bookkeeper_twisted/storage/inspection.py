"""A read-only view of a ledger directory, for tools; a bookie may serve the directory at the same time.

After this view has read an index row, the bookie may copy the entries of the row to another log, or delete them.  So
the row is looked up again before damage is reported.  A directory of Apache's bookie has no index of ours.  Its entry
logs are scanned, and the last copy of an entry is valid, as in a rebuild of the index.
"""

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
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
    """A contradiction between an index and entry logs, or damage in one of them.

    :ivar reason: what is wrong, as text.
    :ivar ledger_id, entry_id: the first affected entry; None if a whole entry log is affected.
    """

    reason: str
    ledger_id: int | None = None
    entry_id: int | None = None


OpenIndex = Callable[[IFileSystem, str], IRunIndex | None]
"""A function that opens the index in a directory for searches; it returns None if there is no index."""


@attrs.frozen
class StoredDirectory:
    """The index and the entry logs of one ledger directory, opened for reading.

    :ivar path: path of the ledger directory, ending in ``current``.
    :ivar index: the index; None if the directory has no index that covers all entry logs.
    """

    fs: IFileSystem
    path: str
    index: IRunIndex | None

    @classmethod
    def open(cls, fs: IFileSystem, path: str, index_path: str, open_index: OpenIndex) -> "StoredDirectory":
        """Open a ledger directory for reading.

        :param path: path of the ledger directory, ending in ``current``.
        :param index_path: path of its index directory, ending in ``current``.
        :param open_index: opens the index.  An index that does not cover all entry logs is not used.
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
        """Return the state of ``ledger_id`` in the index; return None if the index, or the state, is missing."""
        if self.index is None:
            return None
        return next((row for row in self.index.ledgers() if row.ledger_id == ledger_id), None)

    def rows(self, ledger_id: int) -> Iterator[IndexRow]:
        """Yield the index rows of a ledger, sorted by entry; without an index, build them from a scan of the logs.

        :raises DamageError: the index is damaged; or there is no index, and an entry log is damaged.
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
        """Return the number of bytes that :meth:`inconsistencies` will read."""
        return log_bytes(self.fs, self.path) if self.index is None else live_bytes(self.index)

    def inconsistencies(self, advance: Callable[[int], object] = int) -> Iterator[Inconsistency]:
        """Verify all entries in the index against their checksums; without an index, scan all entry logs.

        :param advance: called with the number of bytes that were read since the previous call.
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
        with closing(EntryLogReader(self.fs, self.path)) as reader:
            after = (-1, -1)
            while page := index.page(after, PAGE):
                for row in page:
                    reason = _damage(index, reader, row)
                    if reason is not None:
                        yield Inconsistency(reason, row.ledger_id, row.first)
                    advance(row_bytes(row))
                after = page[-1].ledger_id, page[-1].first


def _damage(index: IRunIndex, reader: EntryLogReader, row: IndexRow) -> str | None:
    """Verify the entries of an index row; return an error text, or None if they are intact, moved or deleted."""
    while True:
        try:
            reader.read_slice(row, row.first, _WHOLE_ROW)
            return None
        except (DamageError, OSError) as error:
            now = index.find(row.ledger_id, row.first)
            if now is None:
                return None  # no damage: the ledger was deleted meanwhile
            if now == row:
                return str(error)
            row = now


def _put(held: list[IndexRow], row: IndexRow) -> None:
    """Insert an index ``row`` into the sorted rows ``held``; remove its entries from the older rows."""
    low = max(bisect_right(held, row.first, key=_first) - 1, 0)
    high = bisect_right(held, row.last, key=_first)
    kept = [part for old in held[low:high] for part in without(old, row.first, row.last)]
    held[low:high] = sorted([*kept, row], key=_first)


def logs_of_id(fs: IFileSystem, directories: Sequence[str], log_id: int) -> list[str]:
    """Return the directories that have an entry log ``log_id``.

    Several directories may have such a log, because each directory numbers its own logs.

    :param directories: paths of the ledger directories, each ending in ``current``.
    """
    return [path for path in directories if fs.exists(posixpath.join(path, entry_log_name(log_id)))]

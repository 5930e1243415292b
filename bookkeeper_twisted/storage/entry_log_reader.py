"""Reads slices of entry logs at places the index names, and checks that they are what was written.

Several threads of the read lane may use one reader.  An open file belongs to the thread that took it
out of the pool until it is put back, so nothing is locked and no file is closed under a reader.
"""

import posixpath
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from ..errors import DamageError
from ..model import EntryRun
from .interfaces import IFile, IFileSystem, IndexRow
from .ledger_dirs import entry_log_name
from .rows import first_bad_block, record_offsets

DECODED_ROWS = 256
"""Offset tables of rows with uneven records that are kept; what a log holds never changes."""

OffsetKey = tuple[int, int, int]
K = TypeVar("K")
V = TypeVar("V")


class EntryLogReader:
    """Reads the entry logs of one directory.

    :ivar max_open: idle files kept open.
    :ivar reads: preads of entries so far.
    """

    def __init__(self, fs: IFileSystem, directory: str, max_open: int = 64) -> None:
        self.directory = directory
        self.max_open = max_open
        self.reads = 0
        self._fs = fs
        self._idle: OrderedDict[int, IFile] = OrderedDict()
        self._offsets: OrderedDict[OffsetKey, Sequence[int]] = OrderedDict()

    def read(self, row: IndexRow, entry_id: int, max_bytes: int) -> EntryRun:
        """Entries of a row from ``entry_id`` on, as many as fit, at least one, by one ``pread``.

        :raises DamageError: the log is missing or holds something else there (S5, S9).
        :raises OSError: it could not be read.
        """
        offsets = self._offsets_of(row)
        index = entry_id - row.first
        start = offsets[index]
        end_index = max(bisect_right(offsets, start + max_bytes) - 1, index + 1)
        size = offsets[end_index] - start
        with self._file(row) as file:
            data = file.pread(size, row.offset + start)
        self.reads += 1
        if len(data) != size:
            raise self.damage(row, start, f"the file ends after {len(data)} of {size} bytes")
        run = _run_at(row, offsets, index, end_index, data)
        self._check(row, run, offsets[-1], start)
        return run

    def _check(self, row: IndexRow, run: EntryRun, total: int, start: int) -> None:
        if not run.ids_match() or not _sizes_match(run):
            raise self.damage(row, start, f"the records are not entries {run.first}..{run.last}")
        bad = first_bad_block(row, total, start, run.data)
        if bad is not None:
            raise self.damage(row, bad, "a block does not match its checksum")

    def _offsets_of(self, row: IndexRow) -> Sequence[int]:
        if isinstance(row.sizes, int):
            return record_offsets(row)
        key = (row.log_id, row.offset, row.last - row.first)
        offsets = self._offsets.get(key)
        if offsets is None:
            offsets = self._offsets[key] = record_offsets(row)
            if len(self._offsets) > DECODED_ROWS:
                _pop_oldest(self._offsets)
        return offsets

    def damage(self, row: IndexRow, at: int, what: str) -> DamageError:
        """The error for a row, ``at`` bytes after its begin."""
        return DamageError(f"{self.path(row.log_id)} offset {row.offset + at}: ledger {row.ledger_id}: {what}")

    def path(self, log_id: int) -> str:
        """The file of a log."""
        return posixpath.join(self.directory, entry_log_name(log_id))

    @contextmanager
    def _file(self, row: IndexRow) -> Iterator[IFile]:
        file = self._idle.pop(row.log_id, None)
        if file is None:
            try:
                file = self._fs.open(self.path(row.log_id))
            except FileNotFoundError as e:
                raise self.damage(row, 0, "the file is missing") from e
        try:
            yield file
        except BaseException:
            file.close()  # a file that failed once is opened anew
            raise
        self._put_back(row.log_id, file)

    def _put_back(self, log_id: int, file: IFile) -> None:
        if self._idle.setdefault(log_id, file) is not file:
            file.close()
        elif len(self._idle) > self.max_open:
            oldest = _pop_oldest(self._idle)
            if oldest is not None:
                oldest.close()

    def forget(self, log_id: int) -> None:
        """Closes the file of a log that is about to be removed."""
        file = self._idle.pop(log_id, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Closes all files."""
        while (file := _pop_oldest(self._idle)) is not None:
            file.close()


def _pop_oldest(things: "OrderedDict[K, V]") -> V | None:
    """One call, so that two threads never take the same one."""
    try:
        return things.popitem(last=False)[1]
    except KeyError:
        return None


def _run_at(row: IndexRow, offsets: Sequence[int], begin: int, end: int, data: bytes) -> EntryRun:
    first, count = row.first + begin, end - begin
    if isinstance(row.sizes, int):
        return EntryRun(row.ledger_id, first, count, data, row.sizes)
    base = offsets[begin]
    return EntryRun(row.ledger_id, first, count, data, 0, [o - base for o in offsets[begin : end + 1]])


def _sizes_match(run: EntryRun) -> bool:
    """Every size word of an even run, the first of an uneven one (its last is checked with the ids)."""
    if run.offsets is not None:
        return int.from_bytes(run.data[:4], "big") == run.offsets[1] - 4
    size = (run.stride - 4).to_bytes(4, "big")
    return all(run.data[i :: run.stride] == size[i : i + 1] * run.count for i in range(4))

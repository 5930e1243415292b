"""Writes the entry logs of one ledger directory: appends entries, syncs, begins new logs, seals complete ones.

A log is created when the first entry for it arrives, and grows up to :attr:`EntryLogWriter.size_limit`.  Then it is
sealed: its ledgers map is written, and the log is never changed again.  The first entry after a restart goes to a new
log.

If a write finds the disk full, the log is truncated to its synced part; index rows refer only to synced bytes.  After
any other error, a later sync of this log could succeed although bytes were lost.  So nothing more is written to this
log, and the next entries go to a new log.

Logs are written in complete blocks, past the page cache.  A sync first fills up the last block with filler: bytes that
every reader skips.

All methods block, may raise :class:`OSError`, and run on the flush thread, which writes the entry logs.
"""

import posixpath
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from operator import sub

from ...crc32c import Buffer
from ...entries.entry_run import EntryRun, lay_out
from ...errors import NO_SPACE
from ..cache.mixed_entries import SortedEntries
from ..files.disk_queue import DiskQueue
from ..files.replace import replace_file
from ..index.rows import mixed_rows_of, row_of, rows_of
from ..interfaces import IFile, IFileSystem, IndexRow
from ..ledger_dirs import entry_log_name
from ..mixed_rows import MixedRows
from . import format as layout

MAX_ROW_BYTES = 4 * 1024 * 1024
MAX_ROW_ENTRIES = 64 * 1024
SLICE = 1024 * 1024
"""Maximum number of bytes of one write to an entry log, because a write to the journal may have to wait for it."""

BLOCK = 4096
_LAST_ID = "lastId"


class OpenLog:
    """An entry log to which entries are appended.

    :param queue: for the log of a compaction, the queue of asynchronous writes to the disk; None if writes block.
    :ivar position: offset of the next byte to append.
    :ivar written: offset of the first appended byte that is not written to the file yet.
    :ivar synced: offset of the first appended byte that is not durable yet.
    """

    __slots__ = (
        "log_id", "file", "position", "written", "synced", "_pieces", "_ledgers", "_unsynced", "_queue",
    )  # fmt: skip

    def __init__(self, log_id: int, file: IFile, queue: DiskQueue | None = None) -> None:
        self.log_id = log_id
        self.file = file
        self.position = self.written = self.synced = layout.HEADER_SIZE
        self._pieces: list[Buffer] = []
        self._ledgers: dict[int, int] = {}
        # for each append since the last sync: the ledger ids of its records, and the number of bytes of each ledger
        self._unsynced: list[tuple[Sequence[int], Sequence[int]]] = []
        self._queue = queue

    @property
    def has_records(self) -> bool:
        return self.position > layout.HEADER_SIZE

    def append(self, run: EntryRun) -> IndexRow:
        """Append a ``run`` (consecutive entries of one ledger), and return its index row.

        A part of the run may stay in memory until the next :meth:`sync`.
        """
        row = row_of(run, self.log_id, self.position)
        self._unsynced.append(((run.ledger_id,), (run.size,)))
        self._append(run.data)
        return row

    def append_sorted(self, entries: SortedEntries) -> tuple[list[IndexRow], list[MixedRows]]:
        """Append sorted entries of many ledgers, and return their index rows.

        A part of the entries may stay in memory until the next :meth:`sync`.

        :param entries: the entries; their records together must have at most ``MAX_ROW_BYTES`` bytes, the limit of one
            index row.
        :returns: two lists, of which one is empty.  If all index rows fit the packed form of 36 bytes, they are in the
            second list; else all are in the first list.  :func:`~..index.rows.mixed_rows_of` tells what does not fit.
        """
        data, stride, offsets = lay_out(entries.entries)
        offsets = offsets if offsets is not None else range(0, len(data) + 1, stride)
        packed = mixed_rows_of(entries, data, offsets, self.log_id, self.position)
        starts = entries.starts
        begins = [offsets[start] for start in starts]
        sizes = list(map(sub, [*begins[1:], len(data)], begins))
        self._unsynced.append(([entries.ledger_ids[start] for start in starts], sizes))
        rows = rows_of(entries, self.log_id, self.position) if packed is None else []
        self._append(data)
        return rows, [packed] if packed is not None else []

    def append_records(self, ledger_id: int, data: Buffer) -> None:
        """Append records of one ledger to the log of a compaction.

        The records may stay in memory until the next :meth:`write_blocks`.

        :param data: the records; the caller must not change this buffer before the next :meth:`write_blocks`.
        """
        self._ledgers[ledger_id] = self._ledgers.get(ledger_id, 0) + len(data)
        self._append(data)

    def _append(self, data: Buffer) -> None:
        self._pieces.append(data)
        self.position += len(data)
        if self.position - self.written >= SLICE:
            self._write_out()

    def _write_out(self) -> None:
        """Write the complete blocks of the appended bytes to the file; keep the rest in memory."""
        end = self.position // BLOCK * BLOCK
        parts, rest, left = self._pieces, deque[Buffer](), self.position - end
        while left:
            last = parts.pop()
            if len(last) > left:
                parts.append(memoryview(last)[:-left])  # not a copy
            rest.appendleft(last[-left:])
            left -= len(rest[0])
        if self._queue is not None:
            self._queue.write(self.file, parts, self.written)
        else:
            self.file.pwritev(parts, self.written)
            self.file.start_writeback(self.written, end - self.written)
        self.written = end
        self._pieces = list(rest)

    def write_blocks(self) -> None:
        """Write the complete blocks of the appended bytes; copy the rest, so that the caller may reuse its buffers."""
        if self.position - self.written >= BLOCK:
            self._write_out()
        self._pieces = [b"".join(self._pieces)]

    def _write_rest(self) -> None:
        """Write all appended bytes to the file, with filler up to the end of the last block."""
        if self.written != self.position:
            # fill the last block: the next append begins a new block, so that durable records are never overwritten
            self._pieces.append(layout.FILLER * (-self.position % BLOCK))
            self.position += len(self._pieces[-1])
            self._write_out()

    def sync(self) -> None:
        """Make all appended records durable."""
        self._write_rest()
        if self.synced != self.position:
            self.file.sync()
        self.synced = self.position
        self._count_ledgers()

    def _count_ledgers(self) -> None:
        ledgers = self._ledgers
        for ledger_ids, sizes in self._unsynced:
            for ledger_id, size in zip(ledger_ids, sizes, strict=True):
                ledgers[ledger_id] = ledgers.get(ledger_id, 0) + size
        self._unsynced = []

    def seal(self, fs: IFileSystem) -> None:
        """Write the ledgers map, and only then the pointer to it in the header; both are durable on return.

        :param fs: opens the file again without direct I/O, because these writes are not complete blocks.
        """
        self.sync()
        if not self._ledgers:
            return
        self.file.close()
        # open the file again without direct I/O, because the next writes are not complete blocks
        self.file = fs.open(self.file.path)
        self.file.pwrite(layout.encode_map(self._ledgers), self.position)
        self.file.sync()
        self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))
        self.file.sync()

    def seal_unnamed(self, fs: IFileSystem) -> None:
        """Seal the log of a compaction, before the log gets its final name.

        One sync is enough, because no reader opens the log under its temporary name.

        :param fs: opens the file again without direct I/O, because the last bytes are not complete blocks.
        """
        self._write_rest()
        if self._queue is not None:
            self._queue.wait_for_writes()
        self.file.close()
        self.file = fs.open(self.file.path)
        ledgers = layout.encode_map(self._ledgers)
        self.file.truncate(self.position + len(ledgers))
        self.file.pwrite(ledgers, self.position)
        self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))
        self.file.sync()

    def cut_back(self) -> None:
        """Truncate the log to its synced part, and forget the entries that were appended after it."""
        self._pieces = []
        self._unsynced = []
        self.position = self.written = self.synced
        self.file.truncate(self.synced)


class EntryLogWriter:
    """The writer of the entry logs of one ledger directory (of its subdirectory ``current``).

    :ivar size_limit: maximum number of bytes of a log, unless a single entry is longer.
    :ivar direct: whether logs are written past the page cache.
    """

    def __init__(self, fs: IFileSystem, directory: str, size_limit: int, next_id: int = 0, direct: bool = True) -> None:
        self.size_limit = size_limit
        self.direct = direct
        self._fs = fs
        self._directory = directory
        self._next_id = next_id
        self._overtaken = False  # whether a compaction has reserved a higher log id than the id of the active log
        self._log: OpenLog | None = None

    @classmethod
    def open(cls, fs: IFileSystem, directory: str, size_limit: int, direct: bool = True) -> "EntryLogWriter":
        """Return a writer; its first log gets an id above every id that was ever used in the directory.

        :param size_limit: bytes after which the next log begins.
        :param direct: whether logs are written past the page cache.
        """
        return cls(fs, directory, size_limit, first_free_id(fs, directory), direct)

    @property
    def active_log_id(self) -> int | None:
        """Return the id of the active log, which garbage collection must not delete; None if no log is active."""
        return self._log.log_id if self._log is not None else None

    def append(self, run: EntryRun) -> list[IndexRow]:
        """Append consecutive entries to the active log, or to a new log if the active log is full.

        The entries are durable after the next :meth:`sync`.

        :returns: the index rows of the entries: one row, or several if the entries exceed a size limit.
        """
        rows, first, end = [], run.first, run.first + run.count
        try:
            while first < end:
                start, stop = run.bounds(first, 1)
                log = self._log_with_room(stop - start)
                room = min(self.size_limit - log.position, MAX_ROW_BYTES)
                count = max(1, run.fitting(first, MAX_ROW_ENTRIES, room, 0))
                rows.append(log.append(run.slice(first, count)))
                first += count
        except OSError as e:
            self._failed(e)
            raise
        return rows

    def append_sorted(self, entries: SortedEntries) -> tuple[list[IndexRow], list[MixedRows]]:
        """Append sorted entries of many ledgers; :meth:`sync` makes them durable.

        :returns: two lists of index rows, each in the order of the entries: the rows in packed form (36 bytes each) are
            in the second list, the rows that do not fit this form are in the first list.
        """
        rows: list[IndexRow] = []
        packed: list[MixedRows] = []
        begin = 0
        try:
            while begin < len(entries):
                log = self._log_with_room(entries.size(begin))
                part = entries.part(begin, min(self.size_limit - log.position, SLICE))
                part_rows, part_packed = log.append_sorted(part)
                rows += part_rows
                packed += part_packed
                begin += len(part)
        except OSError as e:
            self._failed(e)
            raise
        return rows, packed

    def sync(self) -> None:
        """Make all appended entries durable."""
        if self._log is None:
            return
        try:
            self._log.sync()
        except OSError as e:
            self._failed(e)
            raise

    def close(self) -> None:
        """Seal and close the active log.  The next writer begins a new log."""
        log, self._log = self._log, None
        if log is None:
            return
        try:
            log.seal(self._fs)
        finally:
            log.file.close()

    def _log_with_room(self, size: int) -> OpenLog:
        log = self._log
        if log is not None and (self._overtaken or self._is_full(log, size)):
            log.seal(self._fs)
            self._log = None
            log.file.close()
            log = None
        if log is None:
            log = self._log = self._create()
        return log

    def _is_full(self, log: OpenLog, size: int) -> bool:
        return log.has_records and log.position + size > self.size_limit

    def reserve(self, count: int = 1) -> list[int]:
        """Reserve ids for the logs that a compaction writes; later entries are appended to logs with higher ids.

        If several logs have a copy of an entry, a rebuild of the index uses the copy in the log with the highest id.
        So a compaction must call this before it reads the index rows of the entries that it copies: an entry that is
        written again during the compaction then goes to a log with a higher id.

        :returns: ``count`` log ids, ascending.
        """
        self._overtaken = True
        return self._take_ids(count)

    def _take_ids(self, count: int) -> list[int]:
        """Reserve the next log ids durably, so that no later log can get them, even after a crash."""
        log_ids: list[int] = []
        while len(log_ids) < count:
            if not self._fs.exists(self._path(self._next_id)):
                log_ids.append(self._next_id)
            self._next_id = _following(self._next_id)
        replace_file(self._fs, posixpath.join(self._directory, _LAST_ID), f"{log_ids[-1]:x}\n".encode())
        return log_ids

    def _create(self) -> OpenLog:
        (log_id,), self._overtaken = self._take_ids(1), False
        return create_log(self._fs, log_id, self._path(log_id), self.direct)

    def _failed(self, error: OSError) -> None:
        """Truncate the active log if a write has failed on a full disk; after any other error, begin a new log."""
        log = self._log
        if log is None:
            return
        # truncate only if a write has failed; after a failed sync (then all bytes were written before), it is unknown
        # which bytes are durable
        if error.errno in NO_SPACE and log.written != log.position:
            self._cut_back(log)
        else:
            self._abandon(log)

    def _cut_back(self, log: OpenLog) -> None:
        try:
            log.cut_back()
        except OSError:
            self._abandon(log)

    def _abandon(self, log: OpenLog) -> None:
        """Close the active log without another write; the next entry begins a new log.

        The synced records stay readable.  A log without synced records is deleted.
        """
        self._log = None
        _close_quietly(log.file)
        if log.synced == layout.HEADER_SIZE:
            _remove_quietly(self._fs, self._path(log.log_id))

    def _path(self, log_id: int) -> str:
        return posixpath.join(self._directory, entry_log_name(log_id))


def create_log(
    fs: IFileSystem, log_id: int, path: str, direct: bool, queue: DiskQueue | None = None, size: int = 0
) -> OpenLog:
    """Create an entry log; make its header and its name durable before the first record is written.

    :param log_id: the id of the log.
    :param path: path of the file, which must not exist.
    :param direct: whether the log is written past the page cache.
    :param queue: the disk queue that writes the log of a compaction; None for other logs.  With a queue, nothing is
        durable before :meth:`OpenLog.seal_unnamed`.
    :param size: initial size of the file in bytes, for the log of a compaction: if a queued write extended the file,
        the thread would wait for the disk.
    :raises OSError: the log could not be created.
    """
    file = fs.open(path, create=True, direct=direct)
    try:
        if size:
            file.truncate(size)
        file.pwrite(layout.new_header(), 0)
        if queue is None:
            file.sync(metadata=True)
            fs.sync_directory(posixpath.dirname(path))
    except OSError:
        _close_quietly(file)
        _remove_quietly(fs, path)
        raise
    return OpenLog(log_id, file, queue)


def _remove_quietly(fs: IFileSystem, path: str) -> None:
    """Delete a file and ignore failures, because the caller reports an earlier error."""
    try:
        fs.unlink(path)
    except OSError:
        return


def _close_quietly(file: IFile) -> None:
    """Close a file and ignore failures, because the caller reports an earlier error."""
    try:
        file.close()
    except OSError:
        return


def _following(log_id: int) -> int:
    return log_id + 1 if log_id < layout.MAX_LOG_ID else 0


def first_free_id(fs: IFileSystem, directory: str) -> int:
    """Return a log id above the ids of all logs that the directory has ever had; 0 in a new directory.

    :param directory: path of the ledger directory, ending in ``current``.
    """
    used = [i for i in map(layout.reserved_id_of, fs.list(directory)) if i is not None]
    path = posixpath.join(directory, _LAST_ID)
    if fs.exists(path):
        with closing(fs.open(path)) as file:
            used.append(_parse_last_id(file.pread(64, 0)))
    return _following(max(used)) if used else 0


def _parse_last_id(data: bytes) -> int:
    """Return the log id in a ``lastId`` file; return -1 if the file is damaged.

    Damage is not an error: Apache's bookie does not sync this file, so a crash may leave it incomplete.
    """
    try:
        return min(int(data.strip(), 16), layout.MAX_LOG_ID)
    except ValueError:
        return -1

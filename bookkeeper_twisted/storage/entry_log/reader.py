"""Reads entries from entry logs, at the offsets in index rows, and verifies them.

The reactor thread and the read threads share one reader without locks.  A thread takes an open file out of a pool, uses
it alone, and puts it back; so no file is closed while it is read.  The reactor thread has a pool of its own.  It opens
no files itself: the read threads open logs for it, and add them to its pool.
"""

import posixpath
import struct
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import compress, repeat
from operator import sub
from typing import TypeVar, cast

from ...crc32c import crc32c_of_bytes
from ...entries.entry_run import EntryRun
from ...errors import DamageError, LostLogError
from ..cache.mixed_entries import Scattered
from ..index.rows import first_bad_block, record_offsets
from ..index.scattered import LogRecords
from ..interfaces import CHECKSUM_BLOCK, REFUSED, IFile, IFileSystem, IndexRow
from ..ledger_dirs import entry_log_name

_HEAD = struct.Struct(">iqq")  # the first 20 bytes of a record: size, ledger id, entry id

WARMED = 256 * 1024
"""After a small read, the kernel is asked to read the surrounding block of this number of bytes in advance."""

MOST_HINTS = 4096
"""Maximum number of read-ahead requests to the kernel that are allowed in advance.

Each request uses one of them.  Each record that a later read finds in the page cache gives one back.  So if read-ahead
does not help, the requests end.
"""

DECODED_ROWS = 256
"""Maximum number of index rows whose record offsets are cached; only rows with records of different sizes are cached.
"""

OffsetKey = tuple[int, int, int]
K = TypeVar("K")
V = TypeVar("V")


class IdleLogs:
    """A pool of open entry log files that no thread is using at the moment; it closes the least recently used files.

    :ivar limit: maximum number of open files in the pool.
    """

    __slots__ = ("limit", "_idle", "_removed")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._idle: OrderedDict[int, IFile] = OrderedDict()
        self._removed: set[int] = set()

    def __len__(self) -> int:
        return len(self._idle)

    def __contains__(self, log_id: int) -> bool:
        return log_id in self._idle

    def take(self, log_id: int) -> IFile | None:
        """Take the file of ``log_id`` out of the pool; return None if it is not there.

        The caller must put the file back or close it.
        """
        return self._idle.pop(log_id, None)

    def put_back(self, log_id: int, file: IFile) -> None:
        """Put the ``file`` of the log ``log_id`` back into the pool.

        Close it instead if the log was deleted, or if the pool already has an open file of this log.
        """
        if log_id in self._removed or self._idle.setdefault(log_id, file) is not file:
            file.close()
        elif len(self._idle) > self.limit:
            oldest = _pop_oldest(self._idle)
            if oldest is not None:
                oldest.close()

    def remove(self, log_id: int) -> None:
        """Close the file of the deleted log ``log_id``; a file in use is closed when it is put back."""
        self._removed.add(log_id)
        file = self.take(log_id)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Close all files in the pool."""
        while (file := _pop_oldest(self._idle)) is not None:
            file.close()


class EntryLogReader:
    """A reader of the entry logs of one directory.

    :param max_open: maximum number of idle open files for the read threads, and as many for the reactor thread.
    :ivar reads: number of reads on the read threads so far.
    :ivar tells_resident: whether the file system supports reads that never wait for the disk: such a read fails if its
        bytes are not in the page cache.
    """

    def __init__(self, fs: IFileSystem, directory: str, max_open: int = 64) -> None:
        self.directory = directory
        self.reads = 0
        self.tells_resident = True
        # number of read-ahead requests that are still allowed; not exact, because threads change it without a lock
        self._hints = MOST_HINTS
        self._fs = fs
        self._idle = IdleLogs(max_open)
        self._resident = IdleLogs(max_open)
        self._offsets: OrderedDict[OffsetKey, Sequence[int]] = OrderedDict()

    def read(self, row: IndexRow, entry_id: int, max_bytes: int) -> EntryRun:
        """Read entries of an index row from ``entry_id`` on, as many as fit ``max_bytes``, at least one.

        Called on a read thread.

        If one of these entries is damaged, the read is repeated for the first entry alone, because this entry may be
        intact.

        If the row has checksums (one for each 64 KiB of its records), each block that is read completely is verified.
        The client verifies the digest of each entry.

        :param row: the index row that contains ``entry_id``.
        :param max_bytes: maximum number of bytes of the returned records; a single entry may be longer.
        :raises DamageError: the entry log does not have these entries at the offset in ``row``.  If the log file is
            missing, the error is a LostLogError.
        :raises OSError: the log could not be read.
        """
        try:
            return self.read_slice(row, entry_id, max_bytes)
        except DamageError:
            if max_bytes <= 1:
                raise
            return self.read_slice(row, entry_id, 1)

    def read_slice(self, row: IndexRow, entry_id: int, max_bytes: int) -> EntryRun:
        """Read entries as :meth:`read` does, but raise an error if any of the entries is damaged.

        See :meth:`read` for parameters and errors.
        """
        offsets = self.offsets_of(row)
        begin = entry_id - row.first
        end = _end(offsets, begin, row.last - entry_id + 1, max_bytes)
        start = offsets[begin]
        size = offsets[end] - start
        with self._file(row) as file:
            data = file.pread(size, row.offset + start)
            if size < WARMED and self._hints > 0:
                self._hints -= 1
                file.will_read((row.offset + start) // WARMED * WARMED, WARMED)
        self.reads += 1
        if len(data) != size:
            raise self.damage(row, start, f"the file ends after {len(data)} of {size} bytes")
        run = _run_at(row, offsets, begin, end, data)
        if not _is_run(run):
            raise self.damage(row, start, f"the records are not entries {run.first}..{run.last}")
        bad = first_bad_block(row, offsets[-1], start, data)
        if bad is not None:
            raise self.damage(row, bad, "a block does not match its checksum")
        if self.tells_resident and row.log_id not in self._resident:
            self._open_resident(row.log_id)
        return run

    def _open_resident(self, log_id: int) -> None:
        """Open a log for reads on the reactor thread, which must never wait for the disk.

        Also find out whether the file system supports such reads: they fail if the bytes are not in the page cache.
        """
        try:
            file = self._fs.open(self.path(log_id))
        except OSError:
            return  # the log was just deleted, or too many files are open: only read threads can read this log now
        try:
            file.pread_resident(1, 0)
        except BaseException as e:
            file.close()
            if not isinstance(e, OSError):
                raise
            self.tells_resident = e.errno not in REFUSED
        else:
            self._resident.put_back(log_id, file)

    def read_resident(
        self, row: IndexRow, entry_id: int, max_count: int, max_bytes: int, window: int = 0
    ) -> EntryRun | None:
        """Read entries of an index row if they are in the kernel's page cache; never wait for the disk.

        Called on the reactor thread.

        :param max_count: number of wanted entries.
        :param max_bytes: maximum number of bytes of the wanted records; a single entry may be longer.
        :param window: number of bytes for read-ahead; 0 to read only the wanted entries.  If the wanted entries
            together are smaller than a quarter of it, the entries behind them are read and returned, too, up to about
            ``window`` bytes.
        :returns: None if some of the bytes are not in the page cache, or if they are damaged.  The caller then calls
            :meth:`read`, which waits for the disk, and raises an error if there is damage.
        """
        file = self._resident.take(row.log_id)
        if file is None:
            return None
        try:
            offsets = self.offsets_of(row)
            begin = entry_id - row.first
            start, left = offsets[begin], row.last - entry_id + 1
            end = _end(offsets, begin, min(max_count, left), max_bytes)
            if 4 * (offsets[end] - start) < window:
                end = _end(offsets, begin, left, window)
            data = file.pread_resident(offsets[end] - start, row.offset + start)
        except BaseException as e:
            file.close()
            if isinstance(e, OSError | DamageError):
                return None
            raise
        self._resident.put_back(row.log_id, file)
        if data is None or data[:20] != _HEAD.pack(offsets[begin + 1] - start - 4, row.ledger_id, entry_id):
            return None
        self._earn(1)
        run = _run_at(row, offsets, begin, end, data)
        if run.count > 1 and not _is_run(run):
            return None
        whole = len(data) >= CHECKSUM_BLOCK or end == len(offsets) - 1
        return run if not whole or first_bad_block(row, offsets[-1], start, data) is None else None

    def read_scattered(self, ledger_id: int, log_id: int, records: LogRecords, found: Scattered) -> None:
        """Read some records of one ledger from the page cache, and verify them.  Called on the reactor thread.

        :param records: the records to read, one or more.
        :param found: receives the entries; an entry that is not in the page cache, or is damaged, stays None.
        """
        file = self._resident.take(log_id)
        if file is None:
            return
        try:
            datas = file.pread_resident_each(records.sizes, records.offsets)
        except BaseException as e:
            file.close()
            if isinstance(e, OSError):
                return
            raise
        self._resident.put_back(log_id, file)
        good = _good_records(ledger_id, records, datas)
        entries = found.entries
        for position, data in compress(zip(records.positions, datas, strict=True), good):
            entries[position] = data[4:]  # type: ignore[index]  # a good record is not None
        found.read += sum(good)
        found.read_bytes += sum(compress(records.sizes, good))
        self._earn(sum(good))

    def _earn(self, count: int) -> None:
        self._hints = min(self._hints + count, MOST_HINTS)

    def offsets_of(self, row: IndexRow) -> Sequence[int]:
        """Return the offset of each record of an index ``row``, and the end of the last record.

        The offsets count from the beginning of the first record.  If the records have different sizes, the result is
        cached.

        :raises DamageError: the row does not have one size for each of its entries.
        """
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
        """Return an error that reports damage in the records of an index ``row``; the caller raises it.

        :param at: offset of the damage from the start of the row, in bytes.
        :param what: what is wrong, as text.
        """
        return DamageError(f"{self.path(row.log_id)} offset {row.offset + at}: ledger {row.ledger_id}: {what}")

    def path(self, log_id: int) -> str:
        """Return the path of the entry log ``log_id``."""
        return posixpath.join(self.directory, entry_log_name(log_id))

    @contextmanager
    def _file(self, row: IndexRow) -> Iterator[IFile]:
        file = self._idle.take(row.log_id)
        if file is None:
            try:
                file = self._fs.open(self.path(row.log_id))
            except FileNotFoundError as e:
                raise LostLogError(str(self.damage(row, 0, "the file is missing"))) from e
        try:
            yield file
        except BaseException:
            file.close()  # after an error, the next read opens the file again
            raise
        self._idle.put_back(row.log_id, file)

    def remove(self, log_id: int) -> None:
        """Close the files of the deleted log ``log_id``, because an open file keeps its disk space in use.

        Any thread may call this.
        """
        self._idle.remove(log_id)
        self._resident.remove(log_id)

    def close(self) -> None:
        """Close all open files."""
        self._idle.close()
        self._resident.close()


def _good_records(ledger_id: int, records: LogRecords, datas: Sequence[bytes | None]) -> Sequence[bool]:
    """Test for each record whether its ids, its size and, if the record has one, its checksum are right.

    :param datas: the bytes of each record; None if the record was not read.
    """
    heads = list(map(_HEAD.pack, map(sub, records.sizes, repeat(4)), repeat(ledger_id), records.entry_ids))
    checksums = records.checksums
    # fast path for the usual case: all records are good, and either all or none of them have checksums
    if all(datas) and all(map(bytes.startswith, cast(list[bytes], datas), heads)):
        found = checksums[0] is not None and list(map(crc32c_of_bytes, cast(list[bytes], datas)))
        if found == checksums or checksums.count(None) == len(checksums):
            return [True] * len(heads)
    return [
        data is not None and data.startswith(head) and (checksum is None or crc32c_of_bytes(data) == checksum)
        for data, head, checksum in zip(datas, heads, checksums, strict=True)
    ]


def _pop_oldest(things: "OrderedDict[K, V]") -> V | None:
    """Remove and return the oldest value, or None; this is one atomic call, so two threads never get the same value."""
    try:
        return things.popitem(last=False)[1]
    except KeyError:
        return None


def _end(offsets: Sequence[int], begin: int, max_count: int, max_bytes: int) -> int:
    """Return the index after the last record that a read may include, if the read begins with record ``begin``.

    The read includes at least one record, even if this record exceeds the limits.
    """
    limit = offsets[begin] + max_bytes
    if isinstance(offsets, range):
        end = limit // offsets.step
    else:
        end = bisect_right(offsets, limit) - 1
    return max(min(end, begin + max_count), begin + 1)


def _run_at(row: IndexRow, offsets: Sequence[int], begin: int, end: int, data: bytes) -> EntryRun:
    first, count = row.first + begin, end - begin
    if isinstance(row.sizes, int):
        return EntryRun(row.ledger_id, first, count, data, row.sizes)
    base = offsets[begin]
    return EntryRun(row.ledger_id, first, count, data, 0, [o - base for o in offsets[begin : end + 1]])


def _is_run(run: EntryRun) -> bool:
    """Test whether the ids and sizes in the records of consecutive entries agree with their index row."""
    return run.ids_match() and _sizes_match(run)


def _sizes_match(run: EntryRun) -> bool:
    """Test whether the size fields in the records of consecutive entries agree with their index row.

    If the records differ in size, this function tests only the size field of the first record.  The method
    :meth:`.EntryRun.ids_match` tests that of the last record.
    """
    if run.offsets is not None:
        return int.from_bytes(run.data[:4], "big") == run.offsets[1] - 4
    size = (run.stride - 4).to_bytes(4, "big")
    return [run.data[i :: run.stride] for i in range(4)] == [size[i : i + 1] * run.count for i in range(4)]

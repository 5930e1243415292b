"""A scan of a whole entry log, by the same rules as Apache's scanner.

If the size of a record is zero or negative, its first byte is padding, and the scan continues at the next byte.
Padding may be long, for example bytes 0xF0 in logs that were written with direct I/O.  So the scan skips all zeros in
one step, and all bytes with a set top bit.

Records of ledger -1 are skipped: they contain the ledgers map, or the filler of logs that were written with direct I/O.
The scan ends at a size that cannot be right, because the record would extend past the end of the file, or would be too
short for an entry.  In a log that was never sealed, the bytes from this record on are a torn tail: a write that a crash
has interrupted.
"""

import posixpath
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from ..interfaces import IFile, IFileSystem
from ..ledger_dirs import entry_log_name
from . import format as layout

WINDOW = 1024 * 1024
_HEAD = struct.Struct(">iqq")
_MIN_ENTRY = 16
_NEGATIVE = bytes(range(0x80, 0x100))


class Record(NamedTuple):
    """A record of an entry log: one stored entry.

    :ivar offset: offset of the record in the file; it begins with its 4-byte size field.
    :ivar size: number of bytes of the record, size field included.
    """

    ledger_id: int
    entry_id: int
    offset: int
    size: int


class LogScan:
    """An iterable over the records of one entry log.

    :ivar header: the decoded header; None if the file is empty or has only zeros, because a crash came before its
        header was durable.
    :ivar torn_at: after the iteration, the offset at which a torn tail begins; None if the log has no torn tail.
    """

    def __init__(self, fs: IFileSystem, directory: str, log_id: int, window: int = WINDOW) -> None:
        """:param window: number of bytes of one read from the file.
        :raises DamageError: the file does not begin like an entry log.
        """
        self._window = window
        self.path = posixpath.join(directory, entry_log_name(log_id))
        self.torn_at: int | None = None
        self._fs = fs
        with closing(fs.open(self.path)) as file:
            self.file_size = file.size()
            self.header = _read_header(file, self.path)

    @property
    def sealed(self) -> bool:
        """Whether the log was completed, so that its header points to a ledgers map."""
        return self.header is not None and self.header.map_offset != 0

    def __iter__(self) -> Iterator[Record]:
        if self.header is None:
            return
        with closing(self._fs.open(self.path)) as file:
            yield from self._records(_Window(file, self._window))

    def _records(self, window: "_Window") -> Iterator[Record]:
        at, end = layout.HEADER_SIZE, self.file_size
        while at + 4 <= end:
            head = window.get(at, _HEAD.size)
            size = int.from_bytes(head[:4], "big", signed=True)
            if size <= 0:
                at = window.skip_padding(at)
                continue
            if size < _MIN_ENTRY or at + 4 + size > end:
                self.torn_at = at
                return
            _, ledger_id, entry_id = _HEAD.unpack(head)
            if ledger_id >= 0 and entry_id >= 0:
                yield Record(ledger_id, entry_id, at, 4 + size)
            at += 4 + size

    def ledgers_map(self) -> dict[int, int] | None:
        """Return the ledgers map at the end of a sealed log, or None if the map is missing or incomplete."""
        header = self.header
        if header is None or not layout.HEADER_SIZE <= header.map_offset < self.file_size:
            return None
        with closing(self._fs.open(self.path)) as file:
            data = file.pread(self.file_size - header.map_offset, header.map_offset)
        return layout.decode_map(data, header.map_ledgers)


def ledger_sizes(fs: IFileSystem, directory: str, log_id: int) -> dict[int, int]:
    """Return the total size in bytes of the records of each ledger in a log, by ledger id.

    The sizes are in the ledgers map of the log; if the log has no map, it is scanned.

    :param directory: path of the ledger directory, ending in ``current``.
    :param log_id: the id of the log.
    :raises DamageError: the log is damaged.
    """
    scan = LogScan(fs, directory, log_id)
    sizes = scan.ledgers_map()
    if sizes is None:
        sizes = {}
        for record in scan:
            sizes[record.ledger_id] = sizes.get(record.ledger_id, 0) + record.size
    return sizes


def _read_header(file: IFile, path: str) -> layout.LogHeader | None:
    """Return the decoded header of a log; None if a crash came before the header was durable."""
    data = file.pread(layout.HEADER_SIZE, 0)
    if file.size() <= layout.HEADER_SIZE and not data.strip(b"\0"):
        return None
    return layout.parse_header(data, path)


class _Window:
    """A sequential reader of a file, with a buffer that contains one part of the file."""

    __slots__ = ("_file", "_size", "_start", "_data")

    def __init__(self, file: IFile, size: int) -> None:
        self._file = file
        self._size = size
        self._start = 0
        self._data = b""

    def get(self, at: int, size: int) -> bytes:
        """Return ``size`` bytes at offset ``at``, or fewer at the end of the file."""
        low = at - self._start
        if low < 0 or low + size > len(self._data):
            self._start, self._data, low = at, self._file.pread(self._size, at), 0
        return self._data[low : low + size]

    def skip_padding(self, at: int) -> int:
        """Return the first offset after ``at`` at which a record may begin; search only the bytes in the buffer."""
        low = at - self._start
        rest = self._data[low:]
        negative = len(rest) - len(rest.lstrip(_NEGATIVE))
        if negative:
            return at + negative
        # do not skip the last three zeros: they may begin a size such as 00 00 00 50
        return at + max(1, len(rest) - len(rest.lstrip(b"\0")) - 3)

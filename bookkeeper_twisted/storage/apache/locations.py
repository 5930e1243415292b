"""The conversion of entry locations in Apache's index to index rows of our bookie.

A location tells where one entry is, but not its size.  An index row describes consecutive entries that are adjacent in
the log.  To find out which entries are adjacent, the conversion reads the head of each record: size, ledger id and
entry id.  If entries are large, this reads only a small part of the logs.

If Apache's bookie was killed, a location may point to bytes that never reached the log.  The journal then has the
entry, and its replay stores the entry again, at another location.  Until the replay, the wrong location is kept, so
that a read of the entry fails with an error.  The bookie must not report the entry as missing, because it may have
acknowledged the entry.
"""

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from ..entry_log.scan import Record
from ..interfaces import IFile, IFileSystem, IndexRow
from ..rebuild import rows_of

_HEAD = struct.Struct(">iqq")
_SIZE = 4
_LEAST = 4 * 1024
_MOST = 256 * 1024
_MOST_OPEN = 64
_LOG_AND_STATE = itemgetter(0, 1)

Location = tuple[int, int, int]
"""(ledger id, entry id, location).

The location is ``entry log id << 32 | offset of the entry, after its 4-byte size``, or 0 for no entry.
"""


def located_rows(locations: Iterable[Location], heads: "Heads") -> Iterator[tuple[IndexRow, bool]]:
    """Convert entry locations to index rows, sorted by ledger and entry.

    :param locations: the locations, sorted by ledger and entry.
    :param heads: reads the first bytes of records (size, ledger id, entry id).
    :returns: pairs of an index row and a bool, which is False if the entry log does not have the entries of the row at
        the row's offset.
    """
    for (log_id, exists), group in groupby(_places(locations, heads), key=_LOG_AND_STATE):
        for row in rows_of((record for _, _, record in group), log_id):
            yield row, exists


def _places(locations: Iterable[Location], heads: "Heads") -> Iterator[tuple[int, bool, Record]]:
    """Yield, for each location: the entry log id, whether the log has the entry there, and the record of the entry."""
    size_at = heads.size_at
    for ledger_id, entry_id, location in locations:
        if location == 0 or ledger_id < 0 or entry_id < 0:
            continue
        log_id, at = location >> 32, (location & 0xFFFFFFFF) - _SIZE
        size = size_at(log_id, at, ledger_id, entry_id)
        yield log_id, size > 0, Record(ledger_id, entry_id, at, size or _HEAD.size)


class _Log:
    """An open entry log, and the bytes that were last read from it.

    Each sequential read reads twice as many bytes as the read before, so that few reads are needed for small entries
    that are close together.  Any other read reads few bytes, because the next entry may be far away.
    """

    __slots__ = ("file", "size", "start", "data", "window")

    def __init__(self, file: IFile | None) -> None:
        self.file = file
        self.size = 0 if file is None else file.size()
        self.start = 0
        self.data = b""
        self.window = _LEAST

    def holds(self, at: int) -> bool:
        """Read the log from offset ``at`` on; return whether it has the complete head of a record there."""
        low = at - self.start
        if self.file is None or at < 0:
            return False
        goes_on = 0 <= low <= len(self.data)
        self.window = min(2 * self.window, _MOST) if goes_on else _LEAST
        self.start, self.data = at, self.file.pread(self.window, at)
        return len(self.data) >= _HEAD.size


class Heads:
    """A reader of record heads (size, ledger id, entry id) in the entry logs of one or more directories.

    :param path_of: a function that returns the path of the entry log with a given id.
    """

    def __init__(self, fs: IFileSystem, path_of: Callable[[int], str]) -> None:
        self._fs = fs
        self._path_of = path_of
        self._logs: OrderedDict[int, _Log] = OrderedDict()
        self._last: tuple[int, _Log] = (-1, _Log(None))

    def size_at(self, log_id: int, at: int, ledger_id: int, entry_id: int) -> int:
        """Return the size in bytes of an entry's record, size field included; 0 if the record is not at offset ``at``.

        :param at: offset of the record in the entry log; the record begins with its size field.
        """
        last_id, log = self._last
        if log_id != last_id:
            log = self._log(log_id)
            self._last = log_id, log
        low = at - log.start
        if not 0 <= low <= len(log.data) - _HEAD.size:
            if not log.holds(at):
                return 0
            low = 0
        size, found_ledger, found_entry = _HEAD.unpack_from(log.data, low)
        whole: int = _SIZE + size
        matches = found_ledger == ledger_id and found_entry == entry_id and at + whole <= log.size
        return whole if matches and whole >= _HEAD.size else 0

    def _log(self, log_id: int) -> _Log:
        log = self._logs.pop(log_id, None)
        if log is None:
            path = self._path_of(log_id)
            log = _Log(self._fs.open(path) if self._fs.exists(path) else None)
        self._logs[log_id] = log
        if len(self._logs) > _MOST_OPEN:
            _, oldest = self._logs.popitem(last=False)
            if oldest.file is not None:
                oldest.file.close()
        return log

    def close(self) -> None:
        """Close all open entry logs."""
        while self._logs:
            _, log = self._logs.popitem()
            if log.file is not None:
                log.file.close()

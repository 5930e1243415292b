"""Makes an index of ours from that of ``DbLedgerStorage``: states of its ledgers, and a row for each run of entries.

The database names the place of each entry, not its size.  Whether entries that follow each other in it also do so in
their log is seen by the heads of their records only; nothing else of the logs is read where entries are large, and
records that the database does not name (deleted ledgers, older copies) not at all.

A location may point to data that never reached its log, if Apache's bookie was killed: its journal has the entry then,
and the replay puts it elsewhere.  Until then such a location is taken over as it is, so that a read of it fails: the
bookie had acknowledged the entry, and must not deny it (S5).
"""

import posixpath
import struct
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter

import attrs

from ...errors import DamageError, StorageError
from ..entry_log.scan import Record
from ..interfaces import IFile, IFileSystem, IndexBatch, IndexFactory, IndexRow, IRunIndex, LedgerRow
from ..ledger_dirs import entry_log_name
from ..rebuild import BATCH_ROWS, rows_of
from . import ledger_data
from .database import LEDGERS, LOCATIONS, database_path, discard_index, is_database
from .interfaces import IKeyValues, OpenKeyValues

_PLACE = struct.Struct(">qqq")
_KEY_SIZE, _LOCATION_SIZE, _LEDGER_KEY_SIZE = 16, 8, 8
_HEAD = struct.Struct(">iqq")
_SIZE = 4
_LEAST = 4 * 1024
_MOST = 256 * 1024
_MOST_OPEN = 64

_LOG_AND_STATE = itemgetter(0, 1)

Place = tuple[int, bool, Record]
"""Entry log, whether the record is there, and the record."""


@attrs.define
class Imported:
    """What was taken over.

    :ivar states: ledgers in the database.
    :ivar dangling: entries that are not where the database says.
    :ivar unknown: ledgers that have entries and no state, fenced now.
    """

    entries: int = 0
    states: int = 0
    dangling: int = 0
    unknown: int = 0

    def add(self, other: "Imported") -> None:
        """Add what was taken over of another directory."""
        self.entries += other.entries
        self.states += other.states
        self.dangling += other.dangling
        self.unknown += other.unknown


def import_index(
    fs: IFileSystem, directory: str, index_directory: str, make_index: IndexFactory, open_key_values: OpenKeyValues
) -> Imported:
    """Replace the index of a directory by what the databases beside it say, and remove these.

    :param directory: of the entry logs, ``current`` included.
    :raises DamageError: a database cannot be understood.
    :raises StorageError: a database cannot be opened.
    """
    imported = Imported()
    index = make_index(fs, index_directory, True)
    try:
        known = _import_states(fs, index_directory, open_key_values, index, imported)
        with opened(fs, index_directory, LOCATIONS, open_key_values) as locations, closing(
            Heads(fs, directory)
        ) as heads:
            _import_rows(index, _rows(_places(locations, heads, imported)), known, imported)
        index.commit(IndexBatch(complete=True))
    finally:
        index.close()
    discard_index(fs, index_directory)
    return imported


def check_states(fs: IFileSystem, index_directory: str, open_key_values: OpenKeyValues) -> None:
    """Check that the databases of a directory can be taken over: before anything is changed.

    :raises StorageError: they cannot; the text says why and what to do.
    """
    with opened(fs, index_directory, LOCATIONS, open_key_values):
        pass
    if not is_database(fs, index_directory, LEDGERS):
        return
    with opened(fs, index_directory, LEDGERS, open_key_values) as ledgers:
        for key, value in ledgers.items():
            data = _decoded(key, value, index_directory)
            pending = data is None and key == ledger_data.FLAGS_KEY and ledger_data.needs_integrity_check(value)
            if pending or (data is not None and data.limbo):
                raise StorageError(
                    f"{index_directory}: Apache's bookie has not finished its data integrity check:"
                    " let it do so, then take its directories over"
                )


@contextmanager
def opened(
    fs: IFileSystem, index_directory: str, name: str, open_key_values: OpenKeyValues
) -> Iterator[IKeyValues]:
    """One of the databases, closed in the end."""
    database = open_key_values(fs, database_path(index_directory, name), False)
    try:
        yield database
    finally:
        database.close()


# ---- states of ledgers -------------------------------------------------------------------------------


def _import_states(
    fs: IFileSystem, index_directory: str, open_key_values: OpenKeyValues, index: IRunIndex, imported: Imported
) -> set[int]:
    """Commit the states of all ledgers.

    :returns: their ids.
    """
    known: set[int] = set()
    if not is_database(fs, index_directory, LEDGERS):
        return known
    with opened(fs, index_directory, LEDGERS, open_key_values) as ledgers:
        rows: list[LedgerRow] = []
        for key, value in ledgers.items():
            data = _decoded(key, value, index_directory)
            if data is None or not data.exists:
                continue
            known.add(data.row.ledger_id)
            rows.append(data.row)
            if len(rows) >= BATCH_ROWS:
                index.commit(IndexBatch(ledgers=rows))
                rows = []
        if rows:
            index.commit(IndexBatch(ledgers=rows))
    imported.states = len(known)
    return known


def _decoded(key: bytes, value: bytes, index_directory: str) -> ledger_data.LedgerData | None:
    if len(key) < _LEDGER_KEY_SIZE:
        raise DamageError(f"{index_directory}/{LEDGERS}: a key of {len(key)} bytes")
    return ledger_data.decode(key, value)


# ---- places of entries -------------------------------------------------------------------------------


def _import_rows(index: IRunIndex, rows: Iterator[IndexRow], known: set[int], imported: Imported) -> None:
    batch = IndexBatch()
    for row in rows:
        batch.runs.append(row)
        imported.entries += row.last - row.first + 1
        if row.ledger_id not in known:  # deleted, or its state was lost in a crash: fenced is safe (S3)
            known.add(row.ledger_id)
            imported.unknown += 1
            batch.ledgers.append(LedgerRow(row.ledger_id, b"", fenced=True))
        if len(batch.runs) >= BATCH_ROWS:
            index.commit(batch)
            batch = IndexBatch()
    if batch:
        index.commit(batch)


def _rows(places: Iterator[Place]) -> Iterator[IndexRow]:
    for (log_id, _), group in groupby(places, key=_LOG_AND_STATE):
        yield from rows_of((record for _, _, record in group), log_id)


def _places(locations: IKeyValues, heads: "Heads", imported: Imported) -> Iterator[Place]:
    """Where each entry lies, in the order of ledger and entry."""
    unpack, size_at = _PLACE.unpack, heads.size_at
    for key, value in locations.items():
        if len(key) != _KEY_SIZE or len(value) != _LOCATION_SIZE:
            raise DamageError(f"Apache's index has a location of {len(key)} and {len(value)} bytes")
        ledger_id, entry_id, location = unpack(key + value)
        if location == 0 or ledger_id < 0 or entry_id < 0:
            continue
        log_id, at = location >> 32, (location & 0xFFFFFFFF) - _SIZE
        size = size_at(log_id, at, ledger_id, entry_id)
        if size:
            yield log_id, True, Record(ledger_id, entry_id, at, size)
        else:
            imported.dangling += 1
            yield log_id, False, Record(ledger_id, entry_id, at, _HEAD.size)


class _Log:
    """An open entry log, and the part of it that is in memory.

    Reads grow while they go on in order: from little for heads that lie apart to much for small entries side by side.
    """

    __slots__ = ("file", "size", "start", "data", "window")

    def __init__(self, file: IFile | None) -> None:
        self.file = file
        self.size = 0 if file is None else file.size()
        self.start = 0
        self.data = b""
        self.window = _LEAST

    def holds(self, at: int) -> bool:
        """Bring the head at an offset into memory; False where the file ends."""
        low = at - self.start
        if self.file is None or at < 0:
            return False
        goes_on = 0 <= low <= len(self.data)
        self.window = min(2 * self.window, _MOST) if goes_on else _LEAST
        self.start, self.data = at, self.file.pread(self.window, at)
        return len(self.data) >= _HEAD.size


class Heads:
    """Reads the heads of records in the entry logs of one directory."""

    def __init__(self, fs: IFileSystem, directory: str) -> None:
        self._fs = fs
        self._directory = directory
        self._logs: OrderedDict[int, _Log] = OrderedDict()
        self._last: tuple[int, _Log] = (-1, _Log(None))

    def size_at(self, log_id: int, at: int, ledger_id: int, entry_id: int) -> int:
        """Return the bytes of the record of an entry, its size word included; 0 if it is not there.

        :param at: offset of the size word.
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
        is_there = found_ledger == ledger_id and found_entry == entry_id and at + whole <= log.size
        return whole if is_there and whole >= _HEAD.size else 0

    def _log(self, log_id: int) -> _Log:
        log = self._logs.pop(log_id, None)
        if log is None:
            path = posixpath.join(self._directory, entry_log_name(log_id))
            log = _Log(self._fs.open(path) if self._fs.exists(path) else None)
        self._logs[log_id] = log
        if len(self._logs) > _MOST_OPEN:
            _, oldest = self._logs.popitem(last=False)
            if oldest.file is not None:
                oldest.file.close()
        return log

    def close(self) -> None:
        """Close all files."""
        while self._logs:
            _, log = self._logs.popitem()
            if log.file is not None:
                log.file.close()

"""Writes the index of ``DbLedgerStorage`` from the rows of our index.

The databases are made anew beside our index, which stays the valid one until Apache's cookies exist: an export that is
cut off has changed nothing, and the next start of our bookie removes the files it left.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import closing

import attrs

from ..index.rows import record_offsets, row_bytes
from ..interfaces import IFileSystem, IndexRow, IRunIndex
from . import ledger_data
from .database import LEDGERS, LOCATIONS, database_path, discard_index
from .interfaces import IKeyValues, OpenKeyValues, Pair

_PAGE = 500
_SIZE = 4
_KEY = struct.Struct(">qq")
_LOCATION = struct.Struct(">q")


WriteIndex = Callable[[IFileSystem, str, IRunIndex, Callable[[int], object]], "Exported"]
"""Writes the index of Apache's bookie for a directory: given its path, our index, and what to call with numbers of
bytes of entries whose places were written."""


@attrs.define
class Exported:
    """The result of an export to an index directory."""

    directory: str
    entries: int = 0
    states: int = 0


def to_databases(open_key_values: OpenKeyValues) -> WriteIndex:
    """Return :func:`export_index` bound to a function that opens databases.

    :param open_key_values: opens or makes one.
    """

    def write(fs: IFileSystem, directory: str, index: IRunIndex, advance: Callable[[int], object]) -> Exported:
        return export_index(fs, directory, index, open_key_values, advance)

    return write


def export_index(
    fs: IFileSystem,
    index_directory: str,
    index: IRunIndex,
    open_key_values: OpenKeyValues,
    advance: Callable[[int], object] = int,
) -> Exported:
    """Write the databases of a directory; they are durable on return.

    A fenced ledger that was deleted here is exported as a fenced ledger without entries, until a garbage collection
    deletes it: a late writer must not bring it back (S3).

    :param index_directory: path of the index directory, ``current`` included.
    :param index: a complete index; the memory and the journals hold nothing that it lacks.
    :param open_key_values: opens or makes a database.
    :param advance: called with the number of bytes of entries whose locations were just written.
    :raises StorageError: the export failed; our index is unchanged.
    """
    discard_index(fs, index_directory)
    exported = Exported(index_directory)
    with closing(open_key_values(fs, database_path(index_directory, LEDGERS), True)) as ledgers:
        exported.states = _put_all(ledgers, (ledger_data.encode(row) for row in index.ledgers()))
        ledgers.flush()
    with closing(open_key_values(fs, database_path(index_directory, LOCATIONS), True)) as locations:
        for page in pages(index):
            for row in page:
                locations.put(_pairs(row))
                exported.entries += row.last - row.first + 1
                advance(row_bytes(row))
        locations.flush()
    fs.sync_directory(index_directory)
    return exported


def _put_all(database: IKeyValues, pairs: Iterator[Pair]) -> int:
    count, batch = 0, []
    for pair in pairs:
        batch.append(pair)
        count += 1
        if len(batch) >= _PAGE:
            database.put(batch)
            batch = []
    if batch:
        database.put(batch)
    return count


def pages(index: IRunIndex) -> Iterator[list[IndexRow]]:
    """Yield the rows of an ``index`` in the order of ledgers and entries, one page at a time."""
    after = (-1, -1)
    while page := index.page(after, _PAGE):
        yield page
        after = page[-1].ledger_id, page[-1].first


def _pairs(row: IndexRow) -> list[Pair]:
    """Return, for each entry of a row, the pair of key and value that tells the location of the entry."""
    ledger_id, key, location = row.ledger_id, _KEY.pack, _LOCATION.pack
    start = (row.log_id << 32) + row.offset + _SIZE
    entries = zip(range(row.first, row.last + 1), record_offsets(row), strict=False)
    return [(key(ledger_id, entry_id), location(start + offset)) for entry_id, offset in entries]

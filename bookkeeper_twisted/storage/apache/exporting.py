"""The export of our index to the databases of ``DbLedgerStorage``.

The databases are created next to our index.  The last step of an export, which the caller does, is to replace our
cookie files by Apache's cookie files; until then, our index stays the valid one.  So a crash during an export does no
harm: the next start of our bookie deletes the unfinished databases.
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
"""A function that exports our index of one directory to an index of Apache's bookie.

Its arguments are the file system, the path of the index directory, our index, and a progress function.  The export
calls the progress function with the number of bytes of the entries whose locations were just written.
"""


@attrs.define
class Exported:
    """The result of an export to an index directory.

    :ivar directory: path of the index directory.
    :ivar entries, states: number of exported entries, and of exported ledger states.
    """

    directory: str
    entries: int = 0
    states: int = 0


def to_databases(open_key_values: OpenKeyValues) -> WriteIndex:
    """Return a :data:`WriteIndex` that calls :func:`export_index` with ``open_key_values``.

    :param open_key_values: opens or creates a database.
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
    """Export our index of one directory to Apache's databases; they are durable on return.

    A ledger that was fenced and later deleted is exported as a fenced ledger without entries.  Apache's bookie then
    refuses late adds of its writer, instead of creating the ledger again.  A garbage collection of Apache's bookie
    deletes the ledger later.

    :param index_directory: path of the index directory, ending in ``current``.
    :param index: our index.  Entries that are only in the write cache or the journals are not exported, so the caller
        must have flushed all entries.
    :param open_key_values: opens or creates a database.
    :param advance: called with the number of bytes of the entries whose locations were just written.
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
    """Yield all index rows of an ``index``, sorted by ledger and entry, as lists of limited length."""
    after = (-1, -1)
    while page := index.page(after, _PAGE):
        yield page
        after = page[-1].ledger_id, page[-1].first


def _pairs(row: IndexRow) -> list[Pair]:
    """Return, for each entry of an index ``row``, the key and the value for Apache's ``locations`` database."""
    ledger_id, key, location = row.ledger_id, _KEY.pack, _LOCATION.pack
    start = (row.log_id << 32) + row.offset + _SIZE
    entries = zip(range(row.first, row.last + 1), record_offsets(row), strict=False)
    return [(key(ledger_id, entry_id), location(start + offset)) for entry_id, offset in entries]

"""The import of an index of Apache's ``DbLedgerStorage`` into our index: ledger states, and rows of entries.

Only entries in the database ``locations`` are imported.  All other records in the entry logs belong to deleted ledgers,
or are older copies.
"""

import posixpath
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice

import attrs

from ...errors import DamageError, StorageError
from ..interfaces import IFileSystem, IndexBatch, IndexFactory, IndexRow, IRunIndex, LedgerRow
from ..journal.log_mark import log_mark_commits
from ..ledger_dirs import entry_log_name
from ..rebuild import BATCH_ROWS
from . import ledger_data
from .database import LEDGERS, LOCATIONS, database_path, is_database
from .interfaces import IKeyValues, OpenKeyValues
from .locations import Heads, Location, located_rows

_PLACE = struct.Struct(">qqq")
_KEY_SIZE, _LOCATION_SIZE, _LEDGER_KEY_SIZE = 16, 8, 8

@attrs.define
class Imported:
    """The result of an import of Apache's index.

    :ivar entries: number of imported entries.
    :ivar states: number of imported ledger states.
    :ivar dangling: number of entries with a wrong location: at this location, the entry log does not have the entry.
    :ivar unknown: number of ledgers that had entries but no state; the import has fenced them.
    """

    entries: int = 0
    states: int = 0
    dangling: int = 0
    unknown: int = 0

    def add(self, other: "Imported") -> None:
        """Add the counts of ``other``, the result of the import of another directory."""
        self.entries += other.entries
        self.states += other.states
        self.dangling += other.dangling
        self.unknown += other.unknown


def import_index(
    fs: IFileSystem, directory: str, index_directory: str, make_index: IndexFactory, open_key_values: OpenKeyValues
) -> Imported:
    """Create our index of a directory from the databases of Apache's bookie, which stay unchanged.

    :param directory: path of the ledger directory, which has the entry logs, ending in ``current``.
    :param index_directory: path of the index directory, ending in ``current``; an old index of ours there is replaced.
    :param make_index: creates a new index.
    :param open_key_values: opens a database.
    :raises DamageError: a database is damaged.
    :raises StorageError: a database cannot be opened.
    """
    imported = Imported()
    with closing(make_index(fs, index_directory, True)) as index:
        known = _import_states(fs, index_directory, open_key_values, index, imported)
        heads = Heads(fs, lambda log_id: posixpath.join(directory, entry_log_name(log_id)))
        with closing(heads), opened(fs, index_directory, LOCATIONS, open_key_values) as locations:
            import_rows(index, located_rows(_locations(locations), heads), known, imported)
        index.commit(IndexBatch(complete=True, least_commits=log_mark_commits(fs, directory)))
    return imported


def check_states(fs: IFileSystem, index_directory: str, open_key_values: OpenKeyValues) -> None:
    """Check that the databases of an index directory can be taken over; this changes nothing.

    :param index_directory: path of the index directory, ending in ``current``.
    :param open_key_values: opens a database.
    :raises StorageError: the databases cannot be taken over; the text tells why and what to do.
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
    """Open one of Apache's databases for the duration of a ``with`` statement.

    :param index_directory: path of the index directory, ending in ``current``.
    :param name: name of the database.
    :raises bookkeeper_twisted.errors.StorageError: the database is missing, or cannot be opened.
    """
    with closing(open_key_values(fs, database_path(index_directory, name), False)) as database:
        yield database


# ---- states of ledgers -------------------------------------------------------------------------------


def _import_states(
    fs: IFileSystem, index_directory: str, open_key_values: OpenKeyValues, index: IRunIndex, imported: Imported
) -> set[int]:
    """Import the states of all ledgers from Apache's database ``ledgers``.

    :returns: the ids of these ledgers.
    """
    known: set[int] = set()
    if not is_database(fs, index_directory, LEDGERS):
        return known
    with opened(fs, index_directory, LEDGERS, open_key_values) as ledgers:
        decoded = (_decoded(key, value, index_directory) for key, value in ledgers.items())
        known |= commit_states(index, (data.row for data in decoded if data is not None and data.exists))
    imported.states = len(known)
    return known


def commit_states(index: IRunIndex, rows: Iterable[LedgerRow]) -> set[int]:
    """Commit ledger states to our ``index``, many states in each commit.

    :param rows: the ledger states.
    :returns: the ids of these ledgers.
    """
    ids: set[int] = set()
    states = iter(rows)
    while batch := list(islice(states, BATCH_ROWS)):
        index.commit(IndexBatch(ledgers=batch))
        ids.update(row.ledger_id for row in batch)
    return ids


def _decoded(key: bytes, value: bytes, index_directory: str) -> ledger_data.LedgerData | None:
    if len(key) < _LEDGER_KEY_SIZE:
        raise DamageError(f"{index_directory}/{LEDGERS}: a key of {len(key)} bytes")
    return ledger_data.decode(key, value)


# ---- locations of entries ----------------------------------------------------------------------------


def _locations(database: IKeyValues) -> Iterator[Location]:
    unpack = _PLACE.unpack
    for key, value in database.items():
        if len(key) != _KEY_SIZE or len(value) != _LOCATION_SIZE:
            raise DamageError(f"Apache's index has a location of {len(key)} and {len(value)} bytes")
        yield unpack(key + value)


def import_rows(
    index: IRunIndex, rows: Iterator[tuple[IndexRow, bool]], known: set[int], imported: Imported
) -> None:
    """Commit index ``rows`` to our ``index``; store a fenced state for each ledger that has no state.

    :param rows: pairs of an index row and a bool, which is False if the entry log does not have the entries of the row
        at the row's offset.
    :param known: ids of the ledgers that have a state; this function adds the ledgers that it fences.
    :param imported: the counts, which this function increases.
    """
    batch = IndexBatch()
    for row, exists in rows:
        batch.runs.append(row)
        count = row.last - row.first + 1
        imported.entries += count
        imported.dangling += 0 if exists else count
        # A ledger without a state was deleted, or a crash has lost its state.  It is safe to fence it.
        if row.ledger_id not in known:
            known.add(row.ledger_id)
            imported.unknown += 1
            batch.ledgers.append(LedgerRow(row.ledger_id, b"", fenced=True))
        if len(batch.runs) >= BATCH_ROWS:
            index.commit(batch)
            batch = IndexBatch()
    if batch:
        index.commit(batch)

"""Makes a new index of a ledger directory from its entry logs, even if Apache's bookie has written them.

Entry logs are read in the order of their ids; of several copies of an entry, the last one is valid.  The new index is
marked as complete only after the last log, so that an interrupted rebuild begins again.

A ledger is in one directory only.  But the entry logs of another directory may still contain old entries of the ledger,
if the ledger was deleted, directories were added, and the ledger was replicated to this bookie again.  So a rebuild
ignores the entries of a ledger that is in the old index of another directory, but not in the old index of this
directory.

Entry logs contain neither fences nor master keys.  The ledger states in the old index are kept, unless the caller
passes other states.  A ledger without a state gets an empty key, which the next key from a client replaces.  It also
becomes fenced, because it may have been fenced before: a writer that was refused once must not succeed now.  If
the old index is unreadable, the fences of ledgers without entries are lost.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing

import attrs

from ..errors import DamageError, StorageError
from .entry_log.format import HEADER_SIZE
from .entry_log.scan import LogScan, Record
from .entry_log.writer import MAX_ROW_BYTES, MAX_ROW_ENTRIES
from .index.index_file import IndexDamageError
from .index.rows import pack_sizes
from .interfaces import IFileSystem, IndexBatch, IndexFactory, IndexRow, IRunIndex, LedgerRow
from .journal.log_mark import log_mark_commits
from .ledger_dirs import entry_log_ids, entry_log_name

BATCH_ROWS = 1000


@attrs.define
class Rebuilt:
    """The result of a rebuild of the index of a directory.

    :ivar index: the new index, complete and open.
    :ivar logs, entries: number of entry logs read, and of entries found in them.
    :ivar kept_states: number of ledgers whose states came from the old index or the caller.
    :ivar torn: for each unsealed log that ends inside a record, the text ``path offset``.
    """

    index: IRunIndex
    logs: int = 0
    entries: int = 0
    kept_states: int = 0
    torn: list[str] = attrs.field(factory=list)


def logs_with_data(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the entry logs that have more than a header.

    :param directory: path of the ledger directory, ending in ``current``.
    """
    found = []
    for log_id in entry_log_ids(fs, directory):
        with closing(fs.open(posixpath.join(directory, entry_log_name(log_id)))) as file:
            if file.size() > HEADER_SIZE:
                found.append(log_id)
    return found


def known_elsewhere(
    fs: IFileSystem, index_directories: Sequence[str], make_index: IndexFactory
) -> list[frozenset[int]]:
    """Return, for each directory, the ledgers that are in the index of another directory but not in its own index.

    :param index_directories: paths of all index directories, each ending in ``current``; an unreadable index counts as
        empty.
    :param make_index: opens an index.
    """
    if len(index_directories) == 1:
        return [frozenset()]
    known = [_known_to(fs, path, make_index) for path in index_directories]
    every = frozenset().union(*known)
    return [every - mine for mine in known]


def _known_to(fs: IFileSystem, index_directory: str, make_index: IndexFactory) -> frozenset[int]:
    try:
        with closing(make_index(fs, index_directory, False)) as index:
            return frozenset(row.ledger_id for row in index.ledgers())
    except IndexDamageError as error:
        return frozenset(row.ledger_id for row in error.states)
    except StorageError:
        return frozenset()


def rebuild_index(
    fs: IFileSystem,
    directory: str,
    index_directory: str,
    make_index: IndexFactory,
    advance: Callable[[int], object] = int,
    states: Sequence[LedgerRow] | None = None,
    elsewhere: Collection[int] = (),
) -> Rebuilt:
    """Make a new index of a directory from its entry logs, in place of the old one; fence ledgers without a state.

    :param directory: path of the ledger directory, ending in ``current``.
    :param index_directory: path of the index directory, ending in ``current``.
    :param make_index: creates a new index, or opens the old one.
    :param advance: called with the size of each entry log after it was read.
    :param states: the ledger states for the new index; if None, the states in the old index are kept.
    :param elsewhere: ids of ledgers that belong to other directories; their entries in the logs of this directory are
        ignored.
    :raises DamageError: a sealed log ends inside a record, or has other records than its ledgers map says.
    """
    least_commits = log_mark_commits(fs, directory)
    if states is None:
        index = _without_runs(fs, index_directory, make_index, least_commits)
    else:
        index = _anew(fs, index_directory, make_index, states)
    rebuilt = Rebuilt(index)
    try:
        kept = list(index.ledgers())
        rebuilt.kept_states = len(kept)
        known = {row.ledger_id for row in kept}
        dead = {row.ledger_id for row in kept if row.forgotten_at}.union(elsewhere)
        for log_id in entry_log_ids(fs, directory):
            scan = LogScan(fs, directory, log_id)
            _take_log(rebuilt, scan, log_id, known, dead)
            advance(scan.file_size)
        rebuilt.index.commit(IndexBatch(complete=True, least_commits=least_commits))
    except BaseException:
        rebuilt.index.close()
        raise
    return rebuilt


def _without_runs(fs: IFileSystem, index_directory: str, make_index: IndexFactory, least_commits: int) -> IRunIndex:
    """Delete all index rows of entries from the old index; the ledger states stay.

    If the old index is older than the log marks (where a replay of the journals begins), some of its states are out
    of date: a ledger may have been fenced, or have been stored again after its deletion.  So all ledgers become fenced,
    and none counts as deleted.

    :param least_commits: the number of commits of the index according to the log marks.
    :returns: the old index; if it is damaged or cannot be opened, a new index with the readable ledger states.
    """
    states: list[LedgerRow] = []
    try:
        index = make_index(fs, index_directory, False)
    except IndexDamageError as error:
        return _anew(fs, index_directory, make_index, error.states)
    except StorageError:
        return _anew(fs, index_directory, make_index, states)
    try:
        states += index.ledgers()
        outdated: list[LedgerRow] = []
        if index.commits < least_commits:
            outdated = states = [attrs.evolve(row, fenced=True, forgotten_at=0) for row in states]
        if not index.checked:
            index.check()
        index.commit(IndexBatch(without_runs=True, ledgers=outdated))
    except DamageError:
        index.close()
        return _anew(fs, index_directory, make_index, states)
    except BaseException:
        index.close()
        raise
    return index


def _anew(
    fs: IFileSystem, index_directory: str, make_index: IndexFactory, states: Sequence[LedgerRow]
) -> IRunIndex:
    """Replace the old index by a new one, and store the given ledger states in it."""
    index = make_index(fs, index_directory, True)
    try:
        if states:
            index.commit(IndexBatch(ledgers=list(states)))
    except BaseException:
        index.close()
        raise
    return index


def _take_log(rebuilt: Rebuilt, scan: LogScan, log_id: int, known: set[int], dead: set[int]) -> None:
    sizes: dict[int, int] = {}
    batch = IndexBatch()
    for row in rows_of(counted(scan, sizes), log_id):
        if row.ledger_id in dead:
            continue
        batch.runs.append(row)
        rebuilt.entries += row.last - row.first + 1
        if row.ledger_id not in known:
            known.add(row.ledger_id)
            batch.ledgers.append(LedgerRow(row.ledger_id, b"", True))
        if len(batch.runs) >= BATCH_ROWS:
            rebuilt.index.commit(batch)
            batch = IndexBatch()
    check_sealed(scan, sizes)
    if batch:
        rebuilt.index.commit(batch)
    rebuilt.logs += 1
    if scan.torn_at is not None:
        rebuilt.torn.append(f"{scan.path} offset {scan.torn_at}")


def counted(scan: LogScan, sizes: dict[int, int]) -> Iterator[Record]:
    """Yield the records of an entry log; add the size of each yielded record to ``sizes``.

    :param sizes: a dictionary that receives the number of bytes of the records of each ledger, size fields included.
    """
    for record in scan:
        sizes[record.ledger_id] = sizes.get(record.ledger_id, 0) + record.size
        yield record


def check_sealed(scan: LogScan, sizes: dict[int, int]) -> None:
    """Check that a sealed log does not end inside a record, and that its ledgers map agrees with its records.

    :param scan: the scan of the log, after it has yielded all records.
    :param sizes: the number of bytes for each ledger, from :func:`counted`.
    :raises DamageError: the log ends inside a record, or its ledgers map is wrong.
    """
    if not scan.sealed:
        return
    if scan.torn_at is not None:
        raise DamageError(f"{scan.path} offset {scan.torn_at}: a record of a sealed log runs over its end")
    expected = scan.ledgers_map()
    if expected is not None and expected != sizes:
        ledger_id = min(set(expected.items()) ^ set(sizes.items()))[0]
        raise DamageError(
            f"{scan.path}: {sizes.get(ledger_id, 0)} bytes of ledger {ledger_id} were found,"
            f" its ledgers map says {expected.get(ledger_id, 0)}"
        )


def rows_of(records: Iterator[Record], log_id: int) -> Iterator[IndexRow]:
    """Build index rows, without checksums, from records: one row for consecutive entries that are adjacent in the log.

    :param records: records of the entry log ``log_id``, sorted by offset or by entry.
    """
    head: Record | None = None
    sizes: list[int] = []
    end = 0
    for record in records:
        if head is not None and not (
            record.ledger_id == head.ledger_id
            and record.entry_id == head.entry_id + len(sizes)
            and record.offset == end
            and len(sizes) < MAX_ROW_ENTRIES
            and end + record.size - head.offset <= MAX_ROW_BYTES
        ):
            yield _row(head, sizes, log_id)
            head = None
        if head is None:
            head, sizes = record, []
        sizes.append(record.size)
        end = record.offset + record.size
    if head is not None:
        yield _row(head, sizes, log_id)


def _row(head: Record, sizes: list[int], log_id: int) -> IndexRow:
    last = head.entry_id + len(sizes) - 1
    return IndexRow(head.ledger_id, head.entry_id, last, log_id, head.offset, pack_sizes(sizes))

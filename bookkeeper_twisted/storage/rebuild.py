"""Rebuilds the index of a ledger directory from its entry logs, including those of Java bookies.

Logs are read in the order of their ids, and the later copy of an entry wins.  A new index is not
*complete* before it has the last log, so a rebuild that was cut off is begun anew.

A ledger lies in one directory.  A ledger that was deleted and replicated here again may lie in another one than before,
as directories have joined; the logs of the old one still hold its old entries.  The indexes know which of them is
valid, so a directory leaves out the ledgers that only the index of another one knows.

Entry logs have no fences and no master keys.  The states in the old index stay, or the states that the caller
gives are used; any other ledger gets an empty key, which the next one sent replaces, and is fenced, because a
writer that was refused once must not succeed now (S3).  Fences of ledgers without any entry are lost with an old
index that cannot be read.
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
from .ledger_dirs import entry_log_ids, entry_log_name

BATCH_ROWS = 1000


@attrs.define
class Rebuilt:
    """The result of a rebuild.

    :ivar index: the complete, open index.
    :ivar kept_states: number of ledgers with a state in the old index, or from the caller.
    :ivar torn: ``path offset`` of unsealed logs that end in the middle of a record.
    """

    index: IRunIndex
    logs: int = 0
    entries: int = 0
    kept_states: int = 0
    torn: list[str] = attrs.field(factory=list)


def logs_with_data(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the entry logs that are longer than a header.

    :param directory: their path, ``current`` included.
    """
    found = []
    for log_id in entry_log_ids(fs, directory):
        file = fs.open(posixpath.join(directory, entry_log_name(log_id)))
        try:
            if file.size() > HEADER_SIZE:
                found.append(log_id)
        finally:
            file.close()
    return found


def known_elsewhere(
    fs: IFileSystem, index_directories: Sequence[str], make_index: IndexFactory
) -> list[frozenset[int]]:
    """Return, for each directory, the ledgers that its own index lacks and the index of another directory has.

    :param index_directories: of all indexes of a bookie, ``current`` included; an unreadable one counts as empty.
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
    unfenced_because: str = "",
    advance: Callable[[int], object] = int,
    states: Sequence[LedgerRow] | None = None,
    elsewhere: Collection[int] = (),
) -> Rebuilt:
    """Replace the index of a directory by the contents of its entry logs.

    :param directory: of the entry logs, ``current`` included.
    :param index_directory: of the index, likewise.
    :param make_index: makes a new index.
    :param unfenced_because: the reason why ledgers the old index does not know are left unfenced, for instance that
        their fences are imported next; empty: they are fenced.
    :param advance: called with the size of each entry log that was read.
    :param states: the known states of ledgers; by default those in the old index.
    :param elsewhere: ledgers that lie in other directories, see :func:`known_elsewhere`.
    :raises DamageError: a sealed log does not agree with its ledgers map.
    """
    if states is None:
        index = _without_runs(fs, index_directory, make_index)
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
            _take_log(rebuilt, scan, log_id, known, dead, not unfenced_because)
            advance(scan.file_size)
        rebuilt.index.commit(IndexBatch(complete=True))
    except BaseException:
        rebuilt.index.close()
        raise
    return rebuilt


def _without_runs(fs: IFileSystem, index_directory: str, make_index: IndexFactory) -> IRunIndex:
    """Return the old index without its rows of entries; ledger states stay, even if the rebuild is interrupted (S3).

    :returns: the emptied index; if it is damaged or cannot be opened, a new one with the readable states.
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
        if not index.checked:
            index.check()
        index.commit(IndexBatch(without_runs=True))
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
    """Replace the old index by a new, empty one."""
    index = make_index(fs, index_directory, True)
    try:
        if states:
            index.commit(IndexBatch(ledgers=list(states)))
    except BaseException:
        index.close()
        raise
    return index


def _take_log(rebuilt: Rebuilt, scan: LogScan, log_id: int, known: set[int], dead: set[int], fenced: bool) -> None:
    sizes: dict[int, int] = {}
    batch = IndexBatch()
    for row in rows_of(counted(scan, sizes), log_id):
        if row.ledger_id in dead:
            continue
        batch.runs.append(row)
        rebuilt.entries += row.last - row.first + 1
        if row.ledger_id not in known:
            known.add(row.ledger_id)
            batch.ledgers.append(LedgerRow(row.ledger_id, b"", fenced))
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
    """Yield the records of a log, and add up their bytes.

    :param sizes: receives the bytes of the records of each ledger, size words included.
    """
    for record in scan:
        sizes[record.ledger_id] = sizes.get(record.ledger_id, 0) + record.size
        yield record


def check_sealed(scan: LogScan, sizes: dict[int, int]) -> None:
    """Check that a sealed log has no torn tail, and that its ledgers map counts every record (S5).

    :param scan: an exhausted scan.
    :param sizes: the sizes that :func:`counted` has added up.
    :raises DamageError: the tail is torn, or the map is wrong.
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
    """Combine records with consecutive ids and offsets into rows without checksums.

    :param records: of the log ``log_id``, in the order of their offsets or of their ids.
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

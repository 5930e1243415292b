"""Writes the index files of Apache's interleaved storage, from our index or, for some ledgers, from the entry logs.

A location in these files is an entry log id and an offset, without the directory of the log.  But two directories of
our bookie may have logs with the same id.  So only a bookie with a single ledger directory can be exported.
"""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping

import attrs

from ...errors import StorageError
from ..entry_log.scan import LogScan
from ..index.rows import record_offsets, row_bytes
from ..interfaces import IFileSystem, IndexRow, IRunIndex, LedgerRow
from ..ledger_dirs import entry_log_ids
from .database import discard_index
from .exporting import Exported, pages
from .index_files import IndexFileWriter, files_of_ledgers, index_file_of, index_files, remove

_SIZE = 4


def export_index_files(
    fs: IFileSystem, index_directory: str, index: IRunIndex, advance: Callable[[int], object] = int
) -> Exported:
    """Write an index file for each ledger in the index of one directory; the files are durable on return.

    A fenced ledger without entries gets a file, too.  Apache's bookie then refuses late adds of its writer, instead of
    creating the ledger again.

    :param index_directory: path of the index directory, ending in ``current``.
    :param index: our index.  Entries that are only in the write cache or the journals are not exported, so the caller
        must have flushed all entries.
    :param advance: called with the number of bytes of the entries whose locations were just written.
    :raises bookkeeper_twisted.errors.StorageError: the export failed; our index is unchanged.
    """
    # delete any RocksDB databases in this directory: if they existed, Apache's bookie would ignore the index files
    discard_index(fs, index_directory)
    remove(fs, index_files(fs, index_directory))
    exported = Exported(index_directory)
    rows = (row for page in pages(index) for row in page)
    waiting = next(rows, None)
    folders = set()
    for state in index.ledgers():
        path = index_file_of(index_directory, state.ledger_id)
        folders.add(posixpath.dirname(path))
        writer, written = IndexFileWriter(fs, path, state), False
        try:
            while waiting is not None and waiting.ledger_id == state.ledger_id:
                writer.put(waiting.first, _locations(waiting))
                exported.entries += waiting.last - waiting.first + 1
                advance(row_bytes(waiting))
                waiting = next(rows, None)
            written = True
        finally:
            writer.close(written)
        exported.states += 1
    if waiting is not None:
        raise StorageError(f"{index_directory}: ledger {waiting.ledger_id} has entries and no state in the index")
    for folder in sorted(folders):
        fs.sync_directory(folder)
    return exported


def _locations(row: IndexRow) -> list[int]:
    """Return, for each entry of an index ``row``, its location for Apache's index files."""
    start = (row.log_id << 32) + row.offset + _SIZE
    return [start + offset for _, offset in zip(range(row.first, row.last + 1), record_offsets(row), strict=False)]


@attrs.define
class Regenerated:
    """The entries of one ledger that a scan of the entry logs found: their number, and their lowest and highest id."""

    entries: int
    first: int
    last: int


def regenerate(
    fs: IFileSystem, directories: Collection[str], index_directories: Collection[str], ledger_ids: Collection[int],
    master_key: bytes, dry_run: bool,
) -> Iterator[tuple[int, Regenerated | None]]:  # fmt: skip
    """Write new index files of the given ledgers from the entry logs; mark the ledgers as fenced.

    Entry logs do not contain fences, so it is unknown whether the ledgers were fenced.  An existing index file is
    replaced in one step.  If a ledger has none, its file is created in the first index directory.

    :param directories: paths of all ledger directories, each ending in ``current``.
    :param index_directories: paths of all index directories, each ending in ``current``.
    :param master_key: the key to store for each of the ledgers.
    :param dry_run: whether to write nothing.
    :returns: pairs of a ledger id and the entries found.  For a ledger without entries, no file is written, and the
        second item is None.
    :raises bookkeeper_twisted.errors.StorageError: an entry log cannot be read.
    """
    found = _found(fs, directories, frozenset(ledger_ids))
    files_by_directory = [files_of_ledgers(index_files(fs, directory)) for directory in index_directories]
    for ledger_id in ledger_ids:
        locations = found[ledger_id]
        if not locations:
            yield ledger_id, None
            continue
        if not dry_run:
            path = next((files[ledger_id] for files in files_by_directory if ledger_id in files), "")
            path = path or index_file_of(next(iter(index_directories)), ledger_id)
            _replace(fs, path, LedgerRow(ledger_id, master_key, True), locations)
        yield ledger_id, Regenerated(len(locations), min(locations), max(locations))


def _found(fs: IFileSystem, directories: Collection[str], ledger_ids: Collection[int]) -> dict[int, dict[int, int]]:
    """Return the location of each entry of the given ledgers.

    If an entry has several copies, the copy in the newest log is valid.
    """
    found: dict[int, dict[int, int]] = {ledger_id: {} for ledger_id in ledger_ids}
    logs = sorted((log_id, directory) for directory in directories for log_id in entry_log_ids(fs, directory))
    for log_id, directory in logs:
        for record in LogScan(fs, directory, log_id):
            if record.ledger_id in found and record.entry_id >= 0:
                found[record.ledger_id][record.entry_id] = (log_id << 32) + record.offset + _SIZE
    return found


def _replace(fs: IFileSystem, path: str, row: LedgerRow, locations: Mapping[int, int]) -> None:
    beside = path + ".tmp"
    if fs.exists(beside):  # a crash has left this temporary file
        fs.unlink(beside)
    writer, written = IndexFileWriter(fs, beside, row), False
    try:
        for entry_id, location in sorted(locations.items()):
            writer.put(entry_id, [location])
        written = True
    finally:
        writer.close(written)
    fs.rename(beside, path)
    fs.sync_directory(posixpath.dirname(path))

"""Takes over interleaved or sorted storage of several directories: moves each ledger to the directory that we use.

Apache's bookie writes to whichever of its directories has room, with one sequence of entry log ids over all of them,
and keeps the index file of a ledger in any.  All entries that the index files name are written anew, sorted by ledger,
to new logs with ids above all others.  The old logs are left to the garbage collection, as no row refers to them: so
the free space must be as large as the entries.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import attrs

from ...errors import NoWritableDirectoryError, StorageError
from ..entry_log.reader import EntryLogReader
from ..entry_log.writer import EntryLogWriter, first_free_id
from ..interfaces import IFileSystem, IndexBatch, IndexFactory, IndexRow
from ..ledger_dirs import directory_index, entry_log_ids, entry_log_name, log_bytes
from ..rebuild import BATCH_ROWS
from .importing import Imported, commit_states, import_rows
from .index_files import files_of_ledgers, locations_of, states_of
from .locations import Heads, Location, located_rows

_LOG_SIZE = 1 << 30
_BATCH_BYTES = 64 << 20
_WHOLE_ROW = 1 << 40


@attrs.frozen
class Pairs:
    """The ledger and index directories of a bookie (each its ``current``), paired by position."""

    ledgers: Sequence[str]
    indexes: Sequence[str]


@attrs.frozen
class Homes:
    """A map from entry logs to the directories that hold them.

    :ivar of_logs: directory by log id.
    """

    of_logs: Mapping[int, str]
    n_bytes: int

    @classmethod
    def find(cls, fs: IFileSystem, paths: Sequence[str]) -> "Homes":
        """Find the entry logs in directories.

        :param paths: of the directories, ``current`` included.
        :raises StorageError: two directories have a log of the same id, and index files do not say which one they mean.
        """
        of_logs: dict[int, str] = {}
        for path in paths:
            for log_id in entry_log_ids(fs, path):
                if log_id in of_logs:
                    name = entry_log_name(log_id)
                    raise StorageError(f"{path} and {of_logs[log_id]} both hold {name}: start with one of them only")
                of_logs[log_id] = path
        return cls(of_logs, sum(log_bytes(fs, path) for path in paths))

    def path(self, log_id: int) -> str:
        """Return the path of the entry log ``log_id``, which need not exist."""
        return posixpath.join(self.of_logs.get(log_id, "/"), entry_log_name(log_id))


def regroup(
    fs: IFileSystem, directories: Pairs, files: Sequence[str], make_index: IndexFactory, log_size: int = _LOG_SIZE
) -> Imported:
    """Copy all entries to the directories that our bookie uses for their ledgers, and make the index of each directory.

    :param directories: of entry logs and indexes.
    :param files: the index files of all directories.
    :param make_index: makes a new index.
    :param log_size: bytes after which the next log begins.
    :raises NoWritableDirectoryError: a disk has too little space.
    :raises StorageError: the entries cannot be moved; nothing has changed for Apache's bookie.
    """
    homes = Homes.find(fs, directories.ledgers)
    count, chosen = len(directories.ledgers), files_of_ledgers(files)
    _check_space(fs, directories.ledgers, homes.n_bytes // count)
    imported = Imported(states=len(chosen))
    next_id = max(first_free_id(fs, path) for path in directories.ledgers)
    with closing(EntryCopier(fs, homes)) as copier:
        for number, (path, index_path) in enumerate(zip(directories.ledgers, directories.indexes, strict=True)):
            mine = {ledger: file for ledger, file in chosen.items() if directory_index(ledger, count) == number}
            writer = EntryLogWriter(fs, path, log_size, next_id)
            with closing(make_index(fs, index_path, True)) as index, closing(writer):
                commit_states(index, states_of(fs, mine.values()))
                import_rows(index, copier.copied(mine, writer), set(mine), imported)
                index.commit(IndexBatch(complete=True))
            next_id = max(next_id, first_free_id(fs, path))
    return imported


def _check_space(fs: IFileSystem, paths: Sequence[str], needed: int) -> None:
    for path in paths:
        free = fs.usage(path)[1]
        if free < needed:
            raise NoWritableDirectoryError(
                f"{path}: {free:,} bytes are free, about {needed:,} are needed to write the entries of Apache's"
                " directories anew, by ledger"
            )


class EntryCopier:
    """A copier of entries from their locations in index files."""

    def __init__(self, fs: IFileSystem, homes: Homes) -> None:
        self._fs = fs
        self._homes = homes
        self._heads = Heads(fs, homes.path)
        self._readers = {path: EntryLogReader(fs, path) for path in sorted(set(homes.of_logs.values()))}

    def copied(self, files: Mapping[int, str], writer: EntryLogWriter) -> Iterator[tuple[IndexRow, bool]]:
        """Copy the entries of ledgers; yield the index rows once the logs are synced.

        An entry that is missing at its location keeps that location, so that a read of it fails.

        :param files: index files by ledger.
        """
        waiting: list[tuple[IndexRow, bool]] = []
        n_bytes = 0
        for row, is_there in located_rows(self._locations(files), self._heads):
            if not is_there:
                waiting.append((row, False))
                continue
            run = self._readers[self._homes.of_logs[row.log_id]].read(row, row.first, _WHOLE_ROW)
            waiting += [(copy, True) for copy in writer.append(run)]
            n_bytes += run.size
            if n_bytes >= _BATCH_BYTES or len(waiting) >= BATCH_ROWS:
                writer.sync()
                yield from waiting
                waiting, n_bytes = [], 0
        writer.sync()
        yield from waiting

    def _locations(self, files: Mapping[int, str]) -> Iterator[Location]:
        for ledger_id, path in files.items():
            yield from locations_of(self._fs, ledger_id, path)

    def close(self) -> None:
        """Close all files."""
        self._heads.close()
        for reader in self._readers.values():
            reader.close()

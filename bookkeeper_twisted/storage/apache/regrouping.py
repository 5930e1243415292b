"""Takes over interleaved or sorted storage of several directories: copies each ledger to the right directory.

Apache's interleaved storage may spread a ledger over several directories.  Our bookie looks for the entries of a ledger
in one directory only; the ledger id tells in which one.

Apache's bookie writes entries to any directory with free space.  The index file of a ledger may be in another
directory.  No two entry logs have the same id, even in different directories.  A take-over copies all entries that
the index files list, sorted by ledger, to new logs with higher ids than all old logs.  No index row refers to the old
logs, so garbage collection deletes them later.  Until then, the entries need twice the disk space.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import attrs

from ...errors import NoWritableDirectoryError, StorageError
from ..entry_log.reader import EntryLogReader
from ..entry_log.writer import EntryLogWriter, first_free_id
from ..interfaces import IFileSystem, IndexBatch, IndexFactory, IndexRow
from ..journal.log_mark import log_mark_commits
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
    """The ledger directories of a bookie, and the index directory of each; all paths end in ``current``."""

    ledgers: Sequence[str]
    indexes: Sequence[str]


@attrs.frozen
class Homes:
    """A map from each entry log of a bookie to the directory in which the log is.

    :ivar of_logs: the directory of each entry log id.
    :ivar n_bytes: number of bytes of all entry logs.
    """

    of_logs: Mapping[int, str]
    n_bytes: int

    @classmethod
    def find(cls, fs: IFileSystem, paths: Sequence[str]) -> "Homes":
        """Find out which of the given directories has which entry logs.

        :param paths: paths of the ledger directories, each ending in ``current``.
        :raises StorageError: two directories have a log with the same id.  Apache's index files name a log only by its
            id, so it is unknown which of the two logs has an entry.
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
        """Return the path of the entry log ``log_id``; if no directory has this log, a path that does not exist."""
        return posixpath.join(self.of_logs.get(log_id, "/"), entry_log_name(log_id))


def regroup(
    fs: IFileSystem, directories: Pairs, files: Sequence[str], make_index: IndexFactory, log_size: int = _LOG_SIZE
) -> Imported:
    """Copy the entries of each ledger to the directory in which our bookie looks for it; create all indexes.

    :param directories: the ledger directories and their index directories.
    :param files: the index files of all directories.
    :param make_index: creates a new index.
    :param log_size: bytes after which a new entry log is begun.
    :raises NoWritableDirectoryError: a disk has too little free space.
    :raises StorageError: the entries cannot be copied; Apache's bookie can still use its directories.
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
                index.commit(IndexBatch(complete=True, least_commits=log_mark_commits(fs, path)))
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
    """Copies entries from the locations in Apache's index files to new entry logs."""

    def __init__(self, fs: IFileSystem, homes: Homes) -> None:
        self._fs = fs
        self._homes = homes
        self._heads = Heads(fs, homes.path)
        self._readers = {path: EntryLogReader(fs, path) for path in sorted(set(homes.of_logs.values()))}

    def copied(self, files: Mapping[int, str], writer: EntryLogWriter) -> Iterator[tuple[IndexRow, bool]]:
        """Copy the entries of several ledgers to new logs; yield the index rows of the copies after a sync.

        If the old log does not have an entry at the location in the index file, the index row of the entry gets this
        wrong location.  So a read of the entry fails with an error, and the entry is not reported as missing.

        :param files: the path of the index file of each ledger.
        :param writer: writes the new logs.
        :returns: pairs of an index row and a bool, which is False if the entry log does not have the entries of the
            row at the row's offset.
        """
        waiting: list[tuple[IndexRow, bool]] = []
        n_bytes = 0
        for row, exists in located_rows(self._locations(files), self._heads):
            if not exists:
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
        """Close all open entry logs."""
        self._heads.close()
        for reader in self._readers.values():
            reader.close()

"""The storage of a bookie: the entries and states of its ledgers, in one or more ledger directories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat

import attrs
from zope.interface import implementer

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import NoWritableDirectoryError, StorageError
from .cache.mixed_entries import Scattered
from .cache.read_cache import ReadCache
from .checkpoint import Checkpoint, PersistLogMarks
from .directory_storage import DirectoryStorage, storage_error
from .entry_log.reader import EntryLogReader
from .entry_log.writer import EntryLogWriter
from .files.space_reserve import SpaceReserve
from .index.recent_index import RecentIndex
from .interfaces import (
    ICheckpoint,
    IFileSystem,
    ILedgerStorage,
    IndexBatch,
    IndexFactory,
    IRunIndex,
    JournalPosition,
    LedgerRow,
)  # fmt: skip
from .journal.log_mark import log_mark_commits
from .ledger_dirs import DirectoryMap, directory_index
from .ledger_states import LedgerStates
from .rebuild import known_elsewhere, logs_with_data, rebuild_index

_MIB = 1024 * 1024


@attrs.frozen
class StorageSettings:
    """Settings of the storage of a bookie.

    :ivar log_size_limit: maximum number of bytes of an entry log, unless a single entry is longer.
    :ivar log_direct: whether writes of entry logs bypass the page cache (direct I/O).
    :ivar write_cache_bytes: maximum number of bytes of all write caches, two for each directory.
    :ivar read_cache_bytes: maximum number of bytes of the read cache, for all directories together.
    :ivar recent_rows_bytes: maximum number of bytes of index rows in memory for each directory.
    :ivar max_open_logs: maximum number of entry logs that are kept open for reads, for each directory.
    :ivar rebuild_index: whether to make new indexes from the entry logs (:func:`~.rebuild.rebuild_index`).
    :ivar reserve_bytes: maximum number of bytes that are reserved on each disk for deletions and compactions
        (:mod:`.space_reserve`).
    """

    log_size_limit: int = 1024 * _MIB
    log_direct: bool = True
    write_cache_bytes: int = 64 * _MIB
    read_cache_bytes: int = 64 * _MIB
    recent_rows_bytes: int = 8 * _MIB
    max_open_logs: int = 64
    rebuild_index: bool = False
    reserve_bytes: int = 0


WINDOW = 256 * 1024
"""Bytes that are read in advance for a client that reads a few entries at a time in order, to save system calls."""

_WINDOWS_BYTES = 16 * _MIB
_MOST_ENDS = 1024


@implementer(ILedgerStorage)
class LedgerStorage:
    """The storage of a bookie's entries on disk, in one or more ledger directories; created by :meth:`open`.

    :ivar write_cache_hits, read_cache_hits, cache_misses: number of calls of :meth:`cached` that found the entry in a
        write cache, in the read cache, or in no cache.
    :ivar resident_hits: number of calls of :meth:`resident` that found entries.
    :ivar loads: number of calls of :meth:`load`.
    :ivar checkpoints, failed_checkpoints: number of checkpoints that succeeded, and that failed.
    :ivar epoch: a number that changes when entries leave the write caches.  A read that began before the change may
        have returned older copies of these entries.
    """

    def __init__(
        self,
        directories: Sequence[DirectoryStorage],
        states: LedgerStates,
        directory_map: DirectoryMap,
        settings: StorageSettings,
        persist_log_marks: PersistLogMarks,
    ) -> None:
        self.directories = tuple(directories)
        self.write_cache_hits = 0
        self.read_cache_hits = 0
        self.cache_misses = 0
        self.resident_hits = 0
        self.loads = 0
        self.checkpoints = 0
        self.failed_checkpoints = 0
        self.epoch = 0
        self._states = states
        self._directory_map = directory_map
        self._read_cache = ReadCache(settings.read_cache_bytes)
        self._windows = ReadCache(_WINDOWS_BYTES)
        self._ends: dict[tuple[int, int], None] = {}
        self._cache_limit = max(1, settings.write_cache_bytes // len(directories) // 2)
        self._persist_log_marks = persist_log_marks
        self._in_checkpoint = False

    @classmethod
    def open(
        cls,
        fs: IFileSystem,
        ledger_dirs: Sequence[str],
        index_dirs: Sequence[str],
        settings: StorageSettings,
        make_index: IndexFactory,
        persist_log_marks: PersistLogMarks,
    ) -> "LedgerStorage":
        """Open the storage in existing directories.

        :param ledger_dirs: paths of the ledger directories, each ending in ``current``.
        :param index_dirs: for each ledger directory, the path of its index directory.
        :param make_index: opens an index.
        :param persist_log_marks: writes the log marks of the journals and makes them durable; called on a flush thread.
        :raises StorageError: the directories cannot be served; the text tells why and what to do.
        """
        if not ledger_dirs or len(ledger_dirs) != len(index_dirs):
            raise StorageError(f"{len(ledger_dirs)} ledger directories need as many index directories")
        directories: list[DirectoryStorage] = []
        elsewhere: Iterable[Collection[int]] = repeat(())
        try:
            if settings.rebuild_index:
                elsewhere = known_elsewhere(fs, index_dirs, make_index)
            for path, index_path, others in zip(ledger_dirs, index_dirs, elsewhere, strict=False):
                directories.append(_open_directory(fs, path, index_path, settings, make_index, others))
            stored = _stored_ledgers(directories)
        except OSError as e:
            _close_all(directories)
            raise storage_error(e, ledger_dirs[0]) from e
        except BaseException:
            _close_all(directories)
            raise
        rows = (row for row, _ in stored.values())
        directory_map = _directory_map_of(stored, len(directories))
        return cls(directories, LedgerStates(rows), directory_map, settings, persist_log_marks)

    def _directory(self, ledger_id: int) -> DirectoryStorage:
        return self.directories[self._directory_map.of(ledger_id)]

    # -- reactor thread --

    def ledger(self, ledger_id: int) -> LedgerRow | None:
        return self._states.get(ledger_id)

    def put_ledger(self, row: LedgerRow) -> None:
        self._states.put(row)

    def ledger_ids(self) -> list[int]:
        return self._states.ids()

    def was_fenced(self, ledger_id: int) -> bool:
        return self._states.was_fenced(ledger_id)

    def forget(self, ledger_ids: Sequence[int], now: int) -> None:
        self.epoch += 1
        for ledger_id in ledger_ids:
            self._states.forget(ledger_id, now)
            self._directory(ledger_id).forget(ledger_id)
            self._read_cache.discard_ledger(ledger_id)
            self._windows.discard_ledger(ledger_id)

    def forget_fences(self, before: int) -> int:
        return self._states.expire(before)

    def add(self, entries: Entries) -> None:
        for number, part in entries.split(self._directory_map.count, self._directory_map.elsewhere):
            self.directories[number].add(part)
        self._read_cache.discard(entries)
        self._windows.discard(entries)

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        run = self._directory(ledger_id).cached(ledger_id, entry_id, max_count)
        if run is not None:
            self.write_cache_hits += 1
            return run
        run = self._windows.find(ledger_id, entry_id) or self._read_cache.find(ledger_id, entry_id)
        if run is not None:
            self.read_cache_hits += 1
        else:
            self.cache_misses += 1
        return run

    def resident(self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        if self._states.is_deleted(ledger_id):
            return None
        directory = self._directory(ledger_id)
        goes_on = (ledger_id, entry_id) in self._ends
        run = directory.resident(ledger_id, entry_id, max_count, max_bytes, WINDOW if goes_on else 0)
        if run is None and goes_on:
            run = directory.resident(ledger_id, entry_id, max_count, max_bytes)
        if run is None:
            return None
        self.resident_hits += 1
        self._note_end(ledger_id, entry_id, run.last + 1)
        if run.count > max_count:
            self._windows.keep(run)
        return run

    def _note_end(self, ledger_id: int, first: int, end: int) -> None:
        """Remember the entry after a read, so that a later read that begins there is recognised as sequential.

        If this read continues an earlier read, the remembered entry of the earlier read is forgotten.

        :param first: the first entry of the read.
        :param end: the entry after its last entry.
        """
        ends = self._ends
        ends.pop((ledger_id, first), None)
        ends[ledger_id, end] = None
        if len(ends) > _MOST_ENDS:
            del ends[next(iter(ends))]

    def scattered(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        ledger_id = ledger_ids[0]
        if ledger_ids.count(ledger_id) < len(ledger_ids):
            return self._of_many_ledgers(ledger_ids, entry_ids, max_bytes)
        if self._states.is_deleted(ledger_id):
            nothing = Scattered()
            nothing.entries.append(None)
            return nothing
        found = self._directory(ledger_id).scattered(ledger_id, entry_ids, max_bytes)
        self.write_cache_hits += found.cached
        self.cache_misses += found.read
        self.resident_hits += found.read
        return found

    def _of_many_ledgers(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        """Search for entries of several ledgers one by one, with the same result as :meth:`scattered`."""
        found = Scattered()
        for ledger_id, entry_id in zip(ledger_ids, entry_ids, strict=True):
            run = self.cached(ledger_id, entry_id)
            if run is not None:
                found.cached += 1
            else:
                run = self.resident(ledger_id, entry_id, 1, max_bytes)
                found.read_bytes += run.size if run is not None else 0
            entry = run.entry(entry_id) if run is not None else None
            found.entries.append(entry)
            max_bytes -= len(entry or b"")
            if max_bytes <= 0:
                break
        found.read = len(found.entries) - found.cached - found.entries.count(None)
        return found

    def last_cached(self, ledger_id: int) -> int:
        return self._directory(ledger_id).last_cached(ledger_id)

    def keep(self, run: EntryRun, epoch: int) -> EntryRun:
        directory = self._directory(run.ledger_id)
        directory.add_looked_up_rows()
        if epoch != self.epoch:
            # a checkpoint has emptied write caches since the read began.  The first entry was in none of them, so it is
            # the newest copy; a later entry may have been in one of them, so the read may have an older copy of it
            return run.slice(run.first, 1)
        newest = directory.next_cached(run.ledger_id, run.first) - run.first
        if newest < run.count:
            run = run.slice(run.first, max(newest, 1))
        if newest and run.ledger_id in self._states and not directory.reader.tells_resident:
            self._read_cache.keep(run)
        return run

    def pending_bytes(self) -> int:
        return sum(directory.active.bytes for directory in self.directories)

    def pending_entries(self) -> int:
        """Return the number of entries in the active write caches."""
        return sum(directory.active.count for directory in self.directories)

    def read_cache_bytes(self) -> int:
        """Return the number of bytes in the read cache, including bytes that were read in advance."""
        return self._read_cache.cost + self._windows.cost

    def read_cache_entries(self) -> int:
        """Return the number of entries in the read cache, including entries that were read in advance."""
        return self._read_cache.n_entries + self._windows.n_entries

    def ledger_count(self) -> int:
        """Return the number of known ledgers."""
        return len(self._states)

    def undeleted(self) -> int:
        return self._states.undeleted()

    def undeleted_ids(self) -> frozenset[int]:
        return self._states.undeleted_ids()

    def entry_count(self) -> int:
        """Return the number of stored entries.

        Entries from before the start are included only after maintenance has counted them.
        """
        return self.pending_entries() + sum(directory.entries for directory in self.directories)

    def is_full(self) -> bool:
        return max([directory.active.cost for directory in self.directories]) >= self._cache_limit

    def begin_checkpoint(self, log_marks: Sequence[JournalPosition]) -> ICheckpoint | None:
        if self._in_checkpoint:
            return None
        self._in_checkpoint = True
        return Checkpoint(
            self.directories, self._states, self._directory_map, log_marks, self._persist_log_marks, self._ended
        )  # fmt: skip

    def _ended(self, succeeded: bool) -> None:
        self._in_checkpoint = False
        self.epoch += 1
        if succeeded:
            self.checkpoints += 1
        else:
            self.failed_checkpoints += 1

    # -- read threads --

    def load(self, ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        self.loads += 1
        if self._states.is_deleted(ledger_id):
            return None
        return self._directory(ledger_id).load(ledger_id, entry_id, max_bytes)

    def last_entry(self, ledger_id: int) -> int:
        return -1 if self._states.is_deleted(ledger_id) else self._directory(ledger_id).index.last_entry(ledger_id)

    def entry_ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        return self._directory(ledger_id).entry_ranges(ledger_id, not self._states.is_deleted(ledger_id))

    # -- end --

    def close(self) -> None:
        """Seal the entry logs that are being written, and close all files.

        :raises StorageError: an operation failed; all files are closed nevertheless.
        """
        failures = _close_all(self.directories)
        if failures:
            raise failures[0]


def _close_all(directories: Sequence[DirectoryStorage]) -> list[StorageError]:
    failures = []
    for directory in directories:
        try:
            directory.close()
        except StorageError as e:
            failures.append(e)
    return failures


def _open_directory(
    fs: IFileSystem, path: str, index_path: str, settings: StorageSettings, make_index: IndexFactory,
    elsewhere: Collection[int],
) -> DirectoryStorage:  # fmt: skip
    reserve = SpaceReserve(fs, (path, index_path), settings.reserve_bytes) if settings.reserve_bytes else None
    rebuilt = None
    if settings.rebuild_index:
        rebuilt = rebuild_index(fs, path, index_path, make_index, elsewhere=elsewhere)
    index = rebuilt.index if rebuilt is not None else _open_index_with(reserve, fs, path, index_path, make_index)
    try:
        log = EntryLogWriter.open(fs, path, settings.log_size_limit, settings.log_direct)
    except BaseException:
        index.close()
        raise
    reader = EntryLogReader(fs, path, settings.max_open_logs)
    recent, elsewhere_at = RecentIndex(settings.recent_rows_bytes), "" if index_path == path else index_path
    return DirectoryStorage(path, log, reader, index, recent, rebuilt, reserve, elsewhere_at)


def _open_index_with(
    reserve: SpaceReserve | None, fs: IFileSystem, path: str, index_path: str, make_index: IndexFactory
) -> IRunIndex:  # fmt: skip
    """Open the index of a directory; if the disk is full, free the space reserve while the index is opened."""
    try:
        return _open_index(fs, path, index_path, make_index)
    except NoWritableDirectoryError:
        if reserve is None or not reserve.release():
            raise
    try:
        return _open_index(fs, path, index_path, make_index)
    finally:
        reserve.restore()


def _open_index(fs: IFileSystem, path: str, index_path: str, make_index: IndexFactory) -> IRunIndex:
    """Open the run index of a ledger directory, which tells where in the entry logs each entry is.

    The index must cover all entry logs of the directory, because an entry without an index row counts as missing.
    An old copy of the index has no rows for the newest entry logs, so a garbage collection would even delete these
    logs.

    :raises StorageError: the directory has entry logs that its index does not cover, or the index is older than the
        log mark in the directory.
    """
    index = make_index(fs, index_path, False)
    try:
        least_commits = log_mark_commits(fs, path)
        if index.complete and index.commits < least_commits:
            raise StorageError(
                f"the index in {index_path} is older than the mark in {path}: it has {index.commits:,} commits, and had"
                f" {least_commits:,} when the mark was written; put its newest copy back, or start once with"
                " rebuildIndex=true to make it from the entry logs"
            )
        if not index.complete:
            if logs_with_data(fs, path):
                raise StorageError(
                    f"{path} holds entry logs, but {index_path} no complete index of them;"
                    " start once with rebuildIndex=true to make it from the logs"
                )
            index.commit(IndexBatch(complete=True, least_commits=least_commits))
    except BaseException:
        index.close()
        raise
    return index


def _stored_ledgers(directories: Sequence[DirectoryStorage]) -> dict[int, tuple[LedgerRow, int]]:
    """Return, for each ledger, its state and the number of its directory.

    :raises StorageError: two directories have the same ledger, so it is unknown which of them has an entry of the
        ledger.
    """
    stored: dict[int, tuple[LedgerRow, int]] = {}
    for number, directory in enumerate(directories):
        for row in directory.index.ledgers():
            if row.ledger_id in stored:
                other = directories[stored[row.ledger_id][1]].path
                raise StorageError(f"ledger {row.ledger_id} lies in {other} and in {directory.path}: is one a copy?")
            stored[row.ledger_id] = row, number
    return stored


def _directory_map_of(stored: Mapping[int, tuple[LedgerRow, int]], count: int) -> DirectoryMap:
    elsewhere = {
        ledger_id: number for ledger_id, (_, number) in stored.items() if directory_index(ledger_id, count) != number
    }
    return DirectoryMap(count, elsewhere)

"""Ledger storages on a simulated disk, for the tests of the engine."""

from collections import deque
from collections.abc import Callable, Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import LogDamageError
from bookkeeper_twisted.storage.directory_storage import DirectoryStorage
from bookkeeper_twisted.storage.files.disk_queue import DiskQueue
from bookkeeper_twisted.storage.interfaces import ICheckpoint, IndexFactory, IndexRow, JournalPosition
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings
from bookkeeper_twisted.storage.maintenance.copying import LogCopy
from bookkeeper_twisted.storage.maintenance.log_space import LogSpace
from bookkeeper_twisted.storage.maintenance.row_reader import RowCutter, RowReader, VerifiedRow

from ..simulated_disk.sim_disk import SimDisk
from ..simulated_disk.sim_index import SimIndex
from .entries import entry

SMALL = StorageSettings(log_size_limit=4000, write_cache_bytes=1 << 20, read_cache_bytes=1 << 16)
DIRECTORIES = ("/l0", "/l1")


@attrs.define
class LogMarks:
    """Remembers the log marks it is given; fails when it is told to."""

    written: list[tuple[JournalPosition, ...]] = attrs.field(factory=list)
    error: Exception | None = None

    def persist(self, log_marks: Sequence[JournalPosition]) -> None:
        """What a storage calls in the end of a checkpoint."""
        if self.error is not None:
            raise self.error
        self.written.append(tuple(log_marks))


def make_directories(disk: SimDisk, directories: Sequence[str] = DIRECTORIES) -> SimDisk:
    """Creates ledger directories, which serve as index directories too."""
    for path in directories:
        disk.make_directories(path)
    return disk


def open_storage(
    disk: SimDisk,
    persist: Callable[[Sequence[JournalPosition]], None] = lambda log_marks: None,
    settings: StorageSettings = SMALL,
    directories: Sequence[str] = DIRECTORIES,
    make_index: IndexFactory = SimIndex.open,
) -> LedgerStorage:
    """A storage over directories that exist."""
    return LedgerStorage.open(disk, directories, directories, settings, make_index, persist)


class CheckpointCase(SynchronousTestCase):
    """A storage of two directories, whose log marks are remembered."""

    def setUp(self) -> None:
        self.disk = make_directories(SimDisk())
        self.log_marks = LogMarks()
        self.storage = open_storage(self.disk, self.log_marks.persist)

    def begin(self, number: int = 1) -> ICheckpoint:
        """Begin a checkpoint with ``number`` as its log mark."""
        begun = self.storage.begin_checkpoint([JournalPosition(1, number)])
        assert begun is not None
        return begun


def checkpoint(storage: LedgerStorage, number: int = 1) -> None:
    """A whole checkpoint, with ``number`` as its log mark."""
    begun = storage.begin_checkpoint([JournalPosition(1, number)])
    assert begun is not None
    try:
        write(begun)
    finally:
        begun.finish()


def write(begun: ICheckpoint) -> None:
    """All directories of a checkpoint in turn, then the log marks."""
    for directory in range(len(begun.paths)):
        begun.write(directory)
    begun.persist_log_marks()


def compact(
    disk: SimDisk, storage: LedgerStorage, is_wanted: Callable[[int], bool] = lambda log_id: True
) -> Callable[[], None]:
    """Copy what some logs hold into new ones, without the damaged ones.

    :param is_wanted: asked for each log.
    :returns: what has the index refer to the copies, and removes logs that nothing refers to.
    """
    commits = [_compact_directory(disk, directory, is_wanted) for directory in storage.directories]

    def commit() -> None:
        for each in commits:
            each()

    return commit


def _live_rows(
    disk: SimDisk, directory: DirectoryStorage, sources: list[int], queue: DiskQueue
) -> deque[VerifiedRow]:
    """Return what is live in some logs; of ``sources`` those are removed that are damaged."""
    reader = RowReader(disk, directory, queue)
    cutter = RowCutter(directory.index, sources=tuple(sources))
    rows: deque[VerifiedRow] = deque()
    try:
        while (step := cutter.next_step(10_000)) is not None:
            reader.begin(step)
            rows += [(row, bytes(data)) for row, data in reader.verified(step)]
    except LogDamageError as damage:
        sources.remove(damage.log_id)
        return _live_rows(disk, directory, sources, queue) if sources else deque()
    finally:
        reader.close()
    return rows


def _compact_directory(
    disk: SimDisk, directory: DirectoryStorage, is_wanted: Callable[[int], bool]
) -> Callable[[], None]:
    directory.log.close()
    space = LogSpace(disk, directory)
    every = list(space.sealed_logs())
    sources = list(filter(is_wanted, every))
    queue = DiskQueue()
    rows = _live_rows(disk, directory, sources, queue) if sources else deque[VerifiedRow]()
    moved: list[IndexRow] = []
    if rows:
        (log_id,) = directory.reserve_logs(1)
        copy = LogCopy(disk, directory, log_id, queue)
        copy.write(rows)
        moved = copy.finish()
    queue.close()

    def commit() -> None:
        directory.commit_moved(moved, frozenset(sources))
        directory.moved()
        for usage in space.usage(every):
            if not usage.live:
                space.remove(usage.log_id)

    return commit


def read(storage: LedgerStorage, ledger_id: int, entry_id: int) -> bytes | None:
    """One entry, as a bookie reads it: memory first, then the disk."""
    found: EntryRun | None = storage.cached(ledger_id, entry_id) or storage.load(ledger_id, entry_id, 500)
    return found.entry(entry_id) if found is not None else None


class LedgerStorageTestCase(SynchronousTestCase):
    """One storage over two directories."""

    def setUp(self) -> None:
        self.disk = make_directories(SimDisk())
        self.log_marks = LogMarks()
        self.storage = open_storage(self.disk, self.log_marks.persist)

    def restart(self, settings: StorageSettings = SMALL) -> LedgerStorage:
        """Opens what a power cut leaves that keeps nothing pending."""
        self.disk = self.disk.crash(())
        self.storage = open_storage(self.disk, self.log_marks.persist, settings)
        return self.storage

    def check(self, ledger_id: int, entry_ids: range, salt: int = 0) -> None:
        for entry_id in entry_ids:
            self.assertEqual(read(self.storage, ledger_id, entry_id), entry(ledger_id, entry_id, salt=salt))

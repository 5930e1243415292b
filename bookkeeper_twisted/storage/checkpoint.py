"""A checkpoint: writes the entries in the write caches to entry logs, then moves the log marks of the journals.

The log mark of a journal is the position from which the next start replays it.  The order of the steps makes a
checkpoint safe.  First, the journal positions for the new log marks are read.  Then the write caches are swapped.  For
each directory, independently of the other directories, the entries are written to entry logs, the logs are synced, and
the index rows and ledger states are committed.  The log marks are moved only when these steps have ended for all
directories.

On a full disk, a deletion must still succeed, because it frees space.  So if a directory has no space for its entries,
it commits only the deletions.  A power cut after this commit is safe: the ledgers are deleted, the log marks have not
moved, and the journals still have the records of all entries.
"""

from collections.abc import Callable, Sequence

from zope.interface import implementer

from ..errors import NoWritableDirectoryError, StorageError
from .directory_storage import DirectoryStorage, storage_error
from .interfaces import ICheckpoint, JournalPosition, LedgerRow
from .ledger_dirs import DirectoryMap
from .ledger_states import LedgerStates

PersistLogMarks = Callable[[Sequence[JournalPosition]], None]


@implementer(ICheckpoint)
class Checkpoint:
    """A checkpoint in progress.  The constructor swaps the active and the flushing write cache of each directory.

    :param states: the states of all ledgers of the bookie.
    :param directory_map: tells in which directory each ledger is.
    :param ended: called by :meth:`finish` with True if the log marks of the journals were moved, else with False.
    """

    def __init__(
        self,
        directories: Sequence[DirectoryStorage],
        states: LedgerStates,
        directory_map: DirectoryMap,
        log_marks: Sequence[JournalPosition],
        persist_log_marks: PersistLogMarks,
        ended: Callable[[bool], None],
    ) -> None:
        self._directories = directories
        self._states = states
        self._log_marks = tuple(log_marks)
        self._persist_log_marks = persist_log_marks
        self._ended = ended
        self._rows: list[list[LedgerRow]] = [[] for _ in directories]
        self._deleted: list[list[int]] = [[] for _ in directories]
        self._written: set[int] = set()
        # for each directory: the ledgers whose deletion was committed, even if the directory could not be written
        self._gone: list[set[int]] = [set() for _ in directories]
        self._log_marks_moved = False
        for row in states.take_dirty():
            self._rows[directory_map.of(row.ledger_id)].append(row)
        for ledger_id in states.take_deleted():
            self._deleted[directory_map.of(ledger_id)].append(ledger_id)
        for directory in directories:
            directory.swap()

    @property
    def paths(self) -> Sequence[str]:
        return [directory.path for directory in self._directories]

    def write(self, directory: int) -> None:
        rows, deleted = self._rows[directory], self._deleted[directory]
        try:
            self._directories[directory].write(rows, deleted, self._gone[directory])
        except NoWritableDirectoryError:
            self._directories[directory].make_room(rows, deleted, self._gone[directory])
            raise
        self._written.add(directory)

    def persist_log_marks(self) -> None:
        # keep the old log marks if a directory was not written: a replay from the new ones would miss its entries
        if len(self._written) < len(self._directories):
            raise StorageError("a directory was not written, so the marks stay where they are")
        try:
            self._persist_log_marks(self._log_marks)
        except OSError as e:
            raise storage_error(e, self._directories[0].path) from e
        self._log_marks_moved = True

    def finish(self) -> None:
        """End the checkpoint, after it succeeded or failed.

        A directory whose entries were written drops its flushing write cache.  A directory whose write failed keeps the
        entries in memory for the next checkpoint.
        """
        for number, directory in enumerate(self._directories):
            deleted = set(self._deleted[number])
            gone = deleted if number in self._written else self._gone[number]
            self._states.deleted(gone, True)
            self._states.deleted(deleted - gone, False)
            if number in self._written:
                directory.written()
            else:
                directory.not_written()
                self._states.not_stored(self._rows[number])
        self._ended(self._log_marks_moved)

"""A checkpoint: writes the entries of the write caches to disk, then moves the journal marks.

The order is what makes it safe (S7): entries into the logs, logs synced, rows and ledger states committed
to the index, and only when every directory has done so the journal marks, which were taken before the
caches were swapped.  Directories don't wait for each other.

Deletions free space, so they do not wait for entries that have no space: a directory without space commits them
alone.  A power cut then leaves the same state as one between the commit of the index and the marks: deleted
ledgers, and journals with records of them.
"""

from collections.abc import Callable, Sequence

from zope.interface import implementer

from ..errors import NoWritableDirectoryError, StorageError
from .directory_storage import DirectoryStorage, storage_error
from .interfaces import ICheckpoint, JournalPosition, LedgerRow
from .ledger_dirs import DirectoryMap
from .ledger_states import LedgerStates

PersistMarks = Callable[[Sequence[JournalPosition]], None]


@implementer(ICheckpoint)
class Checkpoint:
    """One checkpoint in progress; its constructor swaps the write caches.

    :param states: the ledger states of all directories.
    :param directory_map: the directory of each ledger.
    :param ended: called by :meth:`finish` with the success of the whole checkpoint.
    """

    def __init__(
        self,
        directories: Sequence[DirectoryStorage],
        states: LedgerStates,
        directory_map: DirectoryMap,
        marks: Sequence[JournalPosition],
        persist_marks: PersistMarks,
        ended: Callable[[bool], None],
    ) -> None:
        self._directories = directories
        self._states = states
        self._marks = tuple(marks)
        self._persist_marks = persist_marks
        self._ended = ended
        self._rows: list[list[LedgerRow]] = [[] for _ in directories]
        self._deleted: list[list[int]] = [[] for _ in directories]
        self._written: set[int] = set()
        # By directory: the ledgers whose deletion was committed although the entries of the cache could not be written.
        self._gone: list[set[int]] = [set() for _ in directories]
        self._marked = False
        for row in states.take_dirty():
            self._rows[directory_map.of(row.ledger_id)].append(row)
        for ledger_id in states.take_deleted():
            self._deleted[directory_map.of(ledger_id)].append(ledger_id)
        for directory in directories:
            directory.swap()

    @property
    def n_directories(self) -> int:
        return len(self._directories)

    def write(self, directory: int) -> None:
        rows, deleted = self._rows[directory], self._deleted[directory]
        try:
            self._directories[directory].write(rows, deleted)
        except NoWritableDirectoryError:
            self._directories[directory].make_room(rows, deleted, self._gone[directory])
            raise
        self._written.add(directory)

    def persist_marks(self) -> None:
        # S7: a replay from the new marks would miss the entries of a directory that was not written.
        if len(self._written) < self.n_directories:
            raise StorageError("a directory was not written, so the marks stay where they are")
        try:
            self._persist_marks(self._marks)
        except OSError as e:
            raise storage_error(e, self._directories[0].path) from e
        self._marked = True

    def finish(self) -> None:
        """Finish the checkpoint: directories that were written drop their flushed caches, the others keep them."""
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
        self._ended(self._marked)

"""The files of a bookie as one object: journals, their log marks, and the ledger storage.

All methods block.  The bookie's service calls them on the flush thread, before it serves and after it has served.
"""

from collections.abc import Sequence

import attrs

from ...errors import StorageError
from ...storage.interfaces import IFileSystem, ILedgerStorage, IndexFactory, JournalPosition
from ...storage.journal.files import JournalSettings
from ...storage.journal.interfaces import IJournal
from ...storage.journal.journal import Journal
from ...storage.journal.log_mark import LogMark
from ...storage.ledger_dirs import current, distinct, journal_ids, log_mark_name, make_currents
from ...storage.ledger_storage import StorageSettings
from ..checkpointer import described
from .replay import ReplayProgress, checkpoint_now, replay
from .storages import EntryLogStorageFactory, ILedgerStorageFactory


@attrs.frozen
class StorePaths:
    """The configured directories of a bookie, without the subdirectory ``current``."""

    journals: tuple[str, ...]
    ledgers: tuple[str, ...]
    indexes: tuple[str, ...]

    def all(self) -> list[str]:
        """Return all directories, each once, journals first."""
        return distinct(self.journals, self.ledgers, self.indexes)

    @property
    def index_only(self) -> list[str]:
        """Return the directories that have indexes alone, because they are no ledger directories, each once."""
        return [path for path in distinct(self.indexes) if path not in self.ledgers]

    def make(self, fs: IFileSystem) -> None:
        """Create the missing directories in the file system ``fs``."""
        make_currents(fs, self.all())

    def check_space(self, fs: IFileSystem, needed: int) -> None:
        """Check that there is disk space for the first journal file, in each directory that has no journal yet.

        :param needed: size in bytes of the first journal file.
        :raises StorageError: the disk of such a directory has fewer free bytes than ``needed``.
        """
        for directory in map(current, self.journals):
            if journal_ids(fs, directory):
                continue
            free = fs.usage(directory)[1]
            if free < needed:
                raise StorageError(
                    f"{directory}: {free:,} bytes are free, the first journal file takes {needed:,}: "
                    "make room, or set a smaller journalPreAllocSizeMB"
                )


@attrs.define(eq=False)
class Store:
    """The open files of a bookie.

    :ivar n_replayed: number of entries that the last start replayed.
    :ivar shortage: the error of a ledger disk that had no space for the replayed entries, which then are only in memory
        and in the journals; None if there was space.
    """

    journals: Sequence[IJournal]
    log_marks: Sequence[LogMark]
    storage: ILedgerStorage
    n_replayed: int = 0
    shortage: StorageError | None = None

    @property
    def no_space(self) -> str:
        """Return the text of :attr:`shortage`; empty if there was space."""
        return described(self.shortage) if self.shortage is not None else ""

    def unwritten(self) -> list[tuple[int, int]]:
        """Return :attr:`.DirectoryStorage.unwritten` of each ledger directory; nothing for a storage without them."""
        return [directory.unwritten for directory in self.storage.directories]

    @classmethod
    def open(
        cls, fs: IFileSystem, paths: StorePaths, make_index: IndexFactory, first_journal_id: int, salt: bytes,
        journal_settings: JournalSettings, storage_settings: StorageSettings,
        storages: ILedgerStorageFactory = EntryLogStorageFactory(),  # noqa: B008
    ) -> "Store":  # fmt: skip
        """Open journals, their log marks and the ledger storage, without replaying records.

        :param paths: the directories, which exist and are locked.
        :param make_index: opens an index, or makes a new one.
        :param first_journal_id: id of the first file of a new journal: milliseconds since the epoch, plus one.
        :param salt: random bytes, from which the headers of journal files are computed, so that no client can write an
            entry that looks like such a header.
        :param storages: opens the ledger storage.
        :raises StorageError: a journal, a log mark or the ledger storage cannot be opened.
        """
        count = len(paths.journals)
        ledger_dirs = [current(path) for path in paths.ledgers]
        log_marks = [LogMark(fs, ledger_dirs, log_mark_name(index, count)) for index in range(count)]

        def persist(positions: Sequence[JournalPosition]) -> None:
            # A checkpoint calls this function after it has committed the indexes.  Beside its position, each log mark
            # stores the number of commits of each index.  If an index has fewer commits at the next start, the start
            # knows that commits were lost.
            directories = storage.directories
            commits = [directory.index.commits for directory in directories]
            for log_mark, position in zip(log_marks, positions, strict=True):
                if directories:
                    log_mark.advance(position, commits, lambda number: directories[number].marking())
                else:
                    log_mark.advance(position)

        storage = storages.open(
            fs, ledger_dirs, [current(path) for path in paths.indexes], storage_settings, make_index, persist
        )
        journals: list[IJournal] = []
        try:
            for path in paths.journals:
                journals.append(Journal.open(fs, current(path), journal_settings, first_journal_id, salt))
        except BaseException:
            storage.close()
            raise
        return cls(journals, log_marks, storage)

    def recover(self, progress: ReplayProgress | None = None) -> None:
        """Replay the journals and run a checkpoint, which moves each log mark to the end of its journal.

        If a ledger disk is full, the log marks and the journals stay unchanged, and a later checkpoint writes the
        replayed entries.

        :param progress: updated while the journals are replayed.
        """
        positions = [log_mark.position for log_mark in self.log_marks]
        self.n_replayed = replay(self.journals, self.storage, positions, progress)
        ends = [journal.durable for journal in self.journals]
        self.shortage = checkpoint_now(self.storage, ends)
        if self.shortage is not None:
            return
        for journal, end in zip(self.journals, ends, strict=True):
            journal.release(end)

    def close(self) -> None:
        """Close all files without a checkpoint; if closing a file fails, close the other files nevertheless.

        :raises StorageError: a file failed to close; only the first failure is raised.
        """
        failures: list[Exception] = []
        for close in (*[journal.close for journal in self.journals], self.storage.close):
            try:
                close()
            except (StorageError, OSError) as error:
                failures.append(error)
        if failures:
            raise failures[0]

"""An index of an earlier time that somebody has put back while the bookie was stopped."""

from collections.abc import Sequence

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.journal.log_mark import LogMark
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .entries import run
from .ledger_storages import DIRECTORIES, LedgerStorageTestCase, checkpoint, open_storage


class OlderIndexTests(LedgerStorageTestCase):
    """The log marks tell how many commits each index has."""

    def test_index_of_before(self) -> None:
        """An older copy of an index is refused, in each directory: it would deny what was flushed since (S5)."""
        log_mark = LogMark(self.disk, DIRECTORIES, "lastMark")

        def persist(log_marks: Sequence[JournalPosition]) -> None:
            log_mark.advance(log_marks[0], [directory.index.commits for directory in self.storage.directories])

        self.storage = open_storage(self.disk, persist)
        self.storage.add(run(1, 0, 100))
        checkpoint(self.storage, 1)
        before = self.disk.committed("/l1/index.sim")
        self.storage.add(run(1, 100, 100))
        checkpoint(self.storage, 2)
        checkpoint(self.storage, 3)  # it writes nothing
        newest = self.disk.committed("/l1/index.sim")
        self.restart()  # neither index is older
        self.disk.commit("/l1/index.sim", before, b"")
        for _ in range(2):
            error = self.assertRaises(StorageError, self.restart)
            self.assertRegex(str(error), "the index in /l1 is older than the mark in /l1.*rebuildIndex=true")
        self.disk.commit("/l1/index.sim", newest, b"")
        self.restart()
        self.check(1, range(200))
        self.disk.commit("/l1/index.sim", before, b"")
        self.restart(StorageSettings(rebuild_index=True))
        for _ in range(2):  # the rebuilt index is as new as the log mark, even before the first checkpoint
            self.check(1, range(200))
            self.restart()

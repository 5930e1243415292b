"""Journals, and a file system, with bugs that a crash enumeration has to notice."""

from collections.abc import Sequence

from bookkeeper_twisted.storage.interfaces import IFile, IFileSystem
from bookkeeper_twisted.storage.journal.journal import Journal


class AcksBeforeSync(Journal):
    """Planted bug: a group counts as durable before it is synced."""

    def begin_group(self, records: Sequence[bytes]) -> None:
        """Leaves all groups to the journal thread."""

    def _write(self, file: IFile, records: Sequence[bytes], sync: bool, last: bool = False) -> None:
        super()._write(file, records, False, last)
        self.durable = self.position


class SyncsOnlyTheNewFile(Journal):
    """Planted bug: a file is left behind with groups that were never synced."""

    def _next_file(self) -> IFile:
        self.durable = self.position
        return super()._next_file()


class NoDirectorySync:
    """Planted bug: a file system that forgets to sync directories."""

    def __init__(self, fs: IFileSystem) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> object:
        return getattr(self._fs, name)

    def sync_directory(self, path: str) -> None:
        """Forgets to."""

"""Names of files below the configured directories, and the assignment of ledgers to directories.

Everything lives in ``<directory>/current``.  Names are as in Apache's format: ids in lower-case
hexadecimal without padding.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

import attrs

from ..errors import StorageError
from .interfaces import IFileSystem

JOURNAL_SUFFIX = ".txn"
ENTRY_LOG_SUFFIX = ".log"
_LAYOUT_2 = re.compile(r"VERSION|.*\.(txn|idx|log)")


def current(directory: str) -> str:
    """Return the subdirectory ``current`` of a configured ``directory``, which holds the files."""
    return posixpath.join(directory, "current")


def distinct(*groups: Sequence[str]) -> list[str]:
    """Return the directories of several lists in order, each directory once."""
    return list(dict.fromkeys(directory for group in groups for directory in group))


def journal_name(file_id: int) -> str:
    """Return the name of the journal file ``file_id``: hexadecimal."""
    return f"{file_id:x}{JOURNAL_SUFFIX}"


def entry_log_name(log_id: int) -> str:
    """Return the name of the entry log ``log_id``: hexadecimal."""
    return f"{log_id:x}{ENTRY_LOG_SUFFIX}"


def mark_name(journal_index: int, journal_count: int) -> str:
    """Return the name of the replay mark of a journal in every ledger directory.

    :param journal_index: from 0.
    :param journal_count: Java names the mark of a single journal differently.
    """
    return "lastMark" if journal_count == 1 else f"lastMark.{journal_index}"


def journal_ids(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the journal files in a directory, ascending.

    :raises StorageError: a file has the suffix of a journal and no hexadecimal name.
    """
    return _ids(fs, directory, JOURNAL_SUFFIX)


def entry_log_ids(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the entry logs in a directory, ascending.

    :raises StorageError: a file has the suffix of an entry log and no hexadecimal name.
    """
    return _ids(fs, directory, ENTRY_LOG_SUFFIX)


def log_bytes(fs: IFileSystem, directory: str) -> int:
    """Return the bytes of all entry logs of a directory; opens each of them.

    :param directory: its path, ``current`` included.
    """
    return _total_bytes(fs, directory, map(entry_log_name, entry_log_ids(fs, directory)))


def journal_bytes(fs: IFileSystem, directory: str) -> int:
    """Return the bytes of all journal files of a directory; opens each of them.

    :param directory: its path, ``current`` included.
    """
    return _total_bytes(fs, directory, map(journal_name, journal_ids(fs, directory)))


def _total_bytes(fs: IFileSystem, directory: str, names: Iterable[str]) -> int:
    total = 0
    for name in names:
        file = fs.open(posixpath.join(directory, name))
        try:
            total += file.size()
        finally:
            file.close()
    return total


def directory_index(ledger_id: int, count: int) -> int:
    """Return the number of the journal or ledger directory, of ``count``, that keeps ``ledger_id``; the first is 0."""
    return ledger_id % count


@attrs.frozen
class DirectoryMap:
    """A map from ledgers to the directories that keep them.

    A ledger that was there before directories joined stays where it is.  So does one that is deleted, until the process
    ends: rows of it may still be stored there.

    :ivar count: directories.
    :ivar elsewhere: the ledgers that lie in another directory than :func:`directory_index` says, with its number.
    """

    count: int
    elsewhere: Mapping[int, int] = attrs.field(factory=dict)

    def of(self, ledger_id: int) -> int:
        """Return the number of the directory of ``ledger_id``, counted from 0."""
        return self.elsewhere.get(ledger_id, ledger_id % self.count)


def without_current(fs: IFileSystem, directories: Sequence[str]) -> list[str]:
    """Return the directories without a subdirectory ``current``.

    :param directories: as configured.
    """
    return [directory for directory in directories if not fs.is_directory(current(directory))]


def make_currents(fs: IFileSystem, directories: Sequence[str]) -> None:
    """Create the subdirectory ``current`` in each directory that lacks it.

    :param directories: as configured; they are made as well.
    :raises StorageError: a directory has a layout older than 3, which an upgrade has to change first; none was made.
    """
    missing = without_current(fs, directories)
    for directory in filter(fs.is_directory, missing):
        for name in fs.list(directory):
            if _LAYOUT_2.fullmatch(name):
                raise StorageError(f"{directory} has a layout older than 3: it holds {name} but no directory current")
    for directory in missing:
        fs.make_directories(current(directory))


def _ids(fs: IFileSystem, directory: str, suffix: str) -> list[int]:
    found = []
    for name in fs.list(directory):
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            if not re.fullmatch("[0-9a-fA-F]+", stem):
                raise StorageError(f"{directory}/{name} is not named by a hexadecimal id")
            found.append(int(stem, 16))
    return sorted(found)

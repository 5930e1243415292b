"""File names in the directories of a bookie, and the assignment of ledgers to directories.

All files are in ``<directory>/current``.  Names are as in Apache's format, with ids in lower-case hexadecimal without
leading zeros.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

import attrs

from ..errors import StorageError
from .interfaces import IFileSystem

JOURNAL_SUFFIX = ".txn"
ENTRY_LOG_SUFFIX = ".log"
EVENTS_NAME = "console-events.jsonl"
"""The name of the file in which the web console stores its events, in the first ledger directory.

The storage does not use this file."""

_NAMED = 5
_LAYOUT_2 = re.compile(r"VERSION|.*\.(txn|idx|log)")


def current(directory: str) -> str:
    """Return the path of the subdirectory ``current``, which contains the files of a configured ``directory``."""
    return posixpath.join(directory, "current")


def distinct(*groups: Sequence[str]) -> list[str]:
    """Return the directories of several lists, each directory once, in the order of their first occurrence."""
    return list(dict.fromkeys(directory for group in groups for directory in group))


def journal_name(file_id: int) -> str:
    """Return the file name of the journal file ``file_id``."""
    return f"{file_id:x}{JOURNAL_SUFFIX}"


def entry_log_name(log_id: int) -> str:
    """Return the file name of the entry log ``log_id``."""
    return f"{log_id:x}{ENTRY_LOG_SUFFIX}"


def entry_log_names(log_ids: Sequence[int]) -> str:
    """Return the file names of entry logs as a text for an operator; if there are many, only the first few.

    :param log_ids: ids of the logs.
    """
    return ", ".join(map(entry_log_name, log_ids[:_NAMED])) + (" ..." if len(log_ids) > _NAMED else "")


def log_mark_name(journal_index: int, journal_count: int) -> str:
    """Return the name of the file with the log mark of a journal, in every ledger directory.

    :param journal_index: number of the journal, from 0.
    :param journal_count: number of journals; the name for a single journal has no number, as in Apache's bookie.
    """
    return "lastMark" if journal_count == 1 else f"lastMark.{journal_index}"


def journal_ids(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the journal files in a directory, ascending.

    :raises StorageError: a file has the suffix of a journal file, but no hexadecimal number as its name.
    """
    return _ids(fs, directory, JOURNAL_SUFFIX)


def entry_log_ids(fs: IFileSystem, directory: str) -> list[int]:
    """Return the ids of the entry logs in a directory, ascending.

    :raises StorageError: a file has the suffix of an entry log, but no hexadecimal number as its name.
    """
    return _ids(fs, directory, ENTRY_LOG_SUFFIX)


def log_bytes(fs: IFileSystem, directory: str) -> int:
    """Return the number of bytes of all entry logs in a directory; this opens each log.

    :param directory: path of the ledger directory, ending in ``current``.
    """
    return _total_bytes(fs, directory, map(entry_log_name, entry_log_ids(fs, directory)))


def journal_bytes(fs: IFileSystem, directory: str) -> int:
    """Return the number of bytes of all journal files in a directory; this opens each file.

    :param directory: path of the journal directory, ending in ``current``.
    """
    return _total_bytes(fs, directory, map(journal_name, journal_ids(fs, directory)))


def _total_bytes(fs: IFileSystem, directory: str, names: Iterable[str]) -> int:
    total = 0
    for name in names:
        with closing(fs.open(posixpath.join(directory, name))) as file:
            total += file.size()
    return total


def directory_index(ledger_id: int, count: int) -> int:
    """Return the number, from 0, of the journal or ledger directory for ``ledger_id``, among ``count`` directories."""
    return ledger_id % count


@attrs.frozen
class DirectoryMap:
    """A map from each ledger to its directory.

    If an operator adds directories, the existing ledgers stay in their directories.  A deleted ledger stays assigned to
    its directory until the process ends, because the index of this directory may still have rows of the ledger.

    :ivar count: number of directories.
    :ivar elsewhere: the number of the directory of each ledger that :func:`directory_index` assigns to another
        directory.
    """

    count: int
    elsewhere: Mapping[int, int] = attrs.field(factory=dict)

    def of(self, ledger_id: int) -> int:
        """Return the number, from 0, of the directory of ``ledger_id``."""
        return self.elsewhere.get(ledger_id, ledger_id % self.count)


def without_current(fs: IFileSystem, directories: Sequence[str]) -> list[str]:
    """Return the ``directories`` that have no subdirectory ``current``.

    :param directories: the directories as configured.
    """
    return [directory for directory in directories if not fs.is_directory(current(directory))]


def make_currents(fs: IFileSystem, directories: Sequence[str]) -> None:
    """Create the subdirectory ``current`` in each directory that does not have it.

    :param directories: the directories as configured; missing directories are created, too.
    :raises StorageError: a directory has a layout older than 3, which must be upgraded first; nothing was created.
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

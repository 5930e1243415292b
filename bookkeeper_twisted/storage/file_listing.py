"""Lists the journals, entry logs and index files of our bookie and of Apache's."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import Enum

from .index.run_index import FILE_NAME
from .interfaces import IFileSystem
from .ledger_dirs import ENTRY_LOG_SUFFIX, JOURNAL_SUFFIX, current, distinct

_HEXADECIMAL = re.compile("[0-9a-f]+")


class FileKind(Enum):
    """The kinds of files of a bookie, with the suffixes of their names."""

    JOURNAL = (JOURNAL_SUFFIX,)
    ENTRY_LOG = (ENTRY_LOG_SUFFIX,)
    INDEX = (".idx", f"/{FILE_NAME}")


def files_of(kind: FileKind, fs: IFileSystem, directories: Sequence[str]) -> list[str]:
    """Return the paths of all files of a kind, sorted by directory and then by the number in the name.

    :param directories: the directories as configured, without ``current``.
    :raises OSError: a directory cannot be read.
    """
    found: list[str] = []
    for directory in distinct(directories):
        paths = [path for path in _files_below(fs, current(directory)) if path.endswith(kind.value)]
        found += sorted(paths, key=_order)
    return found


def _order(path: str) -> tuple[str, int, str]:
    parent, name = posixpath.split(path)
    number = _HEXADECIMAL.match(name)
    return parent, int(number.group(), 16) if number else -1, name


def _files_below(fs: IFileSystem, directory: str) -> Iterator[str]:
    for name in fs.list(directory):
        path = posixpath.join(directory, name)
        if fs.is_directory(path):
            yield from _files_below(fs, path)
        else:
            yield path

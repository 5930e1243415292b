"""The log mark of a journal: the position where a replay begins.  Every ledger directory has a file with it::

    0   i64  id of a journal file
    8   i64  offset in it
    16  u64  commits of the index of this directory, when the log mark was written
    24  u32  CRC32C of 0-23

Records before the log mark are not replayed, so the index must have rows for their entries.  If an operator restores an
old copy of the index file, such rows are missing.  So the log mark also has the number of commits of the index at its
time: an index with fewer commits is older than the log mark.

Apache's bookie writes and reads only the first 16 bytes; a file of this length is valid without a checksum.  Earlier
versions of this bookie wrote 20 bytes: the file id, the offset and the checksum.  With a log mark of 16 or 20 bytes, an
old copy of the index cannot be noticed.
"""

import posixpath
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from itertools import repeat

from ...crc32c import crc32c
from ..files.replace import replace_file
from ..interfaces import IFileSystem, JournalPosition
from ..ledger_dirs import log_mark_name

_POSITION = struct.Struct(">qq")
_COMMITS = struct.Struct(">Q")
_SUM = struct.Struct(">I")
_SIZE = _POSITION.size + _COMMITS.size + _SUM.size
assert _SIZE == 28
_NAME = re.compile(r"lastMark(\.\d+)?")


def read_log_mark(fs: IFileSystem, directories: Sequence[str], name: str) -> JournalPosition:
    """Return the lowest valid log mark in the directories; (0, 0) if no directory has one.

    A replay from the lowest log mark misses no record that is not in the storage yet.

    A log mark whose file is torn, damaged or missing is ignored.  This is safe: a journal file is deleted only after
    every directory has a log mark that points to a later journal file.  So the journal has all records after any valid
    log mark.  Without a valid log mark, all records are replayed.

    :param directories: paths of the ledger directories, each ending in ``current``.
    :param name: name of the file with the log mark, which is the same in all directories.
    :raises OSError: a log mark cannot be read.
    """
    found = []
    for directory in directories:
        data = _valid(fs, posixpath.join(directory, name))
        if data:
            found.append(JournalPosition(*_POSITION.unpack_from(data)))
    valid = [log_mark for log_mark in found if log_mark.file_id >= 0 and log_mark.offset >= 0]
    return min(valid, default=JournalPosition())


def log_mark_commits(fs: IFileSystem, directory: str) -> int:
    """Return the number of commits that the index of a ledger directory must have at least; 0 if it is unknown.

    An index with fewer commits is an old copy.  The number is the highest one in all log marks of the directory, even
    in log marks of journals that were removed, because the number of commits of an index never decreases.

    :param directory: path of the ledger directory, ending in ``current``.
    :raises OSError: a log mark cannot be read.
    """
    names = filter(_NAME.fullmatch, fs.list(directory))
    found = [_valid(fs, posixpath.join(directory, name)) for name in names]
    return max((_COMMITS.unpack_from(data, _POSITION.size)[0] for data in found if len(data) == _SIZE), default=0)


def _valid(fs: IFileSystem, path: str) -> bytes:
    """Return the content of a file with a log mark; empty if the file is missing, torn or damaged."""
    if not fs.exists(path):
        return b""
    with closing(fs.open(path)) as file:
        data = file.pread(_SIZE + 1, 0)
    numbers = data[: -_SUM.size]
    known = len(numbers) in (_POSITION.size, _POSITION.size + _COMMITS.size)
    return data if len(data) == _POSITION.size or (known and data == _checked(numbers)) else b""


def read_log_marks(fs: IFileSystem, directories: Sequence[str], count: int) -> list[JournalPosition]:
    """Return the log mark of each of ``count`` journals: the lowest of its log marks in all directories.

    :param directories: paths of the ledger directories, each ending in ``current``.
    """
    return [read_log_mark(fs, directories, log_mark_name(number, count)) for number in range(count)]


def _checked(numbers: bytes) -> bytes:
    """Return the content of a file with a log mark: ``numbers`` (encoded), followed by their checksum."""
    return numbers + _SUM.pack(crc32c(numbers))


class LogMark:
    """The log mark of one journal, in all ledger directories of a running bookie.

    If the previous process ended before it could sync a log mark, this process may read a log mark that is not on the
    disk yet.  So each process writes the log mark durably, even if it is unchanged, before it deletes a journal file.

    :ivar position: the log mark that all directories have.
    """

    def __init__(self, fs: IFileSystem, directories: Sequence[str], name: str) -> None:
        """:param directories: paths of the ledger directories, each ending in ``current``.
        :param name: name of the file with the log mark, which is the same in all directories.
        """
        self._fs = fs
        self._directories = tuple(directories)
        self._name = name
        self.position = read_log_mark(fs, directories, name)
        self._durable = JournalPosition()

    def advance(
        self, position: JournalPosition, commits: Sequence[int] = (),
        writing: Callable[[int], AbstractContextManager[None]] = lambda number: nullcontext(),
    ) -> None:  # fmt: skip
        """Write a new log mark to all directories; it is durable on return.  A log mark never moves back.

        :param position: the new log mark; a position below the present one is ignored.
        :param commits: for each directory, the number of commits that its index has now; empty for a storage without
            indexes.
        :param writing: called with the number of each directory; the returned context lasts while it is written to.
        :raises OSError: a file could not be written; :attr:`position` is unchanged.
        """
        if position < self.position or position <= self._durable:
            return
        numbers = _POSITION.pack(position.file_id, position.offset)
        for number, (directory, count) in enumerate(zip(self._directories, commits or repeat(0), strict=False)):
            data = _checked(numbers + _COMMITS.pack(count))
            with writing(number):
                replace_file(self._fs, posixpath.join(directory, self._name), data)
        self.position = self._durable = position

"""The replay mark of a journal, in a file of every ledger directory::

    0   i64  id of a journal file
    8   i64  offset in it
    16  u32  CRC32C of these 16 bytes

Apache's bookie reads and writes the first 16 bytes only; such a file is valid without a checksum.
"""

import posixpath
import struct
from collections.abc import Sequence

from ...crc32c import crc32c
from ..files.replace import replace_file
from ..interfaces import IFileSystem, JournalPosition
from ..ledger_dirs import mark_name

_MARK = struct.Struct(">qq")
_SUM = struct.Struct(">I")
_SIZE = _MARK.size + _SUM.size
assert _SIZE == 20


def read_mark(fs: IFileSystem, directories: Sequence[str], name: str) -> JournalPosition:
    """Return the lowest readable mark, so that the replay of no directory misses a record (S7); (0, 0) without a mark.

    A torn, damaged or missing file is ignored: the mark is written to all directories before a journal file below it is
    removed, so every whole copy is valid; without any, all records in the journals are replayed.

    :param directories: ledger directories, ``current`` included.
    :param name: of the file, see :func:`~bookkeeper_twisted.storage.ledger_dirs.mark_name`.
    :raises OSError: a file cannot be read.
    """
    found = []
    for directory in directories:
        path = posixpath.join(directory, name)
        if fs.exists(path):
            file = fs.open(path)
            try:
                data = file.pread(_SIZE + 1, 0)
            finally:
                file.close()
            if len(data) == _MARK.size or data == _checked(data[: _MARK.size]):
                found.append(JournalPosition(*_MARK.unpack_from(data)))
    valid = [mark for mark in found if mark.file_id >= 0 and mark.offset >= 0]
    return min(valid, default=JournalPosition())


def read_marks(fs: IFileSystem, directories: Sequence[str], count: int) -> list[JournalPosition]:
    """Read the mark of each of ``count`` journals by :func:`read_mark`.

    :param directories: ledger directories, ``current`` included.
    """
    return [read_mark(fs, directories, mark_name(number, count)) for number in range(count)]


def _checked(numbers: bytes) -> bytes:
    """Append a checksum to the numbers of a mark, as a mark file holds them."""
    return numbers + _SUM.pack(crc32c(numbers))


class LogMark:
    """The mark of one journal while the bookie runs.

    A mark that was read may be in the page cache only, if the previous process ended in a write.  So this process
    writes it once, even unchanged, before a journal file below it is removed.

    :ivar position: the mark that every directory holds.
    """

    def __init__(self, fs: IFileSystem, directories: Sequence[str], name: str) -> None:
        """
        :param directories: the subdirectory ``current`` of every ledger directory.
        :param name: the file name, see :func:`~bookkeeper_twisted.storage.ledger_dirs.mark_name`.
        """
        self._fs = fs
        self._directories = tuple(directories)
        self._name = name
        self.position = read_mark(fs, directories, name)
        self._durable = JournalPosition()

    def advance(self, position: JournalPosition) -> None:
        """Write the mark to all directories; it is durable on return.  A mark never moves back (S7).

        :param position: of the new mark; one below the present mark has no effect.
        :raises OSError: a directory could not be written; :attr:`position` has not moved.
        """
        if position < self.position or position <= self._durable:
            return
        data = _checked(_MARK.pack(position.file_id, position.offset))
        for directory in self._directories:
            replace_file(self._fs, posixpath.join(directory, self._name), data)
        self.position = self._durable = position

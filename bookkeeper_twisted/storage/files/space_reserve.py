"""The space that a disk keeps for deletions and compactions: neither clients nor other files can use it up.

A full disk gives space back only if something can still be written to it: SQLite's log of the commit that deletes
ledgers, the copy of what is live in a log, the 32 KiB that opening an index takes.  So the disk of a ledger directory,
and that of its index, has a file that takes space and holds nothing.  It is removed when one of these writes finds no
space, and made again, as long as it can be, right behind the write: what is free for longer, another file may take.
Entries are written only where there is space beside the whole of it, which each checkpoint looks at.  A disk with
:data:`PLENTY` of free bytes has no such file yet: the first checkpoint that finds less makes it.

Blocks that a file system keeps for privileged processes count as free for the reserve, and for what uses it, if this
is such a process: they are what is left to it when others of that kind have taken the last byte.  Entries leave them
alone.

The file may be there or not, and of any length up to the full one: none of this says anything of an entry, so a power
cut may leave whatever it likes.
"""

import errno
import posixpath
from collections.abc import Iterable

from ...errors import NO_SPACE
from ..interfaces import IFile, IFileSystem

FILE_NAME = "reserve"

MOST_BYTES = 256 * 1024 * 1024
"""Enough to compact logs of Apache's default size, 1 GiB, of which less than a fifth is live (minor compaction)."""

_SHARE = 20
"""The part of a disk that a reserve may take: what the default of ``diskUsageThreshold`` leaves free."""

_SPARE = 4
"""The part of a reserve that has to be free beside it, for whatever a checkpoint writes beside the entries."""

PLENTY = 8 * 1024 * 1024 * 1024
"""Free bytes of a disk that nothing uses up between two checkpoints."""

_BLOCK = 4096


class SpaceReserve:
    """The reserve of one ledger directory.  Before the bookie serves, and on the flush lane of the directory.

    :ivar lent: whether it is in use.
    """

    def __init__(self, fs: IFileSystem, directories: Iterable[str], most_bytes: int) -> None:
        """Take the space, as much as there is, where little is free.

        :param directories: of the entry logs, which come first, and of their index; one on the disk of another needs no
            reserve of its own.
        :param most_bytes: of each file.
        :raises OSError: a disk failed.
        """
        self.lent = False
        self._fs = fs
        self._sizes: dict[str, int] = {}
        disks: set[int] = set()
        for directory in directories:
            disk = fs.disk(directory)
            if disk not in disks:
                disks.add(disk)
                self._sizes[directory] = min(most_bytes, fs.usage(directory)[0] // _SHARE) // _BLOCK * _BLOCK
        self._held = dict.fromkeys(self._sizes, 0)
        self.take_back()

    @property
    def missing(self) -> int:
        """Return the bytes that it is shorter than it should be."""
        return sum([size - self._held[directory] for directory, size in self._sizes.items() if self._is_due(directory)])

    def _is_due(self, directory: str) -> bool:
        """Test whether the disk of a ``directory`` is to have the reserve now."""
        return self._held[directory] > 0 or self._fs.usage(directory)[1] < PLENTY

    def check(self, n_bytes: int) -> None:
        """Check that there is space beside the whole reserve, which is taken back unless it is in use.

        :param n_bytes: of entries that are to be written.
        :raises OSError: ``ENOSPC``: there is none.
        """
        for directory, size in self._sizes.items():
            needed = n_bytes + size // _SPARE + size - self._held[directory]
            n_bytes = 0  # entries are written to the first directory alone
            if self._fs.usage(directory)[1] < needed:
                raise _none_left(directory)
        if self.lent:
            return
        self.take_back()
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._is_due(directory):
                raise _none_left(directory)

    def lend(self) -> bool:
        """Give the space to a deletion or a compaction, until :meth:`take_back`.

        :returns: whether there is any; it is free by then.
        :raises OSError: a disk failed.
        """
        held = [directory for directory, n_bytes in self._held.items() if n_bytes]
        if self.lent or not held:
            return False
        self.lent = True
        for directory in held:
            self._held[directory] = 0
            self._fs.unlink(posixpath.join(directory, FILE_NAME))
            self._fs.sync_directory(directory)
        return True

    def take_back(self) -> None:
        """Take the space again, as much as there is.

        :raises OSError: a disk failed.
        """
        self.lent = False
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._is_due(directory):
                self._held[directory] = self._extended(directory, size)

    def _extended(self, directory: str, size: int) -> int:
        """Make the file of a directory as long as can be, and durable.

        :returns: its bytes.
        """
        path = posixpath.join(directory, FILE_NAME)
        exists = self._fs.exists(path)
        free = self._fs.allocatable(directory) // _BLOCK * _BLOCK
        if not exists and not free:
            return 0
        file = self._fs.open(path, create=not exists)
        try:
            held = min(file.size(), size)
            file.truncate(held)
            held = _allocated(file, held, min(size - held, free))
            file.sync(metadata=True)
        finally:
            file.close()
        self._fs.sync_directory(directory)
        return held


def remove(fs: IFileSystem, directory: str) -> None:
    """Remove the reserve of a ``directory`` that another bookie is to have; durable when it returns.

    :raises OSError: a disk failed.
    """
    if fs.exists(posixpath.join(directory, FILE_NAME)):
        fs.unlink(posixpath.join(directory, FILE_NAME))
        fs.sync_directory(directory)


def _allocated(file: IFile, held: int, more: int) -> int:
    """Extend a file by some bytes, or by less if others need them first.

    :returns: the bytes of the file.
    """
    while more:
        try:
            file.allocate(held + more)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            file.truncate(held)
            more = more * 3 // 4 // _BLOCK * _BLOCK
        else:
            return held + more
    return held


def _none_left(directory: str) -> OSError:
    return OSError(errno.ENOSPC, "no space beside the reserve for deletions and compactions", directory)

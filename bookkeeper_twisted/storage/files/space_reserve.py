"""Disk space reserved for deletions and compactions, which clients and other files cannot use up.

A full disk frees space only by further writes: SQLite's log of the commit that deletes
ledgers, the copy of the live entries of a log, the 32 KiB that the opening of an index takes.  So the disk of a ledger
directory, and that of its index, has a file that takes space and holds nothing.  It is removed when one of these writes
finds no space, and made again, as long as possible, right after the write: another file may take the space meanwhile.
Entries are written only if there is space beside the full reserve, which each checkpoint verifies.  A disk with
:data:`PLENTY` of free bytes has no such file yet: the first checkpoint that finds less makes it.

Blocks that a file system keeps for privileged processes count as free for the reserve, and for its users, if this
is such a process: they are left when other such processes have taken the last byte.  Entries never use
them.

The file may exist or not, and have any length up to the full one: it says nothing of an entry, so any state after a
power cut is fine.
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
    """The space reserve of one ledger directory and its index.  Used before the bookie serves, and on its flush lane.

    :ivar lent: whether the space is in use.
    """

    def __init__(self, fs: IFileSystem, directories: Iterable[str], most_bytes: int) -> None:
        """Allocate the reserve, if little space is free; a part of it if the disk has no more.

        :param directories: that of the entry logs first, then that of their index, which on the same disk needs no
            reserve of its own.
        :param most_bytes: bytes of each file.
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
        """Return the bytes that the reserve lacks."""
        return sum([size - self._held[directory] for directory, size in self._sizes.items() if self._is_due(directory)])

    def _is_due(self, directory: str) -> bool:
        """Test whether a ``directory`` needs its reserve: it has a part of it already, or little space is free."""
        return self._held[directory] > 0 or self._fs.usage(directory)[1] < PLENTY

    def check(self, n_bytes: int) -> None:
        """Check that the disk has space beyond the reserve; allocate the reserve again unless it is lent.

        :param n_bytes: bytes of the entries to write.
        :raises OSError: ``ENOSPC``: there is no such space.
        """
        for directory, size in self._sizes.items():
            needed = n_bytes + size // _SPARE + size - self._held[directory]
            n_bytes = 0  # entries go to the first directory, so only its disk needs this space
            if self._fs.usage(directory)[1] < needed:
                raise _none_left(directory)
        if self.lent:
            return
        self.take_back()
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._is_due(directory):
                raise _none_left(directory)

    def lend(self) -> bool:
        """Free the reserve for a deletion or a compaction, until :meth:`take_back`.

        :returns: whether there is a reserve, whose space is free on return.
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
        """Allocate the reserve again, as much as the disk has.

        :raises OSError: a disk failed.
        """
        self.lent = False
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._is_due(directory):
                self._held[directory] = self._extended(directory, size)

    def _extended(self, directory: str, size: int) -> int:
        """Extend the reserve file of a directory durably, as far as possible.

        :returns: the bytes of the file.
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
    """Remove the reserve from a ``directory`` that another bookie will use; durable on return.

    :raises OSError: a disk failed.
    """
    if fs.exists(posixpath.join(directory, FILE_NAME)):
        fs.unlink(posixpath.join(directory, FILE_NAME))
        fs.sync_directory(directory)


def _allocated(file: IFile, held: int, more: int) -> int:
    """Extend a file by a number of bytes, or by fewer if other files take the space first.

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

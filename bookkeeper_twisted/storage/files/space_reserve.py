"""Disk space that is reserved for deletions and compactions, so that entries and other files cannot use it up.

To free space on a full disk, the bookie must first write to the disk.  The commit that deletes ledgers goes to SQLite's
write-ahead log, a compaction copies live entries, and opening an index takes 32 KiB.  So a ledger directory has a
reserve file, which takes disk space but contains no data.  If the index is on another disk, the index directory has a
reserve file, too.  The file is deleted when one of these three operations finds no space, and created again right after
the operation.  It may then be smaller, because other files may have taken space meanwhile.  Each checkpoint checks that
the disk has space for its entries in addition to the full reserve.  A disk with at least :data:`PLENTY` of free bytes
has no reserve file; the first checkpoint that finds less space creates the file.

File systems keep some blocks for privileged processes.  If this process may use these blocks, the reserve includes
them, because they are still free when unprivileged processes have filled the disk.  Entries never use these blocks.

A power cut may leave the reserve file missing or with any length; both are valid, because it contains no data.
"""

import errno
import posixpath
from collections.abc import Iterable
from contextlib import closing

from ...errors import NO_SPACE
from ..interfaces import IFile, IFileSystem

FILE_NAME = "reserve"

MOST_BYTES = 256 * 1024 * 1024
"""Maximum number of bytes of a reserve: enough to compact a log of 1 GiB (Apache's default) of which less than 1/5 is
live.
"""

_SHARE = 20
"""The reserve takes at most 1/20 of a disk, the part that the default ``diskUsageThreshold`` leaves free."""

_SPARE = 4
"""A checkpoint also writes index rows and ledger states.  For these, 1/4 of the reserve's size must be free."""

PLENTY = 8 * 1024 * 1024 * 1024
"""A disk with this number of free bytes needs no reserve, because it cannot become full between two checkpoints."""

_BLOCK = 4096


class ReserveShortageError(OSError):
    """A disk has too little space for the entries of a checkpoint in addition to its reserve (``ENOSPC``).

    The text is the same whatever the numbers are, so that a repeated failure can be recognized.

    :ivar needed: number of bytes that must be free, for the entries and for what the reserve lacks.
    :ivar free: number of bytes that are free.
    """

    def __init__(self, directory: str, needed: int, free: int) -> None:
        super().__init__(errno.ENOSPC, "no space beside the reserve for deletions and compactions", directory)
        self.needed = needed
        self.free = free


class SpaceReserve:
    """The space reserve of a ledger directory and its index directory.

    :ivar released: whether the reserve files are deleted, so that a deletion or compaction can use their space.
    """

    def __init__(self, fs: IFileSystem, directories: Iterable[str], most_bytes: int) -> None:
        """Create the reserve files if little space is free; make them as large as the disk allows.

        :param directories: the ledger directory, then its index directory.  An index directory on the same disk gets no
            reserve file.
        :param most_bytes: maximum number of bytes of each reserve file.
        :raises OSError: a disk failed.
        """
        self.released = False
        self._fs = fs
        self._sizes: dict[str, int] = {}
        disks: set[int] = set()
        for directory in directories:
            disk = fs.disk(directory)
            if disk not in disks:
                disks.add(disk)
                self._sizes[directory] = min(most_bytes, fs.usage(directory)[0] // _SHARE) // _BLOCK * _BLOCK
        self._held = dict.fromkeys(self._sizes, 0)
        self.restore()

    @property
    def missing(self) -> int:
        """Return the number of bytes by which the reserve files are smaller than they should be."""
        needed = {directory: size for directory, size in self._sizes.items() if self._needs_reserve(directory)}
        return sum([size - self._held[directory] for directory, size in needed.items()])

    def _needs_reserve(self, directory: str) -> bool:
        """Test whether a ``directory`` needs its full reserve now.

        It does if it has a reserve file already, which may be too small, or if little space is free on its disk.
        """
        return self._held[directory] > 0 or self._fs.usage(directory)[1] < PLENTY

    def check(self, n_bytes: int) -> None:
        """Check that the disk has space for entries in addition to the reserve; extend a reserve that is too small.

        :param n_bytes: number of bytes of the entries that a checkpoint will write.
        :raises ReserveShortageError: there is too little space.
        :raises OSError: a disk failed.
        """
        for directory, size in self._sizes.items():
            needed = n_bytes + size // _SPARE + size - self._held[directory]
            n_bytes = 0  # entries are written only to the ledger directory, which comes before the index directory
            free = self._fs.usage(directory)[1]
            if free < needed:
                raise ReserveShortageError(directory, needed, free)
        if self.released:
            return
        self.restore()
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._needs_reserve(directory):
                raise ReserveShortageError(directory, size - self._held[directory], self._fs.usage(directory)[1])

    def release(self) -> bool:
        """Delete the reserve files, so that a deletion or a compaction can use their space until :meth:`restore`.

        :returns: True if space was freed; False if there are no reserve files, or they are released already.
        :raises OSError: a disk failed, or is read-only; the files that were deleted before are created again.
        """
        held = [directory for directory, n_bytes in self._held.items() if n_bytes]
        if self.released or not held:
            return False
        self.released = True
        try:
            for directory in reversed(held):  # the index first: a deletion needs its disk alone
                self._fs.unlink(posixpath.join(directory, FILE_NAME))
                self._held[directory] = 0
                self._fs.sync_directory(directory)
        except OSError:
            self.restore()
            raise
        return True

    def restore(self) -> None:
        """Create the reserve files again, as large as the disks allow.

        :raises OSError: a disk failed.
        """
        self.released = False
        for directory, size in self._sizes.items():
            if self._held[directory] < size and self._needs_reserve(directory):
                self._held[directory] = self._extended(directory, size)

    def _extended(self, directory: str, size: int) -> int:
        """Extend the reserve file of a directory as far as possible; it is durable on return.

        :returns: the size of the file in bytes.
        """
        path = posixpath.join(directory, FILE_NAME)
        exists = self._fs.exists(path)
        free = self._fs.allocatable(directory) // _BLOCK * _BLOCK
        if not exists and not free:
            return 0
        with closing(self._fs.open(path, create=not exists)) as file:
            held = min(file.size(), size)
            file.truncate(held)
            held = _allocated(file, held, min(size - held, free))
            file.sync(metadata=True)
        self._fs.sync_directory(directory)
        return held


def remove(fs: IFileSystem, directory: str) -> None:
    """Delete the reserve file in a ``directory`` that is handed back to Apache's bookie; durable on return.

    :raises OSError: a disk failed.
    """
    if fs.exists(posixpath.join(directory, FILE_NAME)):
        fs.unlink(posixpath.join(directory, FILE_NAME))
        fs.sync_directory(directory)


def _allocated(file: IFile, held: int, more: int) -> int:
    """Extend a file of ``held`` bytes by ``more`` bytes, or by fewer bytes if other files take the space first.

    :returns: the size of the file in bytes.
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

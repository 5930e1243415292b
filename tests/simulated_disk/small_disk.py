"""Simulated disks that can be full.

A write takes the space of the sectors that it is the first to write, an allocation all of its bytes.  Space is given
back when a file is cut or removed, as far as this process sees it.  Of a stored object (an index) only what a commit
takes for a moment counts.
"""

import errno
import posixpath
from collections.abc import Callable, Hashable, Mapping

from .sim_disk import SimDisk
from .state import SECTOR, Inode

COMMIT_BYTES = 2048
"""Free bytes that a commit of an object takes."""


class SmallDisk(SimDisk):
    """A file system of which some paths are disks with so many bytes.

    :ivar sizes: bytes of each disk, by the path below which it lies.
    :ivar foreign: bytes of each disk that other files take.
    :ivar reserved: bytes of each disk that are kept for privileged processes, of which this is one.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.sizes = dict(sizes)
        self.foreign = dict.fromkeys(sizes, 0)
        self.reserved = 0
        self.mounted = tuple(sizes)

    def empty(self) -> "SmallDisk":
        """See :meth:`SimDisk.empty`."""
        found = SmallDisk(self.sizes)
        found.foreign, found.reserved = dict(self.foreign), self.reserved
        return found

    def usage(self, path: str) -> tuple[int, int]:
        """See :meth:`~bookkeeper_twisted.storage.interfaces.IFileSystem.usage`."""
        unlimited = super().usage(path)
        mount = self._mount(path)
        return unlimited if mount is None else (self.sizes[mount], max(self.free(mount) - self.reserved, 0))

    def allocatable(self, path: str) -> int:
        """See :meth:`~bookkeeper_twisted.storage.interfaces.IFileSystem.allocatable`."""
        mount = self._mount(path)
        return super().allocatable(path) if mount is None else self.free(mount)

    def free(self, mount: str) -> int:
        """Return the free bytes of the disk below the path ``mount``."""
        inodes = {
            id(inode): inode
            for path, directory in self._directories.items()
            if path.startswith(mount)
            for inode in directory.names.values()
        }
        return max(self.sizes[mount] - self.foreign[mount] - sum(map(_taken, inodes.values())), 0)

    def fill(self, mount: str, free: int = 0) -> None:
        """Have another file take what is ``free`` of a disk, but for some bytes."""
        self.foreign[mount] += max(self.free(mount) - free, 0)

    def _mount(self, path: str) -> str | None:
        return next((mount for mount in self.sizes if path.startswith(mount)), None)

    def _step(
        self, name: str, path: str, detail: Hashable = None, size: int = 0, failed: Callable[[], None] | None = None
    ) -> int:  # fmt: skip
        number = super()._step(name, path, detail, size, failed)
        mount = self._mount(path)
        if mount is not None and self._needed(name, path, detail, size) > self.free(mount):
            raise OSError(errno.ENOSPC, "ENOSPC", path)
        return number

    def _needed(self, name: str, path: str, detail: Hashable, size: int) -> int:
        if name == "commit":
            return COMMIT_BYTES
        if name not in ("pwrite", "allocate"):
            return 0
        directory = self._directories[posixpath.dirname(path)]
        inode = directory.names.get(posixpath.basename(path))
        if inode is None:
            return 0
        assert isinstance(detail, int)
        if name == "allocate":
            return max(detail - _taken(inode), 0)
        sectors = range(detail // SECTOR, -(-(detail + size) // SECTOR))
        new = [sector for sector in sectors if sector not in inode.sectors and sector * SECTOR >= inode.allocated]
        return len(new) * SECTOR


def _taken(inode: Inode) -> int:
    """The bytes that a file takes."""
    return max(len(inode.sectors) * SECTOR, inode.allocated)

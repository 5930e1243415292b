"""A file to which is written as by a journal, by the bare calls: what a durable write takes at least."""

import mmap
import os
from pathlib import Path

from bookkeeper_twisted.storage.files.kernel_context import KernelContext, address_of

MOST = 4 << 20
"""Bytes of the largest write."""

_BLOCKS = 32 << 20
_SECTOR = 512


class BareFile:
    """A file whose blocks were written before, and to which one durable write at a time is made, again from its begin.

    :param folder: where it is made.
    :ivar event: becomes readable when the write has ended.
    """

    def __init__(self, folder: Path) -> None:
        self._kernel = KernelContext(1)
        self.event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._buffer = mmap.mmap(-1, MOST)
        self._address = address_of(self._buffer)
        self._file = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        self._offset = 0
        for offset in range(0, _BLOCKS, MOST):
            os.pwrite(self._file, self._buffer, offset)
        os.fsync(self._file)

    def begin(self, data: bytes) -> None:
        """Begin to write at most :data:`MOST` bytes."""
        size = -(-len(data) // _SECTOR) * _SECTOR
        if self._offset + size > _BLOCKS:
            self._offset = 0
        self._buffer[: len(data)] = data
        self._kernel.begin_write(self._file, self._address, size, self._offset, os.RWF_DSYNC, self.event)
        self._offset += size

    def end(self) -> None:
        """Take the result of the write that has ended."""
        os.eventfd_read(self.event)
        if (result := self._kernel.ended_write()) <= 0:
            raise OSError(-result, "the write has failed")

    def close(self) -> None:
        """Close the file; no write is under way."""
        self._kernel.close()
        os.close(self.event)
        os.close(self._file)

"""Makes small durable writes, one at a time, by the kernel's asynchronous I/O instead of a thread.

A write on another thread would cost two hand-overs between threads.  Here the caller begins the write; when the write
has ended, the kernel makes an eventfd readable, and the caller's reactor notices that.  The caller never waits for the
disk: a write that would have to wait is not begun (``RWF_NOWAIT``).
"""

import errno
import mmap
import os
import weakref
from collections.abc import Sequence

from ...crc32c import Buffer
from ..interfaces import REFUSED, IFile
from .kernel_context import KernelContext, address_of

MOST_BYTES = 64 * 1024
"""Maximum number of bytes of a write."""

_DSYNC, _NOWAIT = 2, 8  # RWF_DSYNC and RWF_NOWAIT: ``os`` lacks them if Python was built with an old C library


class DurableWriter:
    """Begins small durable writes, one at a time, without a thread.

    :ivar refusal: the error with which the kernel has refused such writes; after it, every write must be made by an
        ordinary call.  None if the kernel has not refused any.
    """

    def __init__(self) -> None:
        """Open a context of the kernel's asynchronous I/O.

        :raises OSError: the system has no asynchronous I/O, or permits none.
        """
        self.refusal: OSError | None = None
        self._kernel = KernelContext(1)
        self._buffer = mmap.mmap(-1, MOST_BYTES)
        self._address = address_of(self._buffer)
        self._size = 0
        self._path = ""
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._close = weakref.finalize(self, _close, self._kernel, self._event)

    def fileno(self) -> int:
        """Return the descriptor of an eventfd that becomes readable when a write has ended."""
        return self._event

    def begin(self, file: IFile, parts: Sequence[Buffer], offset: int) -> bool:
        """Begin a write; no other write may be in progress.

        :param file: the file.  It must have disk space for the written range already, and stay open until :meth:`end`
            has returned the result.
        :param parts: the bytes, in several buffers; they are copied.
        :param offset: offset in the file.
        :returns: False if the write has not begun, and must be made by an ordinary call.
        """
        descriptor, size = file.direct_descriptor, sum(map(len, parts))
        if descriptor is None or size > MOST_BYTES or self.refusal is not None:
            return False
        buffer = self._buffer
        buffer.seek(0)
        for part in parts:
            buffer.write(part)
        try:
            self._kernel.begin_write(descriptor, self._address, size, offset, _DSYNC | _NOWAIT, self._event)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                self.refusal = error
            return False
        self._size, self._path = size, file.path
        return True

    def end(self) -> bool | None:
        """Take the result of the write in progress.

        :returns: True if all bytes are durable; False if the kernel has not made the write, or only a part of it, so
            that it must be made by an ordinary call; None if the write has not ended.
        :raises OSError: the write failed, or its result is unknown.
        """
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            return None
        result = self._kernel.ended_write()
        if result == self._size:
            return True
        if result >= 0 or -result == errno.EAGAIN:
            return False
        error = OSError(-result, os.strerror(-result), self._path)
        if error.errno not in REFUSED:
            raise error
        self.refusal = error
        return False

    def close(self) -> None:
        """Wait for the write in progress; release the kernel's asynchronous I/O and the eventfd."""
        self._close()


def _close(kernel: KernelContext, event: int) -> None:
    kernel.close()
    os.close(event)

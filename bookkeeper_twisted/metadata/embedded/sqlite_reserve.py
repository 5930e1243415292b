"""Disk space reserved beside a store, so that ledgers can be deleted even if the disk is full.

A bookie with a full disk gets space back when ledgers are deleted, but each deletion is first written to the metadata
store, which may lie on the same disk.  So the file ``-reserve`` beside the store takes up space, but holds no data.  If
the store has no space for a change, the file is emptied and the change is made.  Then the file is filled again as far
as possible, before another file takes the space.  Other processes that need the reserve wait for the lock of the file.

The file may be missing or have any length: the store does not depend on it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...sqlite_files import PRIVATE_FILE

SIZE = 1024 * 1024
"""Bytes of the reserve: enough for some hundred small changes, which need space until SQLite restarts its log."""

_BLOCK = 4096


class StoreReserve:
    """The reserved disk space of a store; the sessions of several processes share it.

    :ivar path: path of the reserve's file.
    """

    def __init__(self, path: str) -> None:
        self.path = f"{path}-reserve"

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Free the reserved space for the ``with`` block, which changes the store; at its end, fill the reserve again.

        If another process is using the reserve, wait for it first.
        """
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.ftruncate(file, 0)
            yield
        finally:
            _extend(file)
            os.close(file)

    def fill(self) -> None:
        """Fill the reserve as far as the disk allows, unless another process is using the reserve."""
        with suppress(OSError):
            if os.path.exists(self.path) and os.path.getsize(self.path) == SIZE:
                return
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _extend(file)
            finally:
                os.close(file)


def _extend(file: int) -> None:
    """Extend the file of the reserve as far as the disk allows: by all missing bytes, else by half, and so on."""
    held = os.fstat(file).st_size
    more = SIZE - held
    while more >= _BLOCK and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, held + more)
            return
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, held)
            more = more // 2 // _BLOCK * _BLOCK

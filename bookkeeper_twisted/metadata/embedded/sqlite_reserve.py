"""Disk space reserved beside a store, so that ledgers can be deleted even if the disk is full.

A bookie with a full disk gets space back when ledgers are deleted.  But a deletion is first written to the metadata
store, which may be on the same disk.  So the file ``-reserve`` beside the store occupies disk space without data.  If
the disk has no space for a change of the store, this file is truncated to length 0, and the change is made.  Then the
file is extended again, as far as the disk allows.  Processes that need the reserve at the same time wait for a lock on
the file.

The store also works if the file is missing or shorter.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...sqlite_files import PRIVATE_FILE

SIZE = 1024 * 1024
"""Size of the reserve in bytes: enough for several hundred small changes in SQLite's write-ahead log."""

_BLOCK = 4096


class StoreReserve:
    """The reserved disk space of a store, which all processes that open the store share.

    :ivar path: path of the file that occupies the space.
    """

    def __init__(self, path: str) -> None:
        self.path = f"{path}-reserve"

    @contextmanager
    def released(self) -> Iterator[None]:
        """Free the reserved space for the changes in the ``with`` block; reserve the space again when the block ends.

        If another process is using the reserved space, wait until it has finished.
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
        """Extend the file of the reserve as far as the disk allows, unless another process is using the reserve."""
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
    """Extend the file of the reserve to its full size; on a full disk, try half of the missing bytes, and so on."""
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

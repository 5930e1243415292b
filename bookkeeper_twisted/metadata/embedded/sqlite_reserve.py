"""Disk space reserved beside a store, so that changes that free space work on a full disk.

A full disk of a bookie gets space back by deletions of ledgers, which are written to the store.  If the store lies on
the same disk, the file ``-reserve`` beside the store takes space and holds no data.  The file is emptied for a change
of the store that finds no space, and filled again, as far as possible, right after the change, before another file
takes the space.  Its lock keeps other processes from taking the space during the change, and makes them wait.

The file may be missing, or have any length: nothing that is stored depends on it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SIZE = 1024 * 1024
"""Bytes of the file: some hundred changes, of a few pages each, before their log is begun anew."""

_BLOCK = 4096
_PRIVATE_FILE = 0o600


class StoreReserve:
    """The reserve of the store at ``path``, which sessions of several processes share.

    :ivar path: of its file.
    """

    def __init__(self, path: str) -> None:
        self.path = f"{path}-reserve"

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the reserved space, if there is any, to a change of the store for the time of a block.

        It waits for another process that has it.
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
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _extend(file)
            finally:
                os.close(file)


def _extend(file: int) -> None:
    """Extend the file of a descriptor as far as the disk allows, by halves of the missing length."""
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

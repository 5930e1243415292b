"""RocksDB on a simulated disk: whatever was put may be there after a crash, with or without a flush."""

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from zope.interface import implementer

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.apache.interfaces import IKeyValues, Pair
from bookkeeper_twisted.storage.directory_storage import storage_error
from bookkeeper_twisted.storage.interfaces import IFileSystem

from .sim_disk import SimDisk

FILE_NAME = "CURRENT"


@implementer(IKeyValues)
class SimKeyValues:
    """See the module docstring; made by :meth:`open`."""

    def __init__(self, disk: SimDisk, path: str, lock_path: str, create: bool) -> None:
        self._disk = disk
        self._path = path
        self._lock = disk.lock(lock_path)
        self._pairs: dict[bytes, bytes] = dict(disk.committed(path) or {})
        if create and not disk.exists(path):
            self._commit()

    @classmethod
    def open(cls, fs: IFileSystem, path: str, create: bool) -> "SimKeyValues":
        """Open the database of a directory of a :class:`~.sim_disk.SimDisk`."""
        assert isinstance(fs, SimDisk)
        file_path = posixpath.join(path, FILE_NAME)
        if create:
            fs.make_directories(path)
        elif not fs.exists(file_path):
            raise StorageError(f"{path}: there is no database")
        try:
            return cls(fs, file_path, posixpath.join(path, "LOCK"), create)
        except OSError as error:
            raise storage_error(error, path) from error

    def items(self, first: bytes = b"") -> Iterator[Pair]:
        keys = sorted(self._pairs)
        for key in keys[bisect_left(keys, first) :]:
            yield key, self._pairs[key]

    def put(self, pairs: Sequence[Pair]) -> None:
        self._pairs.update(pairs)
        self._commit()

    def flush(self) -> None:
        self._commit()

    def close(self) -> None:
        self._lock.release()

    def _commit(self) -> None:
        digest = blake2b(repr(sorted(self._pairs.items())).encode(), digest_size=16).digest()
        try:
            self._disk.commit(self._path, dict(self._pairs), digest)
        except OSError as error:
            raise storage_error(error, self._path) from error

"""Real files: the only module of the engine that calls the operating system."""

import ctypes
import errno
import fcntl
import os
from collections.abc import Callable

from zope.interface import implementer

from ..errors import DirectoryLockedError
from .interfaces import IFile, IFileSystem, ILock

_START_WRITE = 2  # SYNC_FILE_RANGE_WRITE: begin, do not wait


def _find_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """The C library's ``sync_file_range``; only Linux has it, and it stays a hint everywhere."""
    try:
        function = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]


_sync_file_range = _find_sync_file_range()


@implementer(IFile)
class RealFile:
    """A file descriptor."""

    __slots__ = ("path", "_fd")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def pread(self, size: int, offset: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        if len(data) == size or not data:
            return data
        parts = [data]
        missing = size - len(data)
        while missing:  # a short read is the end of the file only if nothing follows
            data = os.pread(self._fd, missing, offset + size - missing)
            if not data:
                break
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def pwrite(self, data: bytes, offset: int) -> None:
        written = os.pwrite(self._fd, data, offset)
        if written == len(data):
            return
        rest = memoryview(data)
        while written < len(data):
            written += os.pwrite(self._fd, rest[written:], offset + written)

    def sync(self, metadata: bool = False) -> None:
        if self._fd < 0:  # Python answers ValueError, which is not an error of a disk
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        if metadata:
            os.fsync(self._fd)
        else:
            os.fdatasync(self._fd)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def start_writeback(self, offset: int, size: int) -> None:
        if _sync_file_range is not None:
            _sync_file_range(self._fd, offset, size, _START_WRITE)

    def drop_cached(self, offset: int, size: int) -> None:
        os.posix_fadvise(self._fd, offset, size, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@implementer(ILock)
class FileLock:
    """An exclusive ``flock``, which the kernel drops when the process ends in any way."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@implementer(IFileSystem)
class RealFileSystem:
    """The file system of the machine."""

    def open(self, path: str, create: bool = False) -> IFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        return RealFile(path, os.open(path, flags, 0o644))

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_directories(self, path: str) -> None:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self.make_directories(parent)
        os.mkdir(path)
        self.sync_directory(parent)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def sync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> ILock:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise DirectoryLockedError(f"{path} is locked by another process") from None
        except OSError:
            os.close(fd)
            raise
        return FileLock(fd)

    def usage(self, path: str) -> tuple[int, int]:
        found = os.statvfs(path)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

"""The real file system: all file operations go through it, except SQLite's and asynchronous I/O."""

import ctypes
import errno
import fcntl
import mmap
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from zope.interface import implementer

from ...crc32c import Buffer
from ...errors import DirectoryLockedError
from ..interfaces import NO_INODES, REFUSED, IFile, IFileSystem, ILock
from .page_cache import read_cached, read_cached_each
from .proc_files import content_of, mounted_device, takes_reserved_blocks

PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
"""The permission modes of new files and directories: only the owner may access them.

Entries are private, and indexes and journals contain the master keys of ledgers.
"""

_START_WRITE = 2  # SYNC_FILE_RANGE_WRITE: begin the write-back, but do not wait for it


def _find_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """Return the C library's ``sync_file_range``, which starts the write-back of pages; return None outside Linux."""
    try:
        function = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_sync_file_range = _find_sync_file_range()

BUFFER_SIZE = 1024 * 1024
"""Maximum number of bytes that one direct read or write transfers."""

BLOCK = 4096
"""Direct reads begin and end at multiples of this number of bytes, a multiple of the sector size of every disk."""

_KEPT_SHARE, _MOST_KEPT = 50, 4096  # ext4 reserves 1/50 of the blocks for itself, at most 4096
_MANY_PARTS = 64
_DURABLE = getattr(os, "RWF_DSYNC", 0)
_ZEROS = mmap.mmap(-1, BUFFER_SIZE)  # whole pages, so that direct I/O can write them without a copy


def _set_direct(fd: int) -> bool:
    """Make reads and writes of an open file bypass the page cache; return False if the system does not support that."""
    flag = getattr(os, "O_DIRECT", 0)
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | flag)
    except OSError:
        return False
    return bool(flag)


class _Named:
    """A context manager that adds the file's path to errors, because errors of calls with a file descriptor lack it.

    :ivar is_writable: False if the file system is read-only.  The error of a write says this then.
    """

    __slots__ = ("path", "is_writable")

    def __init__(self, path: str, is_writable: bool = True) -> None:
        self.path = path
        self.is_writable = is_writable

    def __enter__(self) -> None:
        """Do nothing: only the exit of the context has an effect, on errors."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self.path
            if error.errno == errno.EBADF and not self.is_writable:
                error.errno, error.strerror = errno.EROFS, os.strerror(errno.EROFS)


def _has_no_inodes(directory: str) -> bool:
    found = os.statvfs(directory)
    return found.f_files > 0 and not found.f_favail  # a file system without a limit, such as btrfs, has 0 of 0


@implementer(IFile)
class RealFile:
    """An open file of the operating system."""

    __slots__ = ("_fd", "_named")

    def __init__(self, path: str, fd: int, is_writable: bool = True) -> None:
        self._fd = fd
        self._named = _Named(path, is_writable)

    @property
    def path(self) -> str:
        return self._named.path

    @path.setter
    def path(self, path: str) -> None:
        self._named.path = path

    @property
    def direct_descriptor(self) -> int | None:
        return None

    def pread(self, size: int, offset: int) -> bytes:
        with self._named:
            data = os.pread(self._fd, size, offset)
            if len(data) == size or not data:
                return data
            parts = [data]
            missing = size - len(data)
            while missing:  # continue after a short read, because only an empty read proves the end of the file
                data = os.pread(self._fd, missing, offset + size - missing)
                if not data:
                    break
                parts.append(data)
                missing -= len(data)
            return b"".join(parts)

    def pread_resident(self, size: int, offset: int) -> bytes | None:
        return read_cached(self._fd, (size,), (offset,))[0]

    def pread_resident_each(self, sizes: Sequence[int], offsets: Sequence[int]) -> Sequence[bytes | None]:
        return read_cached_each(self._fd, sizes, offsets)

    def pwrite(self, data: bytes, offset: int) -> None:
        with self._named:
            written = os.pwrite(self._fd, data, offset)
            if written == len(data):
                return
            rest = memoryview(data)
            while written < len(data):
                written += os.pwrite(self._fd, rest[written:], offset + written)

    def write_zeros(self, size: int, offset: int) -> None:
        self.pwrite(bytes(size), offset)

    def pwritev(self, parts: Sequence[Buffer], offset: int, durable: bool = False) -> None:
        self.pwrite(b"".join(parts), offset)
        if durable:
            self.sync()

    def sync(self, metadata: bool = False) -> None:
        if self._fd < 0:  # closed: os.fdatasync(-1) would raise ValueError, not OSError
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        with self._named:
            if metadata:
                os.fsync(self._fd)
            else:
                os.fdatasync(self._fd)

    def truncate(self, size: int) -> None:
        with self._named:
            if not self._named.is_writable:  # os.ftruncate() would call the argument invalid
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            os.ftruncate(self._fd, size)

    def allocate(self, size: int) -> None:
        with self._named:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._fd, 0, size)
                return
            for offset in range(self.size(), size, BUFFER_SIZE):
                os.pwrite(self._fd, bytes(min(BUFFER_SIZE, size - offset)), offset)

    def size(self) -> int:
        with self._named:
            return os.fstat(self._fd).st_size

    def start_writeback(self, offset: int, size: int) -> None:
        if _sync_file_range is not None:
            _sync_file_range(self._fd, offset, size, _START_WRITE)

    def will_read(self, offset: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # whatever becomes of a hint, the data are not touched
                os.posix_fadvise(self._fd, offset, size, os.POSIX_FADV_WILLNEED)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with self._named:
                os.close(fd)


class _BufferPool:
    """A pool of aligned buffers for direct reads and writes; only one thread at a time uses a buffer."""

    def __init__(self) -> None:
        self._free: deque[mmap.mmap] = deque()

    def acquire(self) -> mmap.mmap:
        try:
            return self._free.pop()
        except IndexError:
            return mmap.mmap(-1, BUFFER_SIZE)

    def release(self, buffer: mmap.mmap) -> None:
        self._free.append(buffer)

    @contextmanager
    def borrowed(self) -> Iterator[memoryview]:
        """Lend a buffer of the pool for the duration of a ``with`` statement."""
        buffer = self.acquire()
        try:
            with memoryview(buffer) as view:
                yield view
        finally:
            self.release(buffer)


class DirectFile(RealFile):
    """A file that is read and written past the page cache (``O_DIRECT``), through aligned buffers.

    A direct write costs a fraction of the processor time, never waits for the write-back of other files, and does not
    push the pages of readers out of the page cache.  A direct read reads only the wanted blocks from the disk, without
    read-ahead.  If the system refuses direct I/O, this class makes ordinary calls.
    """

    __slots__ = ("_buffers", "_direct", "_refused")

    def __init__(
        self, path: str, fd: int, buffers: _BufferPool, refused: Callable[[OSError], object] = lambda error: None,
        is_writable: bool = True,
    ) -> None:  # fmt: skip
        """:param refused: called with the error if the system refuses direct I/O of this file."""
        super().__init__(path, fd, is_writable)
        self._buffers = buffers
        self._refused = refused
        self._direct = True

    @property
    def direct_descriptor(self) -> int | None:
        return self._fd if self._direct and self._fd >= 0 else None

    def pread(self, size: int, offset: int) -> bytes:
        parts, end = [], offset + size
        with self._buffers.borrowed() as view:
            while self._direct and offset < end:
                part = self._read_blocks(view, offset, end)
                if not part:
                    break
                parts.append(part)
                offset += len(part)
        if not self._direct:
            parts.append(super().pread(end - offset, offset))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_blocks(self, view: memoryview, offset: int, end: int) -> bytes:
        """Read bytes from ``offset`` on, up to ``end``, by one call.

        Fewer bytes may be returned; b"" at the end of the file, or if the system refuses direct I/O.
        """
        start = offset // BLOCK * BLOCK
        with view[: min(-(-(end - start) // BLOCK) * BLOCK, BUFFER_SIZE)] as blocks:
            try:
                found = os.preadv(self._fd, (blocks,), start)
            except OSError as error:
                self._must_be_refusal(error)
                return b""
        return bytes(view[offset - start : max(offset - start, min(found, end - start))])

    def pwrite(self, data: bytes, offset: int) -> None:
        self.pwritev((data,), offset)

    def write_zeros(self, size: int, offset: int) -> None:
        with memoryview(_ZEROS) as zeros:
            for start in range(0, size, BUFFER_SIZE):
                with zeros[: min(BUFFER_SIZE, size - start)] as piece:
                    self._write_piece(piece, offset + start, 0)

    def pwritev(self, parts: Sequence[Buffer], offset: int, durable: bool = False) -> None:
        at_once = _DURABLE if durable and sum(map(len, parts)) <= BUFFER_SIZE else 0
        with self._buffers.borrowed() as view:
            for piece in _gathered(parts, view):
                with piece:
                    self._write_piece(piece, offset, at_once)
                    offset += len(piece)
        if durable and not (at_once and self._direct):
            self.sync()

    def _write_piece(self, piece: memoryview, offset: int, flags: int) -> None:
        written = 0
        while written < len(piece) and self._direct:
            try:
                written += os.pwritev(self._fd, (piece[written:],), offset + written, flags)
            except OSError as error:
                self._must_be_refusal(error)
        if written < len(piece):
            super().pwrite(bytes(piece[written:]), offset + written)

    def _must_be_refusal(self, error: OSError) -> None:
        """Switch to ordinary calls if the system refuses direct I/O, or the calls for it; else raise the error again.

        If it is the data that cannot be read or written, the ordinary call fails as well.
        """
        with self._named:
            if error.errno not in REFUSED:
                raise error
            self._refused(OSError(error.errno, error.strerror, self.path))
        self._direct = False
        fcntl.fcntl(self._fd, fcntl.F_SETFL, fcntl.fcntl(self._fd, fcntl.F_GETFL) & ~os.O_DIRECT)

    def start_writeback(self, offset: int, size: int) -> None:
        if not self._direct:
            super().start_writeback(offset, size)


def _gathered(parts: Sequence[Buffer], buffer: memoryview) -> Iterator[memoryview]:
    """Copy byte strings into ``buffer``; yield it whenever it is full, and its used part at the end."""
    if len(parts) > _MANY_PARTS:
        parts = (b"".join(parts),)
    at = 0
    for part in parts:
        done = 0
        while len(part) - done > len(buffer) - at:
            taken = len(buffer) - at
            buffer[at:] = memoryview(part)[done : done + taken]
            yield buffer[:]
            at, done = 0, done + taken
        end = at + len(part) - done
        buffer[at:end] = memoryview(part)[done:] if done else part
        at = end
    if at:
        yield buffer[:at]


@implementer(ILock)
class FileLock:
    """An exclusive ``flock``; the kernel releases it when the process ends, even by a crash."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@implementer(IFileSystem)
class RealFileSystem:
    """The file system of the operating system."""

    def __init__(
        self, read_only: bool = False, direct_refused: Callable[[OSError], object] = lambda error: None
    ) -> None:  # fmt: skip
        """
        :param read_only: whether to open files only for reading, as tools do that inspect the files of a bookie.
        :param direct_refused: called on any thread with the error when the system first refuses direct I/O; from then
            on, the files that it refuses are read and written through the page cache.
        """
        self._buffers = _BufferPool()
        self._report: Callable[[OSError], object] | None = direct_refused
        self._access = os.O_RDONLY if read_only else os.O_RDWR

    def open(self, path: str, create: bool = False, direct: bool = False) -> IFile:
        # without O_NONBLOCK, opening a pipe would wait for a writer; for files the flag has no effect
        flags = self._access | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT | os.O_EXCL if create else 0)
        is_writable = True
        try:
            fd = os.open(path, flags, PRIVATE_FILE)
        except OSError as error:
            if error.errno == errno.EROFS and not create:  # after an error of its disk, for example: it can be read
                fd, is_writable = os.open(path, flags & ~os.O_RDWR), False
            else:
                if error.errno == errno.ENOSPC and _has_no_inodes(os.path.dirname(os.path.abspath(path))):
                    error.strerror = NO_INODES
                raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "Not a regular file", path)
        if direct and _set_direct(fd):
            return DirectFile(path, fd, self._buffers, self._direct_refused, is_writable)
        return RealFile(path, fd, is_writable)

    def _direct_refused(self, error: OSError) -> None:
        report, self._report = self._report, None
        if report is not None:
            report(error)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_directories(self, path: str) -> None:
        path = os.path.abspath(path)
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self.make_directories(parent)
        os.mkdir(path, PRIVATE_DIRECTORY)
        self.sync_directory(parent)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)
        self.sync_directory(os.path.dirname(os.path.abspath(path)))

    def sync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with _Named(path):
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def lock(self, path: str) -> ILock:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise DirectoryLockedError(f"{path} is locked by another process") from None
        except OSError as error:
            os.close(fd)
            error.filename = path
            raise
        return FileLock(fd)

    def usage(self, path: str) -> tuple[int, int]:
        found = os.statvfs(path)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def inodes(self, path: str) -> tuple[int, int]:
        found = os.statvfs(path)
        return found.f_files, found.f_favail

    def takes_writes(self, path: str) -> bool:
        # statvfs() does not tell: after an error, ext4 refuses writes without the flag of a read-only mount
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            if error.errno == errno.EROFS:
                return False
            raise
        return True

    def allocatable(self, path: str) -> int:
        found = os.statvfs(path)
        blocks = found.f_bavail
        if takes_reserved_blocks(content_of("/proc/self/status")):
            blocks = max(blocks, found.f_bfree - min(found.f_blocks // _KEPT_SHARE, _MOST_KEPT))
        return blocks * found.f_frsize

    def disk(self, path: str) -> int:
        """Return the device number of the mount that has ``path``.

        The number ``st_dev`` does not identify a disk: each subvolume of a Btrfs disk has its own ``st_dev``.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            device = mounted_device(content_of(f"/proc/self/fdinfo/{fd}"), content_of("/proc/self/mountinfo"))
            return os.fstat(fd).st_dev if device is None else device
        finally:
            os.close(fd)

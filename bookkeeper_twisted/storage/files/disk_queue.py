"""Asynchronous reads and writes past the page cache, by the kernel's asynchronous I/O.

A disk, in particular a virtual disk, serves many small reads faster if it gets them together.  And while the disk
works, the same thread can verify the bytes of earlier reads.  Only Linux has these system calls
(:mod:`.kernel_context`).

Ordinary reads and writes are used instead in three cases: if the system calls are missing, if a file was not opened for
direct I/O, and if the kernel refuses a request.  An ordinary read is made when its result is needed, an ordinary write
immediately.
"""

import mmap
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

import attrs

from ...crc32c import Buffer
from ..interfaces import IFile
from .kernel_context import DEPTH, READ, WRITE, KernelContext, Transfer, address_of

MOST_WRITES = 4
"""Maximum number of writes in progress; with more, a write to the journal would wait longer for the disk."""

BUSY_BYTES = 256 * 1024
"""Maximum number of bytes of all reads and writes in progress while other work needs the disk; a single one may be
larger.
"""

MAX_KEPT_BUFFER = 16 * 1024 * 1024
"""Maximum number of bytes of a buffer that stays in memory for later use; a larger buffer is freed."""


@attrs.frozen
class FileRange:
    """A range of bytes of a file to read.

    :ivar offset, size: offset and size in bytes, both multiples of 4096.
    """

    file: IFile
    offset: int
    size: int


_Waiting = tuple[int, int, IFile, int, int, int]
"""A read or write that is not passed to the kernel yet: (number, operation, file, address of the memory, size, offset).

It contains the file object instead of the descriptor, because the file may be closed meanwhile, and its descriptor
reused.
"""


class _QueuedReads:
    """A batch of file ranges that are read at the same time.

    :ivar left: number of reads that are not finished.
    :ivar found: for each range, the number of bytes read; negative if the read failed.
    :ivar buffer: the buffer that receives the bytes of all ranges.
    """

    def __init__(self, ranges: Sequence[FileRange], buffer: mmap.mmap) -> None:
        self.ranges = ranges
        self.buffer = buffer
        self.left = 0
        self.found = [-1] * len(ranges)

    def ended(self, index: int, found: int) -> None:
        """Record the result of the read of range ``index``: the number of bytes, or a negative error number."""
        self.found[index] = found
        self.left -= 1

    def datas(self) -> Iterator[memoryview | OSError]:
        """Yield the bytes of each range; if the read of a range failed, read it again by an ordinary call."""
        at, view = 0, memoryview(self.buffer)
        for each, found in zip(self.ranges, self.found, strict=True):
            yield view[at : at + each.size] if found == each.size else _read_now(each)
            at += each.size


def _read_now(each: FileRange) -> memoryview | OSError:
    try:
        return memoryview(each.file.pread(each.size, each.offset))
    except OSError as error:
        return error


class DiskQueue:
    """A queue of asynchronous reads and writes.  Only one thread at a time may use it.

    Close the queue before you close the files that it reads and writes.

    :param is_busy: tests whether other work needs the disk.  If so, at most :data:`BUSY_BYTES` are in progress at a
        time.
    """

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        self._is_busy = is_busy
        self._kernel: KernelContext | None = None
        # a function that closes the kernel's context; also called if this queue is garbage-collected before close()
        self._end: Callable[[], object] = lambda: None
        self._batches: deque[_QueuedReads] = deque()
        self._taken: _QueuedReads | None = None
        self._waiting: deque[_Waiting] = deque()
        # for each unfinished read or write, by its number: the function to call when it has finished
        self._begun: dict[int, Callable[[int], None]] = {}
        # size in bytes of each read or write that was passed to the kernel and is not finished, by its number
        self._flying: dict[int, int] = {}
        self._last_number = 0
        self._buffers: list[mmap.mmap] = []
        self._n_writes = 0
        self._unwritten: list[tuple[IFile, bytes, int]] = []

    # -- reads --

    def begin(self, ranges: Sequence[FileRange]) -> None:
        """Begin to read a batch of file ranges, without waiting for the disk.

        :param ranges: the ranges, in any order.
        """
        queued = bool(ranges) and all(each.file.direct_descriptor is not None for each in ranges)
        queued = queued and self._has_kernel()
        batch = _QueuedReads(ranges, self._acquire_buffer(sum([each.size for each in ranges]) if queued else 1))
        self._batches.append(batch)
        address = address_of(batch.buffer)
        for index, each in enumerate(ranges if queued else ()):
            batch.left += 1
            self._add(partial(batch.ended, index), READ, each.file, address, each.size, each.offset)
            address += each.size
        self._submit()

    def take(self) -> list[memoryview | OSError]:
        """Wait for the oldest batch of reads that was begun, and return its bytes.

        :returns: for each range, its bytes or the error of its read.  There are fewer bytes than wanted only at the end
            of a file.  The bytes are valid until the next call.
        """
        if self._taken is not None:
            self._release_buffer(self._taken.buffer)
        batch = self._taken = self._batches.popleft()
        while batch.left:
            self._wait()
        return list(batch.datas())

    # -- writes --

    def write(self, file: IFile, parts: Sequence[Buffer], offset: int) -> None:
        """Begin to write ``parts`` one after the other at ``offset``; :meth:`wait_for_writes` raises its error.

        :param file: the file.  It should already be as long as after the write, because this call waits for the disk if
            the write extends the file.
        :param parts: the buffers to write; their total size is a multiple of 4096 bytes.
        :param offset: offset in the file, a multiple of 4096.
        """
        if file.direct_descriptor is None or not self._has_kernel():
            file.pwritev(parts, offset)
            return
        while self._n_writes >= MOST_WRITES:
            self._wait()
        size = sum(map(len, parts))
        buffer = self._acquire_buffer(size)
        buffer.seek(0)
        for part in parts:
            buffer.write(part)
        self._n_writes += 1
        self._add(partial(self._written, file, buffer, size, offset), WRITE, file, address_of(buffer), size, offset)
        self._submit()

    def _written(self, file: IFile, buffer: mmap.mmap, size: int, offset: int, found: int) -> None:
        self._n_writes -= 1
        if found != size:
            self._unwritten.append((file, buffer[:size], offset))
        self._release_buffer(buffer)

    def wait_for_writes(self) -> None:
        """Wait until all writes are finished; to make them durable, call :meth:`~.interfaces.IFile.sync` after that.

        :raises OSError: a write failed.
        """
        while self._n_writes:
            self._wait()
        while self._unwritten:
            file, data, offset = self._unwritten.pop()
            file.pwrite(data, offset)

    # -- reads and writes --

    def _has_kernel(self) -> bool:
        if self._kernel is None:
            try:
                self._kernel = KernelContext()
            except OSError:
                return False
            self._end = weakref.finalize(self, self._kernel.close)
        return True

    def _acquire_buffer(self, size: int) -> mmap.mmap:
        """Return a buffer of at least ``size`` bytes: an unused buffer that is not much larger, or a new buffer.

        Buffers are used again because the first access to new memory is slow.  The size of a new buffer is a power of
        two, so that it suits later batches as well.
        """
        for at in reversed(range(len(self._buffers))):
            if size <= len(self._buffers[at]) < 8 * size:
                return self._buffers.pop(at)
        return mmap.mmap(-1, 1 << (size - 1).bit_length())

    def _release_buffer(self, buffer: mmap.mmap) -> None:
        if len(buffer) <= MAX_KEPT_BUFFER:
            self._buffers.append(buffer)

    def _add(
        self, ended: Callable[[int], None], operation: int, file: IFile, address: int, size: int, offset: int
    ) -> None:
        self._last_number += 1
        self._begun[self._last_number] = ended
        self._waiting.append((self._last_number, operation, file, address, size, offset))

    def _submit(self) -> None:
        """Pass as many waiting reads and writes to the kernel as it accepts."""
        transfers = self._admitted()
        if not transfers or self._kernel is None:
            return
        try:
            count = self._kernel.begin(transfers)
            self._flying.update((number, size) for number, _, _, _, size, _ in transfers[:count])
        except OSError:
            count = len(transfers)
            for number, *_ in transfers:
                self._begun.pop(number)(-1)
        for _ in range(count):
            self._waiting.popleft()

    def _admitted(self) -> list[Transfer]:
        """Return the waiting reads and writes that may begin now.

        Reads and writes at the front of the queue whose file was closed are reported as failed.
        """
        transfers: list[Transfer] = []
        while self._waiting and self._waiting[0][2].direct_descriptor is None:
            self._begun.pop(self._waiting.popleft()[0])(-1)
        for number, operation, file, address, size, offset in islice(self._waiting, DEPTH - len(self._flying)):
            descriptor = file.direct_descriptor
            if descriptor is None:
                break
            transfers.append((number, operation, descriptor, address, size, offset))
        if not transfers or not self._is_busy():
            return transfers
        count, n_bytes = 0, sum(self._flying.values())
        for *_, size, _ in transfers:
            if n_bytes and n_bytes + size > BUSY_BYTES:
                break
            count, n_bytes = count + 1, n_bytes + size
        return transfers[:count]

    def _wait(self) -> None:
        """Wait until the kernel has finished a read or write; then pass waiting reads and writes to it."""
        if self._kernel is not None and self._flying:
            for number, found in self._kernel.ended():
                del self._flying[number]
                self._begun.pop(number)(found)
        self._submit()

    def reset(self) -> None:
        """Wait for all reads and writes, and drop their results; keep the buffers for later use."""
        while self._begun and self._kernel is not None:
            self._wait()
        if self._taken is not None:
            self._batches.append(self._taken)
        self._taken = None
        while self._batches:
            self._release_buffer(self._batches.popleft().buffer)
        self._unwritten.clear()

    def close(self) -> None:
        """Wait for all reads and writes, close the context and free the memory; this takes some 30 ms."""
        if self._kernel is not None:
            self._kernel = None
            self._end()
        self._waiting.clear()
        self._begun.clear()
        self._flying.clear()
        self._buffers.clear()

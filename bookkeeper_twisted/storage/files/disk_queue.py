"""Asynchronous reads and writes that bypass the page cache, by the kernel's asynchronous I/O.

A disk, even more a virtual one, does many small reads at once in a fraction of the time of as many single ones, and
works while the thread verifies the bytes of earlier reads.  No other thread is needed.  Only Linux has these calls,
and the C library has no functions for them.  Without them, on files that are not direct, and for transfers that
the kernel refuses, ordinary calls are made: reads when they are wanted, writes at once.
"""

import ctypes
import mmap
import platform
import struct
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

import attrs

from ...crc32c import Buffer
from ..interfaces import IFile

DEPTH = 256
"""Reads and writes that the kernel has at once."""

MOST_WRITES = 4
"""Writes that are begun at once: what a journal writes meanwhile waits for no more."""

BUSY_BYTES = 256 * 1024
"""Bytes of transfers that the kernel has at once while the disk is wanted for something else, or one transfer."""

KEPT_ROOM = 16 * 1024 * 1024
"""Memory is kept for the next use, unless it is more than so many bytes."""

_NUMBERS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""Numbers of the system calls io_setup, io_destroy, io_getevents and io_submit, by machine."""

_READ, _WRITE = 0, 1
_CONTROL = struct.Struct("=QIIHhIQQqQII")  # iocb: number, 0, 0, operation, 0, descriptor, memory, size, offset, 0, 0, 0
_EVENT = struct.Struct("=QQqq")  # io_event: number, 0, bytes or a negative error, 0
assert (_CONTROL.size, _EVENT.size) == (64, 32)


@attrs.frozen
class FileRange:
    """A range of a file to read.

    :ivar offset, size: bytes, multiples of 4096.
    """

    file: IFile
    offset: int
    size: int


Transfer = tuple[int, int, int, int, int, int]
"""Number, operation, descriptor, address of the memory, size and offset."""

_Waiting = tuple[int, int, IFile, int, int, int]
"""A transfer that the kernel does not have yet: its file may be closed before, and another one get the descriptor."""


class _Kernel:
    """A context for the kernel's asynchronous I/O."""

    def __init__(self) -> None:
        """Open a context of the kernel's asynchronous I/O.

        :raises OSError: the system offers none.
        """
        numbers = _NUMBERS.get(platform.machine()) if sys.platform == "linux" and sys.byteorder == "little" else None
        if numbers is None:
            raise OSError("this system has no asynchronous I/O")
        self._system_call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
        setup, self._destroy, self._get_events, self._submit = numbers
        self._context = ctypes.c_ulong(0)
        self._call(setup, DEPTH, ctypes.byref(self._context))
        self._events = ctypes.create_string_buffer(_EVENT.size * DEPTH)

    def _call(self, number: int, *arguments: object) -> int:
        words = [ctypes.c_long(each) if isinstance(each, int) else each for each in (number, *arguments)]
        result = self._system_call(*words)
        if result < 0:
            raise OSError(ctypes.get_errno(), "asynchronous I/O")
        return result

    def begin(self, transfers: Sequence[Transfer]) -> int:
        """Begin transfers.

        :returns: the number of the first transfers that have begun.
        :raises OSError: none has begun.
        """
        blocks = b"".join([
            _CONTROL.pack(number, 0, 0, operation, 0, descriptor, address, size, offset, 0, 0, 0)
            for number, operation, descriptor, address, size, offset in transfers
        ])  # fmt: skip
        memory = ctypes.create_string_buffer(blocks, len(blocks))
        first = ctypes.addressof(memory)
        pointers = (ctypes.c_void_p * len(transfers))(*range(first, first + len(blocks), _CONTROL.size))
        return self._call(self._submit, self._context, len(transfers), pointers)

    def ended(self) -> list[tuple[int, int]]:
        """Wait until at least one transfer has ended.

        :returns: for each ended transfer its number, and its bytes or a negative error.
        """
        count = 0
        while not count:
            try:
                count = self._call(self._get_events, self._context, 1, DEPTH, self._events, None)
            except InterruptedError:
                continue
        events = self._events.raw[: count * _EVENT.size]
        return [(number, result) for number, _, result, _ in _EVENT.iter_unpack(events)]

    def close(self) -> None:
        """Close the context; after the return the kernel uses none of our memory."""
        self._call(self._destroy, self._context)


class _QueuedReads:
    """Ranges that are read together.

    :ivar left: number of reads that have not ended.
    :ivar found: bytes that were read of each range; negative if the read failed.
    """

    def __init__(self, ranges: Sequence[FileRange], room: mmap.mmap) -> None:
        self.ranges = ranges
        self.room = room
        self.left = 0
        self.found = [-1] * len(ranges)

    def ended(self, index: int, found: int) -> None:
        """Record the end of a read."""
        self.found[index] = found
        self.left -= 1

    def datas(self) -> Iterator[memoryview | OSError]:
        """Yield the bytes of each range; repeat a failed read by an ordinary call."""
        at, view = 0, memoryview(self.room)
        for each, found in zip(self.ranges, self.found, strict=True):
            yield view[at : at + each.size] if found == each.size else _read_now(each)
            at += each.size


def _read_now(each: FileRange) -> memoryview | OSError:
    try:
        return memoryview(each.file.pread(each.size, each.offset))
    except OSError as error:
        return error


class DiskQueue:
    """A queue of reads and writes; see the module docstring.  For one thread at a time; close it before its files.

    :param is_busy: tests whether others need the disk: few transfers are then given to it at a time.
    """

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        self._is_busy = is_busy
        self._kernel: _Kernel | None = None
        # Closes the kernel's context, also when this queue is garbage-collected.
        self._end: Callable[[], object] = lambda: None
        self._batches: deque[_QueuedReads] = deque()
        self._taken: _QueuedReads | None = None
        self._waiting: deque[_Waiting] = deque()
        # The callback of each transfer in progress or waiting, by the number of the transfer.
        self._begun: dict[int, Callable[[int], None]] = {}
        self._flying: dict[int, int] = {}  # bytes of each transfer in the kernel, by its number
        self._last_number = 0
        self._rooms: list[mmap.mmap] = []
        self._n_writes = 0
        self._unwritten: list[tuple[IFile, bytes, int]] = []

    # -- reads --

    def begin(self, ranges: Sequence[FileRange]) -> None:
        """Begin to read a batch of ranges, without waiting for the disk.

        :param ranges: in any order.
        """
        queued = bool(ranges) and all(each.file.direct_descriptor is not None for each in ranges)
        queued = queued and self._has_kernel()
        batch = _QueuedReads(ranges, self._room(sum([each.size for each in ranges]) if queued else 1))
        self._batches.append(batch)
        address = _address(batch.room)
        for index, each in enumerate(ranges if queued else ()):
            batch.left += 1
            self._add(partial(batch.ended, index), _READ, each.file, address, each.size, each.offset)
            address += each.size
        self._submit()

    def take(self) -> list[memoryview | OSError]:
        """Wait for the batch that was begun first, and return its bytes.

        :returns: the bytes of each range, valid until the next call; fewer only at the end of a file.  For a range
            that could not be read, the error.
        """
        if self._taken is not None:
            self._keep(self._taken.room)
        batch = self._taken = self._batches.popleft()
        while batch.left:
            self._wait()
        return list(batch.datas())

    # -- writes --

    def write(self, file: IFile, parts: Sequence[Buffer], offset: int) -> None:
        """Begin a write as by :meth:`~.interfaces.IFile.pwritev`; :meth:`wait_for_writes` raises the errors.

        :param file: should have its final size already: the kernel blocks in writes that extend a file.
        :param parts: buffers of a multiple of 4096 bytes, as is ``offset``.
        """
        if file.direct_descriptor is None or not self._has_kernel():
            file.pwritev(parts, offset)
            return
        while self._n_writes >= MOST_WRITES:
            self._wait()
        size = sum(map(len, parts))
        room = self._room(size)
        room.seek(0)
        for part in parts:
            room.write(part)
        self._n_writes += 1
        self._add(partial(self._written, file, room, size, offset), _WRITE, file, _address(room), size, offset)
        self._submit()

    def _written(self, file: IFile, room: mmap.mmap, size: int, offset: int, found: int) -> None:
        self._n_writes -= 1
        if found != size:
            self._unwritten.append((file, room[:size], offset))
        self._keep(room)

    def wait_for_writes(self) -> None:
        """Wait for all writes; their bytes are durable after :meth:`~.interfaces.IFile.sync`.

        :raises OSError: a write failed.
        """
        while self._n_writes:
            self._wait()
        while self._unwritten:
            file, data, offset = self._unwritten.pop()
            file.pwrite(data, offset)

    # -- both --

    def _has_kernel(self) -> bool:
        if self._kernel is None:
            try:
                self._kernel = _Kernel()
            except OSError:
                return False
            self._end = weakref.finalize(self, self._kernel.close)
        return True

    def _room(self, size: int) -> mmap.mmap:
        """Return a kept buffer that is large enough and less than eight times as large, or else a new one.

        The size of new memory is a power of two, so that it fits the next batch: the first touch of a page costs more
        than a write to it.
        """
        for at in reversed(range(len(self._rooms))):
            if size <= len(self._rooms[at]) < 8 * size:
                return self._rooms.pop(at)
        return mmap.mmap(-1, 1 << (size - 1).bit_length())

    def _keep(self, room: mmap.mmap) -> None:
        if len(room) <= KEPT_ROOM:
            self._rooms.append(room)

    def _add(
        self, ended: Callable[[int], None], operation: int, file: IFile, address: int, size: int, offset: int
    ) -> None:
        self._last_number += 1
        self._begun[self._last_number] = ended
        self._waiting.append((self._last_number, operation, file, address, size, offset))

    def _submit(self) -> None:
        """Pass waiting transfers to the kernel, as many as it accepts."""
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
        """Return the waiting transfers that the kernel may begin now; fail the transfers of closed files."""
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
        """Wait until a transfer has ended."""
        if self._kernel is not None and self._flying:
            for number, found in self._kernel.ended():
                del self._flying[number]
                self._begun.pop(number)(found)
        self._submit()

    def rest(self) -> None:
        """Wait for all reads and writes, and drop their results.  The buffers are kept."""
        while self._begun and self._kernel is not None:
            self._wait()
        if self._taken is not None:
            self._batches.append(self._taken)
        self._taken = None
        while self._batches:
            self._keep(self._batches.popleft().room)
        self._unwritten.clear()

    def close(self) -> None:
        """Wait for all reads and writes, close the context and free the memory; this takes some 30 ms."""
        if self._kernel is not None:
            self._kernel = None
            self._end()
        self._waiting.clear()
        self._begun.clear()
        self._flying.clear()
        self._rooms.clear()


def _address(room: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(room))

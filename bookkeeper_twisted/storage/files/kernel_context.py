"""The system calls of Linux's asynchronous I/O, for which the C library has no functions."""

import ctypes
import errno
import mmap
import platform
import struct
import sys
from collections.abc import Callable, Sequence

DEPTH = 256
"""Maximum number of reads and writes that the kernel has at the same time, if a context has no other limit."""

_NUMBERS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""The numbers of the system calls io_setup, io_destroy, io_getevents and io_submit, for each kind of machine."""

READ, WRITE = 0, 1
_SIGNALS = 1  # IOCB_FLAG_RESFD: when the read or write has ended, the kernel adds 1 to the eventfd in the last field
_CONTROL = struct.Struct("=QIIHhIQQqQII")
"""struct iocb: number, 0, flags of the call, operation, 0, descriptor, memory, size, offset, 0, flags, eventfd."""

_EVENT = struct.Struct("=QQqq")  # struct io_event: number, 0, number of bytes or negative error number, 0
assert (_CONTROL.size, _EVENT.size) == (64, 32)

Transfer = tuple[int, int, int, int, int, int]
"""A read or write for the kernel: (number, operation, file descriptor, address of the memory, size, offset)."""


class KernelContext:
    """A context of the kernel's asynchronous I/O; each system call is made for such a context."""

    def __init__(self, depth: int = DEPTH) -> None:
        """Open a context of the kernel's asynchronous I/O.

        :param depth: maximum number of reads and writes that are in progress at the same time.
        :raises OSError: the system has no asynchronous I/O, or all contexts that it allows are in use.
        """
        numbers = _NUMBERS.get(platform.machine()) if sys.platform == "linux" and sys.byteorder == "little" else None
        if numbers is None:
            raise OSError("this system has no asynchronous I/O")
        self._system_call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
        setup, self._destroy, self._get_events, self._submit = numbers
        self._context = ctypes.c_ulong(0)
        self._depth = depth
        try:
            self._call(setup, depth, ctypes.byref(self._context))
        except BlockingIOError as error:  # EAGAIN
            raise OSError(error.errno, "asynchronous I/O: all of fs.aio-max-nr is in use") from error
        self._events = ctypes.create_string_buffer(_EVENT.size * depth)
        # begin_write and ended_write make one system call each; all their calls use the same objects as arguments
        self._block = ctypes.create_string_buffer(_CONTROL.size)
        pointer = (ctypes.c_void_p * 1)(ctypes.addressof(self._block))
        one = ctypes.c_long(1)
        self._submit_one = ctypes.c_long(self._submit), self._context, one, pointer
        self._get_one = ctypes.c_long(self._get_events), self._context, ctypes.c_long(0), one, self._events, None

    def _call(self, number: int, *arguments: object) -> int:
        words = [ctypes.c_long(each) if isinstance(each, int) else each for each in (number, *arguments)]
        result = self._system_call(*words)
        if result < 0:
            raise OSError(ctypes.get_errno(), "asynchronous I/O")
        return result

    def begin(self, transfers: Sequence[Transfer]) -> int:
        """Pass reads and writes to the kernel, which begins them.

        :returns: the number of ``transfers``, from the first on, that the kernel has begun.
        :raises OSError: the kernel has begun none.
        """
        blocks = b"".join([
            _CONTROL.pack(number, 0, 0, operation, 0, descriptor, address, size, offset, 0, 0, 0)
            for number, operation, descriptor, address, size, offset in transfers
        ])  # fmt: skip
        memory = ctypes.create_string_buffer(blocks, len(blocks))
        first = ctypes.addressof(memory)
        pointers = (ctypes.c_void_p * len(transfers))(*range(first, first + len(blocks), _CONTROL.size))
        return self._call(self._submit, self._context, len(transfers), pointers)

    def begin_write(self, descriptor: int, address: int, size: int, offset: int, flags: int, event: int) -> None:
        """Pass one write to the kernel, which begins it.

        :param descriptor: descriptor of the file.
        :param address: address of the bytes to write, which must stay unchanged until the write has ended.
        :param flags: the ``RWF_`` flags of the write.
        :param event: descriptor of an eventfd that becomes readable when the write has ended.
        :raises OSError: the kernel has not begun the write.
        """
        _CONTROL.pack_into(
            self._block, 0, 0, 0, flags, WRITE, 0, descriptor, address, size, offset, 0, _SIGNALS, event
        )  # fmt: skip
        if self._system_call(*self._submit_one) != 1:
            raise OSError(ctypes.get_errno(), "asynchronous I/O")

    def ended_write(self) -> int:
        """Return the result of the write that has ended: the number of bytes or a negative error number.

        Call this method when the eventfd of the write has become readable.

        :raises OSError: the kernel does not give the result, so that nobody knows whether the write was made.
        """
        while (count := self._system_call(*self._get_one)) != 1:
            number = ctypes.get_errno() if count < 0 else errno.EIO
            if number != errno.EINTR:
                raise OSError(number, "asynchronous I/O: a write has ended, but its result cannot be read")
        return int(_EVENT.unpack_from(self._events)[2])

    def ended(self) -> list[tuple[int, int]]:
        """Wait until the kernel has finished at least one read or write.

        :returns: for each finished read or write: its number, and the number of transferred bytes or a negative error
            number.
        """
        count = 0
        while not count:
            try:
                count = self._call(self._get_events, self._context, 1, self._depth, self._events, None)
            except InterruptedError:
                continue
        events = self._events.raw[: count * _EVENT.size]
        return [(number, result) for number, _, result, _ in _EVENT.iter_unpack(events)]

    def close(self) -> None:
        """Close the context; after that the kernel does not use our memory any more."""
        self._call(self._destroy, self._context)


def address_of(buffer: mmap.mmap) -> int:
    """Return the address of the memory of ``buffer``."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))

"""Computes CRC32C checksums of buffers.

If the library ``crc32c`` is installed, it is used, because it accepts every kind of buffer.  Otherwise
``google_crc32c`` is used, which is always installed.  It accepts only ``bytes``, so other buffers are copied.

:func:`crc32c_of_blocks` copies nothing, whichever library is installed: it passes addresses to the function in C that
``google_crc32c`` itself calls.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

Buffer = bytes | bytearray | memoryview


class Crc32c(Protocol):
    """A function that computes the CRC32C of ``data``; ``value`` is the CRC32C of the bytes before ``data``, or 0."""

    def __call__(self, data: Buffer, value: int = 0, /) -> int: ...


def _google() -> Crc32c:
    import google_crc32c

    def crc32c(data: Buffer, value: int = 0, /) -> int:
        crc: int = google_crc32c.extend(value, data if isinstance(data, bytes) else bytes(data))
        return crc

    return crc32c


def _choose() -> tuple[Crc32c, Crc32c, Callable[[bytes], int]]:
    try:
        import crc32c as library
    except ImportError:
        import google_crc32c

        google = _google()
        return google, google, google_crc32c.value
    return cast(Crc32c, library.crc32c), partial(library.crc32c, gil_release_mode=-1), library.crc32c


crc32c, crc32c_of_block, crc32c_of_bytes = _choose()
"""Functions that compute the CRC32C of ``data``; ``value`` is the CRC32C of the bytes before ``data``, or 0.

``crc32c_of_bytes`` accepts only bytes and no ``value``.  It is a function written in C, so that ``map`` can call it for
many entries without a Python frame for each, which would take 100 ns.

``crc32c_of_block`` does not release the global interpreter lock.  The checksum of a block of 64 KiB takes 7 us, but to
acquire the lock again while the reactor thread is busy would take 100 us.
"""


def _c_function() -> Callable[[int, int, int], int] | None:
    """Return the function in C with which ``google_crc32c`` computes: (value, address, size) -> checksum.

    None if this version of ``google_crc32c`` has no such function.
    """
    try:
        from google_crc32c import _crc32c

        # PyDLL, because CDLL would release the global interpreter lock: see crc32c_of_block
        function = ctypes.PyDLL(_crc32c.__file__).crc32c_extend
    except (ImportError, OSError, AttributeError):
        return None
    function.argtypes, function.restype = (ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_uint32
    return cast(Callable[[int, int, int], int], function)


_extend = _c_function()


def crc32c_of_blocks(data: bytes, size: int) -> list[int]:
    """Compute the CRC32C of each block of ``size`` bytes of ``data``; the last block may be shorter.

    The global interpreter lock is not released, as by ``crc32c_of_block``.
    """
    starts = range(0, len(data), size)
    if _extend is None:
        view = memoryview(data)
        return [crc32c_of_block(view[start : start + size]) for start in starts]
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
    return [_extend(0, address + start, min(size, len(data) - start)) for start in starts]

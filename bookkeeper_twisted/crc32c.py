"""CRC32C of any buffer, by the fastest installed library.

``crc32c`` takes every buffer and is preferred; ``google_crc32c``, which is always installed, takes
``bytes`` only, so other buffers are copied for it.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

Buffer = bytes | bytearray | memoryview


class Crc32c(Protocol):
    """A function ``crc32c(data, value=0)`` with positional arguments."""

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
"""Functions for the CRC32C of ``data``; ``value`` is the CRC32C of the bytes before it.  ``crc32c_of_bytes`` takes
only bytes and no ``value``; it is the library's own function, so that ``map`` over many entries runs without
a Python frame, 100 ns, for each.  ``crc32c_of_block`` keeps the interpreter lock: a block of 64 KiB takes 7 us,
getting the lock back from a busy reactor thread 100 us, and a group of the journal has many blocks."""

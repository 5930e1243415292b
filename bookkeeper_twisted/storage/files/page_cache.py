"""Reads ranges of a file from the kernel's page cache, without ever waiting for the disk."""

import errno
import os
from collections.abc import Sequence
from itertools import repeat
from operator import add, sub

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)

_GAP = 2048
"""Maximum number of bytes between two ranges for one call to read both: some unneeded bytes cost less than a second
call.
"""

_BUFFER_SIZE = 1024 * 1024  # that of a batch read with many entries of 1 KiB; a larger read makes a larger buffer

_spare: list[memoryview] = []
"""The buffer into which the next call of :func:`_read` reads; empty while a call uses it.

A new buffer for each call would have to be filled with zeros first, and would not be in the processor's cache.
"""


def read_cached(fd: int, sizes: Sequence[int], offsets: Sequence[int]) -> Sequence[bytes | None]:
    """Read each range of the file ``fd`` by one call.

    :param sizes: the size of each range in bytes.
    :param offsets: the offset of each range.
    :returns: the bytes of each range; None for a range that is not completely in the page cache.
    :raises OSError: the file system, or the operating system, cannot read from the page cache alone.
    """
    datas = _read(fd, sizes, offsets)
    if list(map(len, datas)) == list(sizes):
        return datas
    return [data if len(data) == size else None for data, size in zip(datas, sizes, strict=True)]


def read_cached_each(fd: int, sizes: Sequence[int], offsets: Sequence[int]) -> Sequence[bytes | None]:
    """Read many ranges of the file ``fd``; ranges that are near each other, such as the entries of a striped ledger, by
    one call.

    See :func:`read_cached` for parameters, result and errors.
    """
    steps = map(abs, map(sub, offsets[1:], offsets))
    if min(steps, default=0) > max(sizes, default=0) + _GAP:  # usual case: the ranges are far from each other
        return read_cached(fd, sizes, offsets)
    ends = list(map(add, offsets, sizes))
    gaps = list(map(sub, offsets[1:], ends))
    is_one = gaps and min(gaps) >= 0 and max(gaps) <= _GAP
    apart = [] if is_one else [i for i, gap in enumerate(gaps, 1) if not 0 <= gap <= _GAP]
    if len(apart) + 1 >= len(ends):
        return read_cached(fd, sizes, offsets)
    firsts, lasts = [0, *apart], [*apart, len(ends)]
    begins = [offsets[first] for first in firsts]
    joined = _read(fd, [ends[last - 1] - begin for begin, last in zip(begins, lasts, strict=True)], begins)
    found: list[bytes | None] = []
    for first, last, begin, data in zip(firsts, lasts, begins, joined, strict=True):
        starts = map(sub, offsets[first:last], repeat(begin))
        stops = list(map(sub, ends[first:last], repeat(begin)))
        found += [data[start:stop] for start, stop in zip(starts, stops, strict=True)]
        if len(data) < stops[-1]:
            found[first:last] = [
                each if stop <= len(data) else None for each, stop in zip(found[first:last], stops, strict=True)
            ]
    return found


def _read(fd: int, sizes: Sequence[int], offsets: Sequence[int]) -> list[bytes]:
    """Return, for each range of the file, its bytes up to the first byte that is not in the page cache."""
    if not _NOWAIT:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    found: list[bytes] = []
    try:
        whole = _spare.pop()
    except IndexError:  # the first call, or another thread reads at the same time
        whole = memoryview(bytearray())
    largest = max(sizes, default=0)
    if len(whole) < largest:
        whole = memoryview(bytearray(max(largest, _BUFFER_SIZE)))
    buffer = whole
    preadv, buffers = os.preadv, (whole,)
    for size, offset in zip(sizes, offsets, strict=True):
        if size != len(buffer):
            buffer = whole[:size]
            buffers = (buffer,)
        try:
            n_bytes = preadv(fd, buffers, offset, _NOWAIT)
        except BlockingIOError:
            n_bytes = 0
        found.append(bytes(buffer if n_bytes == size else buffer[:n_bytes]))
    _spare.append(whole)
    return found

"""Reads one field (a range of bytes) of each of many records of equal size, by a few C calls."""

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, cast

_BLOCKS = (512, 64)
"""Numbers of records that one call unpacks.  There are only two, so that few ``struct`` formats are cached."""

VIEWED = 2048
"""Least size in bytes of a field for which a memory view costs less than a copy."""

Unpack = Callable[[bytes, int], tuple[Any, ...]]
"""A function that unpacks some records: (bytes, offset of the first record) -> values."""


def unpack_all(unpack: Callable[[int], Unpack], data: bytes, at: int, stride: int, count: int) -> Sequence[Any]:
    """Unpack many records of equal size by a few C calls.

    :param unpack: returns a function that unpacks a given number of records.
    :param data: the records, one after the other; bytes after the last record are ignored.
    :param at: offset of the first record.
    :param stride: size in bytes of each record.
    :returns: the values of all records, in order.
    """
    if count <= _BLOCKS[-1]:
        return unpack(count)(data, at)
    values: list[Any] = []
    for block in _BLOCKS:
        while count >= block:
            values += unpack(block)(data, at)
            at, count = at + block * stride, count - block
    if count:
        values += unpack(count)(data, at)
    return values


@lru_cache(maxsize=1024)
def _cutter(stride: int, start: int, end: int, count: int) -> Unpack:
    return struct.Struct(f"{start}x{end - start}s{stride - end}x" * count).unpack_from


def column(data: bytes, stride: int, count: int, start: int, end: int, at: int = 0) -> Sequence[bytes]:
    """Return the bytes ``start:end`` of each of ``count`` records, each of ``stride`` bytes.

    :param data: the records, one after the other; bytes after the last record are ignored.
    :param at: offset of the first record.
    """
    if count == 1:
        return (data[at + start : at + end],)
    return unpack_all(partial(_cutter, stride, start, end), data, at, stride, count)


def owned(fields: Sequence[bytes | memoryview]) -> Sequence[bytes]:
    """Return ``fields`` as byte strings: memory views, which are of :data:`VIEWED` bytes or more, are copied.

    A view keeps all the bytes of which it is a part in memory.
    """
    return list(map(bytes, fields)) if max(map(len, fields)) >= VIEWED else cast(Sequence[bytes], fields)


def slices(
    data: bytes, stride: int, count: int, start: int, at: int = 0, end: int | None = None
) -> Sequence[bytes | memoryview]:
    """Return the bytes ``start:end`` of each of ``count`` records, in a form that ``b"".join`` accepts.

    Large ones are memory views, so they are not copied.

    :param data: the records, one after the other, each of ``stride`` bytes; bytes after the last record are ignored.
    :param at: offset of the first record.
    :param end: where the bytes end in each record; None for its last byte.
    """
    end = stride if end is None else end
    if count == 1:
        return (memoryview(data)[at + start : at + end],)
    if end - start < VIEWED:
        return column(data, stride, count, start, end, at)
    view = memoryview(data)
    return [view[record + start : record + end] for record in range(at, at + count * stride, stride)]

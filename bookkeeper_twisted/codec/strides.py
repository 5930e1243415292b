"""Decoding of many frames of equal size by a few C calls, instead of a Python loop over the frames.

Consecutive requests or replies of one kind usually have the same size and begin with the same bytes (length word,
header, key).  Such consecutive frames are called a series here.  :func:`same_columns` splits a series into columns.
All other frames are decoded one by one.
"""

import struct
import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from operator import eq, ne, sub

from ..entries.columns import Unpack, column, unpack_all

FEW_A_RUN = 16
"""Received entries become one MixedRun if their runs have this number of entries on average, or fewer.

A run is consecutive entries; a MixedRun is one object with entries in any order.  One MixedRun is faster than many
short runs.
"""

_FIRST_TRY = 16
_GROWTH = 8
_FEW = 24
_CUT_PER_BYTE = 5
"""For at most ``_CUT_PER_BYTE * len(key)`` records, :func:`counts_up` cuts the key out of each record and compares it.

With more records, it is faster to compare the first bytes of all keys, then their second bytes, and so on.
"""
_LOW = bytes(range(256)) * 256
_HIGH = b"".join([bytes((byte,)) * 256 for byte in range(256)])
"""``_LOW`` and ``_HIGH`` are the low bytes and the high bytes of all numbers below 2**16, in order."""


@lru_cache(maxsize=1024)
def _splitter(sizes: tuple[int, ...], count: int) -> Unpack:
    return struct.Struct("".join([f"{size}s" for size in sizes]) * count).unpack_from


def same_columns(data: bytes, at: int, sizes: tuple[int, ...], fixed: tuple[int, ...]) -> list[list[bytes]]:
    """Split a series of frames of one layout into columns, one column for each part of the layout.

    The first frame, at offset ``at``, must be complete.  A short series costs little, because the first step compares
    only a few frames, and each later step compares more.

    :param sizes: the size in bytes of each part of the layout.
    :param fixed: indexes of the parts that must be equal in all frames.  The series ends before the first frame in
        which one of these parts differs.
    :returns: for each part, a list of its bytes in each frame; the series has at least one frame.
    """
    stride, split = sum(sizes), partial(_splitter, sizes)
    offsets = [at, *accumulate(sizes, initial=at)][1:]
    expected = [(part, data[offsets[part] : offsets[part + 1]]) for part in fixed]
    left = (len(data) - at) // stride
    columns: list[list[bytes]] = [[] for _ in sizes]
    count = min(_FIRST_TRY, left)
    while left:
        flat = unpack_all(split, data, at, stride, count)
        parts = [flat[i :: len(sizes)] for i in range(len(sizes))]
        good = min([_equal_until(parts[part], value) for part, value in expected])
        for whole, part in zip(columns, parts, strict=True):
            whole += part[:good]
        if good < count:
            break
        at, left = at + count * stride, left - count
        count = min(count * _GROWTH, left)
    return columns


def _equal_until(values: Sequence[bytes], expected: bytes) -> int:
    """Return the index of the first of ``values`` that differs from ``expected``."""
    if values.count(expected) == len(values):
        return len(values)
    return next(i for i, value in enumerate(values) if value != expected)


def same_prefix(data: bytes, at: int, stride: int, prefix: int) -> list[bytes]:
    """Remove the common prefix from a series of frames of equal size, and return the other bytes of each frame.

    :param at: offset in ``data`` of the first frame, which must be complete.
    :param stride: size in bytes of each frame.
    :param prefix: number of bytes of the prefix.
    :returns: ``stride - prefix`` bytes of each frame, up to the first frame with another prefix; at least one item.
    """
    return same_columns(data, at, (prefix, stride - prefix), (0,))[1]


def is_series(data: bytes, at: int, stride: int, prefix: int) -> bool:
    """Test whether decoding column by column pays: at least three frames from ``at`` on have the same first bytes.

    :param at: offset of the first frame.
    :param stride: size in bytes of the first frame with its length word.
    :param prefix: number of first bytes that are compared; they include the length word, so equal bytes mean equal
        sizes.
    """
    head = data[at : at + prefix]
    second, third = at + stride, at + 2 * stride
    return (
        data[second : second + prefix] == head and third + stride <= len(data) and data[third : third + prefix] == head
    )


def big_endian(values: Sequence[int]) -> bytes:
    """Encode ``values`` as big-endian i64, one after the other.

    :raises OverflowError: a value does not fit 64 bits.
    """
    packed = array("q", values)
    if sys.byteorder == "little":
        packed.byteswap()
    return packed.tobytes()


def from_big_endian(data: bytes) -> "array[int]":
    """Decode big-endian i64 values.

    :param data: the bytes; their number is a multiple of eight.
    """
    values = array("q", data)
    if sys.byteorder == "little":
        values.byteswap()
    return values


def as_range(keys: "array[int]", ids: "array[int]") -> tuple[Sequence[int], Sequence[int]]:
    """Convert the ledger ids and the entry ids of some entries to lists; consecutive ids of one ledger become a range.

    Later steps process a range faster.

    :param keys: the ledger id, or another key, of each entry; at least one.
    :param ids: the entry id, or another id, of each entry.
    :returns: the keys, as a list, or as a tuple beside a range; and the ids, as a list or a range.
    """
    count, first = len(ids), ids[0]
    if ids[-1] == first + count - 1 and keys.count(keys[0]) == count and ids == array("q", range(first, first + count)):
        return (keys[0],) * count, range(first, first + count)
    return keys.tolist(), ids.tolist()


def counts_up(data: bytes, stride: int, count: int, at: int, key: bytes, first: int, begin: int = 0) -> bool:
    """Test whether all records have the same key and consecutive ids.

    A record contains the key, followed by the id as i64.

    :param data: the records, of ``stride`` bytes each; bytes after the last record are ignored.
    :param count: number of records, at least one.
    :param at: offset of the key in each record.
    :param key: the key that all records must have.
    :param first: the id that the first record must have.
    :param begin: offset of the first record.
    """
    if first + count > 1 << 63:
        return False
    end = begin + count * stride
    if count < _FEW:
        wanted = [key + i.to_bytes(8, "big", signed=True) for i in range(first, first + count)]
        return [data[i : i + len(key) + 8] for i in range(begin + at, end, stride)] == wanted
    low = low_bytes(range(first, first + count))
    if low is None:
        fitting = (1 << 16) - (first & 0xFFFF)
        return counts_up(data, stride, fitting, at, key, first, begin) and counts_up(
            data, stride, count - fitting, at, key, first + fitting, begin + fitting * stride
        )
    # The two low bytes of the ids must count up.  The six higher bytes must be equal in all ids, so they are compared
    # as a part of the key.
    key += (first >> 16).to_bytes(6, "big", signed=True)
    start = begin + at + len(key)
    if (data[start:end:stride], data[start + 1 : end : stride]) != low:
        return False
    if count <= _CUT_PER_BYTE * len(key):
        return column(data, stride, count, at, at + len(key), begin).count(key) == count
    # compare the first bytes of all records by one slice, then the second bytes, and so on
    return all(data[i:end:stride] == bytes((byte,)) * count for i, byte in enumerate(key, begin + at))


def low_bytes(ids: range) -> tuple[bytes, bytes] | None:
    """Split the two low bytes of many ids into columns, so that slices can write or compare these bytes in all frames.

    :param ids: consecutive ids.
    :returns: a byte string with the second lowest byte of each id, and one with the lowest byte of each id; None if the
        ids differ in higher bytes.
    """
    low = ids.start & 0xFFFF
    end = low + len(ids)
    return (_HIGH[low:end], _LOW[low:end]) if end <= 1 << 16 else None


def counting(frame: bytes, ids: range) -> bytes:
    """Repeat a ``frame`` for each of ``ids``, and write one id into each copy.

    :param frame: a frame that ends with the first id, as big-endian i64.
    :param ids: consecutive ids, at least one.
    """
    frames, stride, low = bytearray(frame * len(ids)), len(frame), low_bytes(ids)
    if low is None:
        fill_in(frames, stride - 8, stride, big_endian(ids))
    else:
        frames[stride - 2 :: stride], frames[stride - 1 :: stride] = low
    return bytes(frames)


def fill_in(frames: bytearray, at: int, stride: int, packed: bytes) -> None:
    """Write one id into each of many frames, in place.

    :param at: offset of the id in each frame.
    :param stride: size in bytes of each frame.
    :param packed: the ids as big-endian i64, one after the other.
    """
    for i in range(8):
        frames[at + i :: stride] = packed[i::8]


def consecutive(ids: Sequence[int]) -> bool:
    """Test whether one or more ``ids`` are consecutive and ascending."""
    wanted = range(ids[0], ids[0] + len(ids))
    return ids == wanted if isinstance(ids, range) else tuple(ids) == tuple(wanted)


def joined(ids: Sequence[int], more: Sequence[int]) -> Sequence[int]:
    """Concatenate ``ids`` and ``more``; the result is a range if both are ranges and ``more`` continues ``ids``.

    :returns: the new sequence; if ``ids`` is a list, it is extended in place and returned.
    """
    if not ids:
        return more
    if isinstance(ids, range) and isinstance(more, range) and ids.stop == more.start:
        return range(ids.start, more.stop)
    if not isinstance(ids, list):
        ids = list(ids)
    ids.extend(more)
    return ids


def stretches(ids: Sequence[int], keys: Sequence[object] | None = None) -> list[tuple[int, int]]:
    """Cut a sequence of ids into pieces with consecutive ids and one key.

    :param ids: at least one id.
    :param keys: the key of each id, such as its ledger id; None if all keys are equal.
    :returns: for each piece, the indexes at which it starts and ends in ``ids``; the end is exclusive.
    """
    count = len(ids)
    if count == 1:
        return [(0, 1)]
    if keys is None or keys.count(keys[0]) == count:
        keys = None
        if consecutive(ids):
            return [(0, count)]
    steps = list(map(sub, ids[1:], ids))
    if keys is None:
        ends = [i for i, step in enumerate(steps, 1) if step != 1]
    else:
        same = map(eq, keys[1:], keys)
        ends = [i for i, (step, is_same) in enumerate(zip(steps, same, strict=True), 1) if step != 1 or not is_same]
    return list(pairwise([0, *ends, count]))


def is_interleaved(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
    """Test whether the ledger changes, or ids are skipped, so often that runs of consecutive entries would be slow.

    The caller then makes one MixedRun (entries in any order) of all entries.

    :param ledger_ids: the ledger id of each entry.
    :param entry_ids: the entry id of each entry.
    """
    cuts: int = sum(map(ne, ledger_ids, ledger_ids[1:]))
    if cuts * FEW_A_RUN < len(ledger_ids):
        cuts = sum(map(ne, entry_ids[1:], [entry_id + 1 for entry_id in entry_ids]))
    return cuts * FEW_A_RUN >= len(ledger_ids)

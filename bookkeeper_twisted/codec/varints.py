"""Encodes and decodes parts of frequent protobuf messages without the protobuf library: varints, and columns of them.

A column of varints is one varint of each of many messages.  The bytes are the same as those of the protobuf library; a
negative number takes ten bytes.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..entries.columns import column

_ONE_BYTE = tuple(bytes([i]) for i in range(128))
MINUS_ONE = b"\xff" * 9 + b"\x01"
_MASK = (1 << 64) - 1
_MAX_SIZE = 10
_FEW = 8
_BLOCK = 1 << 14
_LOWEST = bytes([i & 127 | 128 for i in range(_BLOCK)])
_SECOND = bytes([i >> 7 | 128 for i in range(_BLOCK)])
"""``_LOWEST`` and ``_SECOND`` are tables of the first and the second byte of a varint, by the low 14 bits of its value.

Both bytes have the continuation bit set.
"""

_LAST = bytes(range(128)) * 2
"""A table for ``bytes.translate`` that clears the continuation bit, as in the last byte of a varint."""


def varint(value: int) -> bytes:
    """Encode one varint; a negative ``value`` takes ten bytes, as its 64-bit two's complement."""
    if 0 <= value < 128:
        return _ONE_BYTE[value]
    if value == -1:  # -1 is frequent: the entry id of a read of the last entry, and the LAC of a ledger without entries
        return MINUS_ONE
    if 0 <= value < _BLOCK:
        return bytes((value & 127 | 128, value >> 7))
    if 0 <= value < _BLOCK << 7:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    value &= _MASK
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def width(value: int) -> int:
    """Return the size in bytes of the varint of a ``value``, from 1 to 10."""
    return max(1, ((value & _MASK).bit_length() + 6) // 7)


def common_width(values: Sequence[int]) -> int:
    """Return the common size in bytes of the varints of ``values``; 0 if sizes differ or a value is negative."""
    low, high = (values[0], values[-1]) if isinstance(values, range) else (min(values), max(values))
    size = width(high)
    return size if low >= 0 and width(low) == size else 0


def varints(values: Sequence[int]) -> Sequence[bytes]:
    """Encode each of ``values`` as a varint; ``values`` must not be empty.

    If all varints have the same size, they are encoded together, which is faster.
    """
    size, count = common_width(values), len(values)
    if not size or count < _FEW:
        return list(map(varint, values))
    encoded = bytearray(varint(values[0]) * count)
    fill_column(encoded, 0, size, values, size)
    return column(bytes(encoded), size, count, 0, size)


def number_field(key: bytes, value: int | None) -> bytes:
    """Encode a varint field; return no bytes if the value is None.

    :param key: the encoded tag of the field.
    """
    return b"" if value is None else key + varint(value)


def bytes_field(key: bytes, value: bytes | None) -> bytes:
    """Encode a length-delimited field: a byte string or a sub-message.

    :param key: the encoded tag of the field.
    :param value: None for an absent field, which is not written.
    """
    return b"" if value is None else key + varint(len(value)) + value


def decode_varint(data: bytes, at: int, end: int) -> int:
    """Decode the varint in ``data[at:end]``.

    :param end: offset after the last byte of the varint.  The caller has found it; this function does not check it.
    """
    value = 0
    for byte in reversed(data[at:end]):
        value = value << 7 | byte & 127
    return value


def decode_column(data: bytes, size: int) -> Sequence[int]:
    """Decode consecutive varints of ``size`` bytes each; stop before the first varint of another size.

    :param size: size of a varint, at most 9, so that no value is negative.
    :returns: the values, as a range if they are consecutive.
    """
    count, first = len(data) // size, decode_varint(data, 0, size)
    if decode_varint(data, len(data) - size, len(data)) == first + count - 1 and width(first) == size:
        expected = bytearray(data[:size] * count)
        counted = range(first, first + count)
        fill_column(expected, 0, size, counted, size)
        if expected == data:
            return counted
    planes = [data[i::size] for i in range(size)]
    values = list(planes.pop())
    if max(values) > 127:
        values = values[: next(i for i, byte in enumerate(values) if byte > 127)]
    same = values.count(values[0]) == len(values) if values else False
    for plane in reversed(planes):
        if min(plane) < 128:
            plane = plane[: next(i for i, byte in enumerate(plane) if byte < 128)]
        same = same and plane.count(plane[:1]) == len(plane)
        if same:  # the usual case: the high bytes of ids seldom differ
            values = [(values[0] << 7) + plane[0] - 128] * min(len(values), len(plane))
        else:
            values = [(value << 7) + byte - 128 for value, byte in zip(values, plane, strict=False)]
    return values


def decode_varints(encoded: Sequence[bytes]) -> Sequence[int]:
    """Decode one or more varints, which may differ in size.

    :param encoded: the varints, each of at most nine bytes, so that no value is negative.
    :returns: the values, as a range if they are consecutive and have varints of one size.
    """
    size, joined = max(map(len, encoded)), b"".join(encoded)
    if len(joined) == size * len(encoded):
        return decode_column(joined, size)
    joined = b"".join([one.ljust(size, b"\0") for one in encoded]).translate(_LAST)
    values = list(joined[size - 1 :: size])
    for i in range(size - 2, -1, -1):
        values = [value << 7 | low for value, low in zip(values, joined[i::size], strict=True)]
    return values


def equal_widths(txn_ids: Sequence[int], first: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut a sequence of add replies into parts, in which all txnIds and all entry ids have varints of one size.

    :param txn_ids: the txnId of each reply.
    :param first: the entry id of the first reply; the entry ids of the other replies count up from it.
    :returns: for each part (start, end, varint size of the txnIds, varint size of the entry ids); start and end are
        indexes into ``txn_ids``, end exclusive.
    """
    count = len(txn_ids)
    size, id_size = common_width(txn_ids), width(first)
    if size and width(first + count - 1) == id_size:
        yield 0, count, size, id_size
        return
    start = 0
    for sizes, group in groupby(range(count), lambda i: (width(txn_ids[i]), width(first + i))):
        end = start + sum(1 for _ in group)
        yield start, end, *sizes
        start = end


def _planes(values: range, size: int) -> list[bytes]:
    """Encode consecutive values as varints of ``size`` bytes.

    :returns: a byte string with the first byte of each varint, another with the second byte of each, and so on.
    """
    first, count = values.start, len(values)
    low = first % _BLOCK
    if low + count > _BLOCK:
        fitting = _BLOCK - low
        parts = _planes(values[:fitting], size), _planes(values[fitting:], size)
        return [head + tail for head, tail in zip(*parts, strict=True)]
    planes = [_LOWEST[low : low + count], _SECOND[low : low + count]][:size]
    planes += [bytes((first >> shift & 127 | 128,)) * count for shift in range(14, 7 * size, 7)]
    planes[-1] = planes[-1].translate(_LAST)
    return planes


def fill_column(frames: bytearray, at: int, stride: int, values: Sequence[int], size: int) -> None:
    """Write one varint into each of many frames of equal size, in place.

    :param frames: copies of the frame that contains the varint of the first value, in one bytearray.  Only the bytes in
        which the varints differ are written.
    :param at: offset of the varint in a frame.
    :param stride: size in bytes of a frame.
    :param values: the value for each frame; the varint of each value must have ``size`` bytes.
    """
    if isinstance(values, range) and values.start >= 0:
        for i, plane in enumerate(_planes(values, size), at):
            frames[i::stride] = plane
        return
    low, high = min(values), max(values)
    shift = 0
    for i in range(at, at + size - 1):
        if low >> shift == high >> shift:
            return
        frames[i::stride] = bytes([value >> shift & 127 | 128 for value in values])
        shift += 7
    # in a tenth byte, only one bit belongs to the 64-bit value
    top = 1 if size == _MAX_SIZE else 127
    if low >> shift != high >> shift:
        frames[at + size - 1 :: stride] = bytes([value >> shift & top for value in values])

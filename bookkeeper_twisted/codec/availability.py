"""``availabilityOfEntriesOfLedger``: the ids of a ledger's entries on a bookie, in the reply to a list request.

Layout, big-endian: version i32 (0), number of groups i32, 56 zero bytes.  Then follow the groups, ascending, each with
firstSequenceStart i64, lastSequenceStart i64, sequenceSize i32, sequencePeriod i32.  A group stands for several ranges
of ``sequenceSize`` ids, which start at first, first + period, ... last.  With period 0 it stands for one range.
"""

import struct
from collections.abc import Iterable, Sequence

from ..errors import CodecError

_HEADER = struct.Struct(">ii56x")
_GROUP = struct.Struct(">qqii")

assert _HEADER.size == 64 and _GROUP.size == 24

MAX_RANGES = 1_000_000
"""Maximum number of ranges that a decoder accepts in one reply.

A group of 24 bytes can stand for 2**63 ranges, so without a limit a short reply could fill the memory.
"""

_MAX_SIZE = (1 << 31) - 1


def encode_availability(ranges: Iterable[tuple[int, int]]) -> bytes:
    """Encode ranges of entry ids, with one group for each range as Apache's bookie does.

    A range of more than 2**31 - 1 ids becomes several groups.

    :param ranges: first and last id of each range, ascending; between two ranges, at least one id is missing.
    """
    groups = []
    for first, last in ranges:
        while last - first >= _MAX_SIZE:
            groups.append(_GROUP.pack(first, first, _MAX_SIZE, 0))
            first += _MAX_SIZE
        groups.append(_GROUP.pack(first, first, last - first + 1, 0))
    return _HEADER.pack(0, len(groups)) + b"".join(groups)


def decode_availability(data: bytes, max_ranges: int = MAX_RANGES) -> tuple[tuple[int, int], ...]:
    """Decode ranges of entry ids, as (first id, last id) in ascending order; merge adjacent ranges.

    :param max_ranges: maximum number of ranges that are accepted; it is checked before memory is allocated.
    :raises CodecError: the layout is broken, or there are too many ranges.
    """
    if len(data) < _HEADER.size:
        raise CodecError(f"availability of {len(data)} bytes")
    version, count = _HEADER.unpack_from(data)
    if version > 0:
        raise CodecError(f"availability of version {version}")
    if count < 0 or len(data) - _HEADER.size < count * _GROUP.size:
        raise CodecError(f"availability with {count} groups in {len(data)} bytes")
    groups = list(_GROUP.iter_unpack(data[_HEADER.size : _HEADER.size + count * _GROUP.size]))
    if sum([_sequences(*group) for group in groups]) > max_ranges:
        raise CodecError(f"availability with more than {max_ranges} ranges")
    starts = [
        (start, size) for first, last, size, period in groups for start in range(first, last + 1, period or 1)
    ]  # fmt: skip
    return _merged(starts)


def _sequences(first: int, last: int, size: int, period: int) -> int:
    """Return the number of id ranges that a group stands for (see the layout in the module docstring).

    :raises CodecError: the fields of the group contradict each other.
    """
    if period == 0 and first == last and size > 0 <= first:
        return 1
    if not 0 <= first <= last or not 0 < size <= period or (last - first) % period:
        raise CodecError(f"availability group from {first} to {last}, {size} in {period}")
    return (last - first) // period + 1


def _merged(starts: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Merge adjacent and overlapping ranges of entry ids, which are given as (start, size)."""
    ranges: list[tuple[int, int]] = []
    for start, size in sorted(starts):
        if ranges and start <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], start + size - 1))
        else:
            ranges.append((start, start + size - 1))
    return tuple(ranges)

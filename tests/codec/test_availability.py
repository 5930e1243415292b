"""Listings of the entries a bookie holds."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.availability import decode_availability, encode_availability
from bookkeeper_twisted.errors import CodecError

from .wire_examples import quick


def packed(*groups: tuple[int, int, int, int], version: int = 0, count: int | None = None) -> bytes:
    """A listing of groups (first, last, size, period)."""
    head = struct.pack(">ii56x", version, len(groups) if count is None else count)
    return head + b"".join(struct.pack(">qqii", *group) for group in groups)


class AvailabilityTests(SynchronousTestCase):
    """Encoding as Java encodes; decoding what Java could send."""

    def test_sizes(self) -> None:
        """A header of 64 bytes and 24 for each contiguous range, as Java writes them."""
        self.assertEqual(len(encode_availability([])), 64)
        self.assertEqual(len(encode_availability([(0, 4)])), 88)
        self.assertEqual(encode_availability([(0, 0), (2, 2)]), packed((0, 0, 1, 0), (2, 2, 1, 0)))

    @quick
    @given(st.sets(st.integers(0, 300)))
    def test_round_trip(self, ids: set[int]) -> None:
        """Ranges come back."""
        ranges: list[tuple[int, int]] = []
        for i in sorted(ids):
            if ranges and ranges[-1][1] == i - 1:
                ranges[-1] = (ranges[-1][0], i)
            else:
                ranges.append((i, i))
        self.assertEqual(decode_availability(encode_availability(ranges)), tuple(ranges))

    def test_great_range(self) -> None:
        """A range longer than a size can say takes several groups, and is one range again."""
        for last in (1 << 33, *range((1 << 31) - 2, (1 << 31) + 2)):
            ranges = ((0, last),)
            self.assertEqual(decode_availability(encode_availability(ranges)), ranges)

    def test_periods(self) -> None:
        """Groups with a period stand for strided runs."""
        self.assertEqual(decode_availability(packed((0, 8, 1, 4))), ((0, 0), (4, 4), (8, 8)))
        self.assertEqual(decode_availability(packed((0, 8, 2, 4), (12, 12, 2, 0))), ((0, 1), (4, 5), (8, 9), (12, 13)))
        self.assertEqual(decode_availability(packed((0, 8, 4, 4))), ((0, 11),))

    def test_too_much(self) -> None:
        """A group that stands for too many ranges is refused before it is unfolded."""
        with self.assertRaises(CodecError):
            decode_availability(packed((0, 8, 1, 4)), max_ranges=2)
        with self.assertRaises(CodecError):
            decode_availability(packed((0, (1 << 62), 1, 2)))

    def test_broken(self) -> None:
        """Short data, newer versions, wrong counts and senseless groups are refused."""
        for data in (
            b"", bytes(63), packed(version=1), packed(count=-1), packed((0, 0, 1, 0), count=2),
            packed((0, 4, 1, 0)), packed((4, 0, 1, 2)), packed((0, 0, 0, 0)), packed((-1, -1, 1, 0)),
            packed((0, 5, 1, 2)), packed((0, 4, 3, 2)), packed((0, 4, 1, -2)),
        ):  # fmt: skip
            with self.assertRaises(CodecError):
                decode_availability(data)

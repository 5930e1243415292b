"""Rows of equal frames read by columns give what a loop gives."""

import struct
from array import array

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.strides import (
    as_range,
    big_endian,
    counts_up,
    from_big_endian,
    is_series,
    joined,
    same_columns,
    same_prefix,
    stretches,
)

from .wire_examples import quick, signed64


class RowTests(SynchronousTestCase):
    """Which frames belong to a series."""

    @quick
    @given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 9), st.integers(0, 5))
    def test_row_ends_at_the_first_difference(self, count: int, bad: int, tail: int, start: int) -> None:
        """A series has the frames up to the first with another prefix, or the last complete one."""
        frames = [b"head" + struct.pack(">q", i) for i in range(count)]
        if bad < count and bad > 0:
            frames[bad] = b"hxad" + struct.pack(">q", bad)
        data = bytes(start) + b"".join(frames) + bytes(tail)
        wanted = [frame[4:] for frame in frames[: bad if 0 < bad < count else count]]
        self.assertEqual(same_prefix(data, start, 12, 4), wanted)

    def test_columns(self) -> None:
        """Fixed parts are compared with those of the first frame, the others may be anything."""
        data = b"a1b2a3b4a5c6"
        self.assertEqual(
            same_columns(data, 0, (1, 1, 1, 1), (0, 2)), [[b"a"] * 2, [b"1", b"3"], [b"b"] * 2, [b"2", b"4"]]
        )

    def test_is_series(self) -> None:
        """A series is announced by two more complete frames with the same prefix."""
        self.assertTrue(is_series(b"-a1a2a3", 1, 2, 1))
        self.assertFalse(is_series(b"-a1a2b3", 1, 2, 1))
        self.assertFalse(is_series(b"-a1a2a", 1, 2, 1))


class CountsUpTests(SynchronousTestCase):
    """Ids inside records."""

    @quick
    @given(st.integers(1, 200), st.integers(0, 1 << 62), st.integers(0, 199), st.integers(0, 15), st.booleans())
    def test_every_byte_counts(self, count: int, first: int, index: int, at: int, damaged: bool) -> None:
        """Any other byte in a key or an id is noticed, whichever way the records are looked at, and wherever they are.

        The bytes before and behind the records do not matter.
        """
        data = bytearray(b"".join(struct.pack(">iqq5x", 21, 7, first + i) for i in range(count)))
        if damaged:
            data[index % count * 25 + 4 + at] ^= 1
        self.assertEqual(counts_up(bytes(data), 25, count, 4, bytes(7) + b"\x07", first), not damaged)
        moved = b"?" * index + data + b"?" * at
        self.assertEqual(counts_up(moved, 25, count, 4, bytes(7) + b"\x07", first, index), not damaged)

    def test_past_a_low_word(self) -> None:
        """Ids count up beyond 2**16, however often, and a damaged one on either side is found."""
        for first, count in ((65_500, 100), (65_536 * 7 - 1, 140_000)):
            data = b"".join([b"%c%b" % (9, i.to_bytes(8, "big")) for i in range(first, first + count)])
            self.assertTrue(counts_up(data, 9, count, 0, b"\x09", first))
            self.assertTrue(counts_up(b"???" + data, 9, count, 0, b"\x09", first, 3))
            for index in (0, 40, count - 1):
                damaged = bytearray(data)
                damaged[9 * index + 8] ^= 1
                self.assertFalse(counts_up(bytes(damaged), 9, count, 0, b"\x09", first))

    def test_end_of_the_id_space(self) -> None:
        """Ids never go beyond 2**63 - 1."""
        data = struct.pack(">qq", 7, (1 << 63) - 1) * 2
        self.assertFalse(counts_up(data, 16, 2, 0, data[:8], (1 << 63) - 1))
        self.assertTrue(counts_up(data, 16, 1, 0, data[:8], (1 << 63) - 1))


class StretchesTests(SynchronousTestCase):
    """Cutting lists into consecutive parts."""

    @quick
    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
    def test_parts(self, pairs: list[tuple[int, int]]) -> None:
        """The parts cover the list, count up inside, and could not be longer."""
        ids, keys = zip(*pairs, strict=True)
        parts = list(stretches(ids, keys))
        self.assertEqual([i for start, end in parts for i in range(start, end)], list(range(len(ids))))
        for start, end in parts:
            self.assertEqual(set(keys[start:end]), {keys[start]})
            self.assertEqual(list(ids[start:end]), list(range(ids[start], ids[start] + end - start)))
            if end < len(ids):
                self.assertTrue(ids[end] != ids[end - 1] + 1 or keys[end] != keys[start])

    def test_without_keys(self) -> None:
        """Without keys only the ids count."""
        self.assertEqual(list(stretches([5, 6, 7])), [(0, 3)])
        self.assertEqual(list(stretches((5, 7, 8))), [(0, 1), (1, 3)])


class RangeTests(SynchronousTestCase):
    """Ids that go up by one are a range, which costs nothing to cut and to compare."""

    @quick
    @given(st.lists(st.tuples(st.integers(0, 1), st.integers(5, 8)), min_size=1, max_size=4))
    def test_as_range(self, pairs: list[tuple[int, int]]) -> None:
        """The values stay what they are, and are a range if there is one key and they count up."""
        keys, ids = zip(*pairs, strict=True)
        found_keys, found = as_range(array("q", keys), array("q", ids))
        self.assertEqual((tuple(found_keys), tuple(found)), (keys, ids))
        self.assertEqual(isinstance(found, range), len(stretches(ids, keys)) == 1)

    def test_keys(self) -> None:
        """Ids that count up over several keys keep these."""
        self.assertEqual(as_range(array("q", [1, 1, 2]), array("q", [5, 6, 7])), ([1, 1, 2], [5, 6, 7]))

    def test_end_of_the_id_space(self) -> None:
        """The last id there is has nothing behind it."""
        top = (1 << 63) - 1
        self.assertEqual(as_range(array("q", [1, 1]), array("q", [top, top])), ([1, 1], [top, top]))
        self.assertEqual(as_range(array("q", [1]), array("q", [top])), ((1,), range(top, top + 1)))

    def test_joined(self) -> None:
        """Parts stay a range as long as they are one; what is joined to a list is added to it."""
        self.assertEqual(joined((), range(3)), range(3))
        self.assertEqual(joined(range(3), range(3, 5)), range(5))
        self.assertEqual(joined(range(3), range(4, 6)), [0, 1, 2, 4, 5])
        given = [7]
        self.assertIs(joined(given, (8,)), given)
        self.assertEqual(given, [7, 8])

    @quick
    @given(st.lists(signed64))
    def test_from_big_endian(self, values: list[int]) -> None:
        """The values come back."""
        self.assertEqual(from_big_endian(big_endian(values)).tolist(), values)


class BigEndianTests(SynchronousTestCase):
    """Packing many i64."""

    @quick
    @given(st.lists(signed64))
    def test_same_as_struct(self, values: list[int]) -> None:
        """The bytes are those of struct."""
        self.assertEqual(big_endian(values), struct.pack(f">{len(values)}q", *values))

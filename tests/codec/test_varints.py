"""Varints by hand are protobuf's."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.codec.varints import (
    bytes_field,
    common_width,
    decode_column,
    decode_varint,
    decode_varints,
    equal_widths,
    fill_column,
    number_field,
    varint,
    varints,
    width,
)

from .wire_examples import id64, quick, signed64

of_all_sizes = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 1 << bits))


class CommonWidthTests(SynchronousTestCase):
    """What the varints of some values have in common."""

    def test_common_width(self) -> None:
        """It is their size, if they have one, and no value is negative."""
        self.assertEqual(common_width([0, 127, 5]), 1)
        self.assertEqual(common_width([128, 1 << 13]), 2)
        self.assertEqual(common_width([1 << 63, (1 << 64) - 1]), 10)
        self.assertEqual(common_width([127, 128]), 0)
        self.assertEqual(common_width([-1, 1 << 63]), 0)


class VarintTests(SynchronousTestCase):
    """Single values and fields."""

    @quick
    @given(st.one_of(signed64, of_all_sizes))
    def test_same_as_protobuf(self, value: int) -> None:
        """A value, negative ones too, has protobuf's bytes, the announced size, and reads back."""
        expected = wire_pb.ReadLacRequest(ledgerId=value).SerializeToString()
        self.assertEqual(number_field(b"\x08", value), expected)
        self.assertEqual(width(value), len(expected) - 1)
        self.assertEqual(decode_varint(expected, 1, len(expected)), value % (1 << 64))

    def test_absent_fields(self) -> None:
        """A field without a value has no bytes; an empty value has."""
        self.assertEqual(number_field(b"\x08", None) + bytes_field(b"\x12", None), b"")
        self.assertEqual(number_field(b"\x08", 0) + bytes_field(b"\x12", b""), b"\x08\x00\x12\x00")


class ColumnTests(SynchronousTestCase):
    """Many values of one size."""

    @quick
    @given(st.integers(1, 9), st.data())
    def test_decode(self, size: int, data: st.DataObject) -> None:
        """A column reads as its values; one of another size ends it."""
        low = 0 if size == 1 else 1 << 7 * (size - 1)
        values = data.draw(st.lists(st.integers(low, (1 << 7 * size) - 1), min_size=1, max_size=20))
        column = b"".join(map(varint, values))
        self.assertEqual(list(decode_column(column, size)), values)
        for broken in range(len(values)):
            for at in range(size):
                other = bytearray(column)
                other[broken * size + at] ^= 0x80
                self.assertEqual(list(decode_column(bytes(other), size)), values[:broken])

    @quick
    @given(st.integers(1, 9), st.integers(0, 1 << 62), st.integers(1, 300), st.integers(0, 299), st.integers(1, 255))
    def test_decode_counted(self, size: int, first: int, count: int, changed: int, bits: int) -> None:
        """Values that go up by one are a range; one that does not is found, wherever it is."""
        low = 0 if size == 1 else 1 << 7 * (size - 1)
        first = low + first % ((1 << 7 * size) - low)
        values = range(first, min(first + count, 1 << 7 * size))
        column = b"".join(map(varint, values))
        self.assertEqual(decode_column(column, size), values)
        other = bytearray(column)
        other[changed % len(column)] ^= bits
        found = list(decode_column(bytes(other), size))
        plain = [decode_varint(bytes(other), at, at + size) for at in range(0, len(other), size)]
        self.assertEqual(found, plain[: len(found)])
        self.assertGreaterEqual(len(found), changed % len(column) // size)

    @quick
    @given(st.lists(of_all_sizes, min_size=1, max_size=30), st.integers(0, 1 << 62))
    def test_each(self, values: list[int], first: int) -> None:
        """Many varints, of one size or of several, are those of the values, both ways."""
        for some in (values, values[:1] * 20, range(first, first + len(values))):
            encoded = [varint(value) for value in some]
            self.assertEqual(list(varints(some)), encoded)
            self.assertEqual(list(decode_varints(encoded)), list(some))
        self.assertEqual(list(varints([-1, 5] * 9)), [varint(-1), varint(5)] * 9)

    @quick
    @given(st.lists(st.one_of(id64, of_all_sizes), min_size=1, max_size=30), st.one_of(signed64, of_all_sizes))
    def test_fill(self, values: list[int], first: int) -> None:
        """Frames filled part by part hold the varints of both columns."""
        first = min(first, (1 << 63) - len(values))
        frames = []
        for start, end, size, id_size in equal_widths(values, first):
            stride = 1 + size + id_size
            row = bytearray((b"." + varint(values[start]) + varint(first + start)) * (end - start))
            fill_column(row, 1, stride, values[start:end], size)
            fill_column(row, 1 + size, stride, range(first + start, first + end), id_size)
            frames.append(bytes(row))
        expected = [b"." + varint(value) + varint(first + i) for i, value in enumerate(values)]
        self.assertEqual(b"".join(frames), b"".join(expected))

    def test_counting_far(self) -> None:
        """Values that count up fill as others do, over every change of their low bytes."""
        for first, count in ((0, 128), (128, 16_256), (16_384, 50_000), ((1 << 56) + 16_000, 1000), (1 << 62, 3)):
            values = range(first, first + count)
            size = width(first)
            row = bytearray((b"." + varint(first)) * count)
            fill_column(row, 1, 1 + size, values, size)
            self.assertEqual(bytes(row), b"".join([b"." + varint(value) for value in values]))

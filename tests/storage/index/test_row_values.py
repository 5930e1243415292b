"""Rows as columns."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.storage.index.row_values import Values, row_from, stored_bytes, values_of
from bookkeeper_twisted.storage.index.rows import pack_sizes, row_bytes
from bookkeeper_twisted.storage.interfaces import IndexRow

from ..entries import row

_SIZES = st.sampled_from([1, 100, 254, 255, 256, 65_534, 65_535, 65_536, 1 << 32])


def uneven(*sizes: int) -> IndexRow:
    """A row of records of these sizes."""
    return IndexRow(3, 5, 4 + len(sizes), 7, 4096, pack_sizes(sizes), b"sums")


def row_values(row: IndexRow) -> Values:
    """The columns of one row."""
    (values,) = values_of([row])
    return values


class RowValuesTests(SynchronousTestCase):
    """What is stored of a row."""

    @settings(max_examples=300)
    @given(st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=9) | _SIZES.flatmap(
        lambda most: st.lists(st.integers(0, most - 1).map(lambda size: min(size + 70, (1 << 32) - 1)), min_size=1)))
    def test_again(self, sizes: list[int]) -> None:
        """A row is the same again, and its bytes are known without that."""
        before = uneven(*sizes)
        values = row_values(before)
        self.assertEqual(row_from(values), before)
        if not isinstance(values[5], int):
            self.assertEqual(stored_bytes(values[5], len(sizes)), row_bytes(before))
            self.assertLessEqual(len(values[5]), 4 * len(sizes))

    def test_together(self) -> None:
        """Rows have the values that they have alone, all of them even or not."""
        even = [row(ledger_id, first, first + 3, ledger_id) for ledger_id in (1, 2) for first in (0, 4)]
        for rows in (even, [*even, uneven(1, 2)], [uneven(5, 5, 5), uneven(1, 2)], []):
            together = list(values_of(rows))
            self.assertEqual(together, [row_values(each) for each in rows])
            self.assertEqual([row_from(values) for values in together], rows)

    def test_narrow(self) -> None:
        """As many bytes are stored for a size as the differences of a row need."""
        for most, width in ((255, 1), (256, 2), (65_535, 2), (65_536, 4)):
            values = row_values(uneven(*[100 + i % 2 * most for i in range(1000)]))
            self.assertEqual(len(values[5]), 1000 * width + (4 if width < 4 else 0))
        self.assertEqual(row_values(row(1, 0, 9))[5], 56)

    def test_known_form(self) -> None:
        """The least size, then what each has more; two that differ by much are stored as they are."""
        self.assertEqual(row_values(uneven(80, 70, 73))[5], bytes((0, 0, 0, 70, 10, 0, 3)))
        self.assertEqual(row_values(uneven(400, 70, 73))[5], struct.pack(">IHHH", 70, 330, 0, 3))
        self.assertEqual(row_values(uneven(400, 70))[5], struct.pack(">II", 400, 70))

    def test_damage(self) -> None:
        """Any other bytes, length or type than were written are damage."""
        values = row_values(uneven(80, 70, 73))
        for number, changed in (
            (5, b""), (5, values[5][:-1]), (5, values[5] + b"\0"), (5, values[5] + bytes(9)), (5, bytes(12)), (5, "7"),
            (5, None), (5, 70), (5, b"\xff" * 7), (2, 4), (2, 5), (2, 8), (2, 1 << 62), (1, 1 << 62), (2, "7"),
            (1, b"5"),
        ):  # fmt: skip
            with self.subTest(f"{number}: {changed!r}"):
                self.assertRaises(DamageError, row_from, (*values[:number], changed, *values[number + 1 :]))

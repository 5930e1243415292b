"""Rows that are unpacked together."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index.unpacked_rows import MOST_TOGETHER, UnpackedRows
from bookkeeper_twisted.storage.interfaces import IndexRow

from ..entries import row


class Table(UnpackedRows):
    """Rows of one, two and three entries in turn, with gaps; it records how many are unpacked each time."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.rows = [row(1, 5 * index, 5 * index + index % 3) for index in range(count)]
        self.unpacked: list[int] = []

    def _from(self, entry_id: int) -> Sequence[IndexRow]:
        index = min(entry_id // 5, len(self.rows) - 1)
        if index < 0:
            return ()
        rows = self.rows[index : index + self._count_from(index)]
        self.unpacked.append(len(rows))
        return rows


class UnpackedRowsTests(SynchronousTestCase):
    """Look-ups in any order find what is there."""

    @given(st.lists(st.integers(-3, 420), max_size=60))
    def test_any_order(self, entry_ids: list[int]) -> None:
        """Each look-up gives the row that holds its entry, or nothing."""
        table = Table(80)
        for entry_id in entry_ids:
            holding = [each for each in table.rows if each.first <= entry_id <= each.last]
            self.assertEqual([table.find(entry_id)], holding or [None])

    def test_in_order(self) -> None:
        """Look-ups in order unpack more rows each time, up to a limit; each row once."""
        table = Table(200)
        for each in table.rows:
            self.assertEqual((table.find(each.first), table.find(each.last)), (each, each))
        self.assertEqual(table.unpacked[:7], [1, 2, 4, 8, 16, MOST_TOGETHER, MOST_TOGETHER])
        self.assertEqual(sum(table.unpacked), len(table.rows))

    def test_far_apart(self) -> None:
        """Look-ups far from each other, and those in reverse order, unpack one row each."""
        for order in (range(0, 200, 70), range(199, 0, -20)):
            table = Table(200)
            for index in order:
                self.assertEqual(table.find(5 * index), table.rows[index])
            self.assertEqual(table.unpacked, [1] * len(order))

"""Rows in memory that look-ups found."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index.looked_up import FoundRows, LookedUpRows
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.interfaces import IndexRow
from bookkeeper_twisted.storage.mixed_rows import packed_of

from ..entries import row

_UNEVEN = b"\0\0\0\x3c" * 3


def packed(one: IndexRow) -> bytes:
    """The row as it lies in a block."""
    (only,) = packed_of(packed_rows([one]))
    return only


def short(entry_id: int, log_id: int = 0) -> IndexRow:
    """A row of one entry."""
    return IndexRow(1, entry_id, entry_id, log_id, 1024 + 60 * entry_id, 60, b"abcd")


class LookedUpRowsTests(SynchronousTestCase):
    """Found while there is room and no newer copy."""

    def setUp(self) -> None:
        self.looked_up = LookedUpRows(1 << 20)

    def known(self, *entry_ids: int) -> list[bool]:
        return [self.looked_up.find(1, entry_id) is not None for entry_id in entry_ids]

    def test_forms(self) -> None:
        """A packed row is found as what it is, and so is one that cannot be packed."""
        uneven = IndexRow(1, 4, 6, 0, 4096, _UNEVEN, b"abcd")
        self.looked_up.add(FoundRows(1, [packed(short(2)), uneven, packed(short(9))]))
        found = {2: short(2), **dict.fromkeys((4, 5, 6), uneven), 9: short(9)}
        for entry_id, expected in ((entry_id, found.get(entry_id)) for entry_id in range(11)):
            self.assertEqual(self.looked_up.find(1, entry_id), expected)
        self.assertIsNone(self.looked_up.find(2, 2))
        self.assertIsNone(self.looked_up.rows_of(2))

    def test_overlapping_look_ups(self) -> None:
        """What several look-ups found of a ledger is known, wherever they began."""
        for ids in (range(0, 40, 2), range(30, 60, 2), range(1, 50, 6), range(-0, 10)):
            self.looked_up.add(FoundRows(1, [packed(short(entry_id)) for entry_id in ids]))
        expected = {*range(0, 40, 2), *range(30, 60, 2), *range(1, 50, 6), *range(10)}
        self.assertEqual({entry_id for entry_id in range(80) if self.known(entry_id)[0]}, expected)
        held = self.looked_up.rows_of(1)
        assert held is not None
        self.assertEqual([each.first for each in held.rows()], sorted(expected))
        self.assertEqual(self.looked_up.cost, FoundRows(1, [packed(short(i)) for i in sorted(expected)]).cost)

    def test_overlapping_look_ups_without_packed_form(self) -> None:
        """The same of rows that cannot be packed."""
        rows = [row(1, 10 * i, 10 * i + 5) for i in range(6)]
        for part in (rows[1:4], rows[3:5], [rows[0], rows[4]], rows[5:]):
            self.looked_up.add(FoundRows(1, part))
        self.assertEqual([self.looked_up.find(1, each.last) for each in rows], rows)
        held = self.looked_up.rows_of(1)
        assert held is not None
        self.assertEqual(len(held), 6)

    def test_found_rows_stay(self) -> None:
        """What a look-up found is used by other threads: it doesn't change with what is kept of it."""
        found = FoundRows(1, [row(1, 0, 9), row(1, 20, 29)])
        self.looked_up.add(found)
        self.looked_up.add(FoundRows(1, [row(1, 10, 19)]))
        self.looked_up.discard(1, 0, 100)
        self.assertEqual([found.find(entry_id) for entry_id in (0, 10, 29)], [row(1, 0, 9), None, row(1, 20, 29)])
        self.assertEqual((bool(self.looked_up), self.looked_up.cost), (False, 0))

    def test_discard(self) -> None:
        """A row with any entry of a range is gone, and no other."""
        rows = [row(1, 10 * i, 10 * i + 5) for i in range(5)]
        for low, high, gone in (
            (0, 0, [0]), (6, 9, []), (5, 10, [0, 1]), (14, 31, [1, 2, 3]), (46, 99, []), (45, 45, [4]),
        ):  # fmt: skip
            self.looked_up = LookedUpRows(1 << 20)
            self.looked_up.add(FoundRows(1, rows))
            self.assertIsNotNone(self.looked_up.find(1, low // 10 * 10))
            self.looked_up.discard(1, low, high)
            self.assertEqual(self.known(*range(0, 50, 10)), [i not in gone for i in range(5)], (low, high))
        self.looked_up.discard(7, 0, 9)

    def test_limit(self) -> None:
        """Beyond the limit the ledger looked up longest ago is dropped; of one large ledger, what was found first."""
        one = FoundRows(1, [packed(short(i)) for i in range(100)])
        self.looked_up = LookedUpRows(3 * one.cost)
        for ledger_id in (1, 2, 3, 1, 4):
            self.looked_up.add(FoundRows(ledger_id, [row(ledger_id, 10 * i, 10 * i + 8) for i in range(20)]))
        for found in (FoundRows(1, [packed(short(i)) for i in range(at, at + 100)]) for at in range(0, 1000, 100)):
            self.looked_up.add(found)
            self.assertLessEqual(self.looked_up.cost, self.looked_up.limit)
            self.assertIsNotNone(self.looked_up.find(1, found.first))
        self.assertEqual(self.known(0, 500), [False, False])
        self.looked_up.limit = 10
        self.looked_up.add(one)
        self.assertEqual((bool(self.looked_up), self.looked_up.cost), (False, 0))

    def test_cost(self) -> None:
        """Memory stays within what is counted."""
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        before = tracemalloc.get_traced_memory()[0]
        for at in range(0, 4000, 500):
            self.looked_up.add(FoundRows(1, [packed(short(i)) for i in range(at, at + 500)]))
        self.assertLess(tracemalloc.get_traced_memory()[0] - before, self.looked_up.cost * 1.05)

    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 9), st.booleans()), max_size=12))
    def test_any(self, steps: list[tuple[bool, int, int, bool]]) -> None:
        """As a map of entries behaves."""
        looked_up, expected = LookedUpRows(1 << 20), dict[int, IndexRow]()
        for is_added, first, more, is_packed in steps:
            if is_added:
                rows = [short(entry_id) for entry_id in range(first, first + 3 * more + 1, 3)]
                looked_up.add(FoundRows(1, [packed(each) if is_packed else each for each in rows]))
                expected |= {each.first: each for each in rows}
            else:
                looked_up.discard(1, first, first + more)
                expected = {i: each for i, each in expected.items() if not first <= i <= first + more}
            self.assertEqual({i: each for i in range(70) if (each := looked_up.find(1, i)) is not None}, expected)
        self.assertEqual(looked_up.cost > 0, bool(expected))

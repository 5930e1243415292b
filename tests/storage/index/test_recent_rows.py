"""The newest rows in memory."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index import recent_rows
from bookkeeper_twisted.storage.index.recent_rows import COMMIT_OVERHEAD, MOST_TOGETHER, ROW_OVERHEAD, RecentRows
from bookkeeper_twisted.storage.interfaces import IndexRow

from ..entries import row

ALONE = COMMIT_OVERHEAD + ROW_OVERHEAD
"""What a row costs that is the only one of its ledger in a commit."""


class RecentRowsTests(SynchronousTestCase):
    """Found while they are new, never stale."""

    def test_find(self) -> None:
        """Each entry of a row finds it; entries between rows and other ledgers find nothing."""
        recent = RecentRows(1 << 20)
        recent.add([row(1, 20, 29), row(2, 0, 5)])
        recent.add([row(1, 0, 9)])
        for entry_id, expected in ((0, row(1, 0, 9)), (9, row(1, 0, 9)), (10, None), (25, row(1, 20, 29)), (30, None)):
            self.assertEqual(recent.find(1, entry_id), expected)
        self.assertIsNone(recent.find(3, 0))

    def test_rows_of(self) -> None:
        """All rows of a ledger; what is committed or forgotten later doesn't change them."""
        recent = RecentRows(1 << 20)
        recent.add([row(1, 20, 29), row(2, 0, 5)])
        recent.add([row(1, 0, 9)])
        held = recent.rows_of(1)
        assert held is not None
        recent.add([row(1, 5, 25, 7)])
        recent.discard(1, 0, 100)
        self.assertEqual([held.find(entry_id) for entry_id in (9, 20)], [row(1, 0, 9), row(1, 20, 29)])
        self.assertIsNone(recent.rows_of(1))
        self.assertIsNone(recent.rows_of(3))

    def test_first_rows(self) -> None:
        """Rows that are joined to none."""
        self.assertEqual(recent_rows.SortedRows().joined((row(1, 0, 9),)).find(5), row(1, 0, 9))

    def test_many_rows_of_a_ledger(self) -> None:
        """What is done to some rows of a ledger, at its ends or within, copies only those near to them."""
        copied = [0]
        chunks = recent_rows._chunks

        def counting(rows: tuple[IndexRow, ...]) -> object:
            copied[0] += len(rows)
            return chunks(rows)

        self.patch(recent_rows, "_chunks", counting)
        recent = RecentRows(5000 * ALONE)
        for number in range(7500):
            recent.add([row(1, number * 10, number * 10 + 8)])
        held = recent.rows_of(1)
        assert held is not None
        self.assertLessEqual(max(len(rows) for _, rows in held._chunks), MOST_TOGETHER)
        for number in range(2500, 5000):
            recent.add([row(1, number * 10 + 9, number * 10 + 9)])
        for number in range(5000, 7500):
            recent.discard(1, number * 10, number * 10 + 8)
        self.assertIsNone(recent.find(1, 50_008))
        self.assertEqual(recent.find(1, 49_999), row(1, 49_999, 49_999))
        operations = 7500 + 2500 + 2500 + 5000  # the last ones drop old rows
        self.assertLess(copied[0], operations * MOST_TOGETHER)

    def test_rows_among_many(self) -> None:
        """Commits and removals that begin in one chunk of rows and end in another."""
        recent = RecentRows(1 << 30)
        recent.add([row(1, 10 * number, 10 * number + 4, 1) for number in range(3000)])
        recent.add([row(1, 10 * number + 5, 10 * number + 9, 2) for number in range(0, 3000, 3)])
        recent.add([row(1, 12_345, 22_345, 3), row(1, 25_000, 25_000, 4)])
        recent.discard(1, 1000, 8999)
        expected = {0: 1, 5: 2, 15: None, 999: 2, 1000: None, 8999: None, 9000: 1, 9005: 2, 12_340: 1}
        expected |= {12_334: 1, 12_345: 3, 22_345: 3, 22_346: None, 22_350: 1, 25_000: 4, 25_001: None, 29_994: 1}
        found = {entry_id: recent.find(1, entry_id) for entry_id in expected}
        self.assertEqual({entry_id: each and each.log_id for entry_id, each in found.items()}, expected)

    def test_overlap(self) -> None:
        """A row that a newer one touches is forgotten as a whole: the index trimmed it."""
        recent = RecentRows(1 << 20)
        recent.add([row(1, 0, 9), row(1, 10, 19), row(1, 20, 29)])
        recent.add([row(1, 5, 14, 3)])
        self.assertEqual([recent.find(1, e) for e in (0, 19)], [None, None])
        self.assertEqual(recent.find(1, 12), row(1, 5, 14, 3))
        self.assertEqual(recent.find(1, 20), row(1, 20, 29))

    def test_bounded(self) -> None:
        """The oldest rows go when the limit is passed, replaced ones included."""
        recent = RecentRows(3 * ALONE)
        for number in range(100):
            recent.add([row(1, 0, 9, number), row(number, 20, 29)])
        self.assertLessEqual(recent.cost, recent.limit)
        self.assertEqual(recent.find(1, 0), row(1, 0, 9, 99))
        self.assertIsNone(recent.find(97, 20))
        self.assertEqual(len(recent._order), 3)
        self.assertLessEqual(len(recent._ledgers), 3)

    def test_big_commit(self) -> None:
        """Of a commit that exceeds the limit alone, the last rows are kept, and nothing stale."""
        recent = RecentRows(COMMIT_OVERHEAD + 3 * ROW_OVERHEAD)
        recent.add([row(1, 0, 9)])
        recent.add([row(1, 2 * i, 2 * i, 5) for i in range(1000)])
        self.assertEqual(recent.cost, COMMIT_OVERHEAD + 3 * ROW_OVERHEAD)
        self.assertEqual(recent.find(1, 1998), row(1, 1998, 1998, 5))
        self.assertEqual([recent.find(1, e) for e in (0, 8, 1992)], [None, None, None])

    def test_memory(self) -> None:
        """S11: rows take no more memory than is counted, those of one ledger and those of many."""
        for name, ledgers in (("one", 1), ("many", 20_000)):
            tracemalloc.start()
            recent = RecentRows(1 << 30)
            recent.add([
                IndexRow((1 << 40) + i % ledgers, 300 + i, 300 + i, 1000, 10**9 + i, 900 + i, (1 << 30 | i).to_bytes(4))
                for i in range(20_000)
            ])  # fmt: skip
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertLessEqual(held, recent.cost, name)

    def test_nothing_fits(self) -> None:
        """A limit of nothing keeps nothing."""
        recent = RecentRows(0)
        recent.add([row(1, 0, 9), row(2, 0, 9)])
        self.assertEqual((recent.find(1, 0), recent.cost), (None, 0))

    @given(st.lists(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 20), st.integers(0, 4)), max_size=5)),
           st.integers(0, 12))  # fmt: skip
    def test_never_stale(self, commits: list[list[tuple[int, int, int]]], limit: int) -> None:
        """What is found is the row that was committed last for the entry; the limit holds."""
        self.patch(recent_rows, "MOST_TOGETHER", 2)
        recent, model = RecentRows(limit * ROW_OVERHEAD * 2), dict[tuple[int, int], int]()
        for number, drawn in enumerate(commits):
            rows: list[IndexRow] = []
            for ledger_id, first, more in sorted(drawn):
                if not rows or rows[-1].ledger_id != ledger_id or rows[-1].last < first:
                    rows.append(row(ledger_id, first, first + more, number))
                    model.update(((ledger_id, e), number) for e in range(first, first + more + 1))
            recent.add(rows)
            self.assertLessEqual(recent.cost, recent.limit)
            for ledger_id in (1, 2):
                for entry_id in range(26):
                    found = recent.find(ledger_id, entry_id)
                    if found is not None:
                        self.assertEqual(found.log_id, model[ledger_id, entry_id])

    def test_sizes_count(self) -> None:
        """The bytes of sizes and checksums count."""
        recent = RecentRows(1 << 20)
        recent.add([IndexRow(1, 0, 24, 0, 1024, b"\0" * 100, b"\0" * 8)])
        self.assertEqual(recent.cost, ALONE + 108)

    def test_discard(self) -> None:
        """Rows that hold any of some entries are forgotten, the others stay."""
        recent = RecentRows(1 << 20)
        recent.add([row(1, 0, 9), row(1, 10, 19), row(1, 20, 29), row(2, 0, 9)])
        recent.discard(1, 30, 40)
        recent.discard(3, 0, 40)
        self.assertEqual(recent.find(1, 29), row(1, 20, 29))
        recent.discard(1, 9, 10)
        self.assertEqual([recent.find(1, e) for e in (0, 19)], [None, None])
        self.assertEqual((recent.find(1, 20), recent.find(2, 0)), (row(1, 20, 29), row(2, 0, 9)))
        recent.discard(2, 0, 0)
        self.assertIsNone(recent.find(2, 0))

"""The newest rows in memory."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index.recent_rows import ROW_OVERHEAD, RecentRows
from bookkeeper_twisted.storage.interfaces import IndexRow

from ..entries import row


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
        """All rows of a ledger, with their first entries, ascending."""
        recent = RecentRows(1 << 20)
        recent.add([row(1, 20, 29), row(2, 0, 5)])
        recent.add([row(1, 0, 9)])
        self.assertEqual(recent.rows_of(1), ((0, 20), (row(1, 0, 9), row(1, 20, 29))))
        self.assertIsNone(recent.rows_of(3))

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
        recent = RecentRows(3 * ROW_OVERHEAD)
        for number in range(100):
            recent.add([row(1, 0, 9, number), row(number, 20, 29)])
        self.assertLessEqual(recent.cost, recent.limit)
        self.assertEqual(recent.find(1, 0), row(1, 0, 9, 99))
        self.assertIsNone(recent.find(97, 20))
        self.assertEqual(len(recent._order), 3)
        self.assertLessEqual(len(recent._ledgers), 3)

    def test_big_commit(self) -> None:
        """Of a commit that exceeds the limit alone, the last rows are kept, and nothing stale."""
        recent = RecentRows(3 * ROW_OVERHEAD)
        recent.add([row(1, 0, 9)])
        recent.add([row(1, 2 * i, 2 * i, 5) for i in range(1000)])
        self.assertEqual(recent.cost, 3 * ROW_OVERHEAD)
        self.assertEqual(recent.find(1, 1998), row(1, 1998, 1998, 5))
        self.assertEqual([recent.find(1, e) for e in (0, 8, 1992)], [None, None, None])

    def test_nothing_fits(self) -> None:
        """A limit of nothing keeps nothing."""
        recent = RecentRows(0)
        recent.add([row(1, 0, 9), row(2, 0, 9)])
        self.assertEqual((recent.find(1, 0), recent.cost), (None, 0))

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 20), st.integers(0, 4)), max_size=5)),
           st.integers(0, 12))  # fmt: skip
    def test_never_stale(self, commits: list[list[tuple[int, int, int]]], limit: int) -> None:
        """What is found is the row that was committed last for the entry; the limit holds."""
        recent, model = RecentRows(limit * ROW_OVERHEAD), dict[tuple[int, int], int]()
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
        self.assertEqual(recent.cost, ROW_OVERHEAD + 108)

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

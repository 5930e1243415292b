"""The rows of the last flushes in memory, packed and not."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index.recent_index import RecentIndex
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.interfaces import IndexRow

_LIMIT = 1 << 20
_ENTRIES = range(12)
_LEDGERS = (1, 2)


def _row(ledger_id: int, first: int, last: int, log_id: int = 0) -> IndexRow:
    return IndexRow(ledger_id, first, last, log_id, 1024, 60, b"abcd")


_spans = st.tuples(st.sampled_from(_LEDGERS), st.integers(0, 9), st.integers(0, 2), st.booleans())
_steps = st.lists(st.one_of(st.lists(_spans, min_size=1, max_size=3), st.sampled_from(_LEDGERS), st.just("copy")))


class RecentIndexTests(SynchronousTestCase):
    """Rows of both forms: whatever is newer is found, whichever form it has."""

    def setUp(self) -> None:
        self.recent = RecentIndex(_LIMIT)

    def add(self, *rows: IndexRow, packed: bool = False) -> None:
        self.recent.add(() if packed else rows, packed_rows(rows) if packed else ())

    def test_newest(self) -> None:
        """A row replaces an older one that it overlaps, packed or not."""
        for packed in (False, True):
            with self.subTest(packed=packed):
                self.setUp()
                self.add(_row(1, 0, 9), _row(2, 0, 9), packed=not packed)
                self.add(_row(1, 3, 5, 1), packed=packed)
                self.assertEqual(self.recent.find(1, 4), _row(1, 3, 5, 1))
                self.assertIsNone(self.recent.find(1, 6))
                self.assertEqual(self.recent.find(2, 6), _row(2, 0, 9))

    def test_tables(self) -> None:
        """The tables of a ledger have its rows of both forms."""
        self.assertEqual(self.recent.tables_of(1, 0, 99), [])
        self.add(_row(1, 0, 2))
        self.add(_row(1, 3, 5, 1), packed=True)
        for ledger_id, expected in ((1, {1: 0, 4: 1}), (2, {})):
            tables = self.recent.tables_of(ledger_id, 0, 99)
            found = {entry_id: table.find(entry_id) for entry_id in (1, 4, 7) for table in tables}
            rows = {entry_id: row for entry_id in (1, 4, 7) for table in tables if (row := table.find(entry_id))}
            self.assertEqual({entry_id: row.log_id for entry_id, row in rows.items()}, expected, found)

    def test_deleted(self) -> None:
        """The rows of deleted ledgers are dropped, those of others stay."""
        for packed in (False, True):
            self.add(_row(1, 0, 2), _row(2, 0, 2), packed=packed)
            self.recent.discard_ledgers([1])
            self.assertIsNone(self.recent.find(1, 1))
            self.assertEqual(self.recent.find(2, 1), _row(2, 0, 2))

    def test_moved(self) -> None:
        """Rows of entries that were copied are dropped."""
        for packed in (False, True):
            self.add(_row(1, 0, 2, 5), _row(2, 0, 2, 5), packed=packed)
            self.recent.discard_moved([_row(1, 0, 2, 7), _row(2, 0, 2, 7)], frozenset([5]))
            self.assertEqual([self.recent.find(ledger_id, 1) for ledger_id in (1, 2)], [None, None])

    def test_limit(self) -> None:
        """S11: without room there are no rows."""
        self.recent = RecentIndex(0)
        for packed in (False, True):
            self.add(_row(1, 0, 2), packed=packed)
            self.assertIsNone(self.recent.find(1, 1))

    @given(_steps)
    def test_any(self, steps: "list[list[tuple[int, int, int, bool]] | int | str]") -> None:
        """No entry is in both forms, and what is found is the newest row, whatever was flushed, deleted and copied."""
        self.setUp()
        newest = dict[tuple[int, int], int]()
        for number, step in enumerate(steps):
            if isinstance(step, int):
                self.recent.discard_ledgers([step])
                newest = {ids: log_id for ids, log_id in newest.items() if ids[0] != step}
            elif isinstance(step, str):
                logs = frozenset([min(newest.values(), default=0)])
                rows = [_row(*ids, ids[1], number) for ids, log_id in newest.items() if log_id in logs]
                self.recent.discard_moved(rows, logs)
                newest = {ids: log_id for ids, log_id in newest.items() if log_id not in logs}
            else:
                rows, mixed, taken = list[IndexRow](), list[IndexRow](), set[tuple[int, int]]()
                for ledger_id, first, more, packed in step:
                    ids = {(ledger_id, entry_id) for entry_id in range(first, first + more + 1)}
                    if ids.isdisjoint(taken):
                        (mixed if packed else rows).append(_row(ledger_id, first, first + more, number))
                        taken |= ids
                self.recent.add(sorted(rows), packed_rows(mixed))
                newest.update(dict.fromkeys(taken, number))
            for entry in ((ledger_id, entry_id) for ledger_id in _LEDGERS for entry_id in _ENTRIES):
                found = self.recent.find(*entry)
                self.assertIn(found and found.log_id, (None, newest.get(entry)))
                held = [each.find(*entry) for each in (self.recent._rows, self.recent._blocks)]
                self.assertLessEqual(sum(row is not None for row in held), 1)

"""The packed rows of the last flushes in memory."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.index.blocks import BLOCK_ROWS
from bookkeeper_twisted.storage.index.recent_blocks import BLOCK_COST, MOST_FLUSHES, RecentBlocks
from bookkeeper_twisted.storage.index.rows import packed_rows
from bookkeeper_twisted.storage.interfaces import IndexRow

_LEDGERS = range(0, 900, 3)


def _row(ledger_id: int, first: int, last: int, log_id: int = 0) -> IndexRow:
    return IndexRow(ledger_id, first, last, log_id, 1024, 60, b"abcd")


def _flush(first: int, last: int, log_id: int = 0) -> list[IndexRow]:
    return [_row(ledger_id, first, last, log_id) for ledger_id in _LEDGERS]


class RecentBlocksTests(SynchronousTestCase):
    """Flushes of a row of each of 300 ledgers, three blocks."""

    def setUp(self) -> None:
        self.recent = RecentBlocks(100 * BLOCK_COST)

    def add(self, rows: list[IndexRow]) -> None:
        self.recent.add(packed_rows(rows))

    def test_find(self) -> None:
        """Every entry of a row finds it, others nothing."""
        self.add(_flush(5, 7))
        self.add(_flush(9, 9))
        for ledger_id in (0, 3, 3 * BLOCK_ROWS, 897):
            for entry_id, found in ((5, (5, 7)), (7, (5, 7)), (9, (9, 9)), (4, None), (8, None), (10, None)):
                row = _row(ledger_id, *found) if found else None
                self.assertEqual(self.recent.find(ledger_id, entry_id), row)
        for ledger_id in (1, 2, 898, 5000):
            self.assertIsNone(self.recent.find(ledger_id, 5))
        self.assertIsNone(RecentBlocks(0).find(0, 0))

    def test_newest(self) -> None:
        """Of several copies the newest is found, in tables too."""
        self.add(_flush(5, 7))
        self.add([_row(3, 6, 6, 1)])
        self.assertEqual(self.recent.find(3, 6), _row(3, 6, 6, 1))
        self.assertEqual(self.recent.find(3, 7), _row(3, 5, 7))
        self.assertEqual([table.find(6) for table in self.recent.tables_of(3, 0, 9)], [_row(3, 6, 6, 1), _row(3, 5, 7)])
        self.assertEqual(self.recent.tables_of(4, 0, 9), [])

    def test_newer_behind(self) -> None:
        """A row that goes on behind an entry of a newer one is not given, wherever that is in its blocks."""
        for blocks_before in range(2):
            for rows_before in (0, 1, BLOCK_ROWS - 1):
                self.setUp()
                self.add([_row(3, 5, 7), _row(3, 9, 9)])
                count = rows_before + blocks_before * BLOCK_ROWS
                self.add([*(_row(0, 2 * i, 2 * i) for i in range(count)), _row(3, 6, 6, 1), _row(4, 0, 0, 1)])
                found = [self.recent.find(3, entry_id) for entry_id in (5, 6, 7, 9)]
                self.assertEqual(found, [None, _row(3, 6, 6, 1), _row(3, 5, 7), _row(3, 9, 9)])

    def test_hidden(self) -> None:
        """Where rows of a ledger are hidden, so are older ones, of which they may have been newer copies."""
        self.add([_row(3, 5, 7)])
        self.add([_row(3, 6, 6, 1), _row(3, 10, 10, 1)])
        self.recent.discard(3, 10, 10)
        self.assertEqual([self.recent.find(3, entry_id) for entry_id in (5, 6)], [None, None])
        self.assertEqual(self.recent.tables_of(3, 0, 99), [])

    def test_tables(self) -> None:
        """The rows of a ledger that spans blocks are all in its table."""
        rows = [_row(3, 2 * i, 2 * i) for i in range(3 * BLOCK_ROWS)]
        self.add([_row(2, 0, 9), *rows, _row(4, 0, 9)])
        (table,) = self.recent.tables_of(3, 0, 1000)
        for entry_ids in (range(3 * BLOCK_ROWS), range(3 * BLOCK_ROWS - 1, -1, -1), (5, 300, 4, 299)):
            self.assertEqual([table.find(2 * i) for i in entry_ids], [rows[i] for i in entry_ids])
        for entry_id in (3, -1, -4096, 6 * BLOCK_ROWS, 1 << 62):
            self.assertIsNone(table.find(entry_id))
        (below,) = self.recent.tables_of(4, 0, 1000)
        self.assertEqual([below.find(entry_id) for entry_id in (-1, 10)], [None, None])
        self.assertEqual(len(self.recent.tables_of(2, 0, 1000)), 1)

    def test_table_beside_others(self) -> None:
        """A table has no rows of other ledgers, though they lie in the same block."""
        self.add([*(_row(3, 2 * i, 2 * i) for i in range(20)), _row(3, 50, 60), _row(4, 54, 55), _row(5, 0, 99)])
        for entry_ids in (range(100), range(99, -1, -1)):
            (table,) = self.recent.tables_of(4, 0, 1000)
            found = {entry_id for entry_id in entry_ids if table.find(entry_id) is not None}
            self.assertEqual(found, {54, 55})

    def test_tables_of_flushes(self) -> None:
        """Only flushes with entries in the range that is asked for give a table."""
        for first in (10, 20, 30):
            self.add([_row(3, first, first + 4, first)])
        wanted = {(0, 9): [], (0, 10): [10], (14, 20): [20, 10], (15, 19): [], (34, 99): [30], (35, 99): []}
        for (low, high), firsts in wanted.items():
            tables = self.recent.tables_of(3, low, high)
            found = [{row.first for e in range(10, 40) if (row := table.find(e)) is not None} for table in tables]
            self.assertEqual(found, [{first} for first in firsts])

    def test_many_flushes(self) -> None:
        """The oldest flushes go, however few rows they have: a look-up goes through all that are here."""
        for entry_id in range(MOST_FLUSHES + 2):
            self.add([_row(3, entry_id, entry_id)])
        known = [self.recent.find(3, entry_id) is not None for entry_id in range(MOST_FLUSHES + 2)]
        self.assertEqual(known, [False] * 2 + [True] * MOST_FLUSHES)

    def test_mixed_order(self) -> None:
        """The rows of a flush may come log by log."""
        self.recent.add([*packed_rows([_row(6, 0, 9, 1), _row(9, 0, 9, 1)]), *packed_rows([_row(3, 0, 9, 2)])])
        self.assertEqual([self.recent.find(ledger_id, 5) is not None for ledger_id in (3, 6, 9)], [True] * 3)

    def test_discard(self) -> None:
        """No row of a ledger is given once something newer overlaps one of them; later flushes are not affected."""
        self.add(_flush(5, 7))
        self.recent.discard(3, 8, 20)
        self.recent.discard(3, 0, 4)
        self.assertEqual(self.recent.find(3, 5), _row(3, 5, 7))
        self.recent.discard(3, 7, 7)
        self.recent.discard(4, 0, 99)
        self.assertIsNone(self.recent.find(3, 5))
        self.assertEqual(self.recent.tables_of(3, 0, 99), [])
        self.assertEqual(self.recent.find(6, 5), _row(6, 5, 7))
        self.add(_flush(8, 8))
        self.assertEqual(self.recent.find(3, 8), _row(3, 8, 8))

    def test_discard_logs(self) -> None:
        """Flushes that wrote to a log are forgotten with it, and older ones, of which they may have newer copies."""
        self.add(_flush(0, 0, 1))
        self.add([*_flush(1, 1, 2)[:10], *_flush(1, 1, 3)[10:]])
        self.add(_flush(2, 2, 4))
        self.recent.discard_logs({1, 2})
        self.assertEqual([self.recent.find(3, entry_id) for entry_id in (0, 1)], [None, None])
        self.assertEqual(self.recent.find(3, 2), _row(3, 2, 2, 4))
        self.recent.discard_logs({4})
        self.add([_row(3, 5, 7, 5)])
        self.add([_row(3, 6, 6, 6)])
        self.recent.discard_logs({6})
        self.assertEqual([self.recent.find(3, entry_id) for entry_id in (5, 6)], [None, None])

    def test_limit(self) -> None:
        """The oldest flushes go; of one that is too big the first rows stay."""
        self.recent = RecentBlocks(6 * BLOCK_COST)
        for entry_id in range(3):
            self.add(_flush(entry_id, entry_id))
        self.assertEqual([self.recent.find(3, entry_id) is None for entry_id in range(3)], [True, False, False])
        self.recent = RecentBlocks(2 * BLOCK_COST)
        self.add(_flush(0, 0))
        self.assertEqual(self.recent.find(3, 0), _row(3, 0, 0))
        self.assertIsNone(self.recent.find(897, 0))

"""Reads in pieces."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.read_cursor import SHORT, pieces_of


def _pieces(entry_ids: list[int], *ledger_ids: int) -> list[tuple[int, int, bool]]:
    pieces = pieces_of(entry_ids, ledger_ids or (1,) * len(entry_ids))
    return [(start, end, is_row) for start, end, is_row in pieces]


class PiecesTests(SynchronousTestCase):
    """What is answered together."""

    def test_rows(self) -> None:
        """Consecutive entries are a row, and so is a single read."""
        self.assertEqual(_pieces([7]), [(0, 1, True)])
        self.assertEqual(_pieces([*range(5, 30)]), [(0, 25, True)])
        self.assertEqual(_pieces([4], 2), [(0, 1, True)])

    def test_scattered(self) -> None:
        """Reads of a striped ledger are one piece, also those of two replicas, in any order, and doubled."""
        for entry_ids in ([0, 3, 6], [9, 6, 3], [0, 2, 3, 5, 6, 8], [7, 7], [5, 1, 2, 3, 4, 9]):
            self.assertEqual(_pieces(entry_ids), [(0, len(entry_ids), False)])

    def test_ledgers(self) -> None:
        """A piece has reads of several ledgers if these are read in turn, with a few reads of each."""
        self.assertEqual(_pieces([4, 4], 1, 2), [(0, 2, False)])
        self.assertEqual(_pieces([0, 3, 4, 9, 5], 1, 1, 2, 2, 1), [(0, 5, False)])

    def test_striped_ledgers(self) -> None:
        """Many scattered reads of a ledger, and then many of another one, are two pieces."""
        entry_ids = [*range(0, 3 * 40, 3)] * 2
        self.assertEqual(_pieces(entry_ids, *[1] * 40, *[2] * 40), [(0, 40, False), (40, 80, False)])
        entry_ids[5] = 13
        self.assertEqual(_pieces(entry_ids, *[1] * 40, *[2] * 40), [(0, 40, False), (40, 80, False)])

    def test_long_rows(self) -> None:
        """Long rows are read as rows, whatever is around them."""
        row = [*range(20, 20 + SHORT)]
        self.assertEqual(_pieces([*row, *(each + 50 for each in row)]), [(0, SHORT, True), (SHORT, 2 * SHORT, True)])
        expected = [(0, 2, False), (2, 2 + SHORT, True), (2 + SHORT, 4 + SHORT, False)]
        self.assertEqual(_pieces([0, 3, *row, 90, 93]), expected)
        self.assertEqual(_pieces([0, 3, *row[1:]]), [(0, 1 + SHORT, False)])

    @given(st.lists(st.tuples(st.integers(-2, 12), st.integers(0, 1)), min_size=1))
    def test_any(self, reads: list[tuple[int, int]]) -> None:
        """Each read is in one piece, in order; a row is of one ledger, and its entries are consecutive."""
        entry_ids, ledger_ids = [entry_id for entry_id, _ in reads], [ledger_id for _, ledger_id in reads]
        pieces = _pieces(entry_ids, *ledger_ids)
        self.assertEqual([index for start, end, _ in pieces for index in range(start, end)], [*range(len(reads))])
        for start, end, is_row in pieces:
            if is_row:
                self.assertEqual(len(set(ledger_ids[start:end])), 1)
                self.assertEqual(entry_ids[start:end], [*range(entry_ids[start], entry_ids[start] + end - start)])

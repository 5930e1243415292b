"""The limit that the writers of a client share."""

from functools import partial

from bookkeeper_twisted.client.writing.appends import ByteBudget
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.testing.bookies import MemoryBookies

from ..cluster_case import BOOKIES, ClusterCase


class BudgetTests(ClusterCase):
    """A budget, by itself and with writers."""

    def test_shares(self) -> None:
        """What one writer holds is gone for the others; who found no room is told in turn when there is some."""
        told: list[str] = []
        budget = ByteBudget(100)
        one, two = partial(told.append, "one"), partial(told.append, "two")
        budget.used += 60
        self.assertEqual(budget.room(two), 40)
        budget.used += 70
        self.assertEqual((budget.room(two), budget.room(one)), (-30, -30))
        budget.give_back(10)
        self.assertEqual(told, [])
        budget.give_back(50)
        self.assertEqual((told, budget.used), (["two", "one"], 70))
        budget.give_back(70)
        self.assertEqual((told, budget.used), (["two", "one"], 0))

    def _pushed(self, *writers: LedgerWriter) -> list[int]:
        """Appends more than the limit to each; gives how many entries each sends before any answer."""
        for writer in writers:
            for _ in range(20):
                writer.append(bytes(1000))
        self.clock.advance(0)
        asked: MemoryBookies = self.bookies
        return [
            sum(count for op, ledger, _, count in asked[BOOKIES[0]].requests if (op, ledger) == ("add", w.ledger_id))
            for w in writers
        ]

    def test_writers(self) -> None:
        """Two writers share the limit, and both come to their end."""
        self.bk = self.client(max_client_in_flight_bytes=5000)
        writers = [self.do(self.bk.create_ledger(4, 4, 4)) for _ in range(2)]
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 1.0
        # entries of 1,040 bytes: the fifth reaches the limit; one is for the writer that has none on its way
        self.assertEqual(self._pushed(*writers), [5, 1])
        for _ in range(60):
            self.clock.advance(1.0)
        self.assertEqual([writer.last_add_confirmed for writer in writers], [19, 19])

    def test_failed_writer(self) -> None:
        """A writer that fails gives back what it held."""
        self.bk = self.client(max_client_in_flight_bytes=5000)
        first, second = (self.do(self.bk.create_ledger(4, 4, 4)) for _ in range(2))
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].silent = True
        failing = [first.append(bytes(1000)) for _ in range(4)]
        self.clock.advance(0)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].silent = False
        for _ in range(20):
            self.clock.advance(1.0)
        for append in failing:
            self.failureResultOf(append)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].delay = 1.0
        self.assertEqual(self._pushed(second), [5])

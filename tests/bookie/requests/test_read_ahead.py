"""Reading ahead."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.requests.read_ahead import FIRST_WINDOW, LAST_WINDOW, LoadsUnderWay, SequentialReads


class ReadAheadTests(SynchronousTestCase):
    """Windows."""

    def test_straight_on(self) -> None:
        """Who reads on where a load ended gets more each time, up to a limit."""
        ahead = SequentialReads()
        windows = []
        for first in range(0, 100, 10):
            windows.append(ahead.window(1, first))
            ahead.loaded(1, first, first + 9)
        self.assertEqual(windows[0], FIRST_WINDOW)
        self.assertEqual(windows, sorted(windows))
        self.assertEqual(windows[-1], LAST_WINDOW)

    def test_anywhere(self) -> None:
        """Who reads anywhere else gets little."""
        ahead = SequentialReads()
        ahead.loaded(1, 0, 9)
        self.assertEqual([ahead.window(1, 11), ahead.window(2, 10)], [FIRST_WINDOW] * 2)
        self.assertGreater(ahead.window(1, 10), FIRST_WINDOW)

    def test_two_readers(self) -> None:
        """Two readers of a ledger do not disturb each other."""
        ahead = SequentialReads()
        for first in (0, 10, 20):
            for base in (0, 1000):
                ahead.loaded(1, base + first, base + first + 9)
        self.assertEqual(ahead.window(1, 30), ahead.window(1, 1030))
        self.assertGreater(ahead.window(1, 30), FIRST_WINDOW)

    def test_passed(self) -> None:
        """What needs no load behind a load is still part of a sequential read; elsewhere it changes nothing."""
        ahead = SequentialReads()
        ahead.loaded(1, 0, 9)
        window = ahead.window(1, 10)
        ahead.passed(1, 10, 29)
        ahead.passed(1, 50, 59)
        self.assertEqual([ahead.window(1, first) for first in (10, 30, 60)], [FIRST_WINDOW, window, FIRST_WINDOW])

    def test_bounded(self) -> None:
        """S11: only so many ends are remembered, the oldest go."""
        ahead = SequentialReads(limit=2)
        for ledger_id in range(3):
            ahead.loaded(ledger_id, 0, 9)
        self.assertEqual([ahead.window(i, 10) > FIRST_WINDOW for i in range(3)], [False, True, True])


class LoadsUnderWayTests(SynchronousTestCase):
    """Loads to wait for."""

    def test_covering(self) -> None:
        """Once it is known how big the entries are, a load covers as many as it has bytes for."""
        loads = LoadsUnderWay()
        first = loads.begin(1, 0, 1000)
        self.assertIsNone(loads.covering(1, 1))
        loads.end(first, entry_size=100)
        second = loads.begin(1, 10, 1000)
        waiter = loads.covering(1, 19)
        assert waiter is not None
        self.assertEqual([loads.covering(1, 9), loads.covering(1, 20), loads.covering(2, 10)], [None] * 3)
        self.assertNoResult(waiter)
        loads.end(second)
        self.successResultOf(waiter)
        self.assertIsNone(loads.covering(1, 19))

    def test_bounded(self) -> None:
        """S11: the sizes of only so many ledgers are remembered, the oldest go."""
        loads = LoadsUnderWay(limit=1)
        for ledger_id in (1, 2):
            loads.end(loads.begin(ledger_id, 0, 1000), entry_size=100)
        for ledger_id in (1, 2):
            loads.begin(ledger_id, 0, 1000)
        self.assertEqual([loads.covering(1, 5) is not None, loads.covering(2, 5) is not None], [False, True])

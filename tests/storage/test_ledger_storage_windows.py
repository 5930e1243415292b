"""Small reads in order of what the page cache holds."""

import attrs

from bookkeeper_twisted.storage.ledger_storage import WINDOW

from .entries import mixed, run
from .ledger_storages import SMALL, LedgerStorageTestCase, checkpoint


class WindowTests(LedgerStorageTestCase):
    """Small reads in order, of what memory holds of an entry log."""

    def setUp(self) -> None:
        """Entries of ledger 1 are in an entry log, and in memory."""
        super().setUp()
        self.restart(attrs.evolve(SMALL, log_size_limit=1 << 20, write_cache_bytes=1 << 22))
        self.disk.resident = lambda: True
        self.storage.add(run(1, 0, 12_000))
        checkpoint(self.storage)
        self.storage.load(1, 0, 0)  # opens the log for the reactor, too

    def test_window(self) -> None:
        """Who goes on where a read ended gets more than was asked for, and the next reads from the cache."""
        first = self.storage.resident(1, 100, 1, 1000)
        second = self.storage.resident(1, 101, 1, 1000)
        assert first is not None and second is not None
        self.assertEqual((first.count, second.count), (1, WINDOW // second.stride))
        self.check(1, range(101, second.last + 1))
        held = self.storage.cached(1, second.last)
        self.assertIs(held, second)
        self.assertIsNone(self.storage.cached(1, second.last + 1))
        third = self.storage.resident(1, second.last + 1, 1, 1000)
        self.assertEqual(third and third.count, second.count)

    def test_no_window(self) -> None:
        """Reads in no order, and large ones, get what they asked for; so does who memory holds no more for."""
        for entry_id, count in ((7, 1), (9, 1), (3, 1), (20, 1200), (1220, 1200)):
            found = self.storage.resident(1, entry_id, count, 1 << 20)
            self.assertEqual(found and found.count, count)
            self.assertIsNone(self.storage.cached(1, entry_id))
        answers = iter((False, True))
        self.disk.resident = lambda: next(answers)
        found = self.storage.resident(1, 4, 1, 1000)
        self.assertEqual(found and found.count, 1)

    def test_window_and_newer_copies(self) -> None:
        """The newest copy of an entry wins, over a window held and over one that would be."""
        for newer in (lambda: self.storage.add(run(1, 60, 3, salt=1)), self.add_mixed):
            for entry_id in (10, 11):
                self.storage.resident(1, entry_id, 1, 1000)
            self.assertIsNotNone(self.storage.cached(1, 60))
            newer()
            self.storage.resident(1, 9, 1, 1000)
            self.storage.resident(1, 10, 1, 1000)
            self.check(1, range(60, 61), salt=1)
            checkpoint(self.storage)
            self.check(1, range(60, 61), salt=1)
            self.setUp()

    def add_mixed(self) -> None:
        self.storage.add(mixed(run(1, 60, salt=1), run(3, 0)))

    def test_many_readers(self) -> None:
        """S11: places of readers are forgotten when they are too many."""
        for entry_id in range(0, 12_000, 2):
            self.storage.resident(1, entry_id, 1, 1000)
        self.assertEqual(len(self.storage._ends), 1024)

"""Reads of many ledgers in turn, which a storage searches for together."""

from bookkeeper_twisted.storage.interfaces import LedgerRow

from .entries import entry, run
from .ledger_storages import LedgerStorageTestCase, checkpoint


class InTurnTests(LedgerStorageTestCase):
    """Entries of several ledgers."""

    def test_ledgers_in_turn(self) -> None:
        """Entries of several ledgers are found together, in caches and on disk, each as its ledger has it now."""
        for ledger_id in (1, 2, 3):
            self.storage.put_ledger(LedgerRow(ledger_id))
            self.storage.add(run(ledger_id, 0, 10))
        self.disk.resident = lambda: True
        checkpoint(self.storage)
        for ledger_id in (1, 2, 3):
            loaded = self.storage.load(ledger_id, 0, 1)
            assert loaded is not None
            self.storage.keep(loaded, self.storage.epoch)
        self.storage.add(run(2, 5, 1, salt=7))
        self.storage.add(run(4, 5, 1))
        ledger_ids, entry_ids = [1, 2, 3, 4, 1, 9, 2, 3], [5, 5, 5, 5, -1, 5, 6, 10]
        expected = [entry(1, 5), entry(2, 5, salt=7), entry(3, 5), entry(4, 5), None, None, entry(2, 6), None]
        found = self.storage.scattered(ledger_ids, entry_ids, 10_000)
        self.assertEqual(found.entries, expected)
        self.assertEqual((found.cached, found.read, found.read_bytes), (2, 3, 3 * (4 + len(entry(1, 5)))))
        size = len(entry(1, 5))
        for max_bytes, count in ((1, 1), (size, 1), (size + 1, 2), (2 * size, 2)):
            self.assertEqual(self.storage.scattered(ledger_ids, entry_ids, max_bytes).entries, expected[:count])
        self.storage.forget([3], 1)
        self.assertEqual(self.storage.scattered([1, 3], [4, 4], 1000).entries, [entry(1, 4), None])

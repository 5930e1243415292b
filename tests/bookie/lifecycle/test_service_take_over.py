"""Starts on directories that were handed to Apache's bookie."""

from contextlib import nullcontext

from bookkeeper_twisted.bookie.lifecycle.hand_back import HandBack
from bookkeeper_twisted.bookie.lifecycle.settings import journal_settings, storage_settings, store_paths
from bookkeeper_twisted.bookie.lifecycle.store import Store
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import InvalidCookieError, StorageError
from bookkeeper_twisted.storage.apache.exporting import to_databases
from bookkeeper_twisted.storage.apache.ledger_data import encode
from bookkeeper_twisted.storage.interfaces import LedgerRow

from ...simulated_disk.sim_index import SimIndex
from ...simulated_disk.sim_key_values import SimKeyValues
from ..rig import run
from . import test_service


class TakeOverTests(test_service.StepTestCase):
    """A bookie of ours has stopped, and its directories were handed over."""

    def setUp(self) -> None:
        super().setUp()
        service, executor = self.start()
        storage = service._store.storage
        for row in (LedgerRow(1, b"key"), LedgerRow(2, b"key", fenced=True)):
            storage.put_ledger(row)
        storage.add(run(1, 0, 5))
        self.stop(service, executor)
        disk = self.world.disk
        config = BookieConfig(journal_directories=("/j",), ledger_directories=("/l",), journal_pre_alloc_size_mb=1)
        paths = store_paths(config)

        def open_store() -> Store:
            journals, storages = journal_settings(config), storage_settings(config)
            return Store.open(disk, paths, SimIndex.open, 1, b"salt", journals, storages)

        progress = lambda path, total: nullcontext(int)  # noqa: E731
        HandBack(disk, paths, open_store, SimIndex.open, to_databases(SimKeyValues.open), progress).run()

    def names(self) -> set[str]:
        """What is in the ledger directory."""
        return set(self.world.disk.list("/l/current"))

    def test_taken_over(self) -> None:
        """They are refused until they are to be taken over; then all is as it was, and Apache's index is gone."""
        self.refused(InvalidCookieError)
        self.assertTrue({"VERSION", "locations"} <= self.names())
        self.assertNotIn("reserve", self.names())
        self.stop(*self.start(rebuild_index=True))
        self.assertIn("reserve", self.names())
        self.assertIn("IDENTITY", self.names())
        self.assertNotIn("VERSION", self.names())
        self.assertEqual(self.world.disk.list("/l/current/locations"), [])
        service, _ = self.start()
        storage = service._store.storage
        self.assertEqual([storage.ledger(i) for i in (1, 2)], [LedgerRow(1, b"key"), LedgerRow(2, b"key", fenced=True)])
        self.assertEqual(storage.entry_ranges(1), [(0, 4)])

    def test_failed(self) -> None:
        """A take-over that fails leaves everything to Apache's bookie."""
        key, value = encode(LedgerRow(3, b"key"))
        database = SimKeyValues.open(self.world.disk, "/l/current/ledgers", False)
        database.put([(key, value + b"\x28\x01")])  # limbo
        database.close()
        self.refused(StorageError, rebuild_index=True)
        self.assertTrue({"VERSION", "locations", "ledgers"} <= self.names())
        self.assertNotIn("IDENTITY", self.names())
        self.assertIn("CURRENT", self.world.disk.list("/l/current/locations"))

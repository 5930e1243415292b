"""Ledger storages: entry logs with a run index."""

from bookkeeper_twisted.bookie.lifecycle.storages import EntryLogStorageFactory

entry_logs = EntryLogStorageFactory()

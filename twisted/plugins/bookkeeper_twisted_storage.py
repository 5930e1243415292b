"""The plugin for the storage of ledgers: entry logs with a run index (a row for each run of consecutive entries)."""

from bookkeeper_twisted.bookie.lifecycle.storages import EntryLogStorageFactory

entry_logs = EntryLogStorageFactory()

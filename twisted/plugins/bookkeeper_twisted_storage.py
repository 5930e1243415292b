"""Ledger storages: entry logs with a run index."""

from bookkeeper_twisted.bookie.lifecycle.storages import ENTRY_LOGS

entry_logs = ENTRY_LOGS

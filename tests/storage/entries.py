"""Entries and runs for the tests of the engine."""

import struct
from collections.abc import Sequence

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun
from bookkeeper_twisted.storage.interfaces import IndexRow

_HEAD = struct.Struct(">qqqq")


def entry(ledger_id: int, entry_id: int, size: int = 20, salt: int = 0) -> bytes:
    """The bytes of an entry with a payload of ``size`` bytes that tells entry and ``salt``."""
    pattern = bytes(((entry_id * 31 + salt * 101 + i * 7) & 0xFF) for i in range(min(size, 251)))
    payload = (pattern * (size // 251 + 1))[:size]
    return _HEAD.pack(ledger_id, entry_id, entry_id - 1, (entry_id + 1) * size) + payload


def run(ledger_id: int, first: int, count: int = 1, size: int = 20, salt: int = 0) -> EntryRun:
    """Entries ``first .. first + count - 1``, all of one size."""
    return uneven(ledger_id, first, [size] * count, salt)


def uneven(ledger_id: int, first: int, sizes: Sequence[int], salt: int = 0) -> EntryRun:
    """Entries from ``first`` on with payloads of these sizes."""
    entries = [entry(ledger_id, first + i, size, salt) for i, size in enumerate(sizes)]
    return EntryRun.of_entries(ledger_id, first, entries)


def mixed(*runs: EntryRun) -> MixedRun:
    """The entries of the runs, one after the other."""
    ids = [(r.ledger_id, r.first + i) for r in runs for i in range(r.count)]
    entries = [e for r in runs for e in r.entries()]
    return MixedRun([i for i, _ in ids], [e for _, e in ids], [e - 1 for _, e in ids], entries)


def row(ledger_id: int, first: int, last: int, log_id: int = 0, offset: int = 1024, size: int = 56) -> IndexRow:
    """A row of records of one size."""
    return IndexRow(ledger_id, first, last, log_id, offset, size)

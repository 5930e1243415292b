"""A ledger storage in memory, for tests of the code that uses a storage.

Checkpoints write to a :class:`StoredLedgers`, which stands for the disk.  A storage that is opened with it later
has the entries up to the last checkpoint, as after the crash of a process.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs
from zope.interface import implementer

from ..bookie.lifecycle.storages import ILedgerStorageFactory
from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import StorageError
from ..storage.cache.mixed_entries import Scattered
from ..storage.checkpoint import PersistLogMarks
from ..storage.interfaces import (
    ICheckpoint,
    IFileSystem,
    ILedgerStorage,
    IndexFactory,
    JournalPosition,
    LedgerRow,
)
from ..storage.ledger_storage import StorageSettings

Ledgers = dict[int, dict[int, bytes]]
"""The bytes of entries, by ledger id and entry id."""


@attrs.define
class StoredLedgers:
    """The data that the checkpoints of a storage have written; a test can open another storage with this object.

    :ivar entries: the written entries.
    :ivar rows: the written state of each ledger, by its id; also of deleted ledgers that were fenced.
    :ivar log_marks: the log marks that the last checkpoint stored (positions in the journals).
    """

    entries: Ledgers = attrs.field(factory=dict)
    rows: dict[int, LedgerRow] = attrs.field(factory=dict)
    log_marks: Sequence[JournalPosition] = ()


@implementer(ILedgerStorage)
class MemoryLedgerStorage:
    """A ledger storage that keeps entries in memory, for tests of bookies without files.

    :param stored: data that an earlier storage has written; None for an empty storage.
    :param limit: bytes in the write cache at which the storage counts as full.
    :param persist_log_marks: called with the log marks of each checkpoint that was written.
    :ivar fail_write: a function that is called when a checkpoint writes; if it raises an exception, the write fails.
    """

    directories = ()

    def __init__(
        self, stored: StoredLedgers | None = None, limit: int = 1 << 20,
        persist_log_marks: PersistLogMarks = lambda log_marks: None,
    ) -> None:  # fmt: skip
        self.write_cache_hits = self.read_cache_hits = self.cache_misses = self.resident_hits = 0
        self.epoch = 0
        self.stored = StoredLedgers() if stored is None else stored
        self.fail_write: Callable[[], None] = lambda: None
        self._rows = {row.ledger_id: row for row in self.stored.rows.values() if not row.is_gone}
        self._fences = {row.ledger_id: row for row in self.stored.rows.values() if row.is_gone}
        self._active: Ledgers = {}
        self._flushing: Ledgers = {}
        self._deleted: set[int] = set()
        self._limit = limit
        self.persist_log_marks = persist_log_marks
        self._checkpoint: _MemoryCheckpoint | None = None

    # -- reactor --

    def ledger(self, ledger_id: int) -> LedgerRow | None:
        return self._rows.get(ledger_id)

    def put_ledger(self, row: LedgerRow) -> None:
        self._fences.pop(row.ledger_id, None)
        self._rows[row.ledger_id] = row

    def ledger_ids(self) -> list[int]:
        return sorted(self._rows)

    def forget(self, ledger_ids: Sequence[int], now: int) -> None:
        self.epoch += 1
        for ledger_id in ledger_ids:
            row = self._rows.pop(ledger_id, None)
            if row is not None and row.fenced:
                self._fences[ledger_id] = LedgerRow(ledger_id, fenced=True, forgotten_at=max(now, 1))
            for entries in (self._active, self._flushing):
                entries.pop(ledger_id, None)
            self._deleted.add(ledger_id)

    def was_fenced(self, ledger_id: int) -> bool:
        return ledger_id in self._fences

    def forget_fences(self, before: int) -> int:
        expired = [ledger_id for ledger_id, row in self._fences.items() if row.forgotten_at < before]
        for ledger_id in expired:
            del self._fences[ledger_id]
        return len(expired)

    def add(self, entries: Entries) -> None:
        for run in entries.runs():
            entry_ids = range(run.first, run.last + 1)
            self._active.setdefault(run.ledger_id, {}).update(zip(entry_ids, run.entries(), strict=True))

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        in_memory = {**self._flushing.get(ledger_id, {}), **self._active.get(ledger_id, {})}
        found = _run(in_memory, ledger_id, entry_id)
        self.write_cache_hits += found is not None
        self.cache_misses += found is None
        return found

    def resident(self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        return None

    def scattered(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        found = Scattered()
        for ledger_id, entry_id in zip(ledger_ids, entry_ids, strict=True):
            run = self.cached(ledger_id, entry_id)
            found.entries.append(None if run is None else run.entry(entry_id))
            found.cached += run is not None
        return found

    def last_cached(self, ledger_id: int) -> int:
        return max([*self._active.get(ledger_id, ()), *self._flushing.get(ledger_id, ())], default=-1)

    def keep(self, run: EntryRun, epoch: int) -> EntryRun:
        in_memory = self._active.get(run.ledger_id, {}).keys() | self._flushing.get(run.ledger_id, {}).keys()
        newer = min((entry_id for entry_id in in_memory if run.first <= entry_id), default=run.last + 1)
        count = newer - run.first if epoch == self.epoch else 1
        return run.slice(run.first, max(1, min(count, run.count)))

    def pending_bytes(self) -> int:
        return sum(len(entry) for entries in self._active.values() for entry in entries.values())

    def pending_entries(self) -> int:
        return sum(map(len, self._active.values()))

    def read_cache_bytes(self) -> int:
        return 0

    def read_cache_entries(self) -> int:
        return 0

    def entry_count(self) -> int:
        kept = (self._active, self._flushing, self.stored.entries)
        return len({(ledger_id, i) for entries in kept for ledger_id, found in entries.items() for i in found})

    def ledger_count(self) -> int:
        return len(self._rows)

    def undeleted(self) -> int:
        return len(self._deleted)

    def undeleted_ids(self) -> frozenset[int]:
        return frozenset(self._deleted)

    def is_full(self) -> bool:
        return self.pending_bytes() >= self._limit

    def begin_checkpoint(self, log_marks: Sequence[JournalPosition]) -> ICheckpoint | None:
        if self._checkpoint is not None:
            return None
        self._flushing, self._active = self._active, {}
        self._checkpoint = checkpoint = _MemoryCheckpoint(self, log_marks)
        return checkpoint

    # -- threads --

    def write_flushing(self) -> None:
        """Write the entries and ledger states of the checkpoint in progress to :attr:`stored`."""
        self.fail_write()
        for ledger_id in self._deleted:
            self.stored.entries.pop(ledger_id, None)
        self._deleted.clear()
        for ledger_id, entries in self._flushing.items():
            self.stored.entries.setdefault(ledger_id, {}).update(entries)
        self.stored.rows = {**self._fences, **self._rows}

    def end_checkpoint(self, written: bool) -> None:
        """If the entries of the checkpoint were written, remove them from the write cache.

        Otherwise keep them for the next checkpoint, except where a newer copy exists.
        """
        self._checkpoint = None
        self.epoch += 1
        if not written:
            for ledger_id, entries in self._flushing.items():
                self._active[ledger_id] = {**entries, **self._active.get(ledger_id, {})}
        self._flushing = {}

    def load(self, ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        return _run(self._on_disk(ledger_id), ledger_id, entry_id, max_bytes)

    def last_entry(self, ledger_id: int) -> int:
        return max(self._on_disk(ledger_id), default=-1)

    def entry_ranges(self, ledger_id: int) -> list[tuple[int, int]]:
        everything = {*self._on_disk(ledger_id), *self._flushing.get(ledger_id, ()), *self._active.get(ledger_id, ())}
        ranges: list[tuple[int, int]] = []
        for entry_id in sorted(everything):
            if ranges and ranges[-1][1] == entry_id - 1:
                ranges[-1] = ranges[-1][0], entry_id
            else:
                ranges.append((entry_id, entry_id))
        return ranges

    def _on_disk(self, ledger_id: int) -> Mapping[int, bytes]:
        return {} if ledger_id in self._deleted else self.stored.entries.get(ledger_id, {})

    def close(self) -> None:
        """Do nothing: there is no file to close."""


@implementer(ILedgerStorageFactory)
@attrs.define
class MemoryStorageFactory:
    """A factory of storages in memory that share one :class:`StoredLedgers`.

    :ivar opened: the storages that this factory has opened.
    """

    names: frozenset[str] = frozenset({"memory"})
    stored: StoredLedgers = attrs.field(factory=StoredLedgers)
    opened: list[MemoryLedgerStorage] = attrs.field(factory=list)

    def open(
        self, fs: IFileSystem, ledger_dirs: Sequence[str], index_dirs: Sequence[str], settings: StorageSettings,
        make_index: IndexFactory, persist_log_marks: PersistLogMarks,
    ) -> ILedgerStorage:  # fmt: skip
        """Open a storage in memory with the ledgers in :attr:`stored`, and append it to :attr:`opened`."""
        self.opened.append(MemoryLedgerStorage(self.stored, settings.write_cache_bytes, persist_log_marks))
        return self.opened[-1]


@implementer(ICheckpoint)
class _MemoryCheckpoint:
    paths = ("memory",)

    def __init__(self, storage: MemoryLedgerStorage, log_marks: Sequence[JournalPosition]) -> None:
        self._storage = storage
        self._log_marks = tuple(log_marks)
        self._written = False

    def write(self, directory: int) -> None:
        self._storage.write_flushing()
        self._written = True

    def persist_log_marks(self) -> None:
        if not self._written:
            raise StorageError("nothing was written")
        self._storage.persist_log_marks(self._log_marks)
        self._storage.stored.log_marks = self._log_marks

    def finish(self) -> None:
        self._storage.end_checkpoint(self._written)


def _run(entries: Mapping[int, bytes], ledger_id: int, entry_id: int, max_bytes: int | None = None) -> EntryRun | None:
    """Return consecutive entries from ``entry_id`` on, at least one; None if the entry ``entry_id`` is missing."""
    found: list[bytes] = []
    size = 0
    while (entry := entries.get(entry_id + len(found))) is not None:
        size += len(entry) + 4
        if found and max_bytes is not None and size > max_bytes:
            break
        found.append(entry)
    return EntryRun.of_entries(ledger_id, entry_id, found) if found else None

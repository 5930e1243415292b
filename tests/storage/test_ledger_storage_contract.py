"""The ledger storage passes the contract of ledger storages, on the simulated disk."""

import errno
from collections.abc import Callable
from typing import Any

from bookkeeper_twisted.storage.index import rows
from bookkeeper_twisted.storage.interfaces import ICheckpoint, IndexBatch, JournalPosition
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from bookkeeper_twisted.testing.contracts import ledger_storage_contract
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk
from bookkeeper_twisted.testing.disk.sim_index import SimIndex

from .ledger_storages import Marks, compact, make_directories, open_storage


class LedgerStorageTests(ledger_storage_contract.LedgerStorageContract):
    """The contract on it, with two directories."""

    def setUp(self) -> None:
        self.disk: Any = make_directories(SimDisk())
        self.written = Marks()
        self.failing = False
        self.storage = open_storage(self.disk, self.written.persist)
        self.disk.fail(errno.EIO, when=lambda op: self.failing and op.name == "pwrite", times=1 << 30)

    def reopen(self) -> LedgerStorage:
        self.storage.close()
        return open_storage(self.disk, self.written.persist)

    def compact(self) -> Callable[[], None]:
        return compact(self.disk, self.storage)

    def while_writing(self, look: Callable[[], None], begun: ICheckpoint) -> None:
        """It looks before each operation of the disk, and when an index has committed what memory does not know."""
        commit = SimIndex.commit

        def committing(index: SimIndex, batch: IndexBatch) -> None:
            commit(index, batch)
            look()

        self.patch(SimIndex, "commit", committing)
        self.disk.observer = lambda operation: look()
        try:
            self.write(begun)
        finally:
            self.disk.observer = None
            self.patch(SimIndex, "commit", commit)

    def fail_writes(self, failing: bool) -> None:
        self.failing = failing

    def marks(self) -> tuple[JournalPosition, ...]:
        return self.written.written[-1]


class PageCacheTests(LedgerStorageTests):
    """The contract on one whose file system tells what memory holds, which is everything, and that packs its rows."""

    def setUp(self) -> None:
        super().setUp()
        self.disk.resident = lambda: True
        self.patch(rows, "MANY_ROWS", 2)

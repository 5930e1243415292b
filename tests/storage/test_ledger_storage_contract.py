"""The ledger storage passes the contract of ledger storages, on the simulated disk."""

import errno
from typing import Any

from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage
from bookkeeper_twisted.testing.contracts import ledger_storage_contract
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

from .ledger_storages import Marks, make_directories, open_storage


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

    def fail_writes(self, failing: bool) -> None:
        self.failing = failing

    def marks(self) -> tuple[JournalPosition, ...]:
        return self.written.written[-1]

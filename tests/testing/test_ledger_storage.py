"""The storage of dictionaries passes the contract of ledger storages."""

from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.testing.contracts import ledger_storage_contract
from bookkeeper_twisted.testing.ledger_storage import MemoryLedgerStorage


class MemoryLedgerStorageTests(ledger_storage_contract.LedgerStorageContract):
    """The contract on it."""

    def setUp(self) -> None:
        self.storage = MemoryLedgerStorage()

    def reopen(self) -> MemoryLedgerStorage:
        return MemoryLedgerStorage(self.storage.stored)

    def fail_writes(self, failing: bool) -> None:
        def fail() -> None:
            if failing:
                raise StorageError("the disk is full")

        self.storage.fail_write = fail

    def log_marks(self) -> tuple[JournalPosition, ...]:
        return tuple(self.storage.stored.log_marks)

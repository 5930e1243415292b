"""The contract of ledger storages notices one that breaks it."""

import unittest
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import StorageError
from bookkeeper_twisted.storage.interfaces import JournalPosition
from bookkeeper_twisted.testing.contracts import ledger_storage_contract
from bookkeeper_twisted.testing.ledger_storage import MemoryLedgerStorage


class _Careless(MemoryLedgerStorage):
    """Drops what it could not write."""

    def end_checkpoint(self, written: bool) -> None:
        super().end_checkpoint(True)


class _Generous(MemoryLedgerStorage):
    """Loads without a limit."""

    def load(self, ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        return super().load(ledger_id, entry_id, 1 << 30)


class _Unfenced(MemoryLedgerStorage):
    """Forgets the fence with the ledger."""

    def forget(self, ledger_ids: Sequence[int], now: int) -> None:
        super().forget(ledger_ids, now)
        self._fences.clear()


class _Hasty(MemoryLedgerStorage):
    """Takes what was loaded for the newest copies."""

    def keep(self, run: EntryRun, epoch: int) -> EntryRun:
        return run


def _failures(kind: type[MemoryLedgerStorage]) -> set[str]:
    class Case(ledger_storage_contract.LedgerStorageContract):
        def setUp(self) -> None:
            self.storage = kind()

        def reopen(self) -> Any:
            return kind(self.storage.stored)

        def fail_writes(self, failing: bool) -> None:
            def fail() -> None:
                if failing:
                    raise StorageError("full")

            self.storage.fail_write = fail

        def log_marks(self) -> tuple[JournalPosition, ...]:
            return tuple(self.storage.stored.log_marks)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken storages."""

    def test_broken(self) -> None:
        """Lost entries, loads without a limit, lost fences and older copies are found; the storage as it is passes."""
        self.assertEqual(_failures(MemoryLedgerStorage), set())
        self.assertEqual(_failures(_Careless), {"test_failed_write", "test_newest_copies"})
        self.assertEqual(_failures(_Generous), {"test_load"})
        self.assertEqual(_failures(_Unfenced), {"test_forget"})
        self.assertEqual(_failures(_Hasty), {"test_newest_copies"})

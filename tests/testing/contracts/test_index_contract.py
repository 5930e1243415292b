"""The contract of the run index notices an index that breaks it."""

import unittest

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.interfaces import IndexBatch, IndexRow, IRunIndex
from bookkeeper_twisted.testing.contracts import index_contract

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex


class _OldestWins(SimIndex):
    """A row never replaces one that is there."""

    def commit(self, batch: IndexBatch) -> None:
        runs = [row for row in batch.runs if self.find(row.ledger_id, row.first) is None]
        super().commit(attrs.evolve(batch, runs=runs))


class _Forgetful(SimIndex):
    """Does not know the last entry of a row."""

    def find(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        row = super().find(ledger_id, entry_id)
        return row if row is not None and row.last > entry_id else None


def _failures(kind: type[SimIndex], *names: str) -> set[str]:
    """The tests of the contract an index does not pass; all are tried if none is named."""

    class Case(index_contract.RunIndexContract):
        def make(self) -> IRunIndex:
            self.disk = SimDisk()
            return kind.open(self.disk, "/")

        def reopen(self, index: IRunIndex) -> IRunIndex:
            return kind.open(self.disk, "/")

    result = unittest.TestResult()
    for name in names or unittest.defaultTestLoader.getTestCaseNames(Case):
        Case(name).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken indexes."""

    def test_good(self) -> None:
        """The index as it is passes."""
        self.assertEqual(_failures(SimIndex), set())

    def test_broken(self) -> None:
        """Wrong overlaps and lost entries are found, by the tests that are about them."""
        wrong_overlaps = {"test_newest_wins", "test_split"}
        self.assertEqual(_failures(_OldestWins, *wrong_overlaps), wrong_overlaps)
        self.assertEqual(_failures(_Forgetful, "test_find"), {"test_find"})

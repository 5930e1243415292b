"""The contract of ordered maps notices providers that break it."""

import unittest
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.apache.interfaces import IKeyValues, Pair
from bookkeeper_twisted.testing.contracts import key_values_contract

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_key_values import SimKeyValues


class _Unsorted(SimKeyValues):
    """Gives the pairs backwards."""

    def items(self, first: bytes = b"") -> Iterator[Pair]:
        return reversed([*super().items(first)])


class _Whole(SimKeyValues):
    """Gives all pairs, wherever to begin."""

    def items(self, first: bytes = b"") -> Iterator[Pair]:
        return super().items()


def _failures(kind: type[SimKeyValues]) -> set[str]:
    class Case(key_values_contract.KeyValuesContract):
        def setUp(self) -> None:
            self.disk = SimDisk()

        def open(self, name: str, create: bool) -> IKeyValues:
            return kind.open(self.disk, f"/{name}", create)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {failed.id().rpartition(".")[2] for failed, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """The suite, run on good and bad providers."""

    def test_broken(self) -> None:
        """Pairs out of order, and pairs before the first that was wanted, are found."""
        self.assertEqual(_failures(SimKeyValues), set())
        self.assertEqual(_failures(_Unsorted), {"test_flushed", "test_more_than_a_page", "test_order", "test_locked"})
        self.assertEqual(_failures(_Whole), {"test_more_than_a_page", "test_order"})

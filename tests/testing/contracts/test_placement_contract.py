"""The contract of placement policies notices one that breaks it."""

import unittest
from collections.abc import Sequence
from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.ledger.placement import Candidates
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.testing.contracts import placement_contract


class _Careless(RandomPlacement):
    """Looks at no exclusions."""

    def new_ensemble(self, size: int, write_quorum: int, candidates: Candidates, custom_metadata: Any = None) -> Any:
        return super().new_ensemble(size, write_quorum, Candidates(candidates.writable))


class _Faithful(RandomPlacement):
    """Replaces a bookie by itself."""

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Any = None,
    ) -> str:  # fmt: skip
        return ensemble[position]


class _Stubborn(RandomPlacement):
    """Always chooses the same."""

    def new_ensemble(self, size: int, write_quorum: int, candidates: Candidates, custom_metadata: Any = None) -> Any:
        return sorted(candidates.writable)[:size]


def _failures(kind: type[RandomPlacement]) -> set[str]:
    class Case(placement_contract.PlacementContract):
        def make(self) -> RandomPlacement:
            return kind(Random(1))

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken policies."""

    def test_broken(self) -> None:
        """Exclusions that do not count, substitutes that are none and bookies never chosen are found."""
        self.assertEqual(_failures(RandomPlacement), set())
        self.assertEqual(_failures(_Careless), {"test_excluded", "test_not_enough"})
        self.assertEqual(_failures(_Faithful), {"test_replace", "test_nobody_to_replace"})
        self.assertIn("test_spread", _failures(_Stubborn))

"""The contracts of placement policies and of resolvers of racks notice one that breaks them."""

import unittest
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.ledger.placement import Candidates
from bookkeeper_twisted.placement.racks import IRackResolver
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


@implementer(IRackResolver)
class _Racks:
    """Keeps to the contract."""

    version = 0

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        return dict.fromkeys(hosts, "/r1")


class _Generous(_Racks):
    """Answers what was not asked."""

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        return dict.fromkeys(placement_contract.BOOKIES, "/r1")


class _Slashless(_Racks):
    """Has racks that are no paths."""

    async def racks(self, hosts: Sequence[str]) -> Mapping[str, str]:
        return dict.fromkeys(hosts, "r1")


def _failures(kind: type[RandomPlacement]) -> set[str]:
    class Case(placement_contract.PlacementContract):
        def make(self) -> RandomPlacement:
            return kind(Random(1))

    return _failed(Case)


def _rack_failures(kind: type[_Racks]) -> set[str]:
    class Case(placement_contract.RackResolverContract):
        def make(self) -> _Racks:
            return kind()

    return _failed(Case)


def _failed(case: type[SynchronousTestCase]) -> set[str]:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return {failed.id().rpartition(".")[2] for failed, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken policies."""

    def test_broken(self) -> None:
        """Exclusions that do not count, substitutes that are none and bookies never chosen are found."""
        self.assertEqual(_failures(RandomPlacement), set())
        self.assertEqual(_failures(_Careless), {"test_excluded", "test_not_enough"})
        self.assertEqual(_failures(_Faithful), {"test_replace", "test_nobody_to_replace"})
        self.assertIn("test_spread", _failures(_Stubborn))

    def test_broken_racks(self) -> None:
        """Racks that nobody asked for, and racks that are no paths, are found."""
        self.assertEqual(_rack_failures(_Racks), set())
        self.assertEqual(_rack_failures(_Generous), {"test_racks", "test_nobody"})
        self.assertEqual(_rack_failures(_Slashless), {"test_racks"})

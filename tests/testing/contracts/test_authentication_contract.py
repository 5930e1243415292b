"""The contract of authentication plugins notices one that breaks it."""

import unittest
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.authentication import TokenAuthentication
from bookkeeper_twisted.testing.contracts import authentication_contract


class _Shared(TokenAuthentication):
    """Has one exchange for all connections."""

    _one: Any = None

    def bookie_exchange(self, peer: Any) -> Any:
        if _Shared._one is None:
            _Shared._one = super().bookie_exchange(peer)
        return _Shared._one


def _failures(kind: Any, **options: Any) -> set[str]:
    class Case(authentication_contract.AuthenticationContract):
        def make(self) -> Any:
            return kind(**options)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken plugins."""

    def test_broken(self) -> None:
        """An exchange that never ends, and one that is shared, are found; the plugin as it is passes."""
        self.assertEqual(_failures(TokenAuthentication), set())
        self.assertEqual(_failures(TokenAuthentication, admits=False), {"test_exchange", "test_connections"})
        self.assertEqual(_failures(TokenAuthentication, rounds=1000), {"test_exchange", "test_connections"})
        self.assertIn("test_connections", _failures(_Shared))

"""The contract of authorizer plugins notices one that breaks it."""

import unittest
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.authorization import FakeAuthorizer
from bookkeeper_twisted.testing.contracts import authorization_contract


class _Fickle(FakeAuthorizer):
    """Answers otherwise each time."""

    def decide(self, principal: Any, action: Any, ledger_id: Any) -> bool:
        super().decide(principal, action, ledger_id)
        return len(self.asked) % 3 == 0


class _Vague(FakeAuthorizer):
    """Answers nothing in particular."""

    def decide(self, principal: Any, action: Any, ledger_id: Any) -> Any:
        return None


class _Shared(FakeAuthorizer):
    """Has one wait for all that ask."""

    def decide(self, principal: Any, action: Any, ledger_id: Any) -> Any:
        if not self.waiting:
            self.is_late = ledger_id in (77, 78)
            return super().decide(principal, action, ledger_id)
        return self.waiting[0][0]

    def _forget(self, cancelled: "Deferred[bool]") -> None:
        """Keep it."""


class _Endless(FakeAuthorizer):
    """Does not end its waits."""

    is_late = True

    def decide(self, principal: Any, action: Any, ledger_id: Any) -> Any:
        return Deferred() if ledger_id == 78 else True


def _failures(kind: Any) -> set[str]:
    class Case(authorization_contract.AuthorizationContract):
        def make(self) -> Any:
            return kind()

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken authorizers."""

    def test_broken(self) -> None:
        """Each breach is found by the test that is for it; the authorizer as it is passes."""
        self.assertEqual(_failures(FakeAuthorizer), set())
        self.assertIn("test_same_answers", _failures(_Fickle))
        self.assertIn("test_same_answers", _failures(_Vague))
        self.assertIn("test_cancel", _failures(_Shared))
        self.assertEqual(_failures(_Endless), {"test_stop"})

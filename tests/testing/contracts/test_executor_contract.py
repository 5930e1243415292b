"""The contract of executors notices an executor that breaks it."""

import unittest
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.contracts import executor_contract
from bookkeeper_twisted.testing.executor import StepExecutor


class _Backwards(StepExecutor):
    """Runs the newest work first."""

    def run_one(self, thread: str | None = None) -> bool:
        self.queued.reverse()
        ran = super().run_one(thread)
        self.queued.reverse()
        return ran


class _Hasty(StepExecutor):
    """Takes work although it was stopped."""

    def submit(self, thread: str, work: Callable[..., Any], *args: Any) -> "Deferred[Any]":
        self._stopped = False
        return super().submit(thread, work, *args)


def _failures(kind: type[StepExecutor]) -> set[str]:
    class Case(executor_contract.ExecutorContract):
        def make(self) -> StepExecutor:
            return kind()

        def settle(self, executor: Any) -> None:
            executor.drain()

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken executors."""

    def test_good(self) -> None:
        """The executor as it is passes."""
        self.assertEqual(_failures(StepExecutor), set())

    def test_broken(self) -> None:
        """A wrong order and work after the stop are found."""
        self.assertIn("test_order_in_a_thread", _failures(_Backwards))
        self.assertIn("test_stop", _failures(_Hasty))

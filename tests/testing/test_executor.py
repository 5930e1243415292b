"""The executor that runs work step by step, without threads."""

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.contracts import executor_contract
from bookkeeper_twisted.testing.executor import StepExecutor


class StepExecutorContractTests(executor_contract.ExecutorContract):
    """The contract, step by step."""

    def make(self) -> StepExecutor:
        return StepExecutor()

    def settle(self, executor: Any) -> None:
        executor.drain()


class StepTests(SynchronousTestCase):
    """What a test can do with it."""

    def setUp(self) -> None:
        self.executor = StepExecutor()
        self.seen: list[str] = []

    def test_one_step(self) -> None:
        """A step runs one piece of work and delivers its result."""
        for name in ("a", "b"):
            self.executor.submit("flush", str, name).addCallback(self.seen.append)
        self.assertEqual(self.seen, [])
        self.executor.step()
        self.assertEqual(self.seen, ["a"])
        self.assertEqual(self.executor.busy_threads(), ["flush"])

    def test_work_without_an_end(self) -> None:
        """Work that always leads to more of it is an error, not a test that hangs."""

        def again(_: object = None) -> None:
            self.executor.submit("flush", int).addCallback(again)

        again()
        self.assertRaises(AssertionError, self.executor.drain)

    def test_step_of_a_thread(self) -> None:
        """A step of a thread passes work of other threads by."""
        self.executor.submit("flush", str, "a").addCallback(self.seen.append)
        self.executor.submit("read", str, "b").addCallback(self.seen.append)
        self.assertTrue(self.executor.step("read"))
        self.assertFalse(self.executor.step("read"))
        self.assertEqual(self.seen, ["b"])

    def test_end_of_a_turn(self) -> None:
        """Before work is run or listed, the turn of its submitter ends: calls that are due are made."""
        clock = Clock()
        executor = StepExecutor(clock)
        clock.callLater(0, lambda: executor.submit("flush", str, "a").addCallback(self.seen.append))
        clock.callLater(0.1, self.fail)
        self.assertEqual(executor.busy_threads(), ["flush"])
        clock.callLater(0, lambda: executor.submit("flush", str, "b").addCallback(self.seen.append))
        executor.drain()
        self.assertEqual(self.seen, ["a", "b"])

    def test_work_without_delivery(self) -> None:
        """Work can have run while the reactor does not know it yet."""
        self.executor.submit("flush", str, "a").addCallback(self.seen.append)
        self.executor.run_one()
        self.assertEqual(self.seen, [])
        self.executor.deliver()
        self.assertEqual(self.seen, ["a"])

"""The suite for bookie clients notices a provider that breaks the contract."""

from unittest import TestResult

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.contracts import bookie_client_contract as contract


class _Forgetful(MemoryBookies):
    """Answers the first entry of each run only."""

    def add(self, bookie_id, adds, done, fresh=False):
        super().add(bookie_id, adds, lambda name, indexes, error: done(name, indexes[:1], error))


class _Careless(MemoryBookies):
    """Knows no fences."""

    def add(self, bookie_id, adds, done, fresh=False):
        self[bookie_id].fenced.clear()
        super().add(bookie_id, adds, done, fresh)


class SuiteTests(SynchronousTestCase):
    """Providers with one fault each."""

    def _failures(self, provider: type[MemoryBookies], test: str) -> int:
        class Suite(contract.BookieClientContract):
            bookie_id = "b1"

            def setUp(self) -> None:
                self.clock = Clock()
                self.client = provider(self.clock)

            def settle(self) -> None:
                self.clock.advance(0)

        result = TestResult()
        Suite(test).run(result)
        return len(result.failures) + len(result.errors)

    def test_good(self) -> None:
        """A provider without a fault passes."""
        self.assertEqual(self._failures(MemoryBookies, "test_add_and_read"), 0)
        self.assertEqual(self._failures(MemoryBookies, "test_fence"), 0)

    def test_lost_answers(self) -> None:
        """A provider that does not answer for every entry is found."""
        self.assertEqual(self._failures(_Forgetful, "test_add_and_read"), 1)

    def test_no_fence(self) -> None:
        """A provider that adds to a fenced ledger is found (S3)."""
        self.assertEqual(self._failures(_Careless, "test_fence"), 1)

"""The suite on metadata drivers notices drivers that are wrong: bugs planted in the one in memory."""

from collections.abc import Callable
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.reporter import TestResult
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.metadata.embedded.workers import InlineWorker
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests

Session = Callable[[MemoryStore], MemorySession]


def failing_tests(session: Session, *names: str) -> set[str]:
    """Those of the named tests of the suite that fail on drivers with such sessions."""

    def make_store(test: TestCase) -> Callable[[Clock], Any]:
        store = MemoryStore()
        return lambda clock: EmbeddedDriver(clock, "memory:", session(store), InlineWorker())

    suite = make_metadata_driver_tests(make_store)
    failed = set()
    for name in names:
        result = TestResult()
        suite(name).run(result)
        if not result.wasSuccessful():
            failed.add(name)
    return failed


class _Silent(MemorySession):
    """Reports changes to no session, not even its own."""

    def revision(self) -> object:
        return 0


class _Undead(MemorySession):
    """Keeps its bookies when it is closed."""

    def close(self) -> None:
        self._shared.sessions.pop(self, None)


class PlantedWatchBugTests(SynchronousTestCase):
    """Watches, and the end of sessions."""

    def test_good(self) -> None:
        """Without a bug nothing fails."""
        names = ("test_ledger", "test_data_outlives_drivers", "test_close")
        self.assertEqual(failing_tests(MemorySession, *names), set())

    def test_silent_store(self) -> None:
        """A driver that misses changes of ledgers fails."""
        self.assertEqual(failing_tests(_Silent, "test_ledger"), {"test_ledger"})

    def test_registrations_outlive_the_session(self) -> None:
        """A driver whose bookies stay after its end fails."""
        names = {"test_bookies", "test_data_outlives_drivers", "test_end_of_session"}
        self.assertEqual(failing_tests(_Undead, *names), names)

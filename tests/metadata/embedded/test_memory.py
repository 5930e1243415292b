"""The driver in memory passes the suite; stores are shared or private."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.testing.contracts.metadata_contract import make_metadata_driver_tests
from bookkeeper_twisted.testing.contracts.metadata_suites import OPEN


def _make_store(test: TestCase) -> Callable[[Clock], EmbeddedDriver]:
    return MemoryStore().driver


class MemoryDriverTests(make_metadata_driver_tests(_make_store)):  # type: ignore[misc]
    """The contract."""


class MemoryStoreTests(SynchronousTestCase):
    """:class:`MemoryStore`."""

    def test_stores_are_apart(self) -> None:
        """Drivers of two stores see nothing of each other."""
        clock = Clock()
        one, two = MemoryStore().driver(clock), MemoryStore().driver(clock)
        for driver in (one, two):
            self.successResultOf(Deferred.fromCoroutine(driver.open()))
        self.successResultOf(Deferred.fromCoroutine(one.ledgers.create(1, OPEN)))
        self.successResultOf(Deferred.fromCoroutine(two.ledgers.create(1, OPEN)))

    def test_instance_id(self) -> None:
        """A store can be given the id of its cluster."""
        driver = MemoryStore("mine").driver(Clock())
        self.successResultOf(Deferred.fromCoroutine(driver.open()))
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(driver.registration.instance_id())), "mine")

"""The driver in memory passes the suite; stores are shared or private."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.embedded.driver import EmbeddedDriver
from bookkeeper_twisted.metadata.embedded.memory import MemorySession, MemoryStore
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN


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


class MemorySessionTests(SynchronousTestCase):
    """:class:`MemorySession`."""

    def setUp(self) -> None:
        """One session."""
        self.store = MemoryStore()
        self.session = MemorySession(self.store)
        self.calls: list[str] = []
        self.session.open(lambda: self.calls.append("changed"), self._expired)

    def _expired(self) -> None:
        self.assertRaises(MetadataError, self.session.lock_ledger, 5, "host")
        self.calls.append("expired")

    def test_ended(self) -> None:
        """A session that has ended takes nothing that only its end would remove."""
        self.session.close()
        self.assertRaises(MetadataError, self.session.register, "a:1", False, b"")
        self.assertRaises(MetadataError, self.session.lock_ledger, 5, "host")
        self.assertRaises(MetadataError, self.session.vote, "a:1")
        self.assertEqual((self.store.bookies, self.store.locks, self.store.votes), ({}, {}, {}))

    def test_expired(self) -> None:
        """A session that expires loses what it held, is told before the next one begins, and that one holds nothing."""
        self.session.register("a:1", False, b"")
        self.session.lock_ledger(5, "host")
        self.calls.clear()
        self.session.expire()
        self.assertEqual((self.store.bookies, self.store.locks, self.calls), ({}, {}, ["expired", "changed"]))
        self.assertTrue(self.session.lock_ledger(5, "host"))

"""The metadata store that is far away passes the suite of all drivers, and misbehaves as it is told."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bookkeeper_twisted.errors import MetadataError, MetadataVersionError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import CLOSED, INFO, OPEN

from . import MetadataFaults, SimMetadata, stream
from .metadata import SimDriver


def _make_store(test: TestCase) -> Callable[[Clock], SimDriver]:
    return SimMetadata(stream(1, "metadata")).driver


def _append(order: list[int], number: int, _: object) -> None:
    order.append(number)


class SimMetadataContractTests(make_metadata_driver_tests(_make_store)):  # type: ignore[misc]
    """The contract, of a store without faults."""


class SimMetadataTests(SynchronousTestCase):
    """Faults."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.metadata = SimMetadata(stream(1, "metadata"))
        self.faults = self.metadata.faults
        self.driver = self.open()

    def open(self) -> SimDriver:
        driver = self.metadata.driver(self.clock)
        self.successResultOf(self.run_(driver.open()))
        return driver

    def run_(self, work: Any) -> "Deferred[Any]":
        return Deferred.fromCoroutine(work)

    def create(self) -> Versioned[Any]:
        created: Versioned[Any] = self.successResultOf(self.run_(self.driver.ledgers.create(1, OPEN)))
        return created

    def test_expiry_ends_the_office(self) -> None:
        """An auditor whose session expires is out of office, and stands again in the next one."""
        elected: list[bool] = []
        self.driver.auditing.stand("a:1", elected.append)
        self.clock.pump([0.25] * 8)
        self.driver.expire()
        self.clock.pump([0.25] * 40)
        self.assertEqual(elected, [True, False, True])

    def test_lock_of_an_ended_session(self) -> None:
        """A session that has ended takes no lock, which nothing would end; the next one does."""
        self.driver.expire()
        self.failureResultOf(self.run_(self.driver.underreplication.lock(1, "a")), MetadataError)
        self.assertEqual(self.metadata.store.locks, {})
        self.clock.pump([0.25] * 8)
        self.successResultOf(self.run_(self.driver.underreplication.lock(1, "a")))
        self.driver.vanish()
        self.assertEqual(self.metadata.store.locks, {})

    def test_calls_of_an_ended_session(self) -> None:
        """What was asked for in a session that ends meanwhile fails, and changes nothing in the next one."""
        self.faults.delay = 2.0
        late = self.run_(self.driver.ledgers.create(7, OPEN))
        lost: list[int] = []
        self.driver.underreplication.watch_lost_locks(lambda: lost.append(len(self.metadata.store.sessions)))
        self.driver.expire()
        self.clock.pump([0.25] * 400)
        self.failureResultOf(late, MetadataError)
        self.assertEqual((lost, list(self.metadata.store.ledgers)), ([0], []))

    def test_votes_without_an_answer(self) -> None:
        """A candidate whose calls fail half of the time votes once in the end."""
        self.faults.lost = 0.5
        elected: list[bool] = []
        self.driver.auditing.stand("a:1", elected.append)
        self.clock.pump([0.25] * 400)
        self.assertEqual((elected[-1], len(self.metadata.store.votes)), (True, 1))

    def test_delay(self) -> None:
        """Calls take time, and those of one session are answered in their order."""
        self.create()
        self.faults.delay = 1.0
        order: list[int] = []
        for number in range(20):
            self.run_(self.driver.ledgers.read(1)).addCallback(partial(_append, order, number))
        self.assertEqual(order, [])
        self.clock.pump([0.1] * 2000)
        self.assertEqual(order, list(range(20)))

    def test_unknown_outcome(self) -> None:
        """A lost call fails; its change may have been applied, or not."""
        self.faults.lost = 1.0
        for ledger_id in range(40):
            failed = self.run_(self.driver.ledgers.create(ledger_id, OPEN))
            self.failureResultOf(failed, MetadataError)
        self.faults.heal()
        n_applied = len(self.metadata.store.ledgers)
        self.assertTrue(0 < n_applied < 40, n_applied)
        self.assertEqual(self.metadata.lost, 40)

    def test_compare_and_set(self) -> None:
        """Whatever is lost or stale, a write on an old version is refused."""
        created = self.create()
        self.successResultOf(self.run_(self.driver.ledgers.write(1, CLOSED, created.version)))
        self.faults.stale = 1.0
        stale = self.successResultOf(self.run_(self.driver.ledgers.read(1)))
        self.assertEqual(stale, created)
        written = self.run_(self.driver.ledgers.write(1, OPEN, stale.version))
        self.failureResultOf(written, MetadataVersionError)

    def test_stale_until_it_syncs(self) -> None:
        """A session that has synced sees what was written before, and may be behind later changes again."""
        created = self.create()
        closed = self.successResultOf(self.run_(self.driver.ledgers.write(1, CLOSED, created.version)))
        self.faults.stale = 1.0
        other = self.open()
        self.successResultOf(self.run_(other.ledgers.sync()))
        self.assertEqual(self.successResultOf(self.run_(other.ledgers.read(1))), closed)
        self.assertEqual(self.successResultOf(self.run_(self.driver.ledgers.read(1))), created)
        self.successResultOf(self.run_(self.driver.ledgers.write(1, OPEN, closed.version)))
        self.assertEqual(self.successResultOf(self.run_(other.ledgers.read(1))), closed)

    def test_sync_fails(self) -> None:
        """A sync that is lost fails, and the session stays behind."""
        created = self.create()
        self.successResultOf(self.run_(self.driver.ledgers.write(1, CLOSED, created.version)))
        self.faults.stale, self.faults.down = 1.0, True
        self.failureResultOf(self.run_(self.driver.ledgers.sync()), MetadataError)
        self.faults.down = False
        self.assertEqual(self.successResultOf(self.run_(self.driver.ledgers.read(1))), created)

    def test_stale_watch(self) -> None:
        """A watcher that was given a stale value gets the new one in the end."""
        created = self.create()
        told: list[Any] = []
        self.driver.ledgers.watch(1, told.append)
        self.clock.advance(0)
        self.faults.stale = 1.0
        written = self.successResultOf(self.run_(self.driver.ledgers.write(1, CLOSED, 0)))
        self.clock.advance(0)
        self.assertEqual(told, [created])
        self.faults.heal()
        self.clock.pump([0.5] * 5)
        self.assertEqual(told, [created, written])

    def test_down(self) -> None:
        """A store that is down does not answer."""
        self.faults.down = True
        self.failureResultOf(self.run_(self.driver.ledgers.read(1)), MetadataError)

    def test_late_watches(self) -> None:
        """Watchers are called late."""
        self.create()
        told: list[Any] = []
        self.driver.ledgers.watch(1, told.append)
        self.clock.advance(0)
        del told[:]
        self.faults.watch_delay = 100.0
        other = self.open()
        self.clock.advance(10_000)
        self.successResultOf(self.run_(other.ledgers.write(1, CLOSED, 0)))
        self.clock.advance(0.01)
        self.assertEqual(told, [])
        self.clock.pump([10.0] * 1000)
        self.assertEqual([news.value for news in told], [CLOSED])

    def test_expiry(self) -> None:
        """What was registered goes with the session, and is registered again in the next one."""
        registration = self.driver.registration
        self.successResultOf(self.run_(registration.register_bookie("a:1", False, INFO)))
        self.driver.expire()
        other = self.open()
        self.assertEqual(self.successResultOf(self.run_(other.registration.writable_bookies())), set())
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(self.run_(other.registration.writable_bookies())), {"a:1"})

    def test_vanished(self) -> None:
        """The registration of a dead process goes for good."""
        self.successResultOf(self.run_(self.driver.registration.register_bookie("a:1", False, INFO)))
        self.driver.vanish()
        self.clock.advance(100)
        self.assertEqual(self.metadata.store.bookies, {})

    def test_observer(self) -> None:
        """Every change of a ledger is seen as it happens."""
        seen: list[Any] = []
        self.metadata.observe(lambda ledger_id, stored: seen.append((ledger_id, stored and stored.version)))
        self.create()
        self.successResultOf(self.run_(self.driver.ledgers.write(1, CLOSED, 0)))
        self.successResultOf(self.run_(self.driver.ledgers.remove(1)))
        self.assertEqual(seen, [(1, 0), (1, 1), (1, None)])

    def test_heal(self) -> None:
        """Healing ends what is wrong; delays stay."""
        faults = MetadataFaults(1.0, 0.5, 0.5, 2.0, True)
        faults.heal()
        self.assertEqual(faults, attrs.evolve(MetadataFaults(), delay=1.0, watch_delay=2.0))

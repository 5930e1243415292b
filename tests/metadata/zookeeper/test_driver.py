"""The driver on a ZooKeeper in memory passes the suites; what an opening finds."""

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.errors import MetadataError, NotInitializedError
from bookkeeper_twisted.metadata.interfaces import IStoreConnection
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import HIERARCHICAL, LONG_HIERARCHICAL, new_layout
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.testing.contracts.metadata.cluster_admin_contract import EmptyStore, make_cluster_admin_tests
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests

from .rig import OPTIONS, URI, Store, ZooKeeperCase

_AT_ONCE = attrs.evolve(OPTIONS, stale_wait=0.0)
_PULSAR = "metadata-store:zk:127.0.0.1:2181"


def _initialized(test: TestCase, uri: str = URI) -> Callable[[Clock], ZooKeeperDriver]:
    store, clock = Store(uri, _AT_ONCE), Clock()
    admin = store.admin(clock)
    for step in (admin.open, admin.initialize, admin.close):
        Deferred.fromCoroutine(step())
    return store.driver


def _initialized_for_pulsar(test: TestCase) -> Callable[[Clock], ZooKeeperDriver]:
    return _initialized(test, _PULSAR)


def _empty(test: TestCase) -> EmptyStore:
    store = Store(options=_AT_ONCE)
    return EmptyStore(store.driver, store.admin)


class ContractTests(make_metadata_driver_tests(_initialized)):  # type: ignore[misc]
    """The contract of drivers."""


class PulsarContractTests(make_metadata_driver_tests(_initialized_for_pulsar)):  # type: ignore[misc]
    """The contract of drivers, with Pulsar's form of the URI."""


class AdminContractTests(make_cluster_admin_tests(_empty)):  # type: ignore[misc]
    """The contract of administration."""


class OpenTests(ZooKeeperCase):
    """Opening a driver."""

    def test_no_cluster(self) -> None:
        """Without a root there is no cluster, and nothing is created."""
        driver = self.store.driver(self.clock, "zk+hierarchical://127.0.0.1:2181/others")
        self.assertIn("/others", self.fails(NotInitializedError, driver.open()))
        self.assertEqual(list(self.server.top.children), ["ledgers"])

    def test_no_server(self) -> None:
        """A server that cannot be reached within the session timeout is an error that names the URI."""
        driver = self.store.driver(self.clock)
        self.store.connections[-1].connect = lambda changed: None  # type: ignore[method-assign]
        before = self.clock.seconds()
        self.assertIn(self.store.uri, self.fails(MetadataError, driver.open()))
        self.assertLess(self.clock.seconds() - before, 11)

    def test_outage(self) -> None:
        """A driver says for how long it has had no connection, or that it is refused."""
        driver, connection = self.opened()
        assert IStoreConnection.providedBy(driver)
        self.assertEqual(driver.outage(), "")
        connection.suspend()
        self.clock.advance(47)
        self.assertEqual(driver.outage(), "there has been no connection to ZooKeeper for 47 s")
        connection.resume()
        self.assertEqual(driver.outage(), "")

    def test_unsettled(self) -> None:
        """From each connection on, and without one, bookies have the session timeout to register again."""
        driver, connection = self.opened()
        self.assertEqual(driver.unsettled(), 10)
        self.clock.advance(3)
        self.assertEqual(driver.unsettled(), 7)
        self.clock.advance(8)
        self.assertEqual(driver.unsettled(), 0)
        connection.suspend()
        self.clock.advance(47)
        self.assertEqual(driver.unsettled(), 10)
        connection.resume()
        self.clock.advance(1)
        self.assertEqual(driver.unsettled(), 9)

    def test_read_only_parent(self) -> None:
        """The parent of read-only bookies is made again; Java expects it."""
        del self.server.find("/ledgers/available").children["readonly"]
        self.opened()
        self.assertIn("available/readonly", self.store.paths())

    def test_cluster_of_pulsar(self) -> None:
        """In a cluster that Pulsar's tool made, without a layout and parents of bookies, they are made as Java's."""
        for path in ("available/readonly", "available", "LAYOUT"):
            self.server.delete(f"/ledgers/{path}", -1)
        driver, _ = self.opened(_PULSAR)
        info = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", 3181, "bookie-rpc"),))
        self.run_(driver.registration.register_bookie("a:1", False, info))
        self.assertEqual(self.run_(driver.registration.writable_bookies()), {"a:1"})
        self.assertIn(HIERARCHICAL.encode(), self.server.find("/ledgers/LAYOUT").data)

    def test_layout_not_of_pulsar(self) -> None:
        """A cluster whose ledgers lie where Pulsar's driver does not look is refused, and both layouts are named."""
        self.server.set("/ledgers/LAYOUT", new_layout(LONG_HIERARCHICAL).encode(), -1)
        error = self.fails(MetadataError, self.store.driver(self.clock, _PULSAR).open())
        self.assertIn(f"the cluster has the layout {LONG_HIERARCHICAL}, the URI asks for {HIERARCHICAL}", error)

    def test_failed_opening_closes(self) -> None:
        """A driver that refuses the layout holds no connection."""
        driver = self.store.driver(self.clock, "zk+longhierarchical://127.0.0.1:2181/ledgers")
        self.fails(MetadataError, driver.open())
        self.fails(MetadataError, driver.ledgers.generate_id())
        self.assertEqual(self.clock.getDelayedCalls(), [])

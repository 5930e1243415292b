"""The metadata driver on a real ZooKeeper passes the suites."""

from collections.abc import Callable
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper.cluster import ZooKeeperAdmin
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper
from bookkeeper_twisted.metadata.zookeeper.session import Session
from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri
from bookkeeper_twisted.testing.contracts.metadata.cluster_admin_contract import EmptyStore, make_cluster_admin_tests
from bookkeeper_twisted.testing.contracts.metadata.metadata_contract import make_metadata_driver_tests

_OPTIONS = MetadataOptions(session_timeout=10.0, stale_wait=0.0)


class _Store:
    """A root of its own on the shared server."""

    def __init__(self, test: TestCase) -> None:
        server = shared_zookeeper()
        self.uri = server.uri(server.new_root())
        self._target = ZooKeeperUri.parse(self.uri)
        self._ids = iter(f"{n:08x}-0000-4000-8000-000000000000" for n in range(1000))

    def driver(self, clock: Any) -> ZooKeeperDriver:
        return ZooKeeperDriver(clock, self.uri, self._target, self._connection(), _OPTIONS)

    def admin(self, clock: Any) -> ZooKeeperAdmin:
        session = Session(clock, self.uri, self._connection(), _OPTIONS)
        return ZooKeeperAdmin(session, self._target.root, self._target.factory, lambda: next(self._ids))

    def _connection(self) -> KazooZooKeeper:
        return KazooZooKeeper(reactor, self._target.hosts, _OPTIONS)


def _make_store(test: TestCase) -> Callable[[Clock], ZooKeeperDriver]:
    return _Store(test).driver


def _empty_store(test: TestCase) -> EmptyStore:
    store = _Store(test)
    return EmptyStore(store.driver, store.admin)


class ZooKeeperDriverTests(make_metadata_driver_tests(_make_store)):  # type: ignore[misc]
    """The contract."""

    def setUp(self) -> "Deferred[None]":
        super().setUp()
        return Deferred.fromCoroutine(self._initialize())

    async def _initialize(self) -> None:
        store = self.connect.__self__
        admin = store.admin(self.clock)
        await admin.open()
        await admin.initialize()
        await admin.close()


class ZooKeeperAdminTests(make_cluster_admin_tests(_empty_store)):  # type: ignore[misc]
    """The contract."""

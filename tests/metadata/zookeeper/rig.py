"""A driver on a ZooKeeper in memory, with a clock that runs while something is waited for."""

from collections.abc import Coroutine, Iterable
from itertools import chain, count
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.metadata.zookeeper.cluster import ZooKeeperAdmin
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.metadata.zookeeper.session import Session
from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri
from bookkeeper_twisted.metadata.zookeeper.znodes import Znodes
from bookkeeper_twisted.testing.zookeeper import MemoryConnection, MemoryZooKeeper

T = TypeVar("T")

OPTIONS = MetadataOptions(session_timeout=10.0, max_retries=3, retry_start=0.25)
URI = "zk+hierarchical://127.0.0.1:2181/ledgers"


class Store:
    """One server, and whatever connects to it."""

    def __init__(self, uri: str = URI, options: MetadataOptions = OPTIONS, instance_ids: Iterable[str] = ()) -> None:
        self.server = MemoryZooKeeper()
        self.connections: list[MemoryConnection] = []
        self.uri = uri
        self._options = options
        self._target = ZooKeeperUri.parse(uri)
        self._ids = chain(instance_ids, (f"{n:08x}-0000-4000-8000-000000000000" for n in count()))

    def driver(self, clock: Any, uri: str = "") -> ZooKeeperDriver:
        """One more driver."""
        uri = uri or self.uri
        return ZooKeeperDriver(clock, uri, ZooKeeperUri.parse(uri), self._connection(), self._options)

    def session(self, clock: Any) -> Session:
        """One more session."""
        return Session(clock, self.uri, self._connection(), self._options)

    def admin(self, clock: Any) -> ZooKeeperAdmin:
        """One more admin."""
        return ZooKeeperAdmin(self.session(clock), self._target.root, self._target.factory, lambda: next(self._ids))

    def _connection(self) -> MemoryConnection:
        self.connections.append(self.server.connection())
        return self.connections[-1]

    def paths(self) -> list[str]:
        """The nodes below the root."""
        return [path.removeprefix("/ledgers/") for path, _ in self.server.dump("/ledgers")][1:]


def cluster_in_memory(clock: Any) -> Store:
    """A store with a cluster in it."""
    store = Store()
    admin = store.admin(clock)
    for step in (admin.open, admin.initialize, admin.close):
        Deferred.fromCoroutine(step())  # a server in memory answers at once
    store.connections.clear()
    return store


def ended(clock: Clock, running: "Coroutine[Any, Any, T] | Deferred[T]") -> "Deferred[T]":
    """Lets time pass until something ends."""
    if not isinstance(running, Deferred):
        running = Deferred.fromCoroutine(running)
    for _ in range(1000):
        if running.called:
            break
        clock.advance(0.125)
    return running


class ZooKeeperCase(SynchronousTestCase):
    """A test with one store, in which there is a cluster."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = cluster_in_memory(self.clock)
        self.server = self.store.server

    def start(self, coroutine: Coroutine[Any, Any, T]) -> "Deferred[T]":
        """Begins something."""
        return Deferred.fromCoroutine(coroutine)

    def run_(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Its result."""
        return self.successResultOf(ended(self.clock, coroutine))

    def fails(self, expected: type[BaseException], coroutine: Coroutine[Any, Any, Any]) -> str:
        """What the error says."""
        return str(self.failureResultOf(ended(self.clock, coroutine), expected).value)

    def opened(self, uri: str = "") -> tuple[ZooKeeperDriver, MemoryConnection]:
        """A driver that is open, and its connection."""
        driver = self.store.driver(self.clock, uri)
        self.run_(driver.open())
        return driver, self.store.connections[-1]

    def znodes(self) -> tuple[Znodes, MemoryConnection]:
        """The nodes of the cluster in a session of their own, and its connection."""
        session = self.store.session(self.clock)
        self.run_(session.open())
        return Znodes(session, "/ledgers"), self.store.connections[-1]

"""A cluster with a client, for the tests of the whole client: bookies in memory, or real ones."""

from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.memory_network import MemoryNetwork

from ..bookie.rig import Rig

BOOKIES = ("b0:1", "b1:1", "b2:1", "b3:1")


class ClusterCase(SynchronousTestCase):
    """A cluster of four bookies and a client."""

    def setUp(self) -> None:
        """Registers the bookies."""
        self.clock = Clock()
        self.store = MemoryStore()
        self.cluster: Any = self.store.driver(self.clock)
        self.do(self.cluster.open())
        for bookie_id in BOOKIES:
            self.do(self.cluster.registration.register_bookie(bookie_id, False, BookieServiceInfo()))
        self.bookies: Any = self.make_bookies()
        self.bk = self.client()

    def make_bookies(self) -> Any:
        """The client's way to bookies."""
        return MemoryBookies(self.clock)

    def client(self, bookies: Any = None, **config: Any) -> BookKeeper:
        """A new client of the cluster."""
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        return BookKeeper(self.clock, driver, bookies or self.bookies, Random(3), ClientConfig(**config))

    def settle(self) -> None:
        """Everything goes its way."""
        for _ in range(10):
            self.clock.advance(0)

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(deferred)

    def error(self, work: Any, kind: type[Exception]) -> Any:
        """The error of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.failureResultOf(deferred, kind).value

    async def listed(self) -> list[int]:
        """All ledger ids."""
        return [ledger_id async for ledger_id in self.bk.list_ledgers()]


class RealClusterCase(ClusterCase):
    """The whole path: client, connections, bookies, journals on simulated disks."""

    wire_protocol = "auto"
    bookie_options = EngineOptions()

    def make_bookies(self) -> Any:
        """Starts four bookies."""
        self.network = MemoryNetwork()
        self.rigs = {}
        for bookie_id in BOOKIES:
            self.rigs[bookie_id] = rig = Rig(options=self.bookie_options)
            self.network.listeners[bookie_id.split(":")[0], 1] = rig.engine.factory
        addresses = BookieAddresses(self.cluster.registration, self.network.endpoint)
        return NetworkBookieClient(self.clock, addresses.resolve, ClientConfig(wire_protocol=self.wire_protocol))

    def settle(self) -> None:
        """Everything goes its way."""
        for _ in range(10):
            self.clock.advance(0)
            if hasattr(self, "network"):
                self.network.move()
                for rig in self.rigs.values():
                    rig.clock.advance(0)
                    rig.drain()
                self.network.move()

"""A client that can be killed: the real client over the simulated network."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.claims.threads import Signal, Threads
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.config.client import ClientConfig

from .clock import Life, NodeClock
from .metadata import SimDriver
from .world import World

Connect = Callable[..., BookKeeper]
"""Makes the client of a clock, a driver, a bookie client, chance, a configuration and, by name, threads."""


def _threads(clock: NodeClock) -> Threads:
    """Threads that take turns with everything else of the node, all on the reactor's thread."""

    def call(what: Callable[[], None]) -> None:
        clock.callLater(0, what)

    return Threads(
        on_reactor=lambda: True, is_alive=lambda: lambda: True, lock=nullcontext, signal=_no_signal, call=call,
        local=SimpleNamespace,
    )  # fmt: skip


def _no_signal() -> Signal:
    raise AssertionError("on the reactor's thread nobody waits")


class ClientNode:
    """A process with one client in it.

    :param connect: plants replace it by one that gives a client with a defect.
    :ivar client: once :meth:`start` has ended.
    """

    def __init__(self, world: World, name: str, config: ClientConfig, connect: Connect = BookKeeper) -> None:
        self.world = world
        self.name = name
        self.config = config
        self.life = Life(world.sim, name)
        self.clock = NodeClock(world.sim, self.life)
        self._connect = connect
        self._driver: SimDriver | None = None
        self.client: BookKeeper
        world.keep(self)
        world.network.started(self.life)

    async def start(self) -> BookKeeper:
        """Connects."""
        world, config = self.world, self.config
        driver = self._driver = world.metadata.driver(self.clock)
        await driver.open()
        endpoint = world.network.endpoint(self.life, config.client_connect_timeout_millis / 1000)
        addresses = BookieAddresses(driver.registration, endpoint)
        bookies = NetworkBookieClient(self.clock, addresses.resolve, config)
        chance = world.stream("client", self.name)
        self.client = self._connect(self.clock, driver, bookies, chance, config, threads=_threads(self.clock))
        return self.client

    def spawn(self, work: Coroutine[Deferred[Any], Any, Any]) -> "Deferred[Any]":
        """Runs a coroutine in this process; it goes no further once the process is dead."""
        running = Deferred.fromCoroutine(work)
        self.world.keep(running)
        return running

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Fires later."""
        result: Deferred[None] = Deferred()
        self.clock.callLater(seconds, result.callback, None)
        return result

    def kill(self) -> None:
        """Ends the process at once."""
        if self.life.alive:
            self.life.end()
            self.world.network.crashed(self.life, abruptly=False)
            if self._driver is not None:
                self._driver.vanish()

    def expire(self) -> None:
        """The metadata store ends the session."""
        if self._driver is not None and self.life.alive:
            self._driver.expire()

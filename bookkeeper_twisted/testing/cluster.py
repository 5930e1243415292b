"""A cluster in memory for tests of applications that use the Twisted, the asyncio or the blocking client."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads, IReactorTime

from .. import aio, blocking
from ..aio.reactor import acquire_reactor, release_reactor, result_of
from ..client import BookKeeper
from ..client.claims.threads import Threads, system_threads
from ..config.client import ClientConfig
from ..metadata.embedded.memory import MemoryStore
from ..metadata.interfaces import IRegistration
from ..model import BookieServiceInfo
from ..shared_result import SharedResult
from ..tracing.plugins import tracer_of
from .bookies import MemoryBookies
from .streams import stream


class MemoryCluster:
    """A cluster of bookies and a metadata store in memory, without sockets, files or threads.

    The bookies have the ids ``bookie-0``, ``bookie-1`` and so on.  They answer each request by a delayed call of the
    clock.  Like real bookies, they store entries and fence ledgers, so a recovery of a ledger works.  To make a bookie
    fail, set attributes of ``cluster.bookies["bookie-0"]`` (:class:`~.memory_bookie.MemoryBookie`).

    :param clock: ``twisted.internet.task.Clock`` in synchronous tests, or a reactor.
    :param bookies: number of bookies.
    :param seed: seed of all random choices.
    :ivar bookies: the bookies, by id.
    """

    def __init__(self, clock: IReactorTime, bookies: int = 3, seed: int = 0) -> None:
        self.bookies = MemoryBookies(clock)
        self._clock = clock
        self._chance = stream(seed, "cluster")
        self._store = MemoryStore()
        self._driver = self._store.driver(clock)
        self._ready: SharedResult[None] = SharedResult()
        self._ready.run(self._open([f"bookie-{i}" for i in range(bookies)]))

    async def _open(self, bookie_ids: list[str]) -> None:
        await self._driver.open()
        for bookie_id in bookie_ids:
            await self.start_bookie(bookie_id)

    @property
    def _registration(self) -> IRegistration:
        return self._driver.registration

    def connect(self, config: ClientConfig | None = None) -> "Deferred[BookKeeper]":
        """Connect a client to this cluster, as :meth:`bookkeeper_twisted.client.BookKeeper.connect` does to a real one.
        """
        return Deferred.fromCoroutine(self._connect(config))

    async def _connect(self, config: ClientConfig | None) -> BookKeeper:
        await self._ready.wait()
        driver = self._store.driver(self._clock)
        await driver.open()
        bookies = self.bookies.open_flow()
        tracer = tracer_of(config or ClientConfig())
        return BookKeeper(
            self._clock, driver, bookies, self._chance, config, threads=self._threads(), tracer=tracer
        )

    def _threads(self) -> Threads:
        """Return the object through which a client uses threads.

        If the clock is no reactor, it has no ``callFromThread``; then ``callLater(0, ...)`` is called instead.
        """
        threads = system_threads(self._clock)
        if IReactorFromThreads.providedBy(self._clock):
            return threads

        def call(what: Callable[[], None]) -> None:
            self._clock.callLater(0, what)

        return attrs.evolve(threads, call=call)

    def __repr__(self) -> str:
        return f"<MemoryCluster of {self.bookies!r}>"

    async def start_bookie(self, bookie_id: str) -> None:
        """Start a bookie: register it, and let it accept connections; it still has the entries from before its stop."""
        self.bookies[bookie_id].up = True
        await self._registration.register_bookie(bookie_id, False, BookieServiceInfo())

    async def stop_bookie(self, bookie_id: str) -> None:
        """Stop a bookie: it is not registered any more and refuses connections."""
        self.bookies[bookie_id].up = False
        await self._registration.unregister_bookie(bookie_id)


class AioMemoryCluster:
    """A :class:`MemoryCluster` for the asyncio client; :func:`aio_cluster` makes it."""

    def __init__(self, inner: MemoryCluster) -> None:
        self._inner = inner
        self.bookies = inner.bookies

    def __repr__(self) -> str:
        return f"<aio {repr(self._inner)[1:]}"

    async def connect(self, config: ClientConfig | None = None) -> aio.BookKeeper:
        """Connect a client to this cluster."""
        return aio.BookKeeper(await result_of(self._inner.connect(config)))

    async def start_bookie(self, bookie_id: str) -> None:
        """Start a bookie: register it, and let it accept connections; it still has the entries from before its stop."""
        await result_of(self._inner.start_bookie(bookie_id))

    async def stop_bookie(self, bookie_id: str) -> None:
        """Stop a bookie: it is not registered any more and refuses connections."""
        await result_of(self._inner.stop_bookie(bookie_id))


class BlockingMemoryCluster:
    """A :class:`MemoryCluster` for the blocking client; :func:`blocking_cluster` makes it."""

    def __init__(self, inner: MemoryCluster, thread: blocking.ReactorThread) -> None:
        self._inner = inner
        self._thread = thread
        self.bookies = inner.bookies

    def __repr__(self) -> str:
        return f"<blocking {repr(self._inner)[1:]}"

    def connect(self, config: ClientConfig | None = None) -> blocking.BookKeeper:
        """Connect a client to this cluster."""
        return blocking.BookKeeper(self._thread.wait(lambda: self._inner.connect(config)), self._thread)

    def start_bookie(self, bookie_id: str) -> None:
        """Start a bookie: register it, and let it accept connections; it still has the entries from before its stop."""
        self._thread.wait(lambda: self._inner.start_bookie(bookie_id))

    def stop_bookie(self, bookie_id: str) -> None:
        """Stop a bookie: it is not registered any more and refuses connections."""
        self._thread.wait(lambda: self._inner.stop_bookie(bookie_id))


@asynccontextmanager
async def aio_cluster(bookies: int = 3) -> AsyncIterator[AioMemoryCluster]:
    """Run a cluster in memory until the ``async with`` block ends, for a test with the asyncio client."""
    reactor = await acquire_reactor()
    try:
        yield AioMemoryCluster(MemoryCluster(reactor, bookies))
    finally:
        await release_reactor(reactor)


_thread = blocking.ReactorThread()


@contextmanager
def blocking_cluster(bookies: int = 3) -> Iterator[BlockingMemoryCluster]:
    """Run a cluster in memory for a ``with`` block, for a test with the blocking client."""

    async def make() -> MemoryCluster:
        return MemoryCluster(_thread.reactor, bookies)

    yield BlockingMemoryCluster(_thread.wait(make), _thread)

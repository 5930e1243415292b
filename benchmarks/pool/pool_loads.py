"""Flows and ledgers on one bookie that answers at once, in another process: rates, CPU and memory of the client."""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_twisted.client import BookKeeper, LedgerWriter
from bookkeeper_twisted.client.connections.bookie_client import BookieAddresses, NetworkBookieClient
from bookkeeper_twisted.client.interfaces import IBookieClient
from bookkeeper_twisted.client.production import tcp_endpoints
from bookkeeper_twisted.codec.adds import Adds, stored_adds
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, DigestType
from bookkeeper_twisted.testing.sealing import sealed

from ..shared.processes import ROOT

SIZE = 100
Row = tuple[str, float, float, bool]


@contextmanager
def answering() -> Iterator[str]:
    """The id of a bookie that confirms everything, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.pool.answering"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@asynccontextmanager
async def client_of(reactor: Any, bookie_id: str, max_connections: int) -> AsyncIterator[BookKeeper]:
    """A client of a cluster that has this bookie only."""
    driver: Any = MemoryStore().driver(reactor)
    await driver.open()
    await driver.registration.register_bookie(bookie_id, False, BookieServiceInfo())
    config = ClientConfig(max_connections_per_bookie=max_connections, max_client_in_flight_bytes=1 << 30)
    addresses = BookieAddresses(driver.registration, tcp_endpoints(reactor, config))
    bookies = NetworkBookieClient(reactor, addresses.resolve, config)
    async with BookKeeper(reactor, driver, bookies, Random(1), config) as client:
        yield client


class Lockstep:
    """Flows with one add outstanding each: with the reply to one leaves the next.

    Each flow adds its one entry again and again, so that what is measured is the asking alone.  The entry goes as a
    writer's does that sends it for the first time: it is never in flight twice.
    """

    def __init__(self, client: BookKeeper, bookie_id: str, count: int) -> None:
        self._bookie_id = bookie_id
        self._asking = [(client._bookie_client.open_flow(), entry_of(client, i)) for i in range(count)]
        self._running = 0
        self._end: Deferred[None] = Deferred()

    def run(self, each: int) -> "Deferred[None]":
        """Sends so many adds over each flow; fires when the last one is confirmed."""
        self._end = Deferred()
        self._running = len(self._asking)
        for flow, adds in self._asking:
            self._ask(flow, adds, each)
        return self._end

    def _ask(self, flow: IBookieClient, adds: Adds, left: int) -> None:
        def done(bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                self._end.errback(error)
            elif left:
                flow.add(bookie_id, adds, done, True)
            else:
                self._ended()

        flow.add(self._bookie_id, adds, done, True)

    def _ended(self) -> None:
        self._running -= 1
        if not self._running:
            self._end.callback(None)


def entry_of(client: BookKeeper, ledger_id: int) -> Adds:
    """The add of one entry of a ledger."""
    digester = Digester(DigestType.CRC32C, b"")
    return stored_adds(digester.master_key, sealed(digester, ledger_id, 0, -1, 0, [bytes(SIZE)]))


@attrs.frozen
class Cost:
    """Seconds of some work."""

    wall: float
    cpu: float


async def cost(work: "Callable[[], Deferred[Any]]") -> Cost:
    """Does some work, without garbage of what was before it."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


async def sharing_rows(reactor: Any, bookie_id: str, rounds: int, scale: float) -> list[Row]:
    """Many flows with ``maxConnectionsPerBookie`` 2, one of which is for V3, against a socket for each."""
    flows, each = 100, max(2, int(500 * scale))
    async with client_of(reactor, bookie_id, 2) as pooled, client_of(reactor, bookie_id, 0) as apart:
        ways = [Lockstep(client, bookie_id, flows) for client in (pooled, apart)]
        costs: list[list[Cost]] = [[], []]
        for _ in range(rounds + 1):
            for way, taken in zip(ways, costs, strict=True):
                taken.append(await cost(partial(way.run, each)))
    (pooled_wall, pooled_cpu), (apart_wall, apart_cpu) = (_best(taken[1:]) for taken in costs)
    shared, own = (cpu / (flows * each) * 1e6 for cpu in (pooled_cpu, apart_cpu))
    print(f"client CPU of a request: {shared:.1f} us on shared sockets, {own:.1f} us on own ones")
    return [
        (f"requests/s of {flows} flows, shared sockets / own ones", 5, apart_wall / pooled_wall, True),
        (f"client CPU of {flows} flows, shared sockets / own ones", 0.2, pooled_cpu / apart_cpu, False),
    ]


def _best(costs: Sequence[Cost]) -> tuple[float, float]:
    return min(each.wall for each in costs), min(each.cpu for each in costs)


async def memory_rows(reactor: Any, bookie_id: str, scale: float) -> list[Row]:
    """What flows hold that have asked once and wait for nothing."""
    count = max(100, int(10_000 * scale))
    async with client_of(reactor, bookie_id, 2) as client:
        await Lockstep(client, bookie_id, 1).run(1)
        gc.collect()
        tracemalloc.start()
        flows = [client._bookie_client.open_flow() for _ in range(count)]
        adds = entry_of(client, 1 << 40)
        for flow in flows:
            answered: Deferred[None] = Deferred()
            flow.add(bookie_id, adds, lambda *_, answered=answered: answered.callback(None))
            await answered
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return [(f"bytes held by each of {count} idle flows", 2048, held / count, False)]


def append_to(writers: Sequence[LedgerWriter]) -> "Deferred[list[int]]":
    """One append to each of these, all at the same time."""
    return gatherResults([writer.append(bytes(SIZE)) for writer in writers])


async def ledger_rows(reactor: Any, bookie_id: str, rounds: int, scale: float) -> list[Row]:
    """An append to each of many ledgers against as many appends to one."""
    count = max(100, int(10_000 * scale))
    async with client_of(reactor, bookie_id, 2) as client:
        ledgers: list[LedgerWriter] = [await client.create_ledger(1, 1, 1) for _ in range(count)]
        costs: list[list[Cost]] = [[], []]
        for _ in range(rounds + 1):
            for writers, taken in zip((ledgers, ledgers[:1] * count), costs, strict=True):
                taken.append(await cost(partial(append_to, writers)))
    (many, _), (one, _) = (_best(taken[1:]) for taken in costs)
    print(f"appends/s: {count / many:.0f} to {count} ledgers, {count / one:.0f} to one")
    return [(f"appends/s, {count} ledgers / one with as much in flight", 0.9, one / many, True)]

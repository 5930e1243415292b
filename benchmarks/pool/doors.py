"""``python -m benchmarks doors``: what a call of asyncio costs, by where the reactor of the client runs.

``loop``: the reactor runs on the loop itself (``bookkeeper_twisted.aio``); ``thread``: in a thread of its own, and
every call crosses over and back.  Both take turns against one bookie in a process of its own, adds of 100 bytes, the
best round of each counts.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted import client
from bookkeeper_twisted.aio.reactor import acquire_reactor, release_reactor, result_of
from bookkeeper_twisted.blocking.reactor_thread import ReactorThread

_THREAD = ReactorThread()
_PAYLOAD = bytes(100)
_IN_FLIGHT = 100
_TWISTD = "from twisted.scripts.twistd import run; run()"

Call = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""How a coroutine of asyncio waits for work of the client."""


@contextmanager
def bookie() -> Iterator[str]:
    """Run a bookie; gives the URI of its metadata."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-c", _TWISTD, "-n", "--pidfile=", "bookie", "--data", data, "--bookieId=b"]
        command += ["--bookiePort=0", "--listeningInterface=127.0.0.1", "--allowLoopback=true"]
        environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        assert process.stdout is not None
        try:
            while not re.search("ready: bookie", process.stdout.readline()):
                if process.poll() is not None:
                    raise SystemExit("the bookie does not start")
            yield f"sqlite:///{data}/ledgers/metadata.db"
        finally:
            process.kill()
            process.communicate()


async def in_thread(work: Callable[[], Awaitable[Any]]) -> Any:
    """Wait for work on the reactor of a thread."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    async def run() -> None:
        result = await work()
        loop.call_soon_threadsafe(future.set_result, result)

    _THREAD.reactor.callFromThread(lambda: Deferred.fromCoroutine(run()))
    return await future


@asynccontextmanager
async def way(name: str) -> AsyncIterator[tuple[Any, Call]]:
    """The reactor and the wait of one way."""
    if name == "thread":
        yield _THREAD.reactor, in_thread
        return
    reactor = await acquire_reactor()
    yield reactor, lambda work: result_of(work())
    await release_reactor(reactor)


async def measure(name: str, uri: str, count: int) -> tuple[float, float]:
    """Microseconds of an append with 100 in flight, and of a read at a time."""
    async with way(name) as (reactor, call):
        bk = await call(lambda: client.BookKeeper.connect(reactor, uri))
        ledger = await call(lambda: bk.create_ledger(1, 1, 1))
        began = time.perf_counter()
        for _ in range(count):
            await asyncio.gather(*(call(lambda: ledger.append(_PAYLOAD)) for _ in range(_IN_FLIGHT)))
        appended = time.perf_counter() - began
        await call(ledger.close)
        reader = await call(lambda: bk.open_ledger(ledger.ledger_id))
        began = time.perf_counter()
        for n in range(count):
            await call(lambda n=n: reader.read_entry(n))  # type: ignore[misc]
        was_read = time.perf_counter() - began
        await call(bk.close)
    return appended / count / _IN_FLIGHT * 1e6, was_read / count * 1e6


def main(arguments: Sequence[str]) -> int:
    """Print the table; the status says whether the loop is the better way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks doors", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each way (5)")
    parser.add_argument("--count", type=int, default=300, help="hundreds of appends, and reads, of a round (300)")
    options = parser.parse_args(arguments)
    found: dict[str, list[tuple[float, float]]] = {"loop": [], "thread": []}
    with bookie() as uri:
        for _ in range(options.rounds):
            for name, rows in found.items():
                rows.append(asyncio.run(measure(name, uri, options.count)))
    best = {name: [min(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    for i, what in enumerate((f"append, {_IN_FLIGHT} in flight", "read, one at a time")):
        loop, thread = best["loop"][i], best["thread"][i]
        print(f"{what:24} loop {loop:7.1f} us   thread {thread:7.1f} us   {loop / thread:.2f} of the thread's")
    return int(any(a > b for a, b in zip(best["loop"], best["thread"], strict=True)))

"""Thousands of open ledgers on three bookies, and what they cost the client: few sockets, little memory.

``python examples/many_ledgers.py [DIRECTORY [LEDGERS]]``, with 1,000 ledgers if not told otherwise.  The bookies are in
a process of their own, so that the memory is the client's alone.
"""

import gc
import time
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

from bookie_process import BookieProcess
from command_line import run
from twisted.internet.defer import DeferredSemaphore, gatherResults

from bookkeeper_twisted import BookKeeper, ClientMetrics, LedgerWriter
from bookkeeper_twisted.metrics import Instruments, new_registry, render

CREATIONS = 50
"""Ledgers that are created at a time."""

ROUNDS = 3


async def open_ledgers(client: BookKeeper, count: int) -> list[LedgerWriter]:
    """New ledgers, each with its writer."""
    room = DeferredSemaphore(CREATIONS)
    return list(await gatherResults([room.run(client.create_ledger, 3, 2, 2) for _ in range(count)]))


async def append_to_all(ledgers: list[LedgerWriter]) -> None:
    """One entry to each ledger, all at the same time."""
    await gatherResults([ledger.append(b"one of many") for ledger in ledgers])


async def work(client: BookKeeper, count: int) -> None:
    """Opens, measures memory while nothing happens, appends in rounds."""
    await append_to_all(await open_ledgers(client, 1))  # what the first ledger needs once is not counted
    gc.collect()
    tracemalloc.start()
    ledgers = await open_ledgers(client, count)
    await append_to_all(ledgers)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{len(ledgers)} open ledgers, {held / count / 1024:.1f} KiB of memory for each that is idle")
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        await append_to_all(ledgers)
    print(f"{ROUNDS * count / (time.perf_counter() - begun):.0f} entries/s, one from each ledger at a time")


async def main(reactor: object, directory: str, ledgers: int = 1000) -> None:
    """Starts the cluster, works, prints what the connections are, stops the cluster."""
    cluster = BookieProcess.start(reactor, directory, "--standalone=3", "--bookiePort=0")
    await cluster.serving
    try:
        instruments = Instruments()
        uri = f"sqlite:///{Path(directory).absolute()}/metadata.db"
        async with await BookKeeper.connect(reactor, uri, metrics=ClientMetrics(instruments)) as client:
            await work(client, ledgers)
            for line in render(new_registry(instruments)).decode().splitlines():
                if line.startswith(("per_channel_bookie_client_ACTIVE", "bookkeeper_client_flows")):
                    print(line)
    finally:
        await cluster.end()


if __name__ == "__main__":
    run(main, TemporaryDirectory)

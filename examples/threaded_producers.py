"""Threads append to one ledger without a turn of the reactor for each entry, and each keeps its order.

``python examples/threaded_producers.py [sqlite:////path/to/metadata.db [ENTRIES]]``, with a bookie running on that
metadata.  Each of four threads offers 100,000 entries if not told otherwise, and waits every now and then until
all that was offered is on disk.
"""

import struct
import time
from itertools import chain
from typing import Any

from command_line import run
from twisted.internet.defer import gatherResults
from twisted.internet.threads import deferToThreadPool

from bookkeeper_twisted import BookKeeper, ThreadAppender, temporary_cluster

THREADS = 4
FLUSH_EVERY = 5000
NUMBER = struct.Struct(">II")
PADDING = bytes(100 - NUMBER.size)


def produce(appender: ThreadAppender, producer: int, count: int) -> list[float]:
    """The work of one thread; returns the seconds it waited in each flush."""
    waits = []
    for number in range(count):
        appender.offer(NUMBER.pack(producer, number) + PADDING)
        if (number + 1) % FLUSH_EVERY == 0 or number == count - 1:
            begun = time.perf_counter()
            appender.flush().result()
            waits.append(time.perf_counter() - begun)
    return waits


async def count_in_order(client: BookKeeper, ledger_id: int) -> list[int]:
    """Reads the ledger; returns how many entries each thread has in it, all of them in the order it offered them."""
    counts = [0] * THREADS
    reader = await client.open_ledger(ledger_id)
    async for batch in reader.batches():
        for payload in batch.payloads:
            producer, number = NUMBER.unpack_from(payload)
            if number != counts[producer]:
                raise SystemExit(f"thread {producer}: {number} instead of {counts[producer]}")
            counts[producer] += 1
    return counts


async def main(reactor: Any, uri: str, entries: int = 100_000) -> None:
    """Writes with many threads, reads with the reactor's."""
    async with await BookKeeper.connect(reactor, uri) as client:
        ledger = await client.create_ledger(ensemble_size=1, write_quorum=1, ack_quorum=1)
        appender, pool = ledger.appender(), reactor.getThreadPool()
        begun = time.perf_counter()
        waits = await gatherResults(
            [deferToThreadPool(reactor, pool, produce, appender, i, entries) for i in range(THREADS)]
        )
        rate = THREADS * entries / (time.perf_counter() - begun)
        await ledger.close()
        flushes = sorted(chain.from_iterable(waits))
        print(f"{rate:.0f} entries/s of {THREADS} threads, all on disk")
        print(f"a flush took {flushes[len(flushes) // 2] * 1000:.1f} ms, the longest {flushes[-1] * 1000:.1f} ms")
        counts = await count_in_order(client, ledger.ledger_id)
        print(f"{sum(counts)} entries came back, those of each thread in its order")


if __name__ == "__main__":
    run(main, temporary_cluster)

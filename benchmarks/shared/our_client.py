"""Our client as a load program: fills a ledger, or reads one by batches with every digest checked.

``python -m benchmarks.shared.our_client fill|batch URI --option value ...``.  ``fill`` prints the ledger's id;
``batch`` a line ``MEASURE`` after the warm-up and one JSON line at the end.
"""

import argparse
import json
import sys
import time
from array import array
from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import react

from bookkeeper_twisted.client import BookKeeper, LedgerReader

from .generator import PASSWORD, summary

_APPEND = 1000


async def fill(reactor: object, o: argparse.Namespace) -> None:
    """Writes a ledger of ``count`` entries and closes it."""
    async with await BookKeeper.connect(reactor, o.uri) as client:
        ledger = await client.create_ledger(1, 1, 1, password=PASSWORD)
        for at in range(0, o.count, _APPEND):
            await ledger.append_many([bytes(o.size)] * min(_APPEND, o.count - at))
        await ledger.close()
        print(ledger.ledger_id)


class Reading:
    """Reads entries in batches, several of which are under way at a time.

    :ivar latencies: seconds of each call.
    """

    def __init__(self, reader: LedgerReader, batch: int, size: int) -> None:
        self.latencies = array("d")
        self._reader = reader
        self._batch = batch
        self._size = size

    async def run(self, entries: int, inflight: int) -> None:
        """Reads so many, from the start again where the ledger ends."""
        starts = iter(range(0, entries, self._batch))
        await gatherResults([Deferred.fromCoroutine(self._chain(starts, entries)) for _ in range(inflight)])

    async def _chain(self, starts: Iterator[int], entries: int) -> None:
        total = self._reader.last_add_confirmed + 1
        for start in starts:
            end = min(start + self._batch, entries)
            while start < end:
                at = start % total
                begun = time.perf_counter()
                batch = await self._reader.read_batch(at, min(end - start, total - at))
                payloads = batch.payloads
                self.latencies.append(time.perf_counter() - begun)
                if sum(map(len, payloads)) != len(payloads) * self._size:
                    raise ValueError(f"entries {batch.first}..{batch.last} are not what was written")
                start += len(payloads)


async def batch(reactor: object, o: argparse.Namespace) -> None:
    """Measures batch reads of a ledger that is closed."""
    async with await BookKeeper.connect(reactor, o.uri) as client:
        reader = await client.open_ledger(o.ledger, password=PASSWORD)
        await Reading(reader, o.batch, o.size).run(o.warmup, o.inflight)
        reading = Reading(reader, o.batch, o.size)
        print("MEASURE", flush=True)
        begun = time.perf_counter()
        await reading.run(o.count, o.inflight)
        print(json.dumps(summary(reading.latencies, time.perf_counter() - begun, o.count)))


def main(arguments: Sequence[str]) -> None:
    """Runs the program."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.shared.our_client", description=__doc__)
    p.add_argument("mode", choices=["fill", "batch"])
    p.add_argument("uri")
    for name in ("ledger", "size", "warmup", "count", "inflight", "batch"):
        p.add_argument(f"--{name}", type=int, default=0)
    o = p.parse_args(arguments)
    work = fill if o.mode == "fill" else batch
    react(lambda reactor: Deferred.fromCoroutine(work(reactor, o)))


if __name__ == "__main__":
    main(sys.argv[1:])

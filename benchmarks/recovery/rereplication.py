"""``python -m benchmarks rereplication``: how fast and how evenly lost replicas are made again.

Five bookies run as processes on loopback.  In each round one of them is killed, the ledgers that name it are marked,
and the replication worker, in this process, makes them whole on the others; then the killed one is started again and
another one is next.  The parts that are named are run, in this order:

* ``fast``: without limits;
* ``java``: Apache's autorecovery as a process of its own, on the same cluster, which is registered with a ZooKeeper;
* ``limits``: with a limit of reads, then with one of writes;
* ``appends``: a client appends all the time; with a limit, the worker works in every second one of equal spans of time;
* ``bound``: the same without a limit, and with a bound of the latency.

Rates of reads and writes are of payloads with their headers, once for each bookie that got them.  Each finding is a
line of JSON.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bookkeeper_twisted.autorecovery.limits import REPLICATION_READ, REPLICATION_WRITE
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.limits.throttle import Rate

from ..shared.apache import ZooKeeper
from ..shared.processes import cpu_seconds
from .appending import Appended, Appends, append_for_ever, appends
from .lost_bookies import (
    MIB,
    Bench,
    Cluster,
    Counts,
    Worker,
    own_cpu,
    pause,
    reactor,
    run_on_cluster,
    show,
)

PARTS = ("fast", "java", "limits", "appends", "bound")
_HEADER = 36


@attrs.frozen
class Span:
    """Some seconds of a client that appends, with or without a worker beside it.

    :ivar cpu: seconds of CPU a second, of bookies, of the client, and of this process.
    """

    appended: Appended
    done: Counts
    cpu: tuple[float, float, float]


class Beside:
    """A repair beside a client that appends."""

    def __init__(self, bench: Bench, worker: Worker, client: Appends, seconds: float) -> None:
        self._bench = bench
        self._worker = worker
        self._client = client
        self._seconds = seconds

    def _cpu(self) -> tuple[float, float, float]:
        return self._bench.cluster.cpu_seconds(), cpu_seconds(self._client.pid), own_cpu()

    async def span(self) -> Span:
        """Wait for some seconds, of which the first is left out."""
        await pause(1.0)
        before, cpu, began = self._worker.counts(), self._cpu(), time.monotonic()
        await pause(self._seconds)
        done = self._worker.counts().since(before)
        used = [(after - one) / done.seconds for after, one in zip(self._cpu(), cpu, strict=True)]
        return Span(self._client.between(began, time.monotonic()), done, (used[0], used[1], used[2]))

    async def rounds(self, count: int) -> list[tuple[Span, Span]]:
        """Pairs of spans, without the worker and with it."""
        found = []
        for _ in range(count):
            idle = await self.span()
            self._worker.start()
            busy = await self.span()
            await self._worker.stop()
            found.append((idle, busy))
        return found


def show_beside(what: str, pairs: Sequence[tuple[Span, Span]], **more: object) -> None:
    """Print medians over pairs of spans, and of their ratios."""

    def over(value: Callable[[Span, Span], float]) -> float:
        return round(median(value(idle, busy) for idle, busy in pairs), 3)

    show(
        what, rounds=len(pairs), **more,
        appends_per_s_alone=over(lambda idle, _: idle.appended.rate),
        appends_per_s_beside=over(lambda _, busy: busy.appended.rate),
        rate_ratio=over(lambda idle, busy: busy.appended.rate / idle.appended.rate),
        p99_ms_alone=over(lambda idle, _: idle.appended.p99), p99_ms_beside=over(lambda _, busy: busy.appended.p99),
        p99_ratio=over(lambda idle, busy: busy.appended.p99 / idle.appended.p99),
        read_mib_per_s=over(lambda _, busy: busy.done.read / busy.done.seconds / MIB),
        cpu_alone=[over(lambda idle, _, at=at: idle.cpu[at]) for at in range(3)],  # type: ignore[misc]
        cpu_beside=[over(lambda _, busy, at=at: busy.cpu[at]) for at in range(3)],  # type: ignore[misc]
    )  # fmt: skip


class Measurement:
    """All parts on one cluster."""

    def __init__(self, options: argparse.Namespace, folder: Path, bench: Bench, worker: Worker) -> None:
        self._options = options
        self._folder = folder
        self._bench = bench
        self._worker = worker
        self._fastest = options.rate * MIB

    async def fast(self) -> None:
        """Without limits."""
        found = await self._bench.repair(self._worker)
        self._fastest = found.rate
        show("without limits", **found.figures())

    async def java(self) -> None:
        """Apache's."""
        options = self._options
        entry_bytes = options.size + _HEADER
        found = await self._bench.repair_by_apache(self._folder, entry_bytes, options.entries, options.java_seconds)
        show("Apache's worker", **found.figures(), ours_is_times_faster=round(self._fastest / found.rate, 2))

    async def limits(self) -> None:
        """With limits."""
        limit = self._fastest / self._options.divisor
        for name in (REPLICATION_READ, REPLICATION_WRITE):
            self._worker.limit(name, Rate(bytes=limit))
            found = await self._bench.repair(self._worker)
            done = found.done
            n_bytes = done.read if name == REPLICATION_READ else done.written
            error = n_bytes / done.seconds / limit - 1
            show(name, limit_mib_per_s=round(limit / MIB, 3), error_percent=round(error * 100, 2), **found.figures())

    async def appends(self) -> None:
        """A limit beside appends."""
        limit = self._fastest / self._options.divisor
        self._worker.limit(REPLICATION_READ, Rate(bytes=limit))
        show_beside("appends beside a limited repair", await self._beside(), limit_mib_per_s=round(limit / MIB, 3))

    async def bound(self) -> None:
        """A bound of the latency beside appends."""
        self._worker.limit("")
        bound = self._options.bound
        self._worker.limits.set_limits({}, bound)
        show_beside("appends beside a repair that yields", await self._beside(), bound_ms=bound)
        self._worker.limits.set_limits({}, 0.0)

    async def _beside(self) -> list[tuple[Span, Span]]:
        options, bench = self._options, self._bench
        async with bench.lost_bookie() as (lost, hit):
            with appends(bench.cluster.uri, options.size, self._folder / "appends", options.append_rate) as client:
                await client.begun()
                await bench.mark(lost, hit)
                pairs = await Beside(bench, self._worker, client, options.seconds).rounds(options.rounds)
            if not await bench.marked():
                raise RuntimeError("everything was repaired before the measurement was over: take more ledgers")
            await bench.forget_marks()
        return pairs


async def measure(options: argparse.Namespace, folder: Path, cluster: Cluster) -> None:
    """All parts that are asked for."""
    client = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    helper = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    bench = Bench(cluster, client)
    began = time.monotonic()
    await bench.write(options.ledgers, options.entries, options.size)
    show("written", ledgers=options.ledgers, entries=options.entries, size=options.size,
         seconds=round(time.monotonic() - began, 1))  # fmt: skip
    parts = Measurement(options, folder, bench, Worker(helper))
    for part in (one for one in PARTS if one in options.parts.split(",")):
        await getattr(parts, part)()
    await helper.close()
    await client.close()


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks rereplication")
    parser.add_argument("--parts", default="fast,limits,appends", help="of " + ", ".join(PARTS))
    parser.add_argument("--ledgers", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=1000, help="of each ledger")
    parser.add_argument("--size", type=int, default=1024, help="bytes of an entry")
    parser.add_argument("--rate", type=float, default=0.0, help="MiB/s without limits, where that part is left out")
    parser.add_argument("--divisor", type=float, default=4.0, help="of the rate without limits, for limits")
    parser.add_argument("--bound", type=float, default=20.0, help="ms that the slowest append of a hundred may take")
    parser.add_argument("--rounds", type=int, default=5, help="of appends without and with a worker")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each of them")
    parser.add_argument("--append-rate", type=float, default=0.0, help="appends a second; 0: as many as can be")
    parser.add_argument("--java-seconds", type=float, default=float("inf"), help="after which Apache's is ended")
    parser.add_argument("--zookeeper", action="store_true", help="metadata in a ZooKeeper also without Apache's part")
    parser.add_argument("--jars", type=Path, default=None, help="of Apache; else through Maven")
    parser.add_argument("--directory", default=None, help="where the files are made")
    parser.add_argument("--append-to", default=None, metavar="URI", help="append to a ledger of this cluster for ever")
    parser.add_argument("--report", type=Path, default=None, help="where that writes down its rates")
    options = parser.parse_args(arguments)
    if options.append_to is not None:
        work = append_for_ever(options.append_to, options.size, options.report, options.append_rate)
        react(lambda _: Deferred.fromCoroutine(work))
    with_zookeeper = options.zookeeper or "java" in options.parts.split(",")
    zookeeper = ZooKeeper.start(options.jars) if with_zookeeper else None
    return run_on_cluster(partial(measure, options), zookeeper, options.directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

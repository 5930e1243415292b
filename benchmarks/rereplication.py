"""``python -m benchmarks rereplication``: how fast and how evenly lost replicas are made again.

Five bookies run as processes on loopback.  In each round one of them is killed, the ledgers that name it are marked,
and the replication worker, in this process, makes them whole on the others; then the killed one is started again and
another one is next.  Rounds: without limits, with a limit of reads, with a limit of writes, and at a quarter of the
rate without limits beside a client that appends.  With ``--java`` bookies register with a ZooKeeper, and Apache's
autorecovery, as a process of its own, has a round on the same cluster.  Rates of reads and writes are of payloads with
their headers, once for each bookie that got them.
"""

import argparse
import contextlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

import attrs
from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from bookkeeper_twisted.autorecovery.limits import LIMITERS, REPLICATION_METADATA, REPLICATION_READ, REPLICATION_WRITE
from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics, CopierMetrics, WorkerMetrics
from bookkeeper_twisted.autorecovery.presence import Presence
from bookkeeper_twisted.autorecovery.replication.checker import LedgerChecker
from bookkeeper_twisted.autorecovery.replication.copier import Copier
from bookkeeper_twisted.autorecovery.replication.copying import CopyLimits
from bookkeeper_twisted.autorecovery.replication.repair import LedgerRepair
from bookkeeper_twisted.autorecovery.replication.worker import ReplicationWorker, WorkerSettings
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metadata.interfaces import IRegistration, IUnderreplication
from bookkeeper_twisted.throttle import UNLIMITED, Rate, Throttles

from .apache import ZooKeeper
from .processes import ROOT, Bookie, end, free_port, start_ours, write_properties

MIB = 1 << 20
_SIZES = (3, 3, 2)
_AT_ONCE = 100
_APACHE_RECOVERY = "org.apache.bookkeeper.replication.AutoRecoveryMain"
reactor: Any = _reactor


async def pause(seconds: float) -> None:
    """Let the reactor work for a while."""
    await deferLater(reactor, seconds)


@attrs.frozen
class Round:
    """One repair of a lost bookie.

    :ivar copied: bytes that were written to bookies; ``read``: that were read for it.
    :ivar cpu: seconds of this process, of its client included.
    """

    seconds: float
    ledgers: int
    entries: int
    copied: float
    read: float
    cpu: float

    @property
    def rate(self) -> float:
        """Bytes a second that were written."""
        return self.copied / self.seconds

    def __str__(self) -> str:
        per_entry = self.cpu / max(self.entries, 1) * 1e6
        return (
            f"{self.ledgers} ledgers, {self.entries} entries, {self.copied / MIB:.0f} MiB in {self.seconds:.1f} s: "
            f"{self.rate / MIB:.1f} MiB/s written, {self.read / self.seconds / MIB:.1f} MiB/s read, "
            f"{per_entry:.0f} us of CPU an entry"
        )


class Cluster:
    """Bookies as processes."""

    def __init__(self, folder: Path, zookeeper: ZooKeeper | None, n_bookies: int = 5) -> None:
        self._folder = folder
        self._zookeeper = zookeeper
        self._root = "" if zookeeper is None else zookeeper.new_cluster(folder)
        self.uri = f"sqlite:///{folder}/metadata.db" if zookeeper is None else zookeeper.server.uri(self._root)
        self.ports = [free_port() for _ in range(n_bookies)]
        self._running: dict[int, Bookie] = {}
        for port in self.ports:
            self.start(port)

    def start(self, port: int) -> None:
        """Start a bookie, anew or on what it has left."""
        folder = self._folder / str(port)
        self._running[port] = start_ours(folder, {"metadataServiceUri": self.uri, "bookieId": self.name(port)}, port)

    def kill(self, port: int) -> None:
        """A bookie is gone at once, from the list of registered ones as well."""
        self._running.pop(port).kill()
        if self._zookeeper is not None:
            with contextlib.suppress(Exception):
                self._zookeeper.forget(self._root, port)

    def name(self, port: int) -> str:
        """The id of a bookie."""
        return f"127.0.0.1:{port}"

    def stop(self) -> None:
        """End all bookies."""
        for bookie in self._running.values():
            bookie.stop()


class Worker:
    """Our replication worker with a client of its own."""

    def __init__(self, client: BookKeeper) -> None:
        self._client = client
        context = client.context
        self.throttles = Throttles(reactor)
        get = {name: self.throttles.get(name) for name in LIMITERS}
        instruments = Instruments()
        self.copies = CopierMetrics(instruments)
        metadata = get[REPLICATION_METADATA]
        presence = Presence(reactor, context.watcher, client.metadata.registration, metadata)
        checker = LedgerChecker(context, presence, get["checker-read"], CheckerMetrics(instruments))
        limits = CopyLimits(get[REPLICATION_READ], get[REPLICATION_WRITE])
        copier = Copier(context, presence, limits, metadata, self.copies)
        self.service = ReplicationWorker(
            context, client.metadata, LedgerRepair(context, checker, copier, metadata), metadata,
            WorkerMetrics(instruments), WorkerSettings("benchmark", ledgers=8),
        )  # fmt: skip

    def limit(self, name: str, rate: Rate = UNLIMITED) -> None:
        """Set one limit and no other."""
        for each in (REPLICATION_READ, REPLICATION_WRITE):
            self.throttles.get(each).change(rate if each == name else UNLIMITED)


class Bench:
    """A cluster with ledgers, of which bookies get lost in turn."""

    def __init__(self, cluster: Cluster, client: BookKeeper) -> None:
        self.cluster = cluster
        self.client = client
        self.ledgers: list[int] = []
        self._turn = 0
        self._marks = cast(IUnderreplication, client.metadata.underreplication)
        self._registration = cast(IRegistration, client.metadata.registration)

    async def write(self, ledgers: int, entries: int, size: int) -> None:
        """Make closed ledgers."""

        async def one() -> None:
            writer = await self.client.create_ledger(*_SIZES)
            await writer.append_many([bytes(size)] * entries)
            self.ledgers.append(writer.ledger_id)
            await writer.close()

        for start in range(0, ledgers, 8):
            works = [Deferred.fromCoroutine(one()) for _ in range(min(8, ledgers - start))]
            for work in works:
                await work

    @contextlib.asynccontextmanager
    async def lost_bookie(self) -> Any:
        """One bookie is gone, and gives the ids of the ledgers that name it; it comes back afterwards."""
        port = self.cluster.ports[self._turn % len(self.cluster.ports)]
        self._turn += 1
        lost = self.cluster.name(port)
        hit = []
        for ledger_id in self.ledgers:
            metadata = (await self.client.ledger_metadata(ledger_id)).value
            if any(lost in segment.bookies for segment in metadata.segments):
                hit.append(ledger_id)
        self.cluster.kill(port)
        while lost in await self._registration.writable_bookies() or lost in self.client.context.watcher.writable:
            await pause(0.1)
        try:
            yield lost, hit
        finally:
            self.cluster.start(port)
            while lost not in await self._registration.writable_bookies():
                await pause(0.1)

    async def mark(self, lost: str, hit: Collection[int]) -> None:
        """Mark ledgers."""
        for ledger_id in hit:
            await self._marks.mark(ledger_id, (lost,))

    async def until_whole(self) -> None:
        """Wait until nothing is marked."""
        while True:
            async for _ in self._marks.marked_ledgers():
                break
            else:
                return
            await pause(0.05)

    async def repair(self, worker: Worker) -> Round:
        """One round of ours."""
        async with self.lost_bookie() as (lost, hit):
            await self.mark(lost, hit)
            copies = worker.copies
            read, written = copies.read_bytes.success.sum, copies.written_bytes.success.sum
            entries, cpu = copies.entries_written.value, _cpu()
            began = time.monotonic()
            worker.service.startService()
            await self.until_whole()
            seconds, cpu = time.monotonic() - began, _cpu() - cpu
            await worker.service.stopService()
            return Round(
                seconds, len(hit), int(copies.entries_written.value - entries),
                copies.written_bytes.success.sum - written, copies.read_bytes.success.sum - read, cpu,
            )  # fmt: skip

    async def repair_by_apache(self, folder: Path, entry_bytes: int, entries: int) -> Round:
        """One round of Apache's autorecovery; the time counts from the marks, when its auditor is in office."""
        async with self.lost_bookie() as (lost, hit):
            with apache_recovery(folder, self.cluster.uri):
                while await self._auditor() is None:
                    await pause(0.1)
                await self.mark(lost, hit)
                began = time.monotonic()
                await self.until_whole()
                seconds = time.monotonic() - began
            copied = len(hit) * entries
            return Round(seconds, len(hit), copied, copied * entry_bytes, copied * entry_bytes, 0.0)

    async def _auditor(self) -> str | None:
        auditing = cast(Any, self.client.metadata).auditing
        found: str | None = await auditing.auditor()
        return found


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def apache_recovery(folder: Path, uri: str) -> Iterator[None]:
    """Apache's auditor and worker as a process, as they are configured by default, but for pauses."""
    from tests.integration.java import java_command

    settings = {"metadataServiceUri": uri, "bookiePort": str(free_port()), "allowLoopback": "true",
                "advertisedAddress": "127.0.0.1", "rwRereplicateBackoffMs": "100"}  # fmt: skip
    conf = write_properties(folder / "recovery.conf", settings)
    with (folder / "recovery.log").open("ab") as log:
        command = java_command(_APACHE_RECOVERY, "--conf", str(conf), options=("-Xmx512m",))
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        end(process)


async def append_for_ever(uri: str, size: int, report: Path) -> None:
    """Append some entries at a time, and write down each second how many there were and their 99th percentile in ms."""
    client = await BookKeeper.connect(reactor, uri, ClientConfig())
    writer = await client.create_ledger(*_SIZES)
    latencies: list[float] = []

    async def lane() -> None:
        payload = bytes(size)
        while True:
            began = time.monotonic()
            await writer.append(payload)
            latencies.append(time.monotonic() - began)

    lanes = [Deferred.fromCoroutine(lane()) for _ in range(_AT_ONCE)]
    with report.open("a") as out:
        while not any(one.called for one in lanes):
            latencies.clear()
            began = time.monotonic()
            await pause(1.0)
            found, now = sorted(latencies), time.monotonic()
            late = found[int(len(found) * 0.99)] * 1000 if found else 0.0
            out.write(f"{now} {len(found) / (now - began)} {late}\n")
            out.flush()


@contextlib.contextmanager
def appends(uri: str, size: int, report: Path) -> Iterator[None]:
    """A client that appends, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "rereplication", "--append-to", uri, "--report", str(report)]
    process = subprocess.Popen([*command, "--size", str(size)], stdin=subprocess.DEVNULL, cwd=ROOT)
    try:
        yield
    finally:
        end(process)


def appended(report: Path, since: float, until: float) -> tuple[float, float]:
    """Appends a second between two moments, and the median of the 99th percentiles of these seconds in ms."""
    rows = [tuple(map(float, line.split())) for line in report.read_text().splitlines()]
    seconds = [row for row in rows if since + 1 <= row[0] <= until]
    return median(row[1] for row in seconds), median(row[2] for row in seconds)


async def beside_appends(bench: Bench, worker: Worker, uri: str, size: int, report: Path) -> None:
    """Compare appends beside a repair with appends on the same bookies before it."""
    async with bench.lost_bookie() as (lost, hit):
        with appends(uri, size, report):
            while not report.exists() or not report.read_text():
                await pause(0.2)
            began = time.monotonic()
            await pause(6.0)
            rate, p99 = appended(report, began, time.monotonic())
            await bench.mark(lost, hit)
            worker.service.startService()
            began = time.monotonic()
            await pause(6.0)
            slowed, late = appended(report, began, time.monotonic())
        await bench.until_whole()
        await worker.service.stopService()
    print(f"appends alone {rate:,.0f}/s, p99 {p99:.1f} ms; beside a repair at a quarter of its rate {slowed:,.0f}/s, "
          f"{late:.1f} ms: {slowed / rate:.2f} x the rate, {late / p99:.2f} x the p99", flush=True)  # fmt: skip


async def measure(options: argparse.Namespace, folder: Path, cluster: Cluster) -> None:
    """All rounds."""
    client = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    helper = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    bench, worker = Bench(cluster, client), Worker(helper)
    await bench.write(options.ledgers, options.entries, options.size)
    fastest = await bench.repair(worker)
    print(f"without limits: {fastest}", flush=True)
    if options.java:
        apache = await bench.repair_by_apache(folder, options.size + 36, options.entries)
        print(f"Apache's worker: {apache.ledgers} ledgers in {apache.seconds:.1f} s, {apache.rate / MIB:.2f} MiB/s; "
              f"ours {fastest.rate / apache.rate:.1f} x", flush=True)  # fmt: skip
    if not options.fast:
        limit = fastest.rate / options.divisor
        for name in (REPLICATION_READ, REPLICATION_WRITE):
            worker.limit(name, Rate(bytes=limit))
            found = await bench.repair(worker)
            # a limiter that was idle grants the amount of one second at once
            n_bytes = (found.read if name == REPLICATION_READ else found.copied) - limit
            error = n_bytes / found.seconds / limit - 1
            print(f"{name} at {limit / MIB:.2f} MiB/s: {found}; error {error:+.1%}", flush=True)
        worker.limit(REPLICATION_READ, Rate(bytes=fastest.rate / 4))
        await beside_appends(bench, worker, cluster.uri, options.size, folder / "appends")
    await helper.close()
    await client.close()


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks rereplication")
    parser.add_argument("--ledgers", type=int, default=200)
    parser.add_argument("--entries", type=int, default=1000, help="of each ledger")
    parser.add_argument("--size", type=int, default=1024, help="bytes of an entry")
    parser.add_argument("--divisor", type=float, default=4.0, help="of the rate without limits, for the limited rounds")
    parser.add_argument("--fast", action="store_true", help="no limited rounds")
    parser.add_argument("--java", action="store_true", help="on a ZooKeeper, and Apache's autorecovery beside ours")
    parser.add_argument("--jars", type=Path, default=None, help="of Apache; else through Maven")
    parser.add_argument("--directory", default=None, help="where the files are made")
    parser.add_argument("--append-to", default=None, metavar="URI", help="append to a ledger of this cluster for ever")
    parser.add_argument("--report", type=Path, default=None, help="where that writes down its rates")
    options = parser.parse_args(arguments)
    if options.append_to is not None:
        react(lambda _: Deferred.fromCoroutine(append_for_ever(options.append_to, options.size, options.report)))
    zookeeper = ZooKeeper.start(options.jars) if options.java else None
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        cluster = Cluster(Path(directory), zookeeper)
        try:
            react(lambda _: Deferred.fromCoroutine(measure(options, Path(directory), cluster)))
        except SystemExit as done:
            return int(done.code or 0)
        finally:
            cluster.stop()
            if zookeeper is not None:
                zookeeper.close()
    return 0

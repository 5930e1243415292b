"""A cluster of bookies as processes that get lost in turn, ledgers on them, and what makes the ledgers whole again.

A bookie that was lost comes back after its round with what it had, and another one is next.
"""

import contextlib
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from pathlib import Path
from typing import Any, cast

import attrs
from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from bookkeeper_twisted.autorecovery.limits import REPLICATION_READ, REPLICATION_WRITE
from bookkeeper_twisted.autorecovery.service import AutoRecovery, Identity
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.steps import for_each
from bookkeeper_twisted.config.autorecovery import WORKER, AutorecoveryConfig
from bookkeeper_twisted.errors import NotUnderreplicatedError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import UNLIMITED, Rate
from bookkeeper_twisted.metrics import new_registry, render

from ..shared.apache import FULL_COMPILER, ZooKeeper, start_apache
from ..shared.processes import Bookie, end, free_port, start_ours, write_properties

MIB = 1 << 20
SIZES = (3, 3, 2)
_WORKER = "replication_worker_"
OURS = "ours"
_APACHE_RECOVERY = "org.apache.bookkeeper.replication.AutoRecoveryMain"
reactor: Any = _reactor


def show(what: str, **figures: object) -> None:
    """Print a finding as a line of JSON."""
    print(json.dumps({"what": what, **figures}), flush=True)


async def pause(seconds: float) -> None:
    """Let the reactor work for a while."""
    await deferLater(reactor, seconds)


def own_cpu() -> float:
    """Seconds of CPU of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@attrs.frozen
class Counts:
    """What a worker has done until one moment, or in between two.

    :ivar read, written: bytes; written ones count for each bookie that got them.
    :ivar cpu: seconds of this process, of its client included.
    """

    seconds: float
    entries: int
    read: float
    written: float
    cpu: float

    def since(self, before: "Counts") -> "Counts":
        """What was done after another moment."""
        ours, theirs = attrs.astuple(self), attrs.astuple(before)
        return Counts(*[one - other for one, other in zip(ours, theirs, strict=True)])


@attrs.frozen
class Round:
    """One repair of a lost bookie, or the part of it that was waited for.

    :ivar ledgers: that are whole; ``left``: that are still marked.
    """

    ledgers: int
    left: int
    done: Counts

    @property
    def rate(self) -> float:
        """Bytes a second that were written."""
        return self.done.written / self.done.seconds

    def figures(self) -> dict[str, float]:
        """For people and programs."""
        done = self.done
        return {
            "ledgers": self.ledgers, "ledgers_left": self.left, "entries": done.entries,
            "seconds": round(done.seconds, 2), "written_mib": round(done.written / MIB, 1),
            "written_mib_per_s": round(self.rate / MIB, 3),
            "read_mib_per_s": round(done.read / done.seconds / MIB, 3),
            "cpu_us_per_entry": round(done.cpu / max(done.entries, 1) * 1e6, 1),
        }  # fmt: skip


class Cluster:
    """Bookies as processes.

    :param apache: whether they are Apache's, which need a ``zookeeper``.
    """

    def __init__(self, folder: Path, zookeeper: ZooKeeper | None, n_bookies: int = 5, apache: bool = False) -> None:
        self._folder = folder
        self._apache = apache
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
        settings = {"metadataServiceUri": self.uri, "bookieId": self.name(port)}
        if self._apache and self._zookeeper is not None:
            serves = self._zookeeper.registered(self._root, port)
            settings["httpServerEnabled"] = "true"
            self._running[port] = start_apache("java", folder, settings, port, serves)
        else:
            self._running[port] = start_ours(folder, settings, port)

    def kill(self, port: int) -> None:
        """A bookie is gone at once, from the list of registered ones as well."""
        self._running.pop(port).kill()
        if self._zookeeper is not None:
            with contextlib.suppress(Exception):
                self._zookeeper.forget(self._root, port)

    @property
    def kind(self) -> str:
        """Return whose bookies they are."""
        return "Apache's" if self._apache else OURS

    def name(self, port: int) -> str:
        """The id of a bookie."""
        return f"127.0.0.1:{port}"

    def cpu_seconds(self) -> float:
        """Of all bookies that run now."""
        return sum(bookie.cpu_seconds() for bookie in self._running.values())

    def total(self, name: str) -> float:
        """The sum of a metric of all bookies that run now."""
        return sum(bookie.metrics().get(name, 0.0) for bookie in self._running.values())

    def stop(self) -> None:
        """End all bookies."""
        for bookie in self._running.values():
            bookie.stop()


@contextlib.contextmanager
def running_cluster(
    zookeeper: ZooKeeper | None = None, directory: str | None = None, n_bookies: int = 5, apache: bool = False,
) -> Iterator[tuple[Path, Cluster]]:  # fmt: skip
    """Start bookies, yield a folder for files and their cluster, and end the bookies with the block.

    :param zookeeper: the metadata are in it, and it is closed at the end; without one they are in SQLite.
    :param directory: where the folder is made.
    :param apache: whether the bookies are Apache's.
    """
    try:
        with tempfile.TemporaryDirectory(dir=directory) as name:
            folder = Path(name)
            cluster = Cluster(folder, zookeeper, n_bookies, apache)
            try:
                yield folder, cluster
            finally:
                cluster.stop()
    finally:
        if zookeeper is not None:
            zookeeper.close()


def run_to_end(work: Callable[[], Coroutine[Deferred[Any], Any, None]]) -> int:
    """Run the reactor until a coroutine has ended, and return the exit status."""
    try:
        react(lambda _: Deferred.fromCoroutine(work()))
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def run_on_cluster(
    work: Callable[[Path, Cluster], Coroutine[Deferred[Any], Any, None]], zookeeper: ZooKeeper | None = None,
    directory: str | None = None, n_bookies: int = 5,
) -> int:  # fmt: skip
    """Run a benchmark on bookies of its own, which are ended with it, and return the exit status.

    :param work: gets a folder for files, and the cluster.
    """
    with running_cluster(zookeeper, directory, n_bookies) as (folder, cluster):
        return run_to_end(lambda: work(folder, cluster))


class Worker:
    """Our replication worker with a client of its own, started and stopped as often as wanted."""

    def __init__(self, client: BookKeeper, config: AutorecoveryConfig | None = None) -> None:
        config = config or AutorecoveryConfig(auto_recovery_services=(WORKER,), replication_concurrent_ledgers=8)
        instruments = Instruments()
        self._registry = new_registry(instruments)
        self._made = AutoRecovery(
            reactor, client, config, Identity("127.0.0.1:1", "benchmark"), lambda: int(time.time() * 1000), instruments
        )  # fmt: skip
        self.limits = self._made.limits

    def counts(self) -> "Counts":
        """What has been done so far."""
        lines = [line for line in render(self._registry).decode().splitlines() if line.startswith(_WORKER)]
        values = {name.removeprefix(_WORKER): float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
        success = '_sum{success="true"}'
        return Counts(
            time.monotonic(), int(values["NUM_ENTRIES_WRITTEN"]), values["NUM_BYTES_READ" + success],
            values["NUM_BYTES_WRITTEN" + success], own_cpu(),
        )  # fmt: skip

    def start(self) -> None:
        """Begin to repair."""
        self._made.start()

    async def stop(self) -> None:
        """Release all locks."""
        await self._made.stop()

    def limit(self, name: str, rate: Rate = UNLIMITED) -> None:
        """Set one limit and no other."""
        self.limits.set_limits({each: rate if each == name else UNLIMITED for each in
                                (REPLICATION_READ, REPLICATION_WRITE)})  # fmt: skip


class Bench:
    """A cluster with ledgers, of which bookies get lost in turn."""

    def __init__(self, cluster: Cluster, client: BookKeeper) -> None:
        self.cluster = cluster
        self.client = client
        self.ledgers: list[int] = []
        self._turn = 0
        self._marks = client.metadata.underreplication
        self._registration = client.metadata.registration

    async def write(self, ledgers: int, entries: int, size: int) -> None:
        """Make closed ledgers."""

        async def one(_: int) -> None:
            writer = await self.client.create_ledger(*SIZES)
            await writer.append_many([bytes(size)] * entries)
            self.ledgers.append(writer.ledger_id)
            await writer.close()

        await for_each(range(ledgers), one, 8)

    @contextlib.asynccontextmanager
    async def lost_bookie(self) -> "AsyncIterator[tuple[str, list[int]]]":
        """One bookie is gone, and gives the ids of the ledgers that name it; it comes back afterwards."""
        port = self.cluster.ports[self._turn % len(self.cluster.ports)]
        self._turn += 1
        lost = self.cluster.name(port)
        hit = []
        for ledger_id in self.ledgers:
            metadata = await self.client.ledger_metadata(ledger_id)
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
        await for_each(hit, lambda ledger_id: self._marks.mark(ledger_id, (lost,)), 8)

    async def forget_marks(self) -> None:
        """Mark nothing any more."""
        async for ledger_id in self._marks.marked_ledgers():
            with contextlib.suppress(NotUnderreplicatedError):
                await self._marks.remove_mark(ledger_id, (await self._marks.read_mark(ledger_id)).version)

    async def marked(self) -> int:
        """How many ledgers are marked."""
        return len([ledger_id async for ledger_id in self._marks.marked_ledgers()])

    async def until_whole(self, longest: float = float("inf")) -> int:
        """Wait until nothing is marked, or for some seconds; returns how many ledgers still are."""
        ends = time.monotonic() + longest
        while left := await self.marked():
            if time.monotonic() > ends:
                break
            await pause(0.2)
        return left

    async def repair(self, worker: Worker) -> Round:
        """One round of ours."""
        async with self.lost_bookie() as (lost, hit):
            await self.mark(lost, hit)
            before = worker.counts()
            worker.start()
            left = await self.until_whole()
            done = worker.counts().since(before)
            await worker.stop()
            return Round(len(hit) - left, left, done)

    async def repair_by_apache(self, folder: Path, entry_bytes: int, entries: int, longest: float) -> Round:
        """One round of Apache's autorecovery; the time counts from the marks, when its auditor is in office."""
        async with self.lost_bookie() as (lost, hit):
            with apache_recovery(folder, self.cluster.uri):
                while await self.auditor() is None:
                    await pause(0.1)
                began = time.monotonic()
                await self.mark(lost, hit)
                left = await self.until_whole(longest)
                seconds = time.monotonic() - began
            await self.forget_marks()  # what it did not come to
            copied = (len(hit) - left) * entries
            done = Counts(seconds, copied, copied * entry_bytes, copied * entry_bytes, 0.0)
            return Round(len(hit) - left, left, done)

    async def auditor(self) -> str | None:
        """The auditor in office."""
        found: str | None = await cast(Any, self.client.metadata).auditing.auditor()
        return found


@contextlib.contextmanager
def apache_recovery(folder: Path, uri: str, **more: object) -> Iterator[None]:
    """Apache's auditor and worker as a process, as they are configured by default, but for pauses.

    :param more: settings by their keys.
    """
    from ..shared.java import java_command

    settings = {"metadataServiceUri": uri, "bookiePort": str(free_port()), "allowLoopback": "true",
                "advertisedAddress": "127.0.0.1", "rwRereplicateBackoffMs": "100", **more}  # fmt: skip
    conf = write_properties(folder / "recovery.conf", settings)
    with (folder / "recovery.log").open("ab") as log:
        command = java_command(_APACHE_RECOVERY, "--conf", str(conf), options=("-Xmx1g",), tuning=FULL_COMPILER)
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        end(process)

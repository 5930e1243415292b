"""``python -m benchmarks ledger_check``: what a check of all ledgers costs, and how exactly it keeps its limits.

Bookies run as processes on loopback and keep many closed ledgers.  An auditor is elected, finds that the check is due,
and runs it, as a process: ours, with ``--java`` Apache's as well; then ours with limits of bytes and of entries.
Requests and bytes are the bookies' counters; the time is from the first read to the moment when the store names the
check as done, of both alike.  Each finding is a line of JSON.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.model import AuditorCheck

from ..shared.apache import ZooKeeper
from ..shared.processes import ROOT, end, free_port, write_properties
from .lost_bookies import MIB, Bench, Cluster, apache_recovery, pause, reactor, run_on_cluster, show

_PREFIX = "bookkeeper_server_"
_COUNTERS = {
    "reads": _PREFIX + "READ_ENTRY_REQUEST_count",
    "batch_reads": _PREFIX + "BATCH_READ_ENTRY_REQUEST_count",
    "batch_entries": _PREFIX + "BATCH_READ_ENTRY_RESPONSE_ENTRIES_sum",
    "batch_bytes": _PREFIX + "BATCH_READ_ENTRY_RESPONSE_SIZE_sum",
}
_HEADER = 36


@attrs.frozen
class Reads:
    """What bookies have read for clients until one moment, or in between two.

    :ivar reads: of one entry each; ``batch_entries``, ``batch_bytes``: what batches gave.
    """

    seconds: float
    reads: float
    batch_reads: float
    batch_entries: float
    batch_bytes: float

    @classmethod
    def of(cls, cluster: Cluster) -> "Reads":
        """Of all bookies until now."""
        totals = {name: cluster.total(counter) for name, counter in _COUNTERS.items()}
        return cls(time.monotonic(), **totals)

    def since(self, before: "Reads") -> "Reads":
        """What was read after another moment."""
        ours, theirs = attrs.astuple(self), attrs.astuple(before)
        return Reads(*[one - other for one, other in zip(ours, theirs, strict=True)])

    @property
    def requests(self) -> float:
        """Of either kind."""
        return self.reads + self.batch_reads

    @property
    def entries(self) -> float:
        """That were read."""
        return self.reads + self.batch_entries

    def n_bytes(self, size: int) -> float:
        """Of entries, of which each has so many bytes of payload."""
        return self.batch_bytes + self.reads * (size + _HEADER)


class Checks:
    """Checks of all ledgers, one after the other."""

    def __init__(self, cluster: Cluster, client: BookKeeper) -> None:
        self._cluster = cluster
        self._client = client
        self._auditing = client.metadata.auditing

    async def _wait(self) -> Reads:
        """Wait for the whole check of an auditor that is about to be elected."""
        before = Reads.of(self._cluster)
        began = before
        while (now := Reads.of(self._cluster)).requests == before.requests:
            began = now
            await pause(0.1)
        while not await self._auditing.check_time(AuditorCheck.ALL_LEDGERS):
            await pause(0.1)
        done = Reads.of(self._cluster).since(before)
        return attrs.evolve(done, seconds=time.monotonic() - began.seconds)

    async def ours(self, folder: Path, percentage: int, **more: object) -> Reads:
        """One of ours.

        :param more: settings by their keys.
        """
        settings = {
            "metadataServiceUri": self._cluster.uri, "bookiePort": str(free_port()), "allowLoopback": "true",
            "advertisedAddress": "127.0.0.1", "autoRecoveryServices": "auditor",
            "auditorLedgerVerificationPercentage": str(percentage), **more,
        }  # fmt: skip
        conf = write_properties(folder / "auditor.conf", settings)
        command = [sys.executable, "-m", "twisted", "--log-format", "text", "autorecovery", "--conf", str(conf)]
        async with self._due():
            with (folder / "auditor.log").open("ab") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=ROOT)
            try:
                return await self._wait()
            finally:
                end(process)

    async def apache(self, folder: Path, percentage: int) -> Reads:
        """One of Apache's."""
        settings = {"auditorLedgerVerificationPercentage": str(percentage)}
        async with self._due():
            with apache_recovery(folder, self._cluster.uri, **settings):
                return await self._wait()

    @asynccontextmanager
    async def _due(self) -> AsyncIterator[None]:
        await self._auditing.set_check_time(AuditorCheck.ALL_LEDGERS, 0)
        yield
        while await self._auditing.auditor() is not None:
            await pause(0.1)


def show_check(what: str, found: Reads, n_bytes: float, **more: object) -> None:
    """Print what a check cost."""
    show(
        what, seconds=round(found.seconds, 2), requests=int(found.requests), batch_reads=int(found.batch_reads),
        read_mib=round(n_bytes / MIB, 2), mib_per_s=round(n_bytes / MIB / found.seconds, 3), **more,
    )  # fmt: skip


async def measure(options: argparse.Namespace, folder: Path, cluster: Cluster) -> None:
    """All checks."""
    client = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    await Bench(cluster, client).write(options.ledgers, options.entries, options.size)
    checks, size = Checks(cluster, client), options.size
    for percentage in map(int, options.percentages.split(",")):
        ours = await checks.ours(folder, percentage)
        show_check("ours", ours, ours.n_bytes(size), percentage=percentage)
        if options.java:
            found = await checks.apache(folder, percentage)
            show_check("Apache's", found, found.n_bytes(size), percentage=percentage,
                       requests_of_ours=round(ours.requests / found.requests, 3),
                       seconds_of_ours=round(ours.seconds / found.seconds, 3))  # fmt: skip
    if options.limit_seconds:
        await measure_limits(checks, folder, percentage, ours.n_bytes(size), options)
    await client.close()


async def measure_limits(
    checks: Checks, folder: Path, percentage: int, n_bytes: float, options: argparse.Namespace
) -> None:
    """The same check with a limit of bytes, then of entries."""
    limit = int(n_bytes / options.limit_seconds)
    found = await checks.ours(folder, percentage, checkerRateByBytes=limit)
    n_bytes = found.n_bytes(options.size)
    show_check("limit of bytes", found, n_bytes, limit_mib_per_s=round(limit / MIB, 3),
               error_percent=round((n_bytes / found.seconds / limit - 1) * 100, 2))  # fmt: skip
    limit = int(found.entries / options.limit_seconds)
    found = await checks.ours(folder, percentage, checkerRateByEntries=limit)
    show_check("limit of entries", found, found.n_bytes(options.size), limit_entries_per_s=limit,
               error_percent=round((found.entries / found.seconds / limit - 1) * 100, 2))  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ledger_check")
    parser.add_argument("--ledgers", type=int, default=10_000)
    parser.add_argument("--entries", type=int, default=10, help="of each ledger")
    parser.add_argument("--size", type=int, default=1024, help="bytes of an entry")
    parser.add_argument("--percentages", default="0,100", help="of entries to read; 0: the first and the last")
    parser.add_argument("--limit-seconds", type=float, default=25.0,
                        help="that the last check is to take with limits; 0: none")  # fmt: skip
    parser.add_argument("--java", action="store_true", help="on a ZooKeeper, and Apache's check beside ours")
    parser.add_argument("--jars", type=Path, default=None, help="of Apache; else through Maven")
    parser.add_argument("--directory", default=None, help="where the files are made")
    options = parser.parse_args(arguments)
    zookeeper = ZooKeeper.start(options.jars) if options.java else None
    return run_on_cluster(partial(measure, options), zookeeper, options.directory)

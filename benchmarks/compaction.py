"""``python -m benchmarks compaction``: what a compaction costs, how exactly it keeps its limit, what it is good for.

One bookie without a network: real files, journal, index and services.  A thousand ledgers are written in turns, every
second one is deleted, and what is left is compacted.  Reads and writes of the limited run are the kernel's counters
(``/proc/self/io``), the logs having been dropped from the page cache; nothing else is at work then.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import react

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.executor import ThreadExecutor
from bookkeeper_twisted.bookie.lifecycle.replay import checkpoint_now
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.bookie.maintenance.compactor import CompactionOrder, Compactor
from bookkeeper_twisted.bookie.maintenance.lanes import MaintainedDirectory
from bookkeeper_twisted.bookie.maintenance.log_collector import LogCollector
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import MaintenanceMetrics
from bookkeeper_twisted.model import EntryRun
from bookkeeper_twisted.storage.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings
from bookkeeper_twisted.throttle import Rate, Throttle

MIB = 1 << 20
_KEY = b"k" * 20
_EVERYTHING = CompactionOrder(threshold=1.0)
reactor: Any = _reactor


def _run(ledger_id: int, first: int, count: int, size: int) -> EntryRun:
    entries = [
        b"".join(n.to_bytes(8, "big") for n in (ledger_id, entry_id, max(entry_id - 1, 0), size)) + bytes(size)
        for entry_id in range(first, first + count)
    ]
    return EntryRun.of_entries(ledger_id, first, entries)


@attrs.frozen
class Io:
    """The kernel's counters of this process at one moment."""

    seconds: float
    read: int
    written: int

    @classmethod
    def now(cls) -> "Io":
        """Take them."""
        with open("/proc/self/io") as file:
            values = dict(line.split(": ") for line in file.read().splitlines())
        return cls(time.monotonic(), int(values["read_bytes"]), int(values["write_bytes"]))


class Bench:
    """A bookie in a directory.

    :param log_size: of an entry log.
    """

    def __init__(self, directory: str, log_size: int = 64 * MIB) -> None:
        paths = StorePaths(*[(f"{directory}/{name}",) for name in ("journal", "ledgers", "index")])
        self.fs = RealFileSystem()
        paths.make(self.fs)
        self.store = Store.open(
            self.fs, paths, SqliteRunIndex.open, 1, os.urandom(16), JournalSettings(max_size=64 * MIB),
            StorageSettings(log_size_limit=log_size, write_cache_bytes=64 * MIB),
        )  # fmt: skip
        self.store.recover()
        self.executor = ThreadExecutor(reactor)
        usage: Deferred[tuple[int, int]] = Deferred()
        self.engine = Engine(
            self.store.storage, self.store.journals, self.executor, reactor, lambda: usage, lambda failure: None
        )
        self.directory = MaintainedDirectory(self.fs, self.store.storage.directories[0], 0, self.executor)
        self.metrics = MaintenanceMetrics(Instruments())
        self.reads, self.writes = Throttle(reactor, "reads"), Throttle(reactor, "writes")
        self.compactor = Compactor(self.directory, reactor, self.reads, self.writes, self.metrics)

    def fill(self, ledgers: int, turns: int, count: int, size: int) -> None:
        """Ledgers in turns, one checkpoint a turn."""
        storage = self.store.storage
        for ledger_id in range(ledgers):
            storage.put_ledger(LedgerRow(ledger_id, _KEY))
        for turn in range(turns):
            for ledger_id in range(ledgers):
                storage.add(_run(ledger_id, turn * count, count, size))
                if storage.is_full():
                    checkpoint_now(storage, [journal.durable for journal in self.store.journals])
            checkpoint_now(storage, [journal.durable for journal in self.store.journals])

    def delete(self, ledger_ids: Sequence[int]) -> None:
        """Forget ledgers; their space is still in the logs."""
        self.engine.bookie.forget(ledger_ids, 1)
        checkpoint_now(self.store.storage, [journal.durable for journal in self.store.journals])
        self.directory.storage.log.close()

    def live_bytes(self) -> int:
        return sum(self.directory.storage.index.live_bytes().values())

    def drop_caches(self) -> None:
        """Have the kernel forget the entry logs."""
        for log_id in self.directory.space.sealed_logs():
            fd = os.open(self.directory.space.path(log_id), os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    async def compact(self) -> float:
        """Compact everything that is not whole.

        :returns: seconds.
        """
        begin = time.monotonic()
        await self.compactor.run(_EVERYTHING)
        return time.monotonic() - begin

    async def close(self) -> None:
        """Stop."""
        await self.executor.stop()
        self.store.close()


def set_limit(bench: Bench, n_bytes: int) -> None:
    """Limit reads and writes of the compaction; 0: not at all."""
    for throttle in (bench.reads, bench.writes):
        throttle.change(Rate(bytes=n_bytes))


async def limited(bench: Bench, limit: int, seconds: float) -> None:
    """How exactly a limit is kept: the kernel's counters over some seconds of a compaction."""
    bench.drop_caches()
    set_limit(bench, limit)
    running = Deferred.fromCoroutine(bench.compact())
    await _sleep(2)
    begin = Io.now()
    await _sleep(seconds)
    end = Io.now()
    running.addErrback(lambda failure: None).cancel()
    await _sleep(0.5)
    set_limit(bench, 0)
    span = (end.seconds - begin.seconds) * limit
    print(
        f"limit {limit / MIB:.0f} MiB/s over {end.seconds - begin.seconds:.1f} s, kernel's counters:"
        f" read {(end.read - begin.read) / span:.3f}, written {(end.written - begin.written) / span:.3f} of it"
    )


def _sleep(seconds: float) -> "Deferred[None]":
    slept: Deferred[None] = Deferred()
    reactor.callLater(seconds, slept.callback, None)
    return slept


async def foreground(bench: Bench, seconds: float, in_flight: int = 1000) -> tuple[float, float]:
    """Adds of 1 KiB to one ledger, ten in a run.

    :returns: adds a second, and the 99th percentile of latencies in milliseconds.
    """
    latencies: list[float] = []
    ended: Deferred[None] = Deferred()
    end = time.monotonic() + seconds
    ledger_id, following, left = 10**6 + int(time.monotonic() * 1000), 0, in_flight // 10

    def add() -> None:
        nonlocal following, left
        run, begin = _run(ledger_id, following, 10, 992), time.monotonic()
        following += 10

        def done(part: object, error: Exception | None) -> None:
            nonlocal left
            latencies.append(time.monotonic() - begin)
            if time.monotonic() < end:
                reactor.callLater(0, add)
            else:
                left -= 1
                if not left:
                    ended.callback(None)

        bench.engine.bookie.add(run, _KEY, False, False, False, done)

    bench.engine.start(10.0)
    for _ in range(in_flight // 10):
        add()
    await ended
    await bench.engine.checkpointer.stop()
    latencies.sort()
    return len(latencies) * 10 / seconds, latencies[len(latencies) * 99 // 100] * 1000


async def beside(bench: Bench, name: str, seconds: float, work: Callable[[], Any] | None = None) -> tuple[float, float]:
    """Foreground adds, perhaps beside a compaction."""
    running = Deferred.fromCoroutine(work()) if work is not None else None
    rate, p99 = await foreground(bench, seconds)
    if running is not None:
        state = "ended before the adds did" if running.called else "at work to the end"
        running.addErrback(lambda failure: None).cancel()
        await DeferredList([running])
        name += f" ({state})"
    print(f"foreground, {name}: {rate:,.0f} adds/s, p99 {p99:.1f} ms")
    return rate, p99


def batch_reads(bench: Bench, ledger_ids: Sequence[int], last: int) -> tuple[float, int]:
    """Read ledgers whole by pieces of up to a mebibyte, from the disk.

    :returns: entries a second and reads a ledger.
    """
    bench.drop_caches()
    storage, begin, n_reads = bench.store.storage, time.monotonic(), 0
    for ledger_id in ledger_ids:
        following = 0
        while following <= last:
            run = storage.load(ledger_id, following, MIB)
            assert run is not None
            following = run.last + 1
            n_reads += 1
    return len(ledger_ids) * (last + 1) / (time.monotonic() - begin), n_reads // len(ledger_ids)


async def scale(directory: str, entries: int, ledgers: int) -> None:
    """Many ledgers: memory, time and bytes of the index."""
    bench = Bench(directory, 256 * MIB)
    bench.fill(ledgers, 4, entries // ledgers // 4, 36)
    before = _rss()
    begin = time.monotonic()
    bench.delete(range(0, ledgers, 2))
    deleted = time.monotonic() - begin
    took = await bench.compact()
    logs = LogCollector(bench.directory, Throttle(reactor, "scan"), bench.metrics)
    freed = await logs.run()
    print(
        f"{entries:,} entries in {ledgers:,} ledgers: {before} MiB resident after the filling, {_peak()} MiB at most;"
        f" half deleted in {deleted:.1f} s, compacted in {took:.1f} s, {freed / MIB:.0f} MiB freed"
    )
    await bench.close()


def _rss() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // MIB


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def measure(options: argparse.Namespace, directory: str) -> None:
    """All parts in turn."""
    ledgers, turns = 1000, options.mib // options.run
    if options.scale:
        await scale(f"{directory}/scale", options.scale, 100_000)
        return
    bench = Bench(f"{directory}/one")
    bench.fill(ledgers, turns, options.run, 992)
    bench.delete(range(0, ledgers, 2))
    live = bench.live_bytes()
    await limited(bench, options.limit * MIB, options.seconds)
    sample = range(1, ledgers, 20)
    before, reads_before = batch_reads(bench, sample, turns * options.run - 1)
    ratios = []
    for _ in range(options.rounds):
        set_limit(bench, options.limit * MIB)
        idle = await beside(bench, "idle", 3)
        throttled = await beside(bench, "beside a throttled compaction", 3, bench.compact)
        set_limit(bench, 0)
        await beside(bench, "beside a compaction without limit", 3, bench.compact)
        ratios.append((throttled[0] / idle[0], throttled[1] / idle[1]))
    if not ratios:
        return await bench.close()
    rate, p99 = [sorted(column)[len(ratios) // 2] for column in zip(*ratios, strict=True)]
    print(f"throttled over idle, median of {len(ratios)} rounds: {rate:.2f} x the rate, {p99:.2f} x the p99")
    bench.directory.storage.log.close()
    seconds = await bench.compact()
    print(f"without limit: the rest of {live / MIB:.0f} live MiB in {seconds:.1f} s")
    after, reads_after = batch_reads(bench, sample, turns * options.run - 1)
    print(
        f"batch reads of a ledger written in turns: {before:,.0f} entries/s with {reads_before} reads a ledger before,"
        f" {after:,.0f} with {reads_after} after: {after / before:.1f} x"
    )
    await bench.close()


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compaction")
    parser.add_argument("--limit", type=int, default=10, help="of the limited runs, in MiB/s")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the limited run")
    parser.add_argument("--run", type=int, default=32, help="entries of a ledger that are written at once")
    parser.add_argument("--rounds", type=int, default=3, help="of foreground adds")
    parser.add_argument("--mib", type=int, default=640, help="of entries, half of which are deleted")
    parser.add_argument("--scale", type=int, default=0, help="measure memory with so many entries in 100,000 ledgers")
    parser.add_argument("--directory", default=None, help="where the files are made")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        react(lambda _: Deferred.fromCoroutine(measure(options, directory)))
    return 0

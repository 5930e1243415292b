"""``python -m benchmarks compaction_alone``: one bookie without a network, in this process.

Real files, journal, index and services.  Reads and writes of a limited compaction are the kernel's counters
(``/proc/self/io``), the logs having been dropped from the page cache; nothing else is at work then.  Prints one
line of JSON.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import attrs
from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred, fail
from twisted.internet.task import react

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.executor import ThreadExecutor
from bookkeeper_twisted.bookie.lifecycle.replay import checkpoint_now
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.bookie.maintenance.compactor import CompactionOrder, Compactor
from bookkeeper_twisted.bookie.maintenance.log_collector import LogCollector
from bookkeeper_twisted.bookie.maintenance.maintained import MaintainedDirectory
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.limits.throttle import UNLIMITED, Rate, Throttle
from bookkeeper_twisted.metrics import MaintenanceMetrics
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.storage.index.rows import live_bytes
from bookkeeper_twisted.storage.index.run_index import SqliteRunIndex
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ..shared.machine import forget_pages

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
    """A bookie in a directory."""

    def __init__(self, directory: str) -> None:
        paths = StorePaths(*[(f"{directory}/{name}",) for name in ("journal", "ledgers", "index")])
        self.fs = RealFileSystem()
        paths.make(self.fs)
        self.store = Store.open(
            self.fs, paths, SqliteRunIndex.open, 1, os.urandom(16), JournalSettings(max_size=64 * MIB),
            StorageSettings(log_size_limit=64 * MIB, write_cache_bytes=64 * MIB),
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
        logs = LogCollector(self.directory, Throttle(reactor, "scan"), self.metrics)
        self.compactor = Compactor(self.directory, logs, reactor, self.reads, self.writes, self.metrics, fail)

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
        return live_bytes(self.directory.storage.index)

    def drop_caches(self) -> None:
        """Have the kernel forget the entry logs."""
        for log_id in self.directory.space.sealed_logs():
            forget_pages(self.directory.space.path(log_id))

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


@attrs.frozen
class Share:
    """The rates of a compaction over its limit, by the kernel's counters.

    :ivar bound: what the limit was set for: ``reads``, ``writes`` or both.
    """

    bound: str
    reads: float
    writes: float


async def limited(bench: Bench, bound: Sequence[Throttle], limit: int, seconds: float) -> Share:
    """How exactly a limit is kept, over some seconds of a compaction that is cancelled then.

    :param bound: the limiters that have it.
    :param limit: bytes a second.
    """
    bench.drop_caches()
    for throttle in bound:
        throttle.change(Rate(bytes=limit))
    running = Deferred.fromCoroutine(bench.compact())
    await _sleep(2)
    begin = Io.now()
    await _sleep(seconds)
    end = Io.now()
    assert not running.called, "the compaction ended before it was measured"
    running.addErrback(lambda failure: None).cancel()
    await _sleep(0.5)
    for throttle in bound:
        throttle.change(UNLIMITED)
    span = (end.seconds - begin.seconds) * limit
    names = " and ".join(throttle.name for throttle in bound)
    return Share(names, (end.read - begin.read) / span, (end.written - begin.written) / span)


def _sleep(seconds: float) -> "Deferred[None]":
    slept: Deferred[None] = Deferred()
    reactor.callLater(seconds, slept.callback, None)
    return slept


@attrs.frozen
class BatchReads:
    """Reads of some ledgers, whole, by pieces of up to a mebibyte.

    :ivar rate: entries a second.
    :ivar reads: of one ledger.
    """

    rate: float
    reads: int


def batch_reads(bench: Bench, ledger_ids: Sequence[int], last: int) -> BatchReads:
    """Read entries ``0 .. last`` of ledgers from the disk."""
    bench.drop_caches()
    storage, begin, n_reads = bench.store.storage, time.monotonic(), 0
    for ledger_id in ledger_ids:
        following = 0
        while following <= last:
            run = storage.load(ledger_id, following, MIB)
            assert run is not None
            following = run.last + 1
            n_reads += 1
    return BatchReads(len(ledger_ids) * (last + 1) / (time.monotonic() - begin), n_reads // len(ledger_ids))


async def measure(directory: str, mib: int, run: int, limit: int, seconds: float) -> dict[str, Any]:
    """Limits, batch reads, and the speed without a limit.

    :param mib: of entries, half of which are deleted.
    :param run: entries of a ledger that are written at once.
    """
    turns, ledgers = mib // run, 1000
    bench = Bench(directory)
    bench.fill(ledgers, turns, run, 992)
    bench.delete(range(0, ledgers, 2))
    sample, last = range(1, ledgers, 20), turns * run - 1
    before = batch_reads(bench, sample, last)
    shares = []
    for bound in ((bench.reads,), (bench.writes,), (bench.reads, bench.writes)):
        shares.append(await limited(bench, bound, limit, seconds))
    took = await bench.compact()
    after = batch_reads(bench, sample, last)
    await bench.close()
    figures = {"before": before, "after": after}
    return {
        "shares": [attrs.asdict(share) for share in shares], "rest_seconds": took,
        **{name: attrs.asdict(each) for name, each in figures.items()},
    }  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compaction_alone", description=__doc__)
    parser.add_argument("--limit", type=int, default=10, help="of the limited runs, in MiB/s (10)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each limited run (20)")
    parser.add_argument("--run", type=int, default=32, help="entries of a ledger that are written at once (32)")
    parser.add_argument("--mib", type=int, default=1536, help="of entries, half of which are deleted (1536)")
    parser.add_argument("--directory", default=None, help="where the files are made")
    options = parser.parse_args(arguments)

    async def run(directory: str) -> None:
        figures = await measure(directory, options.mib, options.run, options.limit * MIB, options.seconds)
        print(json.dumps(figures), flush=True)

    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        react(lambda _: Deferred.fromCoroutine(run(f"{directory}/one")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

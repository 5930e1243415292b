"""The background services of a bookie as one object: garbage collection, scrub and speed limits."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...instruments import Instruments, RecentQuantile
from ...limits.adaptive import AdaptiveThrottles
from ...limits.throttle import Rate, Throttles
from ...metrics import MaintenanceMetrics, ScrubMetrics
from ...storage.interfaces import IFileSystem, ILedgerStorage
from ...storage.journal.log_mark import read_log_mark
from ...storage.ledger_dirs import log_mark_name
from ..engine import Engine
from ..interfaces import IStorageExecutor
from .compactor import Compactor
from .damaged_ledger_marker import DamagedLedgerMarker
from .garbage_collector import CollectorOptions, GarbageCollector
from .known_damage import KnownDamage
from .ledger_collector import Cluster, LedgerCollector
from .log_collector import LogCollector
from .maintained import MaintainedDirectory, MaintainedJournal
from .scrubber import Scrubber

COMPACTION_READ = "compaction-read"
COMPACTION_WRITE = "compaction-write"
SCAN = "scan"
GC_METADATA = "gc-metadata"
SCRUB = "scrub"


@attrs.frozen
class MaintenanceOptions:
    """The settings of all background work.

    :ivar rates: the speed limits at the start, by the name of the limiter.
    :ivar over_replicated_wait: seconds between two searches for over-replicated ledgers (stored here, although none of
        their ensembles contains this bookie); 0 for no searches.
    :ivar scrub_interval: seconds between two scrubs; 0 for no scrubs.
    :ivar latency_bound: milliseconds within which 99 of 100 adds and reads of clients should end; 0 for no bound.
    """

    collector: CollectorOptions = attrs.field(factory=CollectorOptions)
    rates: Mapping[str, Rate] = attrs.field(factory=dict)
    over_replicated_wait: float = 0.0
    scrub_interval: float = 0.0
    latency_bound: float = 0.0


class Maintenance:
    """The background services of one bookie, which are started and stopped together.

    :ivar directories: the ledger directories, with the threads for their maintenance.
    :ivar throttles: the speed limits of the services.
    :ivar adaptive: slows the services down while clients wait longer than ``latency_bound``.
    :ivar ledgers: deletes the local copies of ledgers that are deleted in metadata.
    :ivar collector: runs garbage collections and compactions.
    :ivar scrubber: verifies the stored entries.
    """

    def __init__(
        self, fs: IFileSystem, storage: ILedgerStorage, engine: Engine, executor: IStorageExecutor, clock: IReactorTime,
        cluster: Cluster, options: MaintenanceOptions, instruments: Instruments | None = None,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        instruments = instruments or Instruments()
        metrics = MaintenanceMetrics(instruments, labels)
        throttles = self.throttles = Throttles(clock, options.rates, instruments)
        requests = engine.context.metrics
        latency = RecentQuantile(0.99, requests.add.success, requests.read.success)
        self.adaptive = AdaptiveThrottles(clock, throttles, latency, options.latency_bound, instruments)
        self._options = options
        self._checking: list[Deferred[None]] = []
        self.directories = [
            MaintainedDirectory(fs, directory, number, executor) for number, directory in enumerate(storage.directories)
        ]
        self.ledgers = LedgerCollector(
            engine.bookie, storage, cluster, engine.checkpointer.checkpoint_all, clock, throttles.get(GC_METADATA),
            metrics, options.over_replicated_wait,
        )  # fmt: skip
        logs = [LogCollector(directory, throttles.get(SCAN), metrics) for directory in self.directories]
        reads, writes = throttles.get(COMPACTION_READ), throttles.get(COMPACTION_WRITE)
        scrub_metrics = ScrubMetrics(instruments, labels)
        marker = DamagedLedgerMarker(cluster, clock, throttles.get(GC_METADATA), scrub_metrics)
        known = KnownDamage(clock, marker, scrub_metrics)
        compactors = [
            Compactor(
                directory, collector, clock, reads, writes, metrics, partial(known.join, directory),
                lambda: any(commit.is_busy for commit in engine.commits),
            )
            for directory, collector in zip(self.directories, logs, strict=True)
        ]
        self.collector = GarbageCollector(clock, self.ledgers, logs, compactors, metrics, options.collector)

        metrics.watch_damage(lambda: sum(len(directory.damaged) for directory in self.directories))

        self.scrubber = Scrubber(
            self.directories, self._journals(fs, engine, executor), engine.checkpointer.checkpoint, clock,
            throttles.get(SCRUB), scrub_metrics, options.scrub_interval, known,
        )  # fmt: skip

    def _journals(self, fs: IFileSystem, engine: Engine, executor: IStorageExecutor) -> list[MaintainedJournal]:
        paths, count = [directory.storage.path for directory in self.directories], len(engine.commits)
        return [
            MaintainedJournal(
                fs, commit, len(paths) + index, partial(read_log_mark, fs, paths, log_mark_name(index, count)), executor
            )
            for index, commit in enumerate(engine.commits)
        ]

    def start(self) -> None:
        """Start the services, and verify the structure of the indexes."""
        self._checking = [Deferred.fromCoroutine(directory.check_index()) for directory in self.directories]
        self.collector.start()
        self.scrubber.start()
        self.adaptive.start()

    def change(self, options: MaintenanceOptions) -> None:
        """Set new ``options`` while the services run.

        A speed limit is set only if its option has changed, so that limits that an administrator has set stay as they
        are.
        """
        before, self._options = self._options, options
        self.collector.change(options.collector)
        self.ledgers.over_replicated_wait = options.over_replicated_wait
        self.scrubber.change(options.scrub_interval)
        for name, rate in options.rates.items():
            if rate != before.rates.get(name):
                self.throttles.get(name).change(rate)
        if options.latency_bound != before.latency_bound:
            self.adaptive.change(options.latency_bound)

    async def stop(self) -> None:
        """Cancel the work in progress and wait for its end; the check of an index may end a little later."""
        self.adaptive.stop()
        for checking in self._checking:
            checking.cancel()
        for directory in self.directories:
            directory.storage.index.interrupt()
        await self.collector.stop()
        await self.scrubber.stop()

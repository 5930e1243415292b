"""Autorecovery in one process: the auditor with its election, and the replication worker."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..client import BookKeeper
from ..config.autorecovery import AUDITOR, WORKER, AutorecoveryConfig
from ..errors import BookKeeperError
from ..instruments import Instruments, RecentQuantile
from ..limits.adaptive import AdaptiveThrottles, RunningJob, SpeedLimits
from ..limits.throttle import Rate, Throttles
from ..metadata.interfaces import IMetadataDriver
from ..shared_result import ended_within, result_of
from .auditing.auditor import Auditor, AuditorElection, AuditorParts
from .auditing.auditor_metrics import AuditorMetrics
from .interfaces import CopyProgress, LedgerStatus, repair_of
from .limits import CHECKER_METADATA, CHECKER_READ, REPLICATION_METADATA, REPLICATION_READ, REPLICATION_WRITE
from .metrics import CheckerMetrics, ReplicationMetrics, WorkerMetrics
from .presence import Presence
from .replication.checker import CheckerSettings, LedgerChecker
from .replication.copying import CopyLimits, CopySettings, LatencyProbe
from .replication.fragment_replicator import FragmentReplicator
from .replication.placement import Placement
from .replication.repair import LedgerRepair
from .replication.worker import ReplicationWorker, WorkerSettings

STOP_SECONDS = 5.0
"""Seconds after which a stop waits no longer for the metadata store."""

_ANY_NUMBER = 1 << 30


@attrs.frozen
class Identity:
    """The names by which this process is known in the metadata store.

    :ivar candidate: the name in the election of the auditor.  As in Apache BookKeeper, this is the bookie id that a
        bookie with the same configuration would have.
    :ivar holder: host name in the worker's replication locks, for people to read.
    """

    candidate: str
    holder: str


class AutoRecovery:
    """The autorecovery of one process: a candidate for auditor and a replication worker, which share one client.

    :param client: the connected client; its owner closes it.
    :param now_ms: a function that returns the time in ms since the epoch, for marks and for the times of checks.
    :ivar throttles: the speed limits of all work of autorecovery.
    :ivar adaptive: lowers the speed limits of copies while bookies need long to read or add single entries.
    :ivar limits: reads and changes the speed limits and the adaptive limits for an operator.
    :ivar election: the candidate for auditor.
    :ivar worker: the replication worker.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, client: BookKeeper, config: AutorecoveryConfig, identity: Identity,
        now_ms: Callable[[], int], instruments: Instruments | None = None,
    ) -> None:  # fmt: skip
        instruments = instruments or Instruments()
        self._clock = clock
        driver: IMetadataDriver = client.metadata
        context = client.context
        throttles = self.throttles = Throttles(clock, throttle_rates(config), instruments)
        operations = throttles.get(REPLICATION_METADATA)
        presence = Presence(clock, context.watcher, driver.registration, operations)
        checker_metrics, replication_metrics = CheckerMetrics(instruments), ReplicationMetrics(instruments)
        auditor_metrics = AuditorMetrics(instruments)

        checker = LedgerChecker(
            context, presence, throttles.get(CHECKER_READ), checker_metrics, checker_settings(config)
        )
        parts = AuditorParts(
            clock, now_ms, driver, checker, context.bookies, context.watcher.placement,
            throttles, auditor_metrics, config,
        )  # fmt: skip
        self.election = AuditorElection(
            driver.auditing, identity.candidate, lambda: Auditor(parts), auditor_metrics
        )
        latency = RecentQuantile(
            0.99, replication_metrics.entry_read_latency.success, replication_metrics.entry_write_latency.success
        )
        self.adaptive = AdaptiveThrottles(
            clock, throttles, latency, config.replication_latency_bound_ms, instruments, {"work": "autorecovery"}
        )
        probe = LatencyProbe(clock, lambda: self.adaptive.status.bound > 0)
        copy_limits = CopyLimits(throttles.get(REPLICATION_READ), throttles.get(REPLICATION_WRITE))
        replicator = FragmentReplicator(
            context, presence, copy_limits, operations, replication_metrics, copy_settings(config), probe=probe
        )
        placed = config.repaired_placement_policy_not_adhering_bookie_enabled
        placement = Placement(context.watcher) if placed else None
        repair = LedgerRepair(context, checker, replicator, operations, placement)
        self.worker = ReplicationWorker(
            context, driver, repair, operations, WorkerMetrics(instruments), worker_settings(config, identity.holder)
        )
        reads, writes = throttles.get(REPLICATION_READ), throttles.get(REPLICATION_WRITE)
        self.limits = SpeedLimits(
            throttles, self.adaptive,
            lambda most=None: jobs_of(self.worker.status(most), clock.seconds(), reads.rate, writes.rate),
            lambda: forget_speeds(self.worker.status(0), clock.seconds()),
        )
        self._services = config.auto_recovery_services

    def start(self) -> None:
        """Start the candidacy for auditor or the replication worker or both, as the configuration says.

        :raises bookkeeper_twisted.errors.MetadataError: the client is closed.
        """
        self.adaptive.start()
        if WORKER in self._services:
            self.worker.startService()
        if AUDITOR in self._services:
            self.election.start()

    def change(self, before: AutorecoveryConfig, config: AutorecoveryConfig) -> None:
        """Set the speed limits of a new ``config`` that differ from the configuration ``before``."""
        old, bound = throttle_rates(before), config.replication_latency_bound_ms
        rates = {name: rate for name, rate in throttle_rates(config).items() if rate != old[name]}
        self.limits.set_limits(rates, None if bound == before.replication_latency_bound_ms else bound)

    async def stop(self) -> None:
        """Stop the auditor, and then the worker, which cancels its repairs and releases their locks.

        All work ends immediately.  Wait for the metadata store, which removes the candidate and the locks, but for
        :data:`STOP_SECONDS` at most.
        """
        services: Mapping[str, Callable[[], Coroutine[Deferred[Any], Any, None] | Deferred[None]]] = {
            AUDITOR: self.election.stop, WORKER: self.worker.stopService
        }  # fmt: skip
        until, is_late = self._clock.seconds() + STOP_SECONDS, False
        stopping = [ensureDeferred(stop()) for name, stop in services.items() if name in self._services]
        for each in stopping:
            if not await ended_within(each, self._clock, max(0.0, until - self._clock.seconds())):
                is_late = True
                each.cancel()
            try:
                await result_of(each)
            # Continue after the error: the store removes the candidate and the locks at the end of the session.
            except BookKeeperError as error:
                self._log.warn("autorecovery ends: {error}", error=error)
            except CancelledError:
                pass
        if is_late:
            self._log.warn(
                "autorecovery ends: the metadata store has not answered within {seconds:g} s; it removes the candidate "
                "and the locks by itself when the session of this process ends", seconds=STOP_SECONDS,
            )  # fmt: skip
        self.adaptive.stop()


def jobs_of(statuses: Sequence[LedgerStatus], now: float, *limits: Rate) -> list[RunningJob]:
    """Describe the repairs of a worker as running jobs, to be shown to an operator.

    :param statuses: the ledgers that the worker is repairing, and of the others that it has locked those to be shown.
    :param now: the time, in seconds of the worker's clock.
    :param limits: the speed limits in force, which the repairs share; no job ends before they allow it.
    """
    beside = _progress_of(statuses)
    return [_job_of(status, now, limits, beside) for status in statuses]


def forget_speeds(statuses: Sequence[LedgerStatus], now: float) -> None:
    """Measure the speed of running repairs from ``now`` on, in seconds of the worker's clock: limits were changed.

    :param statuses: the ledgers that the worker is repairing.
    """
    for progress in _progress_of(statuses):
        progress.forget_speed(now)


def _progress_of(statuses: Sequence[LedgerStatus]) -> list[CopyProgress]:
    return [status.progress for status in statuses if status.progress is not None]


def _job_of(
    status: LedgerStatus, now: float, limits: Sequence[Rate], beside: Sequence[CopyProgress]
) -> RunningJob:  # fmt: skip
    name, progress = repair_of(status.ledger_id), status.progress
    if progress is None:
        return RunningJob(name, status.state, status.reason, status.since)
    eta, at_limits = progress.eta(now), max([progress.seconds_at(limit, beside) for limit in limits], default=0.0)
    return RunningJob(
        name, status.state, status.reason, status.since, progress.done, progress.fragments, progress.n_bytes,
        max(eta or 0.0, at_limits) if at_limits else eta,
    )  # fmt: skip


def throttle_rates(config: AutorecoveryConfig) -> dict[str, Rate]:
    """Return the initial speed limits in a ``config``, by the name of the limiter."""
    return {
        REPLICATION_READ: _rate(config.replication_rate_by_entries, config.replication_rate_by_bytes),
        REPLICATION_WRITE: _rate(config.replication_write_rate_by_entries, config.replication_write_rate_by_bytes),
        REPLICATION_METADATA: _rate(config.zk_replication_task_rate_limit),
        CHECKER_READ: _rate(config.checker_rate_by_entries, config.checker_rate_by_bytes),
        CHECKER_METADATA: _rate(config.checker_metadata_op_rate_limit),
    }


def checker_settings(config: AutorecoveryConfig) -> CheckerSettings:
    """Return the settings of the checks of ledgers from a ``config``."""
    return CheckerSettings(
        percentage=config.auditor_ledger_verification_percentage,
        max_in_flight=config.in_flight_read_entry_num_in_ledger_checker,
    )


def copy_settings(config: AutorecoveryConfig) -> CopySettings:
    """Return, from a ``config``, the settings of the copies that a replication worker makes."""
    entries = config.rereplication_entry_batch_size
    return CopySettings(
        window_entries=entries if entries > 0 else _ANY_NUMBER, window_bytes=config.replication_window_bytes
    )


def worker_settings(config: AutorecoveryConfig, holder: str) -> WorkerSettings:
    """Return the settings of the replication worker from a ``config``.

    :param holder: host name, which becomes part of the text in the worker's replication locks.
    """
    return WorkerSettings(
        holder,
        ledgers=config.replication_concurrent_ledgers,
        grace=config.open_ledger_rereplication_grace_period / 1000,
        longest_hold=config.lock_release_of_failed_ledger_grace_period / 1000,
        backoff=config.rw_rereplicate_backoff_ms / 1000,
    )


def _rate(entries: float = 0, n_bytes: float = 0) -> Rate:
    """Return a rate of entries and bytes per second; a configured number of 0 or less means no limit."""
    return Rate(max(entries, 0), max(n_bytes, 0))

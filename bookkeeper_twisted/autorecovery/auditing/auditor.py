"""The auditor of a cluster, which finds and marks ledgers that lack replicas, and its election."""

from collections.abc import Awaitable, Callable
from functools import partial

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...client.interfaces import IBookieClient
from ...config.autorecovery import AutorecoveryConfig
from ...errors import BookKeeperError
from ...limits.throttle import Throttles
from ...metadata.interfaces import IAuditing, IMetadataDriver, IStoreConnection, IUnderreplication
from ...metadata.registered import registered_bookies
from ...model import AuditorCheck
from ...placement.interfaces import IPlacementPolicy
from ..interfaces import ILedgerChecker
from ..limits import CHECKER_METADATA, REPLICATION_METADATA
from ..switch import Switch
from ..unanswering import UnansweringBookies
from .auditor_metrics import AuditorMetrics, CheckResults
from .bookie_audit import BookieAudit, LeftOutLedgers, Marker
from .detection import LostBookieDetector
from .ledger_checks import AllLedgersCheck, CheckContext, PlacementCheck, ReplicasCheck
from .ledger_scan import LedgerScan, SharedWalks
from .left_out import LeftOutAudits
from .periodic import PeriodicWork, Timetable
from .repeating import until_done

COUNT_SECONDS = 60.0

MOST_PARALLEL = 100
"""Maximum number of ledgers that are checked at the same time; the metadata and requests of each need memory."""


_NAMES = {
    AuditorCheck.ALL_LEDGERS: "check of all ledgers",
    AuditorCheck.PLACEMENT: "check of placement",
    AuditorCheck.REPLICAS: "check of replicas",
}


@attrs.frozen
class AuditorParts:
    """The objects that an auditor works with, and its configuration.

    :ivar now_ms: a function that returns the time in ms since the epoch.
    """

    clock: IReactorTime
    now_ms: Callable[[], int]
    driver: IMetadataDriver
    checker: ILedgerChecker
    bookies: IBookieClient
    policy: IPlacementPolicy
    throttles: Throttles
    metrics: AuditorMetrics
    config: AutorecoveryConfig


class MarkCount:
    """A count of the ledgers with an underreplicated mark, which is repeated every minute.

    :param findings: the numbers that the metrics export.  Each count sets ``findings.marked``; :meth:`stop` sets it
        to 0.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, underreplication: IUnderreplication, findings: CheckResults) -> None:
        self._clock = clock
        self._underreplication = underreplication
        self._findings = findings
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        """Count the ledgers with an underreplicated mark now, and every minute from now on."""
        self._running = Deferred.fromCoroutine(self._repeat())
        self._running.addErrback(self._ended)

    def stop(self) -> None:
        """Stop counting, because another process may be the auditor now."""
        if self._running is not None:
            self._running.cancel()
        self._findings.marked = 0

    async def _repeat(self) -> None:
        while True:
            try:
                self._findings.marked = await self._count()
            except BookKeeperError as error:
                # Keep the last number: if the metadata store fails, an alert that depends on the number must not end.
                self._log.debug("underreplicated ledgers are not counted: {error}", error=error)
            await deferLater(self._clock, COUNT_SECONDS)

    async def _count(self) -> int:
        count = 0
        async for _ in self._underreplication.marked_ledgers():
            count += 1
        return count

    def _ended(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the count of underreplicated ledgers has ended", failure)


class Auditor:
    """The work of an elected auditor until it loses the election; it cannot be started again after :meth:`stop`."""

    _log = Logger()

    def __init__(self, parts: AuditorParts) -> None:
        self._parts = parts
        driver, config, throttles = parts.driver, parts.config, parts.throttles
        self._registration = driver.registration
        self._underreplication = driver.underreplication
        self._auditing = driver.auditing
        ledgers, left_out = driver.ledgers, LeftOutLedgers()
        self._switch = Switch(self._underreplication)
        self._scan = LedgerScan(
            parts.clock, ledgers, self._switch, throttles.get(CHECKER_METADATA),
            min(config.auditor_max_number_of_concurrent_open_ledger_operations, MOST_PARALLEL),
            config.auditor_acquire_concurrent_open_ledger_operations_timeout_msec / 1000, left_out.note,
        )  # fmt: skip
        self._walks = SharedWalks(self._scan)
        self._audit = BookieAudit(parts.clock, parts.now_ms, self._scan, self._marker, parts.metrics, left_out)
        self._detector = LostBookieDetector(
            parts.clock, self._registration, self._auditing, self._switch, self._audit, parts.metrics,
            config.lost_bookie_recovery_delay, IStoreConnection(driver, None),
        )  # fmt: skip
        self._left_out = LeftOutAudits(
            parts.clock, self._registration, self._switch, self._audit, self._detector.is_expected, parts.metrics
        )
        self._marks = MarkCount(parts.clock, self._underreplication, parts.metrics.findings)
        self._work = list(self._periodic_work())
        self._starting: Deferred[None] | None = None

    def start(self) -> None:
        """Start the detection of lost bookies and the timers of the periodic checks."""
        self._starting = Deferred.fromCoroutine(self._start())
        self._starting.addErrback(self._did_not_start)
        self._marks.start()

    async def _start(self) -> None:
        self._switch.start()
        self._left_out.start()
        await until_done(self._parts.clock, "the start of the auditor", self._detector.start)
        for work in self._work:
            work.start()

    def stop(self) -> None:
        """End all work immediately.

        After this call, the auditor sends no more requests to mark a ledger or to store the time of a check.
        """
        if self._starting is not None:
            self._starting.cancel()
        for work in self._work:
            work.stop()
        self._detector.stop()
        self._left_out.stop()
        self._marks.stop()
        self._switch.stop()

    def _did_not_start(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the auditor does not start", failure)

    def _marker(self) -> Marker:
        config, parts = self._parts.config, self._parts
        now_ms = parts.now_ms if config.store_system_time_as_ledger_underreplicated_mark_time else None
        return Marker(self._underreplication, self._switch, parts.throttles.get(REPLICATION_METADATA), now_ms)

    # -- periodic work --

    def _periodic_work(self) -> "list[PeriodicWork]":
        parts, config = self._parts, self._parts.config
        context = CheckContext(
            parts.clock, self._scan, self._walks, self._underreplication, self._marker, parts.metrics,
            lambda seconds: deferLater(parts.clock, seconds),
        )  # fmt: skip
        placement = PlacementCheck(
            context, parts.policy, config.repaired_placement_policy_not_adhering_bookie_enabled,
            config.underreplicated_ledger_recovery_grace_period, parts.now_ms,
        )  # fmt: skip
        checks: list[tuple[AuditorCheck, int, Callable[[], Awaitable[None]]]] = [
            (AuditorCheck.ALL_LEDGERS, config.auditor_periodic_check_interval,
             AllLedgersCheck(context, parts.checker, self._detector.is_expected).run),
            (AuditorCheck.PLACEMENT, config.auditor_periodic_placement_policy_check_interval, placement.run),
            (AuditorCheck.REPLICAS, config.auditor_replicas_check_interval,
             ReplicasCheck(context, parts.bookies, UnansweringBookies(parts.clock, "listings of entries")).run),
        ]  # fmt: skip
        audit = Timetable(config.auditor_periodic_bookie_check_interval, self._last_audit)
        return [
            self._periodic("search for ledgers on lost bookies", audit, self._audit_bookies),
            *[
                self._periodic(_NAMES[check], self._stored(check, interval), run)
                for check, interval, run in checks
                if interval
            ],
        ]

    def _periodic(self, name: str, schedule: Timetable, run: Callable[[], Awaitable[None]]) -> PeriodicWork:
        parts = self._parts
        return PeriodicWork(parts.clock, parts.now_ms, name, schedule, run, self._switch, self._detector, parts.metrics)

    def _stored(self, check: AuditorCheck, interval: int) -> Timetable:
        async def last_run() -> int | None:
            return await self._auditing.check_time(check)

        async def ran() -> None:
            await self._auditing.set_check_time(check, self._parts.now_ms())

        return Timetable(interval, last_run, ran)

    async def _audit_bookies(self) -> None:
        registered = await registered_bookies(self._registration)
        # Checks may share this pass over all ledgers.  With turn 0, the audit is the first to process each ledger,
        # because its marks for lost bookies are urgent.
        walk = partial(self._walks.run, turn=0)
        await self._audit.run(registered, self._detector.is_expected, walk)

    async def _last_audit(self) -> int | None:
        return self._audit.ended_ms


class AuditorElection:
    """The candidacy of this process for auditor, which lasts as long as the process runs.

    Apache's auditor process exits when its ZooKeeper session ends.  This process only stops its auditor, and becomes a
    candidate again in its next session.

    :param candidate: the bookie id that names this process in the election.
    :param make_auditor: a function that makes an auditor; called when this process is elected.
    """

    def __init__(
        self, auditing: IAuditing, candidate: str, make_auditor: Callable[[], Auditor], metrics: AuditorMetrics
    ) -> None:
        self._auditing = auditing
        self._candidate = candidate
        self._make_auditor = make_auditor
        self._metrics = metrics
        self._auditor: Auditor | None = None

    @property
    def in_office(self) -> bool:
        """Test whether this process is the elected auditor of the cluster."""
        return self._auditor is not None

    def start(self) -> None:
        """Begin to take part in the election.

        :raises bookkeeper_twisted.errors.MetadataError: the driver is not open.
        """
        self._auditing.stand(self._candidate, self._elected)

    async def stop(self) -> None:
        """Stop the auditor, and withdraw this candidate, so that another process is elected.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; it removes this candidate at the end of the
            session.
        """
        self._dismiss()
        await self._auditing.withdraw()

    def _elected(self, elected: bool) -> None:
        self._dismiss()
        if elected:
            self._metrics.elections.value += 1
            self._metrics.findings.in_office = 1
            self._auditor = self._make_auditor()
            self._auditor.start()

    def _dismiss(self) -> None:
        self._metrics.findings.in_office = 0
        auditor, self._auditor = self._auditor, None
        if auditor is not None:
            auditor.stop()

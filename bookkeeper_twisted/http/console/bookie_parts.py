"""The sources of the console about one bookie: its state, disks, journals, slow requests, speed limits and jobs."""

from collections.abc import Callable, Mapping, Sequence

import attrs

from ...autorecovery.interfaces import repaired_ledger
from ...autorecovery.operations.decommission import Remaining
from ...autorecovery.replication.lock_reasons import by_kind, kind_of, ledgers, obstacle_of, without_past
from ...bookie.admin import CollectionStatus, CompactionStatus, DirectoryUsage, IBookieAdmin, Phase
from ...bookie.requests.slow_requests import SlowRequest
from ...limits.adaptive import RunningJob
from ...metrics import JournalGroup
from ..autorecovery_api import WAITS, RunningOperation
from ..background_api import collection_value, scrub_value
from ..limits_api import limits_of_bookie, limits_value
from .diagnosis import FullForecast, bottleneck, disk_warning, full_forecast, journal_warning
from .sources import RecordSource, Source, StateSource

_EVERY_DISKS = 5
_SHOWN_LEDGERS = 20
_SHOWN_KINDS = 20
SHOWN_JOBS = 100
"""Maximum number of repairs of this process that are shown."""


class BookieParts:
    """Reads the data of one bookie that the console shows.

    :param admin: administration interface of the bookie.
    :param seconds: returns the seconds since the epoch.
    """

    def __init__(self, admin: IBookieAdmin, seconds: Callable[[], float]) -> None:
        self._admin = admin
        self._seconds = seconds

    def sources(self) -> list[Source]:
        """Return the console's data sources about this bookie, one for each part of the page."""
        return [
            StateSource("bookie", self.bookie, _EVERY_DISKS), StateSource("latency", self.latency),
            StateSource("throttles", self.throttles), StateSource("work", self.work),
            RecordSource("journals", self._admin.journal_groups, _group),
            RecordSource("slow", lambda: (self._admin.slow_requests(),), _slow),
        ]  # fmt: skip

    async def bookie(self) -> object:
        """Return the state of the bookie, why it is read-only and since when, and its disks."""
        state, values = self._admin.state(), self._admin.configuration()
        threshold = float(values.get("diskUsageThreshold", "0.95"))
        disks, journals = await self._admin.disks(), await self._admin.journal_disks()
        indexes = await self._admin.index_disks()
        return {
            "id": self._admin.bookie_id,
            "address": self._admin.address,
            "phase": state.phase.value,
            "readOnly": state.read_only,
            "highPriorityWrites": state.high_priority_writes,
            "reasons": [
                {"text": text, "since": since, "atLeast": text in state.began_before}
                for text, since in zip(state.reasons, state.since, strict=False)
            ],
            "disks": [
                *[_disk(disk, threshold) | {"warning": disk_warning(disk)} for disk in disks],
                *[
                    _disk(disk, 1.0) | {"warning": journal_warning(disk) or disk_warning(disk), "journal": True}
                    for disk in journals
                ],
                *[_disk(disk, threshold) | {"warning": disk_warning(disk), "index": True} for disk in indexes],
            ],
        }

    async def latency(self) -> object:
        """Return the main cause of slow requests, and the journal's mean times of queueing, writing and syncing."""
        groups = [group for ring in self._admin.journal_groups() for group in ring.after(0)]
        threshold = self._admin.configuration().get("slowRequestThresholdMs", "0")
        slow = self._admin.slow_requests().after(0)
        found = bottleneck(
            groups, slow, self._seconds(), threshold, self._admin.slowest_peer(), self._admin.present_waits(),
            self._admin.long_delays(),
        )  # fmt: skip
        return attrs.asdict(found) | {"threshold": threshold}

    async def throttles(self) -> object:
        """Return all speed limits of the process; None while the bookie does not accept requests."""
        return limits_value(limits_of_bookie(self._admin)) if self._serves else None

    async def work(self) -> object:
        """Return the state of garbage collection and scrub; None while the bookie does not accept requests."""
        if not self._serves:
            return None
        work = self._admin.background()
        collection = work.collection()
        return {
            "collection": {
                **collection_value(collection),
                "waiting": _waiting(collection),
                "major": _compaction(collection.major),
                "minor": _compaction(collection.minor),
            },
            "scrub": scrub_value(work.scrub()),
        }

    @property
    def _serves(self) -> bool:
        return self._admin.state().phase is Phase.SERVING


def operations_value(
    operations: Mapping[str, RunningOperation], now: float, jobs: Sequence[RunningJob] = (), outage: str = ""
) -> list[object]:  # fmt: skip
    """Return running and failed decommissions and recoveries as JSON, with the ledgers that decommissions wait for.

    :param operations: the decommissions and recoveries, by name.
    :param now: the time, in seconds of the clock.
    :param jobs: the jobs of the replication worker of this process; a decommission does not end before those of its
        ledgers.
    :param outage: why the metadata store cannot be read at present; empty if no reason is known.
    """
    return [
        {
            "name": each.name,
            "began": each.began,
            **({"failure": each.failure, "advice": each.advice} if each.failure else {}),
            **(
                {} if each.remaining is None
                else _remaining(each.remaining, each, now, jobs, "" if each.failure else outage)
            ),
        }
        for each in operations.values() if each.ended is None or each.failure
    ]


def replication_value(jobs: Sequence[RunningJob]) -> list[object]:
    """Return as JSON the ``jobs`` of the replication worker of this process: the ledgers that it has locked.

    Those that it is repairing come first.  Of very many that wait, only the first are returned: a worker keeps each
    ledger that it cannot repair, and the jobs are read every second.
    """
    at_work_first = sorted(jobs, key=lambda job: job.state != "repairing")
    return [
        {
            "name": job.name, "state": job.state, "reason": job.reason, "since": round(job.since, 3),
            "done": job.done, "total": job.total, "bytes": job.n_bytes, "eta": _rounded(job.eta),
        }
        for job in at_work_first[:SHOWN_JOBS]
    ]  # fmt: skip


def _remaining(
    remaining: Remaining, operation: RunningOperation, now: float, jobs: Sequence[RunningJob], outage: str
) -> Mapping[str, object]:  # fmt: skip
    """Return as JSON the ledgers that a decommission waits for, and the estimated seconds until its end.

    If some of the ledgers cannot be repaired, or wait for a time or for their writers, there is a text about the end
    instead of the seconds.  While the metadata store cannot be read, these are those of before, and there is no end.
    Before the first check that has succeeded, the result has at most the reason for which the store cannot be read.
    """
    unreachable = remaining.unreachable or outage
    if not remaining.found:
        return {"unreachable": unreachable, "summary": f"{WAITS}: {unreachable}"} if unreachable else {}
    present = {reason: without_past(reason, now) for reason in set(remaining.blockers.values())}
    blockers = {ledger_id: present[reason] for ledger_id, reason in remaining.blockers.items()}
    left, done = len(blockers), remaining.found - len(blockers)
    seconds, obstacle = now - operation.began, obstacle_of(blockers)
    recent = (now - operation.changed) * left / operation.fell if operation.fell else 0.0
    least = max([job.eta for job in jobs if repaired_ledger(job) in blockers and job.eta is not None], default=0.0)
    eta = max(seconds * left / done, recent, least) if done and not obstacle and not unreachable else None
    kinds, begin = by_kind(blockers), f"{WAITS}: {unreachable}; before: " if unreachable else ""
    most = "".join([f", {len(ids):,} of them because of this: {example}" for example, ids in kinds[:1]])
    return {
        "found": remaining.found,
        "left": left,
        "readAt": remaining.read_at,
        "unreachable": unreachable,
        "eta": _rounded(eta),
        "obstacle": obstacle,
        "summary": f"{begin}{obstacle}{'; ' if obstacle else ''}{ledgers(left)} left{most}",
        "blockers": [
            {"kind": kind_of(example), "reason": example, "count": len(ids), "ledgers": ids[:_SHOWN_LEDGERS]}
            for example, ids in kinds[:_SHOWN_KINDS]
        ],
    }


def _per_day(growth: float | None) -> int | None:
    return None if growth is None else round(growth * 86400)


def _disk(disk: DirectoryUsage, threshold: float) -> dict[str, object]:
    forecast = FullForecast(None, "") if disk.reason else full_forecast(disk, threshold)
    return {
        "directory": disk.directory,
        "reason": disk.reason,
        "total": None if disk.reason else disk.total,
        "free": None if disk.reason else disk.free,
        "freeInodes": disk.free_inodes,
        "growthPerDay": _per_day(disk.growth),
        "recentGrowthPerDay": _per_day(disk.recent),
        "daysUntilFull": forecast.days,
        "forecast": forecast.text,
    }


def _group(group: JournalGroup) -> Sequence[object]:
    synced = None if group.synced is None else round(group.synced * 1000, 3)
    waited, written = round(group.waited * 1000, 3), round(group.written * 1000, 3)
    return [round(group.ended, 3), group.n_entries, group.n_bytes, waited, written, synced]


def _slow(request: SlowRequest) -> Sequence[object]:
    return [round(request.ended, 3), *request[1:6], round(request.millis, 1), request.waited_for]


def _waiting(status: CollectionStatus) -> str:
    """Return that a requested collection waits for the end of the present one; empty if none waits."""
    if not status.has_waiting:
        return ""
    suspended = any(each.at_work and each.suspended for each in (status.major, status.minor))
    return "a requested collection waits for the end of this one" + (", which is suspended" if suspended else "")


def _compaction(status: CompactionStatus) -> Mapping[str, object]:
    return {
        "atWork": status.at_work,
        "suspended": status.suspended,
        "total": status.total,
        "last": status.last,
        "cancelled": status.cancelled,
        "threshold": status.threshold,
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)

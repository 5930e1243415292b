"""The sources of the console about the cluster: its bookies, and the repair of underreplicated ledgers."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs
from twisted.internet.interfaces import IReactorTime

from ...autorecovery.operations.admin import AutorecoveryAdmin
from ...autorecovery.operations.decommission import needs
from ...autorecovery.replication.lock_reasons import by_kind, reason_of, without_past
from ...client.admin import BookKeeperAdmin
from ...client.steps import for_each, take
from ...errors import MetadataError, NoSuchLedgerMetadataError
from ...limits.adaptive import ISpeedLimits
from ...metadata.interfaces import IMetadataDriver, IStoreConnection
from ...metadata.registered import bookies_by_mode
from ...model import MAX_LEDGER_ID, BookieServiceInfo, UnderreplicatedLedger
from ...placement.rack_aware import RackAwarePlacement
from ...placement.racks import DEFAULT_RACK
from ..cluster_api import Connect
from .bookie_answers import BookieAnswers
from .replicas import live_replicas
from .sources import Source, StateSource

MOST_MARKS = 200
"""Maximum number of underreplicated ledgers that are shown; more are only counted."""

MOST_LOOKED_AT = 2000
"""Maximum number of underreplicated ledgers whose live replicas are counted in one sample of the repair."""

_AT_ONCE = 20

_EVERY_CLUSTER, _EVERY_REPAIR = 5, 10
_EVERY_URL = 6
"""The URLs of bookies and the newest ledgers are read only in every sixth sample of the cluster."""

SEEN_SECONDS = 15.0
"""Maximum seconds between two samples of the cluster; after a longer pause, the times of changes are unknown."""

_USUAL_ENSEMBLE = 3
"""The ensemble size of new ledgers while there are none from which it could be told."""

_NEWEST = 20
"""Number of ledger ids, up to the greatest, whose ledgers tell the ensemble size of new ledgers."""

_SILENT = "registered, but does not answer"
_GIB = 1 << 30
_HTTP = ("http", "https")


@attrs.frozen
class ClusterBookie:
    """A bookie in the list of bookies that the console shows.

    :ivar state: ``writable``, ``read-only`` or ``unavailable``.
    :ivar since: when this process first saw the bookie in this state, in seconds since the epoch; None if the state has
        not changed while this process listed the bookies, as it does while somebody looks at the console.
    :ivar rack: rack of the bookie; empty if this process does not know the rack.
    :ivar url: URL of the bookie's HTTP server; empty if the bookie has registered none.
    :ivar total, free: size and free space of its ledger disks in bytes; None if it does not answer, or is not writable.
    :ivar why: why a registered bookie counts as one that does not answer this process; empty if it answers.
    :ivar silent_since: when this process first asked it in vain, in seconds since the epoch; None if it answers.
    """

    id: str
    state: str
    since: float | None
    rack: str
    url: str
    total: int | None
    free: int | None
    why: str = ""
    silent_since: float | None = None


class ClusterParts:
    """Reads the data of the cluster that the console shows.

    :param connect: returns the client of the cluster.
    :param clock: the reactor.
    :param limits: returns the speed limits of autorecovery; None if autorecovery does not run in this process.
    """

    def __init__(
        self, connect: Connect, clock: IReactorTime,
        limits: Callable[[], ISpeedLimits | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._connect = connect
        self._seconds = clock.seconds
        self._limits = limits
        self._states: dict[str, tuple[str, float | None]] = {}
        self._answers = BookieAnswers(clock)
        self._metadata: IMetadataDriver | None = None
        self._urls: dict[str, str] = {}
        self._ensemble = _USUAL_ENSEMBLE
        self._away = self._unneeded = frozenset[str]()
        self._samples = 0
        self._sampled = -SEEN_SECONDS

    def sources(self) -> list[Source]:
        """Return the sources of the console that read from this object."""
        return [
            StateSource("cluster", self.cluster, _EVERY_CLUSTER, "bookies", self.outage),
            StateSource("repair", self.repair, _EVERY_REPAIR, why_late=self.outage),
        ]  # fmt: skip

    def outage(self) -> str:
        """Return why the metadata store cannot be read at present; empty if the driver knows of no reason."""
        if self._metadata is None:
            return "this process has not connected to the store yet"
        connection = IStoreConnection(self._metadata, None)
        return "" if connection is None else str(connection.outage())

    async def _admin(self) -> BookKeeperAdmin:
        """Return the client of the cluster; wait until it is connected."""
        admin = await self._connect()
        self._metadata = admin.client.metadata
        return admin

    async def cluster(self) -> object:
        """Return all bookies of the cluster with their states, and whether the cluster can lose one more bookie."""
        admin = await self._admin()
        writable, read_only = await bookies_by_mode(admin.client.metadata.registration)
        self._forget()
        known = await admin.all_bookies() | writable | read_only
        states = bookie_states(sorted(known), writable, read_only)
        self._note(states)
        placement = admin.client.context.watcher.placement
        await placement.prepare(known)
        racks = {each: placement.rack_of(each) for each in known} if isinstance(placement, RackAwarePlacement) else {}
        await self._answers.ask(admin, sorted(writable | read_only))
        if self._samples % _EVERY_URL == 0:
            self._ensemble = await newest_ensemble(admin)
            self._urls.clear()
        away = frozenset(filter(self._is_away, states))
        if self._samples % _EVERY_URL == 0 or away != self._away:
            self._away, self._unneeded = away, await unneeded_bookies(admin, away)
        self._samples += 1
        rows = [await self._row(admin, each, state, racks.get(each, "")) for each, state in states.items()]
        autorecovery = AutorecoveryAdmin(admin.client.metadata)
        marked = await autorecovery.any_underreplicated()
        enabled, auditor = await autorecovery.is_enabled(), await autorecovery.auditor()
        return {
            "bookies": {row.id: _as_json(row) for row in rows},
            "safe": [
                attrs.asdict(each)
                for each in risks(rows, marked, enabled, auditor, self._ensemble, self._unneeded)
            ],
        }

    def _forget(self) -> None:
        """Forget states and answers of bookies if the last sample is too old to tell when a state has changed."""
        now = self._seconds()
        if now - self._sampled > SEEN_SECONDS:
            self._states.clear()
            self._answers.forget()
            self._samples = 0
        self._sampled = now

    def _note(self, states: Mapping[str, str]) -> None:
        """Record the present time for each bookie whose state has changed."""
        is_first = not self._states
        for bookie_id, state in states.items():
            before = self._states.get(bookie_id)
            if before is None or before[0] != state:
                self._states[bookie_id] = state, None if is_first else self._seconds()
                self._urls.pop(bookie_id, None)
        for gone in self._states.keys() - states.keys():
            del self._states[gone]

    def _is_away(self, bookie_id: str) -> bool:
        """Test whether a bookie is unavailable, or does not answer this process."""
        answer = self._answers.of(bookie_id)
        return answer is None or bool(answer.why)

    async def _row(self, admin: BookKeeperAdmin, bookie_id: str, state: str, rack: str) -> ClusterBookie:
        answer = self._answers.of(bookie_id) if state != "unavailable" else None
        why, silent_since = (answer.why, answer.unanswered_since) if answer is not None and answer.why else ("", None)
        space = answer.space if answer is not None and not why and state == "writable" else None
        total, free = (space.total, space.free) if space is not None else (None, None)
        if bookie_id not in self._urls and state != "unavailable":
            try:
                self._urls[bookie_id] = _url(await admin.service_info(bookie_id))
            except MetadataError:
                pass  # the bookie is not registered any more
        url = self._urls.get(bookie_id, "")
        rack = "" if rack == DEFAULT_RACK else rack
        since = self._states[bookie_id][1]
        return ClusterBookie(bookie_id, state, since, rack, url, total, free, why, silent_since)

    async def repair(self) -> object:
        """Return the underreplicated ledgers, why each is not repaired yet, and what limits the speed of the repair."""
        admin = await self._admin()
        metadata = admin.client.metadata
        autorecovery = AutorecoveryAdmin(metadata)
        writable, read_only = await bookies_by_mode(metadata.registration)
        locks, enabled, auditor = await autorecovery.recovering(), await autorecovery.is_enabled(), (
            await autorecovery.auditor()
        )
        locks = {ledger_id: without_past(text, self._seconds()) for ledger_id, text in locks.items()}
        elsewhere = self._elsewhere(locks)
        rows: list[dict[str, object]] = []
        count, further = 0, []
        async for ledger_id in metadata.underreplication.marked_ledgers():
            count += 1
            if count <= MOST_MARKS:
                row = await self._marked(admin, ledger_id, locks.get(ledger_id), writable | read_only)
                if row is not None:
                    rows.append(row)
            elif count <= MOST_LOOKED_AT:
                further.append(ledger_id)
        unavailable = [row["id"] for row in rows if row["replicas"] == 0]

        async def look(ledger_id: int) -> None:
            if await _is_unavailable(admin, ledger_id, writable | read_only):
                unavailable.append(ledger_id)

        await for_each(further, look, _AT_ONCE)
        return {
            "enabled": enabled, "auditor": auditor, "count": count, "unavailable": len(unavailable),
            "lookedAt": min(count, MOST_LOOKED_AT), "ledgers": rows,
            "limit": repair_limit(count, locks, enabled, auditor, len(writable), self._waiting(), elsewhere),
            "elsewhere": elsewhere,
            "consoles": [url for bookie_id, url in self._urls.items() if _hosts(bookie_id, url) & set(elsewhere)],
        }  # fmt: skip

    async def _marked(
        self, admin: BookKeeperAdmin, ledger_id: int, lock: str | None, registered: frozenset[str]
    ) -> dict[str, object] | None:  # fmt: skip
        try:
            mark = (await admin.client.metadata.underreplication.read_mark(ledger_id)).value
            metadata = await admin.client.ledger_metadata(ledger_id)
        except (MetadataError, NoSuchLedgerMetadataError):
            return None  # the ledger was repaired or deleted meanwhile
        return {
            "id": ledger_id, "missing": list(mark.replicas), "since": None if mark.ctime is None else mark.ctime / 1000,
            "lock": lock, "replicas": live_replicas(metadata, registered), "state": metadata.state.name,
            "reason": mark_reason(mark, lock, registered),
        }  # fmt: skip

    def _elsewhere(self, locks: Mapping[int, str]) -> list[str]:
        """Return the hosts of other workers that are repairing ledgers: their speed limits are unknown here.

        :param locks: the text in each replication lock, by ledger id.
        """
        limits = self._limits()
        own = {job.name for job in limits.limits().jobs} if limits is not None else set()
        others = [text for ledger_id, text in locks.items() if f"replication of ledger {ledger_id}" not in own]
        return sorted({text for text in others if not reason_of(text)})

    def _waiting(self) -> str:
        """Return name and limit of the limiter for which most requests of replication wait; empty if none waits."""
        limits = self._limits()
        waiting = [each for each in limits.limits().throttles if each.waiting] if limits is not None else []
        if not waiting:
            return ""
        most = max(waiting, key=lambda each: each.waiting)
        amounts = ((most.in_force.entries, "entries"), (most.in_force.bytes, "bytes"))
        rates = [
            f"{amount:,.0f} {unit}/s" if amount >= 1 else f"{amount:g} {unit}/s" for amount, unit in amounts if amount
        ]
        return f"{most.name} ({' and '.join(rates)})"


@attrs.frozen
class RiskReason:
    """A fact that tells whether the cluster can lose one more bookie without losing entries.

    :ivar safe: False if the cluster cannot lose a bookie because of this fact, otherwise True.
    :ivar text: the fact, for an operator.
    """

    safe: bool
    text: str


async def _is_unavailable(admin: BookKeeperAdmin, ledger_id: int, registered: frozenset[str]) -> bool:
    """Test whether a ledger has entries of which no registered bookie has a replica; a deleted ledger has none."""
    try:
        return live_replicas(await admin.client.ledger_metadata(ledger_id), registered) == 0
    except MetadataError:
        return False


def _as_json(row: ClusterBookie) -> Mapping[str, object]:
    return {
        "id": row.id, "state": row.state, "since": row.since, "rack": row.rack, "url": row.url, "total": row.total,
        "free": row.free, "why": row.why, "silentSince": row.silent_since,
    }  # fmt: skip


async def newest_ensemble(admin: BookKeeperAdmin) -> int:
    """Return the largest ensemble size of the newest ledgers, those with the greatest ids; 3 if there are no ledgers.

    The greatest id is found by some dozens of listings of one id, whose number does not grow with that of the ledgers.

    :param admin: the client of the cluster.
    """
    first = await ledger_ids_from(admin, 0, 1)
    if not first:
        return _USUAL_ENSEMBLE
    (newest,), step, is_growing = first, 1, True
    while step:
        later = await ledger_ids_from(admin, newest + step, 1)
        is_growing = is_growing and bool(later)
        if later:
            newest, step = later[0], step * 2 if is_growing else step
        else:
            step //= 2
    sizes = []
    for ledger_id in await ledger_ids_from(admin, max(newest - _NEWEST + 1, 0), _NEWEST):
        try:
            sizes.append((await admin.client.ledger_metadata(ledger_id)).ensemble_size)
        except MetadataError:
            pass  # the ledger was deleted meanwhile, or its metadata cannot be read
    return max(sizes, default=_USUAL_ENSEMBLE)


async def unneeded_bookies(admin: BookKeeperAdmin, bookie_ids: frozenset[str]) -> frozenset[str]:
    """Return those of some bookies that no ledger needs, such as decommissioned ones whose cookies were not deleted.

    :param admin: the client of the cluster.
    :param bookie_ids: ids of the bookies.
    :returns: no bookies if there are more than :data:`MOST_LOOKED_AT` ledgers: they are not looked at.
    """
    if not bookie_ids:
        return bookie_ids
    ledger_ids = await ledger_ids_from(admin, 0, MOST_LOOKED_AT + 1)
    if len(ledger_ids) > MOST_LOOKED_AT:
        return frozenset()
    needed: set[str] = set()

    async def look(ledger_id: int) -> None:
        try:
            metadata = await admin.client.ledger_metadata(ledger_id)
        except NoSuchLedgerMetadataError:
            return  # the ledger was deleted meanwhile
        needed.update(each for each in bookie_ids if needs(ledger_id, metadata, each))

    await for_each(ledger_ids, look, _AT_ONCE)
    return bookie_ids - needed


async def ledger_ids_from(admin: BookKeeperAdmin, first: int, count: int) -> list[int]:
    """Return the ``count`` least ids of ledgers that are not below ``first``, or all if there are fewer.

    :param admin: the client of the cluster.
    """
    if first > MAX_LEDGER_ID:
        return []
    listing: Any = admin.client.metadata.ledgers.ledger_ids(first)
    try:
        return await take(listing, count)
    finally:
        await listing.aclose()


def risks(
    rows: Iterable[ClusterBookie], marked: bool, enabled: bool, auditor: str | None, ensemble: int = _USUAL_ENSEMBLE,
    unneeded: Collection[str] = (),
) -> list[RiskReason]:  # fmt: skip
    """Return facts that tell whether the cluster can lose one more bookie without losing entries.

    The facts depend on bookies, underreplicated marks and autorecovery; the ledgers themselves are not examined.

    :param rows: the bookies of the cluster.  One that does not answer does not count as one that would be left.
    :param marked: whether any ledger has an underreplicated mark.
    :param enabled: whether autorecovery is switched on.
    :param auditor: the bookie id of the auditor; None if none is elected.
    :param ensemble: number of writable bookies that a new ledger needs.
    :param unneeded: ids of bookies that are unavailable, or do not answer, and that no ledger needs.
    """
    rows = list(rows)
    writable = [row for row in rows if row.state == "writable" and not row.why]
    silent = [row.id for row in rows if row.state == "writable" and row.why]
    lost = ", ".join([row.id for row in rows if row.state == "unavailable" and row.id not in unneeded])
    hung = ", ".join([f"{row.id} ({row.why})" for row in rows if row.why and row.id not in unneeded])
    gone = [f"{what}: {which}" for what, which in (("unavailable", lost), (_SILENT, hung)) if which]
    there = "all bookies that ledgers need are there" if unneeded else "all bookies are there"
    known = [(row.total, row.free) for row in writable if row.total is not None and row.free is not None]
    unknown = len(writable) + len(silent) - len(known)
    of_all = f"{unknown} of {unknown + len(known)} writable bookies"
    uncounted = f"; {of_all} not counted: free space unknown" if unknown else ""
    fullest = max((total - free for total, free in known), default=0)
    others = sum(free for _, free in known) - max((free for _, free in known), default=0)
    return [
        RiskReason(not gone, "; ".join(gone) if gone else there),
        RiskReason(not marked, "ledgers lack replicas already" if marked else "no ledger is marked for repair"),
        RiskReason(enabled, "autorecovery is enabled" if enabled else "autorecovery is disabled: nothing is repaired"),
        RiskReason(
            auditor is not None,
            "no auditor is elected: a loss would not be noticed" if auditor is None else f"the auditor is {auditor}",
        ),
        RiskReason(
            len(writable) > ensemble,
            f"{max(len(writable) - 1, 0)} writable bookies would be left; a new ledger needs {ensemble}"
            + (f"; not counted, as there is no answer: {', '.join(silent)}" if silent else ""),
        ),
        RiskReason(
            others > fullest,
            f"{others / _GIB:.1f} GiB are free elsewhere for the {fullest / _GIB:.1f} GiB of the fullest bookie"
            + uncounted,
        ),
    ]  # fmt: skip


def bookie_states(
    bookie_ids: Iterable[str], writable: Collection[str], read_only: Collection[str]
) -> dict[str, str]:
    """Return the state of each bookie: ``writable``, ``read-only`` or ``unavailable``.

    :param writable, read_only: ids of the registered bookies.
    """
    return {
        bookie_id: "writable" if bookie_id in writable else "read-only" if bookie_id in read_only else "unavailable"
        for bookie_id in bookie_ids
    }


def mark_reason(mark: UnderreplicatedLedger, lock: str | None, registered: frozenset[str]) -> str:
    """Return a text that says why a ledger is underreplicated, and why it is not repaired yet.

    :param mark: the underreplicated mark of the ledger.
    :param lock: the text in the replication lock of the ledger; None if no worker has locked the ledger.
    :param registered: ids of the registered bookies.
    """
    gone = [bookie_id for bookie_id in mark.replicas if bookie_id not in registered]
    lacking = [bookie_id for bookie_id in mark.replicas if bookie_id in registered]
    parts = []
    if gone:
        parts.append(f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} not registered")
    if lacking:
        parts.append(f"{', '.join(lacking)} lacked entries, or was away, when the ledger was marked")
    if not mark.replicas:
        parts.append("a check found too few replicas")
    parts.append("no worker has begun its repair" if lock is None else f"worker: {lock}")
    return "; ".join(parts)


def repair_limit(
    count: int, locks: Mapping[int, str], enabled: bool, auditor: str | None, writable: int, waiting: str,
    elsewhere: Collection[str] = (),
) -> str:  # fmt: skip
    """Return a text that says what limits the speed of the repair of underreplicated ledgers.

    :param count: number of ledgers with an underreplicated mark.
    :param locks: the text in each replication lock, by ledger id.
    :param enabled: whether autorecovery is switched on.
    :param auditor: the bookie id of the auditor; None if none is elected.
    :param writable: number of writable bookies.
    :param waiting: the speed limit for which replication waits in this process; empty if there is none.
    :param elsewhere: hosts of other processes that are repairing ledgers, whose speed limits are unknown here.
    """
    if not count:
        return "nothing has to be repaired" + ("" if enabled else "; autorecovery is disabled")
    if not enabled:
        return "autorecovery is disabled: enable it"
    obstacles = [f"the speed limit {waiting}"] if waiting else []
    reasons = {ledger_id: reason for ledger_id, text in locks.items() if (reason := reason_of(text))}
    if reasons:
        example, alike = by_kind(reasons)[0]
        share = "" if len(alike) == len(reasons) else f", {len(alike)} of them"
        obstacles.append(f"{len(reasons)} of {len(locks)} locked ledgers wait{share}: {example}")
    if obstacles:
        return "; and ".join(obstacles)
    if not locks:
        without = "; no auditor is elected" if auditor is None else ""
        return f"no replication worker is at work: does a process run autorecovery?{without}"
    known = f"the workers: {len(locks)} of {count} ledgers are being repaired, onto {writable} writable bookies"
    if not elsewhere:
        return known
    return (
        f"{known}; a speed limit of a worker is known to the console of its own process alone, here one on "
        f"{', '.join(elsewhere)}"
    )


def _hosts(bookie_id: str, url: str) -> set[str | None]:
    """Return the names under which the host of a bookie may be known: that of its id, and that in its HTTP ``url``."""
    return {bookie_id.rpartition(":")[0], urlsplit(url).hostname}


def _url(info: BookieServiceInfo) -> str:
    for endpoint in info.endpoints:
        if endpoint.protocol in _HTTP:
            host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
            return f"{endpoint.protocol}://{host}:{endpoint.port}"
    return ""

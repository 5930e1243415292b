"""The sources of the console about the cluster: its bookies, and the repair of underreplicated ledgers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...autorecovery.interfaces import repaired_ledger
from ...autorecovery.operations.admin import AutorecoveryAdmin
from ...autorecovery.operations.decommission import needs
from ...autorecovery.replication.lock_reasons import reason_of
from ...client.admin import BookKeeperAdmin
from ...client.steps import for_each, take, together
from ...errors import MetadataError, NotEnoughBookiesError
from ...ledger.placement import Candidates
from ...limits.adaptive import ISpeedLimits, RunningJob
from ...metadata.interfaces import IMetadataDriver, IStoreConnection
from ...metadata.registered import bookies_by_mode
from ...metadata.undecoded import UndecodedLedgers
from ...model import MAX_LEDGER_ID, BookieServiceInfo
from ...placement.interfaces import IPlacementPolicy
from ...placement.rack_aware import RackAwarePlacement
from ...placement.racks import DEFAULT_RACK
from ...shared_result import SharedResult
from ..cluster_api import Connect
from .bookie_answers import BookieAnswers, ClusterBookie
from .diagnosis import NEWEST, SILENT, USUAL_ENSEMBLE, repair_limit, risks
from .marked_ledgers import (
    DETAILS_SECONDS,
    LISTING_SECONDS,
    AutorecoveryFacts,
    MarkedLedgers,
    list_marks,
    marks_alone,
    of_marked,
    within,
)
from .sources import Source, StateSource

MOST_MARKS = 200
"""Maximum number of underreplicated ledgers that are shown; more are only counted."""

MOST_LOOKED_AT = 2000
"""Maximum number of underreplicated ledgers whose live replicas are counted in one sample of the repair."""

_AT_ONCE = 20

_EVERY_CLUSTER, _EVERY_REPAIR = 5, 10

SURVEY_SECONDS = 30.0
"""Seconds after which the next sample of the cluster reads the URLs of bookies and the ledgers again."""

SIZED_SECONDS = 120.0
"""Seconds for which the sizes of the newest ledgers, which may take long to read, count as known."""

SEEN_SECONDS = 15.0
"""Maximum seconds between two samples of the cluster; after a longer pause, the times of changes are unknown."""

_HTTP = ("http", "https")


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
        self._clock = clock
        self._seconds = clock.seconds
        self._limits = limits
        self._states: dict[str, tuple[str, float | None]] = {}
        self._answers = BookieAnswers(clock)
        self._metadata: IMetadataDriver | None = None
        self._urls: dict[str, str] = {}
        self._sizes = USUAL_ENSEMBLE, USUAL_ENSEMBLE
        self._sized: float | None = None
        self._sizing: SharedResult[None] | None = None
        self._away = self._unneeded = frozenset[str]()
        self._undecoded: Collection[int] = ()
        self._placed: tuple[tuple[int, int], Mapping[str, str]] = self._sizes, {}
        self._unplaceable = ""
        self._registered = frozenset[str]()
        self._said: dict[int, str] = {}
        # the number of marks, and the bookies that they name, if the last reading of the repair has read all of them
        self._named: tuple[int, set[str]] | None = None
        self._is_idle = False
        self._surveyed: float | None = None
        self._sampled = -SEEN_SECONDS

    def sources(self) -> list[Source]:
        """Return the sources of the console that read from this object."""
        return [
            StateSource("cluster", self.cluster, _EVERY_CLUSTER, "bookies", self.outage),
            StateSource("repair", self.repair, _EVERY_REPAIR, why_late=self.outage),
        ]  # fmt: skip

    def outage(self) -> str:
        """Return why the metadata store cannot be read at present; empty if the driver knows of no reason."""
        return "this process has not connected to the store yet" if self._metadata is None else self.disconnection()

    def disconnection(self) -> str:
        """Return why the metadata store, which has been read before, cannot be read; empty if no reason is known."""
        connection = None if self._metadata is None else IStoreConnection(self._metadata, None)
        return "" if connection is None else str(connection.outage())

    async def _admin(self) -> BookKeeperAdmin:
        """Return the client of the cluster; wait until it is connected."""
        admin = await self._connect()
        self._metadata = admin.client.metadata
        return admin

    async def cluster(self) -> object:
        """Return all bookies of the cluster with their states, and whether the cluster can lose one more bookie.

        Bookies and marks are read at the same time: one after the other would take too long if each answer of the store
        needs some tenths of a second.
        """
        admin = await self._admin()
        (rows, has_racks), found = await together(
            lambda: self._bookies(admin), lambda: AutorecoveryFacts.read(admin.client.metadata, self._seconds)
        )
        lost = [row.id for row in rows if row.state == "unavailable" and row.id not in self._unneeded]
        reasons = risks(
            rows, found.marked > 0, found.enabled, found.auditor, self._placed[0][0], self._unneeded, found.unread,
            self._unplaceable, has_racks, self._is_idle, self._is_sized(),
        )  # fmt: skip
        return {
            **found.as_json(self._without_mark(lost, found.marked), self._undecoded),
            "bookies": {row.id: row.row for row in rows},
            "safe": [attrs.asdict(each) for each in reasons],
        }

    async def _bookies(self, admin: BookKeeperAdmin) -> tuple[list[ClusterBookie], bool]:
        """Return all bookies of the cluster, and whether racks are known; look what ledgers need if that is due."""
        known, (writable, read_only) = await together(
            admin.all_bookies, lambda: bookies_by_mode(admin.client.metadata.registration)
        )
        self._forget()
        known |= writable | read_only
        states = bookie_states(sorted(known), writable, read_only)
        self._note(states)
        placement = admin.client.context.watcher.placement
        await placement.prepare(known)
        racks = {each: placement.rack_of(each) for each in known} if isinstance(placement, RackAwarePlacement) else {}
        await self._answers.ask(admin, sorted(writable | read_only))
        is_survey = self._surveyed is None or not 0 <= self._sampled - self._surveyed < SURVEY_SECONDS
        if is_survey:
            self._urls.clear()
        rows: dict[str, ClusterBookie] = {}

        async def row(bookie_id: str) -> None:
            rows[bookie_id] = await self._row(admin, bookie_id, states[bookie_id], racks.get(bookie_id, ""))

        await together(
            lambda: for_each(states, row, _AT_ONCE), lambda: self._look(admin, states, is_survey),
            *([lambda: self._survey_sizes(admin)] if is_survey else []),
        )  # fmt: skip
        if is_survey:
            self._surveyed = self._sampled
        in_racks = {each: racks[each] for each in writable if each in racks and not self._is_away(each)}
        if self._placed != (self._sizes, in_racks):
            self._placed = self._sizes, in_racks
            self._unplaceable = unplaceable_without(placement, *self._placed)
        return [rows[each] for each in states], bool(racks)

    async def _look(self, admin: BookKeeperAdmin, states: Mapping[str, str], is_survey: bool) -> None:
        """Find the bookies that are away and that no ledger needs, if it is time, or other bookies are away."""
        away = frozenset(filter(self._is_away, states))
        if is_survey or away != self._away:
            undecoded = UndecodedLedgers()
            looked = Deferred.fromCoroutine(unneeded_bookies(admin, away, undecoded))
            looked.addTimeout(DETAILS_SECONDS, self._clock, lambda *_: frozenset())
            self._away, self._unneeded, self._undecoded = away, await looked, undecoded.ids

    async def _survey_sizes(self, admin: BookKeeperAdmin) -> None:
        """Read the sizes of the newest ledgers; after :data:`DETAILS_SECONDS`, this goes on without the sample.

        Then the next samples have what the last such reading has found.
        """
        sizing = self._sizing
        if sizing is None:
            sizing = self._sizing = SharedResult()
            sizing.run(self._read_sizes(admin))
        await sizing.wait().addTimeout(DETAILS_SECONDS, self._clock, lambda *_: None)

    async def _read_sizes(self, admin: BookKeeperAdmin) -> None:
        try:
            self._sizes = await newest_sizes(admin)
            self._sized = self._seconds()
        finally:
            self._sizing = None

    def _is_sized(self) -> bool:
        """Test whether the sizes of the newest ledgers are known, and were read not long ago."""
        return self._sized is not None and 0 <= self._seconds() - self._sized <= SIZED_SECONDS

    def _forget(self) -> None:
        """Forget the states of bookies if the last sample is too old to tell when a state has changed."""
        now = self._seconds()
        if now - self._sampled > SEEN_SECONDS:
            self._states.clear()
            self._away = self._unneeded = frozenset()
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

    async def silent(self, admin: BookKeeperAdmin, registered: Collection[str]) -> frozenset[str]:
        """Return those of the ``registered`` bookies that do not answer this process; their replicas do not count.

        :param admin: the client of the cluster.
        """
        return await self._answers.silent(admin, sorted(registered))

    async def repair(self) -> object:
        """Return the underreplicated ledgers, why each is not repaired yet, and what limits the speed of the repair.

        Marks that cannot be listed within :data:`LISTING_SECONDS`, or :data:`DETAILS_SECONDS` if they are few, are left
        out.  Locks that cannot be read within :data:`DETAILS_SECONDS` are unknown, and so are the details of ledgers
        that cannot be read within as long again, or within the rest of the time if listing and locks took long.
        """
        admin, began = await self._admin(), self._seconds()
        metadata, autorecovery = admin.client.metadata, AutorecoveryAdmin(admin.client.metadata)
        marks = metadata.underreplication
        (marked, is_more), enabled, auditor, known, (writable, read_only) = await together(
            lambda: list_marks(marks, self._seconds, LISTING_SECONDS, MOST_MARKS),
            autorecovery.is_enabled, autorecovery.auditor, admin.all_bookies,
            lambda: bookies_by_mode(metadata.registration),
        )  # fmt: skip
        listed = self._seconds()
        if self._registered != writable | read_only:
            self._registered = writable | read_only
            self._said.clear()  # another attempt may succeed now
        lost = sorted(known - self._registered - self._known_unneeded())
        jobs = self.jobs(MOST_LOOKED_AT)
        silent = await self.silent(admin, self._registered)
        found = MarkedLedgers(admin, self._registered, self._seconds(), jobs, self._said, silent)
        asked = self._seconds()
        await within(self._clock, DETAILS_SECONDS, found.read_locks())
        left = LISTING_SECONDS + 2 * DETAILS_SECONDS - (listed - began) - (self._seconds() - asked)
        left = min(max(left, LISTING_SECONDS), DETAILS_SECONDS)
        await within(self._clock, left, found.read(marked[:MOST_LOOKED_AT], MOST_MARKS))
        self._is_idle = bool(marked) and found.locks is not None and not found.locks
        # A ledger may have been repaired since its lock was read, and its lock may be removed later than its mark.
        locks = None if found.locks is None else of_marked(found.locks, marked, is_more)
        said = self._said | {each: reason for each, text in (locks or {}).items() if (reason := reason_of(text))}
        self._said = {each: said[each] for each in said.keys() & set(marked)}
        is_whole = found.looked_at == len(marked) and not is_more
        self._named = (len(marked), found.named) if is_whole else None
        elsewhere = self._elsewhere(locks or {}, jobs)
        alone = marks_alone(enabled, auditor, self._without_mark(lost, len(marked)), self._undecoded)
        if not marked and not alone and (hung := sorted(silent - self._known_unneeded())):
            alone = f"{SILENT}: {', '.join(hung)}"
        return {
            "readAt": round(began, 3), "enabled": enabled, "auditor": auditor, "count": len(marked),
            "moreMarked": is_more, "strays": found.strays,
            "unavailable": len(found.unavailable), "doubtful": len(found.doubtful), "lookedAt": found.looked_at,
            "unwritten": len(found.unwritten), "unjudged": found.unjudged, "ledgers": found.sorted_rows(),
            "limit": repair_limit(
                len(marked), locks, enabled, alone, len(writable), self._waiting(), elsewhere, is_more
            ),
            "elsewhere": elsewhere,
            "consoles": [url for bookie_id, url in self._urls.items() if _hosts(bookie_id, url) & set(elsewhere)],
        }  # fmt: skip

    def _known_unneeded(self) -> frozenset[str]:
        """Return the bookies that no ledger needs, if the cluster was sampled shortly before; else it is not known."""
        return self._unneeded if self._seconds() - self._sampled <= SEEN_SECONDS else frozenset()

    def _without_mark(self, lost: Sequence[str], n_marks: int) -> list[str]:
        """Return those of the ``lost`` bookies that no mark names; none if that is not known at present.

        :param n_marks: the number of marks now; if it is another one than when the names in the marks were read, they
            are not known.
        """
        count, named = (0, set[str]()) if not n_marks else self._named or (-1, set[str]())
        return [each for each in lost if each not in named] if count == n_marks else []

    def _elsewhere(self, locks: Mapping[int, str], jobs: Sequence[RunningJob]) -> list[str]:
        """Return the hosts of other workers that are repairing ledgers: their speed limits are unknown here.

        :param locks: the text in each replication lock, by ledger id.
        :param jobs: the repairs of this process before the locks were read; some may have begun or ended since then.
        """
        own = {repaired_ledger(job) for job in (*jobs, *self.jobs(MOST_LOOKED_AT))}
        return sorted({text for ledger_id, text in locks.items() if ledger_id not in own and not reason_of(text)})

    def jobs(self, most: int | None = None) -> Sequence[RunningJob]:
        """Return the repairs of this process.

        :param most: how many of those that wait are enough, see :attr:`.LimitsStatus.find_jobs`; None for all.
        """
        limits = self._limits()
        return limits.limits().find_jobs(most) if limits is not None else ()

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


def unplaceable_without(placement: IPlacementPolicy, sizes: tuple[int, int], racks: Mapping[str, str]) -> str:
    """Return after the loss of which writable bookie the placement policy could choose no ensemble, and why.

    Bookies of the same rack are alike, so one of each rack is left out.

    :param placement: the policy of this process.
    :param sizes: the ensemble size and the write quorum size of new ledgers.
    :param racks: the rack of each writable bookie.
    :returns: an empty text if an ensemble can be chosen whichever bookie is lost, and also if one bookie less is not
        enough for the size of the ensemble.
    """
    if len(racks) <= sizes[0]:
        return ""
    for lost in {rack: bookie_id for bookie_id, rack in racks.items()}.values():
        try:
            placement.new_ensemble(*sizes, Candidates(racks.keys() - {lost}))
        except NotEnoughBookiesError as error:
            return f"after the loss of {lost}, {error}"
    return ""


async def newest_sizes(admin: BookKeeperAdmin) -> tuple[int, int]:
    """Return ensemble size and write quorum size of the largest of the newest ledgers, those with the greatest ids.

    Both are 3 if there are no ledgers.

    The greatest id is found by some dozens of listings of one id, whose number does not grow with that of the ledgers.

    :param admin: the client of the cluster.
    """
    first = await ledger_ids_from(admin, 0, 1)
    if not first:
        return USUAL_ENSEMBLE, USUAL_ENSEMBLE
    (newest,), step, is_growing = first, 1, True
    while step:
        later = await ledger_ids_from(admin, newest + step, 1)
        is_growing = is_growing and bool(later)
        if later:
            newest, step = later[0], step * 2 if is_growing else step
        else:
            step //= 2
    sizes = []

    async def read(ledger_id: int) -> None:
        try:
            metadata = await admin.client.ledger_metadata(ledger_id)
            sizes.append((metadata.ensemble_size, metadata.write_quorum_size))
        except MetadataError:
            pass  # the ledger was deleted meanwhile, or its metadata cannot be read

    await for_each(await ledger_ids_from(admin, max(newest - NEWEST + 1, 0), NEWEST), read, _AT_ONCE)
    return max(sizes, default=(USUAL_ENSEMBLE, USUAL_ENSEMBLE))


async def unneeded_bookies(
    admin: BookKeeperAdmin, bookie_ids: frozenset[str], undecoded: UndecodedLedgers
) -> frozenset[str]:  # fmt: skip
    """Return those of some bookies that no ledger needs, such as decommissioned ones whose cookies were not deleted.

    :param admin: the client of the cluster.
    :param bookie_ids: ids of the bookies.
    :param undecoded: gets the ledgers whose metadata cannot be decoded.
    :returns: no bookies if there are more than :data:`MOST_LOOKED_AT` ledgers: they are not looked at.  None either if
        the metadata of a ledger cannot be decoded: it may need any of the bookies.
    """
    if not bookie_ids:
        return bookie_ids
    ledger_ids = await ledger_ids_from(admin, 0, MOST_LOOKED_AT + 1)
    if len(ledger_ids) > MOST_LOOKED_AT:
        return frozenset()
    needed = set[str]()

    async def look(ledger_id: int) -> None:
        metadata = await undecoded.read(admin.client.metadata.ledgers, ledger_id)
        if metadata is not None:
            needed.update(each for each in bookie_ids if needs(ledger_id, metadata, each))

    await for_each(ledger_ids, look, _AT_ONCE)
    return frozenset() if undecoded.ids else bookie_ids - needed


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




def _hosts(bookie_id: str, url: str) -> set[str | None]:
    """Return the names under which the host of a bookie may be known: that of its id, and that in its HTTP ``url``."""
    return {bookie_id.rpartition(":")[0], urlsplit(url).hostname}


def _url(info: BookieServiceInfo) -> str:
    for endpoint in info.endpoints:
        if endpoint.protocol in _HTTP:
            host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
            return f"{endpoint.protocol}://{host}:{endpoint.port}"
    return ""

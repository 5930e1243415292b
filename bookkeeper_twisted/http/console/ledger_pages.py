"""The HTTP pages of the console about ledgers: a search, counts by metadata value, one ledger, the copies of one entry.

One request reads the metadata of at most 500 ledgers.  Its answer contains the ledger id after which the next request
continues.  So a search in hundred thousand ledgers neither blocks the reactor nor fills the memory.  A ledger whose
metadata cannot be decoded is left out, and named in the answer.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from heapq import nsmallest
from typing import Any

import attrs
from twisted.internet.defer import DeferredLock

from ...authorization.interfaces import Permission
from ...autorecovery.operations.admin import AutorecoveryAdmin
from ...client.admin import BookKeeperAdmin
from ...client.steps import for_each, take
from ...codec.digest import Digester
from ...errors import (
    BookKeeperError,
    MetadataSerializationError,
    NoSuchEntryError,
    NotUnderreplicatedError,
)
from ...limits.adaptive import RunningJob
from ...metadata.registered import bookies_by_mode, registered_bookies
from ...metadata.undecoded import UndecodedLedgers
from ...model import MAX_ENTRY_ID, LedgerMetadata
from ...shared_result import SharedResult
from ..api import Answer, ApiRequest, json_answer
from ..cluster_api import Connect, or_not_found
from ..routes import Access, Parameter, Route, routed
from .cluster_parts import bookie_states, ledger_ids_from
from .marked_ledgers import doubted, mark_reason, present_locks, says_lost, unmarked_reason
from .replicas import compared, is_empty, judged, live_replicas, may_be_unwritten, promised_replicas
from .sources import exact

SCANNED = 500
"""Maximum number of ledgers whose metadata one request reads."""

ROWS = 100
"""Maximum number of ledgers in one answer."""

ABSENT = 5
"""Maximum number of bookies in the row of a ledger that its ensembles name and that are not registered."""

_AT_ONCE = 8
"""Maximum number of ledgers whose metadata are read concurrently; more answers at once would block the reactor."""

LISTED = 30
"""If more ledgers are marked, the marks are not listed: of each ledger that one request reads, the mark is sought.

A listing takes two requests for each mark, one after the other; marks of given ledgers are read concurrently.
"""

SILENT = "does not answer"
"""State of a registered bookie in the answer about a ledger if the bookie does not answer this process."""

_CUT = 200
_LEDGER_ID = Parameter("ledger_id", "the id of the ledger", "integer", required=True, least=0)
_AFTER = Parameter("after", "the id after which to go on: ``next`` of the last answer", "integer", least=-1)


@attrs.frozen
class LedgerFilter:
    """The conditions of a search for ledgers; an empty field is no condition.

    :ivar bookie: id of a bookie that must be in an ensemble of the ledger.
    :ivar state: state of the ledger: ``OPEN``, ``IN_RECOVERY`` or ``CLOSED``.
    :ivar key, value: a key of the custom metadata, and a prefix of its value.
    :ivar at_risk: whether to find only ledgers with entries of which at most one replica is left.
    """

    bookie: str
    state: str
    key: str
    value: str
    at_risk: bool

    @classmethod
    def of(cls, request: ApiRequest) -> "LedgerFilter":
        """Parse the conditions from the query parameters of a ``request``."""
        return cls(
            request.parameters.get("bookie", ""), request.parameters.get("state", "").upper(),
            request.parameters.get("key", ""), request.parameters.get("value", ""), request.flag("at_risk"),
        )  # fmt: skip

    def fits(self, metadata: LedgerMetadata) -> bool:
        """Test whether a ledger fulfils the conditions, all but ``at_risk``.

        :param metadata: metadata of the ledger.
        """
        if self.bookie and self.bookie not in metadata.bookies:
            return False
        if self.state and self.state != metadata.state.name:
            return False
        if self.key or self.value:
            values = [metadata.custom_metadata.get(self.key)] if self.key else metadata.custom_metadata.values()
            if not any(each is not None and _text(each).startswith(self.value) for each in values):
                return False
        return True


@attrs.frozen
class LedgerMark:
    """The underreplicated mark of a ledger, as the console shows it.

    :ivar missing: ids of the bookies in the mark.
    :ivar since: time of the mark, in seconds since the epoch; None if it is not stored.
    :ivar lock: the text in the ledger's replication lock; None if no worker has locked it.
    :ivar reason: why the ledger is underreplicated, and why it is not repaired yet.
    """

    missing: tuple[str, ...]
    since: float | None
    lock: str | None
    reason: str


@attrs.frozen
class ScannedLedgers:
    """Some ledgers, in the order of their ids.

    :ivar ids: ids of all of them; a ledger that was deleted while they were read is in no other attribute.
    :ivar found: metadata by ledger id.
    :ivar undecoded: ids of the ledgers whose metadata cannot be decoded.
    """

    ids: list[int]
    found: Mapping[int, LedgerMetadata]
    undecoded: list[int]


class LedgerPages:
    """Answers the requests of the console about ledgers.

    :param connect: returns the client of the cluster.
    :param seconds: returns the time in seconds since the epoch.
    :param jobs: returns the repairs of this process.
    :param silent: returns, for a client and registered bookies, the bookies that do not answer.
    """

    def __init__(
        self, connect: Connect, seconds: Callable[[], float], jobs: Callable[[], Sequence[RunningJob]],
        silent: Callable[[BookKeeperAdmin, Collection[str]], Awaitable[frozenset[str]]],
    ) -> None:  # fmt: skip
        self._connect = connect
        self._seconds = seconds
        self._jobs = jobs
        self._silent = silent
        self._turn = DeferredLock()

    @routed(
        Route("GET", "/api/v1/console/ledgers", "the next ledgers that fulfil all conditions, a hundred at most",
              parameters=(_AFTER, Parameter("bookie", "a bookie of an ensemble"),
                          Parameter("state", "the state", choices=("open", "in_recovery", "closed")),
                          Parameter("key", "a key of the custom metadata"),
                          Parameter("value", "the begin of a value of the custom metadata"),
                          Parameter("at_risk", "only ledgers that one more loss would make unreadable", "boolean"))),
    )  # fmt: skip
    async def _ledgers(self, request: ApiRequest) -> Answer:
        """Answer with the next ledgers that fulfil the conditions; ``next`` is null after the last ledger.

        A ledger whose metadata cannot be decoded may fulfil them or not: ``undecoded`` has the ids of these.  In a
        search for ledgers at risk, ``unpromised`` has the ids of those that are at risk unless more bookies have their
        entries than the ack quorum promises.
        """
        after, wanted = request.number("after", -1), LedgerFilter.of(request)
        admin = await self._connect()
        registered = await registered_bookies(admin.client.metadata.registration)
        answering = registered - await self._silent(admin, registered)
        scan = await self._scan(admin, after)
        ids, found = scan.ids, scan.found
        missing = await self._missing(admin, found)
        rows: list[Mapping[str, object]] = []
        unpromised, last = [], after
        for ledger_id in ids:
            last = ledger_id
            if ledger_id not in found or not wanted.fits(found[ledger_id]):
                continue
            metadata, present = found[ledger_id], answering - missing.get(ledger_id, frozenset())
            live = live_replicas(metadata, present)
            promised = promised_replicas(metadata, live)
            if not wanted.at_risk or ((live <= 1 or not promised) and not is_empty(metadata)):
                rows.append(_row(ledger_id, metadata, present, registered))
                if len(rows) == ROWS:
                    break
            elif promised == 1 and not is_empty(metadata):
                unpromised.append(ledger_id)
        is_end = len(ids) < SCANNED and (not ids or last == ids[-1])
        scanned = ids.index(last) + 1 if ids else 0
        unknown = [each for each in scan.undecoded if each <= last]
        following = None if is_end else last
        answer = {"ledgers": rows, "undecoded": unknown, "unpromised": unpromised, "scanned": scanned}
        return json_answer(exact({**answer, "next": following}))

    @routed(
        Route("GET", "/api/v1/console/ledger_groups",
              "numbers and bytes of the next ledgers, grouped by the value of a key of their custom metadata, "
              "of which the first 200 characters count",
              parameters=(_AFTER, Parameter("key", "the name of a custom metadata", required=True),
                          Parameter("depth", "how many parts of the value, between slashes, name a group; 0: all",
                                    "integer", least=0))),
    )  # fmt: skip
    async def _groups(self, request: ApiRequest) -> Answer:
        """Group the next 500 ledgers by their value of a key in the custom metadata.

        The answer has the number of ledgers and of bytes in each group, and in ``undecoded`` the ids of ledgers whose
        metadata cannot be decoded, which are in no group.  A client must add up the numbers of all its requests.
        """
        after, depth, key = request.number("after", -1), request.number("depth", 0), request.parameters["key"]
        scan = await self._scan(await self._connect(), after)
        groups: dict[str, dict[str, int]] = {}
        for metadata in scan.found.values():
            value = _text(metadata.custom_metadata.get(key, b""))
            name = "/".join(value.split("/")[:depth]) if depth > 0 else value
            group = groups.setdefault(_cut(name), {"ledgers": 0, "open": 0, "bytes": 0})
            group["ledgers"] += 1
            group["open"] += not metadata.closed
            group["bytes"] += metadata.length * metadata.write_quorum_size
        following = scan.ids[-1] if len(scan.ids) == SCANNED else None
        answer = {"groups": groups, "undecoded": scan.undecoded, "scanned": len(scan.ids), "next": following}
        return json_answer(exact(answer))

    async def _scan(self, admin: BookKeeperAdmin, after: int) -> ScannedLedgers:
        """Return the next 500 ledgers after the id ``after``.

        Only one request runs at a time, so that many clients do not use more of the reactor's time than one.
        """
        if after >= MAX_ENTRY_ID:
            return ScannedLedgers([], {}, [])
        async with self._turn:
            return await self._next(admin, after)

    async def _missing(
        self, admin: BookKeeperAdmin, ledgers: Mapping[int, LedgerMetadata]
    ) -> dict[int, frozenset[str]]:  # fmt: skip
        """Return the bookies in the underreplicated marks of those of some ``ledgers`` that are marked.

        Their replicas do not count as left: they are damaged, lack entries, or were away.
        """
        marks, found = admin.client.metadata.underreplication, dict[int, frozenset[str]]()
        listing: Any = marks.marked_ledgers()
        marked = await take(listing, LISTED + 1)
        await listing.aclose()

        async def read(ledger_id: int) -> None:
            try:
                found[ledger_id] = doubted((await marks.read_mark(ledger_id)).value, ledgers[ledger_id])
            except NotUnderreplicatedError:
                pass

        await for_each(ledgers if len(marked) > LISTED else ledgers.keys() & set(marked), read, _AT_ONCE)
        return found

    async def _next(self, admin: BookKeeperAdmin, after: int) -> ScannedLedgers:
        ids = await ledger_ids_from(admin, after + 1, SCANNED)
        found: dict[int, LedgerMetadata] = {}
        undecoded = UndecodedLedgers()

        async def read(ledger_id: int) -> None:
            metadata = await undecoded.read(admin.client.metadata.ledgers, ledger_id)
            if metadata is not None:
                found[ledger_id] = metadata

        await for_each(ids, read, _AT_ONCE)
        in_order = {ledger_id: found[ledger_id] for ledger_id in ids if ledger_id in found}
        return ScannedLedgers(ids, in_order, sorted(undecoded.ids))

    @routed(
        Route("GET", "/api/v1/console/ledger",
              "one ledger: its ensembles, the state of their bookies, and why it is underreplicated",
              parameters=(_LEDGER_ID,), refusals=(404,)),
    )  # fmt: skip
    @or_not_found
    async def _ledger(self, request: ApiRequest) -> Answer:
        ledger_id = request.number("ledger_id", -1)
        admin = await self._connect()
        metadata = await _metadata(admin, ledger_id)
        writable, read_only = await bookies_by_mode(admin.client.metadata.registration)
        mark, doubtful = await self._mark(admin, ledger_id, metadata, writable | read_only)
        silent = metadata.bookies & await self._silent(admin, writable | read_only)
        stored, present = writable | read_only, (writable | read_only) - silent
        present -= doubtful
        if mark is not None and says_lost(mark.lock):
            stored = present = frozenset()
        autorecovery = AutorecoveryAdmin(admin.client.metadata)
        enabled, auditor = await autorecovery.is_enabled(), await autorecovery.auditor()
        found = {
            **_row(ledger_id, metadata, present, stored),
            "absent": nsmallest(ABSENT, metadata.bookies - (writable | read_only)),
            "digest": metadata.digest_type.name,
            "segments": [[each.first_entry_id, list(each.bookies)] for each in metadata.segments],
            "states": bookie_states(metadata.bookies, writable, read_only) | dict.fromkeys(silent, SILENT),
            "mark": None if mark is None else attrs.asdict(mark),
            "unmarked": None,
        }
        if mark is None:
            found["unmarked"] = unmarked_reason(
                live_replicas(metadata, present), metadata.write_quorum_size, enabled, auditor, silent,
                live_replicas(metadata, stored),
            )  # fmt: skip
        return json_answer(exact(found))

    async def _mark(
        self, admin: BookKeeperAdmin, ledger_id: int, metadata: LedgerMetadata, registered: frozenset[str]
    ) -> tuple[LedgerMark | None, frozenset[str]]:  # fmt: skip
        """Return the underreplicated mark of a ledger, as it is shown, and the bookies whose replicas do not count.

        The mark is None if the ledger is not marked.
        """
        try:
            mark = (await admin.client.metadata.underreplication.read_mark(ledger_id)).value
        except NotUnderreplicatedError:
            return None, frozenset()
        locks = await AutorecoveryAdmin(admin.client.metadata).recovering()
        lock = present_locks(locks, self._jobs(), self._seconds()).get(ledger_id)
        since = None if mark.ctime is None else mark.ctime / 1000
        return LedgerMark(mark.replicas, since, lock, mark_reason(mark, lock, registered)), doubted(mark, metadata)

    @routed(
        Route("GET", "/api/v1/console/entry",
              "an entry as each of its bookies has it: payload, verdict of the digest, and the first difference",
              parameters=(_LEDGER_ID, Parameter("entry_id", "the id of the entry", "integer", True, 0)),
              refusals=(404,), access=Access.ADMINISTRATOR, action=Permission.READ),
    )  # fmt: skip
    @or_not_found
    async def _entry(self, request: ApiRequest) -> Answer:
        ledger_id, entry_id = request.number("ledger_id", -1), request.number("entry_id", -1)
        admin = await self._connect()
        metadata = await _metadata(admin, ledger_id)
        ensemble = metadata.ensemble_at(entry_id)
        size = metadata.ensemble_size
        chosen = [ensemble[(entry_id + number) % size] for number in range(metadata.write_quorum_size)]
        asked = {bookie_id: SharedResult[bytes | BookKeeperError]() for bookie_id in chosen}
        for bookie_id, result in asked.items():
            result.run(_stored(admin, bookie_id, ledger_id, entry_id))
        digester = Digester(metadata.digest_type, metadata.password)
        replicas = [
            judged(bookie_id, await result.wait(), digester, ledger_id, entry_id) for bookie_id, result in asked.items()
        ]
        may_lack = entry_id >= metadata.segments[-1].first_entry_id
        if metadata.closed:
            may_lack = entry_id > metadata.last_entry_id
        found = {"ledger": ledger_id, "entry": entry_id, **compared(replicas, metadata.digest_type, may_lack=may_lack)}
        if metadata.closed and may_lack:
            end = "has no entry" if is_empty(metadata) else f"ends with entry {metadata.last_entry_id}"
            found |= {"verdict": f"there is no entry {entry_id}: the ledger is closed and {end}", "level": "unknown"}
        return json_answer(exact(found))


async def _metadata(admin: BookKeeperAdmin, ledger_id: int) -> LedgerMetadata:
    """Return the metadata of the ledger ``ledger_id``.

    :raises NoSuchLedgerMetadataError: the ledger does not exist.
    :raises MetadataSerializationError: they cannot be decoded; the error says what is unknown therefore.
    """
    try:
        return await admin.client.ledger_metadata(ledger_id)
    except MetadataSerializationError as error:
        text = "the ledger exists, but its metadata cannot be decoded, so its state, bookies and entries are not known"
        raise MetadataSerializationError(f"{text}: {error}") from error


async def _stored(admin: BookKeeperAdmin, bookie_id: str, ledger_id: int, entry_id: int) -> bytes | BookKeeperError:
    try:
        reply = await admin.client.context.bookies.read(bookie_id, ledger_id, entry_id)
    except BookKeeperError as error:
        return error
    return NoSuchEntryError(ledger_id, entry_id) if reply.entry is None else bytes(reply.entry)


def _row(
    ledger_id: int, metadata: LedgerMetadata, present: frozenset[str], registered: frozenset[str]
) -> dict[str, object]:  # fmt: skip
    """Return a ledger as a JSON object.

    The member ``replicas`` counts bookies that answer and that the mark of the ledger does not name.  The member
    ``doubtful`` counts the other registered bookies: they may have the entries, too.  If no replica is left,
    ``unwritten`` tells that the ledger may have no entries there: it is not closed.  Of all ensembles, ``absent`` has
    some bookies that are not registered; ``bookies`` has those of the last ensemble.

    :param present: ids of the registered bookies that answer and that no mark names.
    :param registered: ids of all registered bookies.
    """
    replicas = live_replicas(metadata, present)
    return {
        "id": ledger_id, "state": metadata.state.name, "length": metadata.length, "last": metadata.last_entry_id,
        "ensemble": metadata.ensemble_size, "writeQuorum": metadata.write_quorum_size,
        "ackQuorum": metadata.ack_quorum_size, "ctime": None if metadata.ctime is None else metadata.ctime / 1000,
        "replicas": replicas, "promised": promised_replicas(metadata, replicas),
        "doubtful": live_replicas(metadata, registered) - replicas,
        "unwritten": not replicas and may_be_unwritten(metadata, registered),
        "bookies": list(metadata.segments[-1].bookies),
        "absent": nsmallest(ABSENT, metadata.bookies - registered),
        "custom": {key: _cut(_text(value)) for key, value in metadata.custom_metadata.items()},
    }  # fmt: skip


def _cut(text: str) -> str:
    """Return a ``text`` with at most :data:`_CUT` characters; a longer one ends with an ellipsis."""
    return text if len(text) <= _CUT else text[: _CUT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")

"""Repairing what a check found: entries are copied by tasks, metadata are written by the driver.

Theory of operation.  The driver works through the damaged ledgers some hundreds at a time.  It takes the replication
lock of each, so that no replication worker repairs it as well, reads its metadata and chooses a target for each
position that lacks entries: the bookie itself if it is writable, otherwise another one, which gets everything that
the position keeps.  Tasks copy.  Where all targets of a fragment have taken everything, new bookies are named by one
write of the metadata (S19).  A mark goes if every bookie that it names has been given what it lacked.  A crash at any
moment leaves extra copies and nothing else.  Fragments of a writer that may be alive are left alone.
"""

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...client import BookKeeper
from ...codec.digest import Digester
from ...config.client import ClientConfig
from ...errors import (
    BookKeeperError,
    LedgerLockedError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    NotUnderreplicatedError,
)
from ...ledger.fragments import LedgerFragment, Moves, fragments_of
from ...ledger.replica_scan import DAMAGED, MISSING
from ...metadata.interfaces import ILedgerManager, IUnderreplication, Versioned
from ...metadata.update_loop import update
from ...model import LedgerMetadata, UnderreplicatedLedger
from ...ratelimit import UNLIMITED, Rate
from ...wire import Fragment, ReadLimits, Timeouts
from ..cluster import THREAD, ClusterView, connected
from ..options import Secret
from ..pacing import pace_of, tenth_of_a_second
from ..planning import ENTRY_OVERHEAD
from ..tasks import connections
from .copying import Copied, CopyPart, PartCopy, Ranges

LEDGERS_AT_ONCE = 500
"""Ledgers that are locked at a time."""

PART_BYTES = 16 << 20

REPAIRED, FAILED, LOST, LOCKED, OPEN, NO_TARGET = "repaired", "failed", "lost", "locked", "open", "no target"

OUTCOMES = (
    "ledger_id BIGINT, fragment INT, position INT, bookie_id STRING, target STRING, state STRING, entries BIGINT, "
    "detail STRING"
)

_HOLDER = "bookkeeper-spark"


@attrs.frozen
class Lack:
    """What one position of a fragment lacks.

    :ivar ranges: empty where a bookie is gone that keeps nothing.
    """

    fragment: int
    position: int
    bookie_id: str
    ranges: Ranges


@attrs.define
class _Repair:
    """One fragment in work.

    :ivar targets: by position.
    """

    ledger_id: int
    number: int
    fragment: LedgerFragment
    lacks: dict[int, Lack]
    targets: dict[int, str]
    copied: dict[int, int] = attrs.field(factory=dict)
    problems: dict[int, tuple[str, str]] = attrs.field(factory=dict)

    def ranges(self, position: int) -> Ranges:
        """What the target gets: another bookie than before everything that the position keeps."""
        ends = self.fragment.ends(position)
        if self.targets[position] == self.fragment.ensemble[position] or ends is None:
            return self.lacks[position].ranges
        return (ends,)

    @property
    def moves(self) -> Moves:
        """The positions that have another bookie than before."""
        pairs = {p: (self.fragment.ensemble[p], new) for p, new in self.targets.items() if p not in self.problems}
        return Moves(self.fragment.first, {p: (old, new) for p, (old, new) in pairs.items() if old != new})

    def outcomes(self) -> Iterator[tuple[object, ...]]:
        """Rows for the report."""
        for position, lack in self.lacks.items():
            state, detail = self.problems.get(position, (REPAIRED, ""))
            target, entries = self.targets.get(position), self.copied.get(position, 0)
            yield self.ledger_id, self.number, position, lack.bookie_id, target, state, entries, detail


@attrs.define
class _Ledger:
    """A locked ledger; its mark is of the time before the repair."""

    ledger_id: int
    stored: Versioned[LedgerMetadata]
    mark: Versioned[UnderreplicatedLedger] | None
    repairs: list[_Repair] = attrs.field(factory=list)

    def is_repaired(self, replicas: Collection[str]) -> bool:
        """Whether nothing is left to do for the bookies of a mark; a mark that names none asks for more."""
        given = {lack.bookie_id for repair in self.repairs for lack in repair.lacks.values()}
        return bool(replicas) and given.issuperset(replicas) and not any(repair.problems for repair in self.repairs)


def lacks_of(findings: DataFrame, replicas: DataFrame) -> dict[int, list[Lack]]:
    """What positions lack, by ledger: what is missing or damaged, and everything of bookies that are gone.

    :param findings: of :func:`~.verify.verify`.
    :param replicas: rows of the source's view ``fragments``.
    """
    keys = ("ledger_id", "fragment", "position", "bookie_id")
    gone = {
        row[:4]: row
        for row in replicas.where("NOT available").select(*keys, "first_entry_id", "last_entry_id").collect()
    }
    ranges: dict[tuple[Any, ...], list[tuple[int, int]]] = {
        tuple(key): [(row.first_entry_id, row.last_entry_id)] if row.first_entry_id <= row.last_entry_id else []
        for key, row in gone.items()
    }
    bad = findings.where(f.col("status").isin(MISSING, DAMAGED)).select(*keys, "first", "last")
    for row in bad.collect():
        if tuple(row[:4]) not in gone:
            ranges.setdefault(tuple(row[:4]), []).append((row.first, row.last))
    lacks: dict[int, list[Lack]] = {}
    for (ledger_id, fragment, position, bookie_id), found in sorted(ranges.items()):
        lacks.setdefault(ledger_id, []).append(Lack(fragment, position, bookie_id, tuple(sorted(found))))
    return lacks


class _Driver:
    """What the driver does: locks, plans, writes metadata."""

    def __init__(self, client: BookKeeper, cluster: ClusterView) -> None:
        self._watcher = client.context.watcher
        self._ledgers = cast(ILedgerManager, client.metadata.ledgers)
        self._marks = cast(IUnderreplication, client.metadata.underreplication)
        self._cluster = cluster

    async def begin(self, ledger_id: int, lacks: Sequence[Lack]) -> _Ledger | tuple[str, str]:
        """Lock and plan a ledger; a state and its reason where there is nothing to do."""
        try:
            await self._marks.lock(ledger_id, _HOLDER)
        except LedgerLockedError as error:
            return LOCKED, str(error)
        try:
            mark = None
            with suppress(NotUnderreplicatedError):
                mark = await self._marks.read_mark(ledger_id)
            work = _Ledger(ledger_id, await self._ledgers.read(ledger_id), mark)
            await self._plan(work, lacks)
        except BookKeeperError as error:
            await self._marks.unlock(ledger_id)
            return (REPAIRED if isinstance(error, NoSuchLedgerMetadataError) else FAILED), str(error)
        return work

    async def _plan(self, work: _Ledger, lacks: Sequence[Lack]) -> None:
        metadata = work.stored.value
        newest = metadata.segments[-1].first_entry_id
        for number, fragment in enumerate(fragments_of(work.ledger_id, metadata, newest - 1)):
            mine = {
                one.position: one
                for one in lacks
                if one.fragment == number and fragment.ensemble[one.position] == one.bookie_id
            }
            repair = _Repair(work.ledger_id, number, fragment, mine, {})
            if not fragment.closed:
                repair.problems = dict.fromkeys(mine, (OPEN, "its writer may be alive"))
            else:
                await self._choose(repair, metadata)
            work.repairs += [repair] if mine else []

    async def _choose(self, repair: _Repair, metadata: LedgerMetadata) -> None:
        """A target for each position."""
        ensemble = list(repair.fragment.ensemble)
        writable = await self._cluster.registration.writable_bookies()
        excluded = set(ensemble) - writable
        for position, lack in repair.lacks.items():
            target = lack.bookie_id
            if target in excluded:
                try:
                    target = await self._watcher.replace_bookie(
                        position, ensemble, metadata.write_quorum_size, excluded, metadata.custom_metadata
                    )
                except NotEnoughBookiesError as error:
                    repair.problems[position] = NO_TARGET, str(error)
                    continue
            ensemble[position] = repair.targets[position] = target

    async def end(self, work: _Ledger) -> None:
        """Name new bookies, remove the mark of a ledger that is whole, and release the lock."""
        try:
            for repair in work.repairs:
                moves = repair.moves
                if moves.bookies:
                    await update(self._ledgers, work.ledger_id, None, moves.are_needed, moves.apply)
            if work.mark is not None and work.is_repaired(work.mark.value.replicas):
                with suppress(NotUnderreplicatedError, MetadataVersionError):
                    await self._marks.remove_mark(work.ledger_id, work.mark.version)
        except NoSuchLedgerMetadataError:
            pass  # it was deleted meanwhile
        except BookKeeperError as error:
            for repair in work.repairs:
                for position in repair.targets:
                    repair.problems.setdefault(position, (FAILED, str(error)))
        finally:
            await self._marks.unlock(work.ledger_id)


def replicate(
    spark: SparkSession, uri: str, lacks: Mapping[int, Sequence[Lack]], password: bytes = b"", limit: Rate = UNLIMITED,
    parallelism: int = 8,
) -> DataFrame:  # fmt: skip
    """Give bookies what they lack; returns a row for each position, with the state in which it is now.

    :param lacks: of :func:`lacks_of`.
    :param password: of ledgers whose metadata do not have it.
    :param limit: entries and bytes a second of the whole cluster, read and written ones.
    :param parallelism: tasks that run at a time, among which the limit is split.
    """
    outcomes: list[tuple[object, ...]] = []
    with connected(uri, ClientConfig()) as cluster:
        client = THREAD.wait(lambda: BookKeeper.connect(THREAD.reactor, uri, ClientConfig()))
        try:
            driver = _Driver(client, cluster)
            rest = iter(sorted(lacks.items()))
            while some := dict(islice(rest, LEDGERS_AT_ONCE)):
                outcomes += _some(spark, driver, cluster, some, _Copying(password, limit, parallelism))
        finally:
            THREAD.wait(client.close)
    return spark.createDataFrame(outcomes, OUTCOMES)


@attrs.frozen
class _Copying:
    """How tasks copy."""

    password: bytes = attrs.field(repr=False)
    limit: Rate
    parallelism: int

    def key_of(self, metadata: LedgerMetadata) -> tuple[Any, Secret]:
        """What a task verifies and signs with."""
        return metadata.digest_type, Secret(metadata.password if metadata.has_password else self.password)


def _some(
    spark: SparkSession, driver: _Driver, cluster: ClusterView, lacks: Mapping[int, Sequence[Lack]], how: _Copying
) -> list[tuple[object, ...]]:
    """Repair some ledgers."""
    begun = {ledger_id: THREAD.wait(_call(driver.begin, ledger_id, wanted)) for ledger_id, wanted in lacks.items()}
    works = {ledger_id: one for ledger_id, one in begun.items() if isinstance(one, _Ledger)}
    try:
        parts = [part for work in works.values() for repair in work.repairs for part in _parts(work, repair, cluster)]
        keys = {ledger_id: how.key_of(work.stored.value) for ledger_id, work in works.items()}
        for ledger_id, number, copied in _copied(spark, parts, keys, how):
            _note(next(one for one in works[ledger_id].repairs if one.number == number), copied)
    except BaseException:
        for work in works.values():
            for repair in work.repairs:
                repair.problems = dict.fromkeys(repair.lacks, (FAILED, "the copy did not end"))
        raise
    finally:
        for work in works.values():
            THREAD.wait(_call(driver.end, work))
    rows = [row for work in works.values() for repair in work.repairs for row in repair.outcomes()]
    for ledger_id, one in begun.items():
        if not isinstance(one, _Ledger):
            rows += [
                (ledger_id, x.fragment, x.position, x.bookie_id, None, one[0], 0, one[1]) for x in lacks[ledger_id]
            ]
    return rows


def _call(work: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: work(*arguments)


def _parts(work: _Ledger, repair: _Repair, cluster: ClusterView) -> Iterator[CopyPart]:
    """A fragment cut into parts, of each only what a target lacks."""
    metadata, fragment = work.stored.value, repair.fragment
    wanted = {p: repair.ranges(p) for p in repair.targets}
    ids = [n for ranges in wanted.values() for ends in ranges for n in ends]
    if not ids:
        return
    known = cluster.addresses({*fragment.ensemble, *repair.targets.values()})
    average = metadata.length / (metadata.last_entry_id + 1) if metadata.closed else 0.0
    step = max(1, int(PART_BYTES / (average + ENTRY_OVERHEAD)))
    sources = tuple(known[bookie_id] for bookie_id in fragment.ensemble)
    for first in range(min(ids), max(ids) + 1, step):
        last = min(first + step - 1, max(ids))
        lacking = {p: (known[repair.targets[p]], _clipped(ranges, first, last)) for p, ranges in wanted.items()}
        lacking = {p: one for p, one in lacking.items() if one[1]}
        if lacking:
            ends = [n for _, ranges in lacking.values() for pair in ranges for n in pair]
            part = Fragment(work.ledger_id, min(ends), max(ends), sources, fragment.schedule.write_quorum)
            yield CopyPart(repair.number, part, lacking)


def _clipped(ranges: Iterable[tuple[int, int]], first: int, last: int) -> Ranges:
    return tuple((max(low, first), min(high, last)) for low, high in ranges if low <= last and high >= first)


def _copied(
    spark: SparkSession, parts: Sequence[CopyPart], keys: Mapping[int, tuple[Any, Secret]], how: _Copying
) -> Iterator[tuple[int, int, Copied]]:
    """Copy parts in tasks: ledger, number of the fragment, and what was done."""
    if not parts:
        return
    share = how.limit * (1 / how.parallelism)
    limits = ReadLimits(batch_bytes=tenth_of_a_second(share.bytes, 1 << 20))

    def copy(row: Any) -> bytes:
        part: CopyPart = pickle.loads(row.part)
        digest_type, secret = keys[part.sources.ledger_id]
        pool = connections(Timeouts(), limits.max_frame_size)
        spend = pace_of("replicate", share).spend
        return pickle.dumps(PartCopy(pool, part, Digester(digest_type, secret.value), spend, limits).run())

    rows = [(part.sources.ledger_id, part.number, bytearray(pickle.dumps(part))) for part in parts]
    work = spark.createDataFrame(rows, "ledger_id BIGINT, number INT, part BINARY")
    work = work.repartition(min(len(rows), how.parallelism * 4), f.rand(seed=1))
    done = work.withColumn("done", f.udf(copy, "binary", useArrow=False)(f.struct("part")))
    for row in done.select("ledger_id", "number", "done").toLocalIterator():
        yield row.ledger_id, row.number, pickle.loads(row.done)


def _note(repair: _Repair, copied: Copied) -> None:
    """Take the outcome of one part."""
    for position in repair.targets:
        repair.copied[position] = repair.copied.get(position, 0) + copied.entries_of.get(position, 0)
        if position in copied.failed:
            repair.problems[position] = FAILED, copied.failed[position]
    if copied.unreadable:
        entry_id, error = min(copied.unreadable.items())
        for position in repair.targets:
            repair.problems[position] = LOST, f"entry {entry_id}: {error}"

"""Repairs ledgers after a check or the loss of bookies: Spark tasks copy entries, the driver updates the metadata.

Theory of operation.  The driver repairs a group of some hundreds of ledgers at a time: :mod:`.repairs` locks them and
chooses target bookies, tasks copy their entries (:mod:`.copying`), and :mod:`.repairs` writes the targets to the
metadata.  While tasks copy one group, the driver locks the next group and finishes the previous group, so that tasks
need not wait for it.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...blocking_reads import Address, ReadLimits, Timeouts
from ...client import BookKeeper
from ...codec.digest import Digester
from ...ledger.findings import LossKind, ReplicaLoss
from ...ledger.read_answers import ENTRY_OVERHEAD
from ...ledger.replica_scan import DAMAGED, MISSING, UNREACHABLE
from ...limits.ratelimit import UNLIMITED, Rate
from ...model import LedgerMetadata
from ..driver.cluster import ClusterView, connected
from ..options import Secret, client_config
from ..reactor import THREAD, results_of
from ..task.pacing import pace_of, tenth_of_a_second
from ..task.partition import connections
from ..task.security import SecuritySettings, security_settings
from .copying import CopyResult, LackingPart, LackingPartCopier
from .repairs import FAILED, LOST, Check, FragmentRepair, LockedLedger, Losses, Marks, Outcome, Refusal, Repairs

LEDGERS_AT_ONCE = 500
"""Number of ledgers whose entries one Spark job copies; meanwhile, the driver locks as many ledgers for the next job.
"""

PART_BYTES = 16 << 20

OUTCOMES = (
    "ledger_id BIGINT, fragment INT, position INT, bookie_id STRING, target STRING, state STRING, entries BIGINT, "
    "detail STRING"
)

_KEYS = ("ledger_id", "fragment", "position", "bookie_id")
_KINDS = {MISSING: LossKind.MISSING, DAMAGED: LossKind.DAMAGED}
_PARTITIONS_PER_TASK, _WITH_A_LIMIT = 4, 16


_Row = tuple[tuple[Any, ...], LossKind, tuple[int, int] | None]
"""A range of lost entries: values of the columns :data:`_KEYS`, kind of loss, first and last id (None for no entries).
"""


def read_marks(uri: str, options: Mapping[str, str] | None = None) -> Marks:
    """Return all underreplicated marks, by ledger id; call this before the check of the ledgers begins.

    :param uri: metadata service URI.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.
    """
    with connected(uri, client_config(options)) as cluster:
        return cluster.marks()


def check_of_bookies(replicas: DataFrame, marks: Marks) -> Check:
    """Make the result of a check without reading entries: all entries of unregistered bookies count as lost.

    :param replicas: rows of the source's view ``fragments``.
    :param marks: underreplicated marks, which :func:`read_marks` returned before ``replicas`` were read.
    """
    return Check(_by_fragment(_gone(replicas)), None, marks)


def check_of_entries(findings: DataFrame, replicas: DataFrame, marks: Marks) -> Check:
    """Make the result of a check from the rows of a verification, each of which is a range of entries in one state.

    Missing entries, damaged entries and all entries of bookies that are not registered count as lost.

    :param findings: result of :func:`~.verify.verify`.
    :param replicas: rows of the source's view ``fragments``.
    :param marks: underreplicated marks, which :func:`read_marks` returned before ``replicas`` were read.
    """
    rows = _gone(replicas)
    gone = {key for key, _, _ in rows}
    bad = findings.where(f.col("status").isin(*_KINDS, UNREACHABLE)).select(*_KEYS, "status", "first", "last")
    unsure: dict[int, set[str]] = {}
    for row in replicas.where("available AND NOT end_known").select("ledger_id", "bookie_id").collect():
        unsure.setdefault(row.ledger_id, set()).add(row.bookie_id)
    for row in bad.collect():
        if row.status == UNREACHABLE:
            unsure.setdefault(row.ledger_id, set()).add(row.bookie_id)
        elif row[:4] not in gone:
            rows.append((row[:4], _KINDS[row.status], (row.first, row.last)))
    return Check(_by_fragment(rows), unsure, marks)


def _gone(replicas: DataFrame) -> list[_Row]:
    found = replicas.where("NOT available").select(*_KEYS, "first_entry_id", "last_entry_id").collect()
    return [(row[:4], LossKind.GONE, (row[4], row[5]) if row[4] <= row[5] else None) for row in found]


def _by_fragment(rows: Iterable[_Row]) -> Losses:
    ranges: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for key, kind, ends in rows:
        ranges.setdefault((*key, kind), []).extend([ends] if ends else [])
    losses: dict[int, dict[int, list[ReplicaLoss]]] = {}
    for (ledger_id, number, position, bookie_id, kind), found in ranges.items():
        loss = ReplicaLoss(position, bookie_id, kind, tuple(sorted(found)))
        losses.setdefault(ledger_id, {}).setdefault(number, []).append(loss)
    return losses


def replicate(
    spark: SparkSession, uri: str, check: Check, password: bytes = b"", limit: Rate = UNLIMITED, parallelism: int = 8,
    options: Mapping[str, str] | None = None,
) -> DataFrame:  # fmt: skip
    """Copy lost entries to bookies; return the repair report.

    The report has a row for each bookie in an ensemble that lacked entries, with its state after the repair.

    :param check: result of :func:`check_of_entries` or :func:`check_of_bookies`.
    :param password: password of ledgers whose metadata contain none.
    :param limit: maximum number of entries and bytes a second that all tasks together read and write.
    :param parallelism: tasks that run at a time; each gets an equal share of the limit.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.  With options
        for TLS and authentication, the connections to bookies are secured.
    """
    config = client_config(options)
    copying = _Copying(spark, password, limit, parallelism, security_settings(config))
    client = THREAD.wait(lambda: BookKeeper.connect(THREAD.reactor, uri, config))
    repairs, cluster, ids = Repairs(client, check), ClusterView(client.metadata, copying.security), sorted(check.losses)
    parts = [ids[start : start + LEDGERS_AT_ONCE] for start in range(0, len(ids), LEDGERS_AT_ONCE)]
    batches = [_RepairBatch(repairs, {ledger_id: check.losses[ledger_id] for ledger_id in some}) for some in parts]
    try:
        for n, batch in enumerate(batches):
            for one in batches[n : n + 2]:
                # lock the next batch of ledgers, too, so that it can be copied without delay
                one.begin()
            batch.copy(copying, cluster)
            batch.end()
    finally:
        for batch in batches:
            batch.end()
        for batch in batches:
            batch.wait()
        THREAD.wait(client.close)
    return spark.createDataFrame([row for batch in batches for row in batch.outcomes()], OUTCOMES)


@attrs.define
class _RepairBatch:
    """A group of ledgers that are repaired together: one Spark job copies their entries."""

    _repairs: Repairs
    _losses: Losses
    _begun: "Future[dict[int, LockedLedger | Refusal]] | None" = None
    _ended: "Future[object] | None" = None
    _copied: bool = False

    def begin(self) -> None:
        """Begin to lock the ledgers and to plan their repair; return without waiting.  A second call does nothing."""
        if self._begun is None:
            self._begun, _ = THREAD.begin(partial(results_of, self._losses, self._repairs.begin))

    def copy(self, copying: "_Copying", cluster: ClusterView) -> None:
        """Copy the lost entries of the ledgers in Spark tasks; return when all tasks have ended."""
        works = self._works
        fragments = [one for work in works.values() for one in work.fragments.values()]
        known = cluster.addresses({n for one in fragments for n in (*one.fragment.ensemble, *one.targets.values())})
        parts = [part for work in works.values() for part in _parts(work, known, copying.part_bytes)]
        keys = {ledger_id: copying.key_of(work.stored.value) for ledger_id, work in works.items()}
        for ledger_id, number, copied in copying.run(parts, keys):
            _note(works[ledger_id].fragments[number], copied)
        self._copied = True

    def end(self) -> None:
        """Begin to update the metadata and to release the locks; return without waiting.

        If the copying has failed or was not begun, the metadata are not changed.
        """
        if self._begun is None or self._ended is not None or self._begun.exception() is not None:
            return
        works = self._works
        if not self._copied:
            for work in works.values():
                for one in work.fragments.values():
                    one.fail(FAILED, "the copy did not end")
        self._ended, _ = THREAD.begin(partial(results_of, works, lambda n: self._repairs.end(works[n])))

    def wait(self) -> None:
        """Wait until the metadata of all ledgers of this batch are written and their locks are released."""
        if self._ended is not None:
            self._ended.result()

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the rows of the repair report: one for each bookie in an ensemble that lacked entries."""
        assert self._begun is not None
        for ledger_id, one in self._begun.result().items():
            if isinstance(one, LockedLedger):
                for fragment in one.fragments.values():
                    yield from fragment.outcomes()
                continue
            for number, losses in self._losses[ledger_id].items():
                for loss in losses:
                    yield ledger_id, number, loss.position, loss.bookie_id, None, one.state, 0, one.why

    @property
    def _works(self) -> dict[int, LockedLedger]:
        assert self._begun is not None
        return {n: one for n, one in self._begun.result().items() if isinstance(one, LockedLedger)}


@attrs.frozen
class _Copying:
    """The settings of the Spark jobs that copy entries."""

    spark: SparkSession
    password: bytes = attrs.field(repr=False)
    limit: Rate
    parallelism: int
    security: SecuritySettings

    @property
    def share(self) -> Rate:
        """Return the speed limit of one task: the limit of all tasks, divided by the number of parallel tasks."""
        return self.limit * (1 / self.parallelism)

    @property
    def part_bytes(self) -> int:
        """Return how many bytes to copy at a time; with a speed limit, as many as a task may copy in a second.

        With small portions, all tasks end at about the same time.
        """
        return min(PART_BYTES, int(self.share.bytes)) if self.share.bytes else PART_BYTES

    def key_of(self, metadata: LedgerMetadata) -> tuple[Any, Secret]:
        """Return the digest type and the password of a ledger, with which tasks verify and send entries."""
        return metadata.digest_type, Secret(metadata.password if metadata.has_password else self.password)

    def run(
        self, parts: Sequence[LackingPart], keys: Mapping[int, tuple[Any, Secret]]
    ) -> Iterator[tuple[int, int, CopyResult]]:
        """Copy the entries of ``parts`` (ranges of entries that bookies lack) in one Spark job.

        Yield the ledger id, the number of the fragment and the result of each part.
        """
        if not parts:
            return
        share, security = self.share, self.security
        limits = ReadLimits(batch_bytes=tenth_of_a_second(share.bytes, 1 << 20))

        def copy(row: Any) -> bytes:
            part: LackingPart = pickle.loads(row.part)
            digest_type, secret = keys[part.fragment.ledger_id]
            pool = connections(Timeouts(), limits.max_frame_size, security)
            spend = pace_of("replicate", share).spend
            return pickle.dumps(LackingPartCopier(pool, part, Digester(digest_type, secret.value), spend, limits).run())

        rows = [(part.fragment.ledger_id, part.number, bytearray(pickle.dumps(part))) for part in parts]
        work = self.spark.createDataFrame(rows, "ledger_id BIGINT, number INT, part BINARY")
        count = self.parallelism * (_WITH_A_LIMIT if self.limit else _PARTITIONS_PER_TASK)
        work = work.repartition(min(len(rows), count), f.rand(seed=1))
        done = work.withColumn("done", f.udf(copy, "binary", useArrow=False)(f.struct("part")))
        for row in done.select("ledger_id", "number", "done").collect():
            yield row.ledger_id, row.number, pickle.loads(row.done)


def _parts(repair: LockedLedger, known: Mapping[str, Address], part_bytes: int) -> Iterator[LackingPart]:
    """Cut the fragments under repair into parts of about ``part_bytes``; leave out parts without lost entries."""
    metadata = repair.stored.value
    count = metadata.last_entry_id + 1  # 0 for an open ledger, whose last entry id in the metadata is -1
    average = metadata.length / count if count else 0.0
    step = max(1, int(part_bytes / (average + ENTRY_OVERHEAD)))
    for one in repair.fragments.values():
        losses, fragment = one.losses(), one.fragment
        named = {*fragment.ensemble, *one.targets.values()}
        addresses = {bookie_id: known[bookie_id] for bookie_id in named}
        for first in range(fragment.first, fragment.last + 1, step):
            last = min(first + step - 1, fragment.last)
            mine = tuple(part for loss in losses if (part := _clipped(loss, first, last)).ranges)
            if mine:
                targets = {loss.position: one.targets[loss.position] for loss in mine}
                yield LackingPart(
                    one.number, attrs.evolve(fragment, first=first, last=last), mine, targets, addresses
                )  # fmt: skip


def _clipped(loss: ReplicaLoss, first: int, last: int) -> ReplicaLoss:
    """Return ``loss`` with only the entries from ``first`` to ``last``."""
    ends = ((max(low, first), min(high, last)) for low, high in loss.ranges if low <= last and high >= first)
    return attrs.evolve(loss, ranges=tuple(ends))


def _note(one: FragmentRepair, copied: CopyResult) -> None:
    """Add the result of copying a part of a fragment to the results of the fragment's repair."""
    for target, entries in copied.entries_of.items():
        one.copied[target] = one.copied.get(target, 0) + entries
    for position, target in one.targets.items():
        if target in copied.failed:
            one.problems[position] = FAILED, copied.failed[target]
    if copied.unreadable:
        entry_id, error = min(copied.unreadable.items())
        one.problems |= dict.fromkeys(one.targets, (LOST, f"entry {entry_id}: {error}"))

"""Verifies every replica of ledgers in Spark tasks; can mark the ledgers that lack replicas."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from ...blocking_reads import Address, Timeouts
from ...codec.digest import Digester
from ...ledger.read_answers import ENTRY_OVERHEAD
from ...ledger.replica_scan import DAMAGED, LENGTH, MISSING, OK, UNREACHABLE
from ...ledger.schedule import Schedule
from ...limits.ratelimit import UNLIMITED, Rate
from ...model import DigestType
from ..options import Secret, client_config
from ..task.pacing import pace_of, tenth_of_a_second, time_of_day
from ..task.partition import connections
from ..task.security import security_settings
from .checking import BATCH_BYTES, BATCH_ENTRIES, PositionCheck

FINDINGS = (
    "array<struct<first:bigint,last:bigint,status:string,entries:bigint,bytes:bigint,detail:string,"
    "began:double,ended:double>>"
)

PIECE_BYTES = 16 << 20

_PARTITIONS_PER_TASK, _WITH_A_LIMIT = 4, 16
"""Number of partitions for each concurrent task: without a speed limit, and with a speed limit.

With several small partitions for each task, few cores are idle at the end.  With a speed limit, partitions are even
smaller: each task may use only its own share of the limit, so the share of an idle core is wasted.
"""

_NOT_REGISTERED = "the bookie is not registered; it should keep no entries"

DEFAULT_TIMEOUTS = Timeouts()

_MAX_FRAME = 5 << 20


def fragments(spark: SparkSession, uri: str, **options: str) -> DataFrame:
    """List the replicas of all fragments: return the rows of the source's view ``fragments``.

    :param uri: metadata service URI.
    :param options: more options of the source, for example to select ledgers.
    """
    reader = spark.read.format("bookkeeper").option("metadataServiceUri", uri).option("view", "fragments")
    return reader.options(**options).load()


def pieces(replicas: DataFrame, piece_bytes: int = PIECE_BYTES) -> DataFrame:
    """Cut replicas into pieces of about ``piece_bytes``; return a row for each, with columns ``first`` and ``last``.

    Replicas without entries are left out.  But if the bookie of such a replica is not registered, there is an empty
    piece for it, with ``last`` below ``first``.

    :param replicas: rows that :func:`fragments` returned.
    :param piece_bytes: size of a piece in bytes, estimated from the average size of the ledger's entries.
    """
    step = f.greatest(f.lit(1), (piece_bytes / (f.col("entry_bytes") + ENTRY_OVERHEAD)).cast("bigint"))
    cut = replicas.where("last_entry_id >= first_entry_id OR NOT available").withColumn("step", step)
    starts = "sequence(first_entry_id, greatest(first_entry_id, last_entry_id), step)"
    cut = cut.withColumn("first", f.explode(f.expr(starts)))
    return cut.withColumn("last", f.least(f.col("first") + f.col("step") - 1, f.col("last_entry_id"))).drop("step")


def stored_passwords(
    uri: str, replicas: DataFrame, options: Mapping[str, str] | None = None
) -> dict[int, Secret]:  # fmt: skip
    """Read the passwords in the metadata of the ledgers that have HMAC digests; return these passwords by ledger id.

    Entries of other ledgers are verified without a password.

    :param uri: metadata service URI.
    :param replicas: rows of the source's view ``fragments``.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.
    """
    from ..driver.cluster import connected

    rows = replicas.where(f.col("digest_type") == DigestType.HMAC.name).select("ledger_id").distinct().collect()
    with connected(uri, client_config(options)) as cluster:
        ledgers = cluster.metadata(row.ledger_id for row in rows)
    return {ledger_id: Secret(known.password) for ledger_id, known in ledgers.items() if known.has_password}


def verify(
    replicas: DataFrame, password: bytes = b"", limit: Rate = UNLIMITED, parallelism: int = 8,
    passwords: Mapping[int, Secret] | None = None, timeouts: Timeouts = DEFAULT_TIMEOUTS,
    options: Mapping[str, str] | None = None,
) -> DataFrame:  # fmt: skip
    """Read and verify replicas; return a row for each range of entries in the same state at one bookie.

    A range is all entries from ``first`` to ``last`` that the bookie should have at its position in the ensemble;
    ``entries`` is their number.  Replicas are read in pieces, so a range also ends where a piece ends; :func:`damages`
    joins such ranges.  Columns ``began`` and ``ended`` are the times, in seconds since the epoch, at which the read of
    the piece began and ended.  A replica without entries has a row only if its bookie is not registered: then
    ``entries`` is 0, and ``last`` is below ``first``.

    :param replicas: rows of the source's view ``fragments``.
    :param password: password of ledgers with HMAC digests that are not in ``passwords``.
    :param passwords: passwords by ledger id, which :func:`stored_passwords` has read from metadata.
    :param limit: maximum number of entries and bytes a second that all tasks together read.
    :param parallelism: tasks that run at a time; each gets an equal share of the limit.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.  With options
        for TLS and authentication, the connections to bookies are secured.
    """
    security = security_settings(client_config(options))
    share = limit * (1 / parallelism) if limit else UNLIMITED
    batch_bytes = tenth_of_a_second(share.bytes, BATCH_BYTES)
    batch_entries = tenth_of_a_second(share.entries, BATCH_ENTRIES)
    secret, known = Secret(password), dict(passwords or {})

    def check(row: Any) -> list[tuple[object, ...]]:
        if row.last < row.first:
            return [(row.first, row.last, UNREACHABLE, 0, 0, _NOT_REGISTERED, None, None)]
        schedule = Schedule(row.ensemble_size, row.write_quorum, row.ack_quorum)
        address = Address(row.bookie_id, row.host, row.port)
        digester = Digester(DigestType[row.digest_type], known.get(row.ledger_id, secret).value)
        pace, began = pace_of("verify", share), time_of_day()
        pool = connections(timeouts, _MAX_FRAME, security)
        one = PositionCheck(
            pool, address, row.ledger_id, schedule, row.position, digester, pace.spend,
            batch_bytes=batch_bytes, batch_entries=batch_entries,
        )  # fmt: skip
        # if the end of the ledger is unknown, ignore missing entries, because they may never have been written
        found = [x for x in one.findings(row.first, row.last) if row.end_known or x.status != MISSING]
        ended = time_of_day()
        return [(x.first, x.last, x.status, x.entries, x.n_bytes, x.detail, began, ended) for x in found]

    columns = [f.col(name) for name in _INPUT]
    piece_bytes = min(PIECE_BYTES, int(share.bytes)) if share.bytes else PIECE_BYTES
    count = parallelism * (_WITH_A_LIMIT if limit else _PARTITIONS_PER_TASK)
    work = pieces(replicas, piece_bytes).repartition(count, f.rand(seed=1))
    checked = work.withColumn("found", f.explode(f.udf(check, FINDINGS, useArrow=False)(f.struct(*columns))))
    return checked.select("ledger_id", "fragment", "position", "bookie_id", "found.*")


_INPUT = (
    "ledger_id", "bookie_id", "host", "port", "position", "ensemble_size", "write_quorum", "ack_quorum",
    "digest_type", "first", "last", "end_known",
)  # fmt: skip


def damages(findings: DataFrame) -> DataFrame:
    """Return the ranges of entries whose status is not ``ok``, and join adjacent ranges with the same status.

    A bookie of a striped ledger does not store every entry.  Two ranges of one bookie are adjacent if it should store
    no entry between them, even if an ensemble change lies between them.  Ledgers without entries are left out;
    :func:`without_entries` returns them.

    :param findings: all rows of :func:`verify`.  The rows with status ``ok`` are needed, too: two damaged ranges with
        such a row between them are not adjacent.
    :returns: columns ``ledger_id``, ``bookie_id``, ``first``, ``last``, ``status``, ``entries`` and ``detail``.
    """
    in_order = Window.partitionBy("ledger_id", "bookie_id").orderBy("first")
    same = f.lag("status").over(in_order) == f.col("status")
    next_fragment = f.col("fragment") <= f.lag("fragment").over(in_order) + 1
    begins = f.when(same & next_fragment, 0).otherwise(1)
    numbered = findings.withColumn("begins", begins).withColumn("range", f.sum("begins").over(in_order))
    bad = numbered.where((f.col("status") != OK) & (f.col("last") >= f.col("first")))
    bad = bad.groupBy("ledger_id", "bookie_id", "range", "status")
    ends = f.min("first").alias("first"), f.max("last").alias("last")
    about = f.sum("entries").alias("entries"), f.min_by("detail", "first").alias("detail")
    return bad.agg(*ends, *about).drop("range")


def by_ledger(damaged: DataFrame) -> DataFrame:
    """Count the damaged entries of each ledger, bookie and state; return rows sorted by ledger, bookie and state.

    :param damaged: rows that :func:`damages` returned.
    """
    totals = damaged.groupBy("ledger_id", "bookie_id", "status").agg(f.sum("entries").alias("entries"))
    return totals.orderBy("ledger_id", "bookie_id", "status")


def first_of_each(damaged: DataFrame, count: int) -> list[Any]:
    """Choose at most ``count`` damaged ranges, about equally many of each ledger; sort them by ledger and entry.

    :param damaged: rows that :func:`damages` returned.
    """
    turn = f.row_number().over(Window.partitionBy("ledger_id").orderBy("first", "bookie_id"))
    rows = damaged.withColumn("turn", turn).orderBy("turn", "ledger_id").limit(count).collect()
    return sorted(rows, key=lambda row: (row.ledger_id, row.first, row.bookie_id))


def without_entries(replicas: DataFrame) -> DataFrame:
    """Return the ledgers without entries, each with the ids of its bookies that are not registered.

    :param replicas: rows of the source's view ``fragments``.
    :returns: columns ``ledger_id`` and ``gone``, an array of bookie ids; ascending by ledger id.
    """
    gone = f.sort_array(f.collect_set(f.when(~f.col("available"), f.col("bookie_id")))).alias("gone")
    ledgers = replicas.groupBy("ledger_id").agg(f.max("last_entry_id").alias("last_entry_id"), gone)
    return ledgers.where("last_entry_id < 0").select("ledger_id", "gone").orderBy("ledger_id")


def summary(findings: DataFrame) -> DataFrame:
    """Count the ranges, entries and bytes for each bookie and state, from ``findings``, the rows of :func:`verify`."""
    totals = (f.count("*").alias("ranges"), f.sum("entries").alias("entries"), f.sum("bytes").alias("bytes"))
    return findings.groupBy("bookie_id", "status").agg(*totals).orderBy("bookie_id", "status")


def speed(findings: DataFrame) -> Rate:
    """Return how many entries and bytes per second bookies returned to :func:`verify`.

    :param findings: rows of :func:`verify`.
    :returns: :data:`UNLIMITED` if nothing was read.
    """
    given = f.when(f.col("status").isin(OK, LENGTH), f.col("entries")).otherwise(0)
    sums = (f.sum(given).alias("entries"), f.sum("bytes").alias("bytes"))
    row = findings.agg(*sums, (f.max("ended") - f.min("began")).alias("seconds")).first()
    if row is None or not row.seconds:
        return UNLIMITED
    return Rate(row.entries / row.seconds, row.bytes / row.seconds)


def lacking(findings: DataFrame) -> list[tuple[int, tuple[str, ...]]]:
    """Return the ledgers with missing or damaged entries, each with the bookies whose replicas lack these entries.

    :param findings: rows of :func:`verify`.
    :returns: ledger ids, ascending, each with the ids of its bookies that lack entries.
    """
    bad = findings.where(f.col("status").isin(MISSING, DAMAGED))
    rows = bad.groupBy("ledger_id").agg(f.sort_array(f.collect_set("bookie_id")).alias("bookies")).collect()
    return sorted((row.ledger_id, tuple(row.bookies)) for row in rows)


def mark_underreplicated(
    uri: str, ledgers: Iterable[tuple[int, tuple[str, ...]]], options: Mapping[str, str] | None = None
) -> None:  # fmt: skip
    """Mark ledgers underreplicated, so that the replication workers of autorecovery restore their replicas.

    :param ledgers: ledger ids, each with the bookies whose replicas are missing or damaged.
    :param options: settings of the client: options of the source whose keys begin with ``bookkeeper.``.
    """
    from ..driver.cluster import connected
    from ..reactor import THREAD

    with connected(uri, client_config(options)) as cluster:
        for ledger_id, bookies in ledgers:
            THREAD.wait(partial(cluster.underreplication.mark, ledger_id, bookies))

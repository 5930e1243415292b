"""``python -m benchmarks spark_ledgers [SMALL [UNEVEN]]``: what many ledgers cost the driver of a Spark query.

SMALL ledgers (10,000) of ten entries are listed, planned and read by one query: the time of the driver for each of
them is printed, its processor time as well.  UNEVEN ledgers (200), the largest a thousand times as large as the
smallest, are read on two cores: the share of time in which a core had nothing to do is printed, from the launch of
the first task to the end of the last one.
"""

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper

from .spark import peaks, session, spark_processes, three_bookies

CORES = 2
ENTRIES, SIZE = 10, 100
LARGEST = 30_000
"""Entries of the largest of the uneven ledgers; the smallest has a thousandth."""

_PER_TICK = 1 / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    small, uneven = (list(map(int, arguments)) + [10_000, 200][len(arguments) :])[:2]
    with three_bookies() as (uri, _), BookKeeper.connect(uri) as client:
        spark = session(CORES)
        _many(spark, uri, client, small)
        _uneven(spark, uri, client, uneven)
        print(f"peaks of memory: {peaks()}", flush=True)
        spark.stop()
    return 0


def _frame(spark: Any, uri: str, application: str) -> Any:
    reader = spark.read.format("bookkeeper").option("metadataServiceUri", uri)
    return reader.option("ledgersPattern", f"application={application}").load()


def _count(frame: Any) -> tuple[int, int]:
    row = frame.selectExpr("count(*) AS entries", "sum(octet_length(payload)) AS bytes").first()
    return row.entries, row.bytes


def _many(spark: Any, uri: str, client: BookKeeper, ledgers: int) -> None:
    """Print what a query over small ledgers costs for each of them."""
    payloads = [bytes(SIZE)] * ENTRIES
    for _ in range(ledgers):
        with client.create_ledger(3, 3, 2, custom_metadata={"application": b"small"}) as ledger:
            ledger.append_many(payloads)
    frame = _frame(spark, uri, "small")
    _count(frame)  # starts what is started once
    began, used = time.perf_counter(), _processor_time()
    found = _count(frame)
    seconds, used = time.perf_counter() - began, _processor_time() - used
    assert found == (ledgers * ENTRIES, ledgers * ENTRIES * SIZE), found
    planned = _planning(uri)
    print(f"{ledgers:,} ledgers of {ENTRIES} entries")
    print(f"  listed and planned    {planned / ledgers * 1000:8.3f} ms each, {planned:.2f} s")
    print(f"  the whole query       {seconds / ledgers * 1000:8.3f} ms each, {seconds:.2f} s")
    print(
        f"  processor time        {used / ledgers * 1000:8.3f} ms each: driver, executor in the driver's JVM, workers"
    )


def _planning(uri: str) -> float:
    """Seconds in which the driver plans, as its planning process does."""
    from bookkeeper_twisted.spark.filters import IdFilter
    from bookkeeper_twisted.spark.options import SourceOptions
    from bookkeeper_twisted.spark.reading import plan_batch

    options = SourceOptions.parse({"metadataserviceuri": uri, "ledgerspattern": "application=small"})
    began = time.perf_counter()
    plan_batch(options, IdFilter())
    return time.perf_counter() - began


def _processor_time() -> float:
    """Seconds of processor time of all processes of the session, ended children included."""
    ticks = 0
    for pids in spark_processes().values():
        for pid in pids:
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
    return ticks * _PER_TICK


def _uneven(spark: Any, uri: str, client: BookKeeper, ledgers: int) -> None:
    """Print how long cores were idle in a query over ledgers of very different sizes."""
    sizes = [int(LARGEST / 1000 ** (n / max(ledgers - 1, 1))) for n in range(ledgers)]
    random.Random(1).shuffle(sizes)
    for count in sizes:
        with client.create_ledger(3, 3, 2, custom_metadata={"application": b"uneven"}) as ledger:
            for at in range(0, count, 10_000):
                ledger.append_many([bytes(SIZE)] * min(10_000, count - at))
    frame = _frame(spark, uri, "uneven")
    _count(frame)
    assert _count(frame) == (sum(sizes), sum(sizes) * SIZE)
    tasks, seconds, idle = _idle(spark)
    print(f"{ledgers} ledgers of {min(sizes)} to {max(sizes):,} entries on {CORES} cores, {sum(sizes):,} entries")
    print(f"  {tasks} tasks in {seconds:.2f} s, cores idle for {idle:.1%} of it", flush=True)


def _idle(spark: Any) -> tuple[int, float, float]:
    """Tasks, seconds and share of idle cores of the stage of the last query that had the most tasks."""
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    ids = [jobs.apply(0).stageIds().apply(i) for i in range(jobs.apply(0).stageIds().size())]
    ids += [jobs.apply(1).stageIds().apply(i) for i in range(jobs.apply(1).stageIds().size())]
    lists = [store.taskList(stage, 0, 10_000) for stage in ids]
    tasks = max(lists, key=lambda found: found.size())
    spans = []
    for i in range(tasks.size()):
        task = tasks.apply(i)
        start = task.launchTime().getTime()
        spans.append((start, start + task.duration().get()))
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    busy = sum(end - start for start, end in spans)
    return len(spans), (last - first) / 1000, max(0.0, 1 - busy / (CORES * (last - first)))

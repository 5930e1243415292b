"""``python -m benchmarks spark_ledgers [SMALL [UNEVEN]]``: what many ledgers cost the driver of a Spark query.

SMALL ledgers (10,000) of ten entries are listed, planned and read by one query: the time of the driver for each of
them is printed, its processor time as well.  UNEVEN ledgers (200), the largest a thousand times as large as the
smallest, are read on two cores: the share of time in which a core had nothing to do is printed, from the launch of
the first task to the end of the last one, and how long one core had no task left while another one worked.
Both are lines of JSON.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper

from .spark_setting import forget_peaks, peaks, session, spark_processes, three_bookies

CORES = 2
ENTRIES, SIZE = 10, 100
LARGEST = 30_000
"""Entries of the largest of the uneven ledgers; the smallest has a thousandth."""

_PER_TICK = 1 / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_ledgers", description=__doc__)
    parser.add_argument("small", nargs="?", type=int, default=10_000, metavar="SMALL")
    parser.add_argument("uneven", nargs="?", type=int, default=200, metavar="UNEVEN")
    options = parser.parse_args(arguments)
    small, uneven = options.small, options.uneven
    with three_bookies() as (uri, _), BookKeeper.connect(uri) as client:
        spark = session(f"local[{CORES}]")
        _many(spark, uri, client, small)
        _uneven(spark, uri, client, uneven)
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
    forget_peaks()
    began, used = time.perf_counter(), _processor_time()
    found = _count(frame)
    seconds, used = time.perf_counter() - began, _processor_time() - used
    assert found == (ledgers * ENTRIES, ledgers * ENTRIES * SIZE), found
    planned = _planning(uri)
    each = {
        "listed and planned": planned, "the whole query": seconds,
        "processor time of driver, JVM and workers": used,
    }  # fmt: skip
    print(json.dumps({
        "ledgers": ledgers, "entries each": ENTRIES,
        "ms each": {name: round(n / ledgers * 1000, 3) for name, n in each.items()}, "peaks": peaks(),
    }), flush=True)  # fmt: skip


def _planning(uri: str) -> float:
    """Seconds in which the driver plans, as its planning process does."""
    from bookkeeper_twisted.spark.options import SourceOptions
    from bookkeeper_twisted.spark.source.batch import plan_batch
    from bookkeeper_twisted.spark.source.filters import IdFilter

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
    print(json.dumps({
        "ledgers": ledgers, "smallest": min(sizes), "largest": max(sizes), "entries": sum(sizes), "cores": CORES,
        **_balance(_spans(spark)),
    }), flush=True)  # fmt: skip


def _balance(spans: Sequence[tuple[int, int]]) -> dict[str, object]:
    """How evenly tasks filled the cores.

    :param spans: begin and end of tasks in ms.
    """
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    busy = sum(end - start for start, end in spans)
    free = [first] * CORES  # since when each core has nothing to do
    for _, end in sorted(spans):
        free[free.index(min(free))] = end
    return {
        "tasks": len(spans), "seconds": (last - first) / 1000,
        "cores idle": round(max(0.0, 1 - busy / (CORES * (last - first))), 3),
        "last core alone, seconds": (last - min(free)) / 1000,
    }  # fmt: skip


def _spans(spark: Any) -> list[tuple[int, int]]:
    """Begin and end in ms of the tasks of the stage of the last query that had the most of them."""
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    ids = [jobs.apply(n).stageIds().apply(i) for n in range(2) for i in range(jobs.apply(n).stageIds().size())]
    tasks = max((store.taskList(stage, 0, 10_000) for stage in ids), key=lambda found: found.size())
    found = []
    for i in range(tasks.size()):
        start = tasks.apply(i).launchTime().getTime()
        found.append((start, start + tasks.apply(i).duration().get()))
    return found

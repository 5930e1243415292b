"""``python -m tests.spark.executors [--master URL]``: the sink on executors of their own, with tasks that fail or hang.

By default a standalone master and two workers are started, on two addresses of the loopback device, because Spark runs
no second attempt of a task on the host of the first one.  Of the tasks that write, one fails at its first attempt after
it has written rows, and one hangs at its first attempt: Spark's speculation has to run a second one beside it.  Every
row has to be published once, no ledger may be left that is not published, and reading on the executors gives the same
rows again.  With ``--master`` (``local-cluster[2,1,1024]``, say) that one is used, without the task that hangs.
"""

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.spark.driver.cluster import connected
from bookkeeper_twisted.spark.publication_ids import ROLE
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.manifest import publications, published_rows
from examples.bookie_process import ROOT

from .places import standalone, three_bookies

PARTITIONS, ROWS = 4, 100_000
FAILING, HANGING = 1, 2
"""Partitions."""

_LATE = 20_000
"""Rows that a partition has written before it fails or hangs: two record batches."""

def session(master: str) -> Any:
    """Spark with speculation."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYTHONPATH"] = str(ROOT)
    builder = SparkSession.builder.master(master).appName("speculation")
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "600m",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def rows(spark: Any, hanging: bool) -> Any:
    """Numbers as payloads, from tasks of which some do not go well at first."""
    from pyspark import TaskContext
    from pyspark.sql.functions import udf

    def payload(value: int) -> str:
        context = TaskContext.get()
        assert context is not None
        if not context.attemptNumber() and value % (ROWS // PARTITIONS) == _LATE:
            if context.partitionId() == FAILING:
                raise RuntimeError("injected")
            if hanging and context.partitionId() == HANGING:
                threading.Event().wait()  # until Spark ends this attempt
        return f"row {value}"

    return spark.range(0, ROWS, 1, PARTITIONS).select(udf(payload, "string", useArrow=False)("id").alias("payload"))


def check(uri: str, manifest: str) -> list[str]:
    """What is wrong with the ledgers of a manifest."""
    problems = []
    with connected(uri, ClientConfig()) as cluster:
        known = [row for _, row in published_rows(cluster, manifest)]
        kept = {row.ledger_id for row in known} | {one.rows_ledger for one in publications(cluster, manifest)}
        ledgers = cluster.metadata(cluster.ledger_ids())
    orphans = {ledger_id for ledger_id, one in ledgers.items() if ROLE in one.custom_metadata} - kept
    if orphans:
        problems.append(f"ledgers {sorted(orphans)} are left over")
    if sorted(row.partition_id for row in known) != list(range(PARTITIONS)):
        problems.append(f"published partitions: {[row.partition_id for row in known]}")
    found: list[bytes] = []
    with BookKeeper.connect(uri, thread=THREAD) as client:
        for row in known:
            with client.open_ledger(row.ledger_id) as reader:
                found += [payload for batch in reader.batches() for payload in batch.payloads]
    if sorted(found) != sorted(b"row %d" % n for n in range(ROWS)):
        problems.append(f"{len(found)} rows, {len(set(found))} different ones, instead of {ROWS}")
    return problems


def run(uri: str, master: str, hanging: bool) -> list[str]:
    """Write, read on the executors, and check once they have ended."""
    spark = session(master)
    try:
        writer = rows(spark, hanging).write.format("bookkeeper").mode("append").option("metadataServiceUri", uri)
        writer.option("manifest", "numbers").save()
        reader = spark.read.format("bookkeeper").option("metadataServiceUri", uri)
        frame = reader.option("ledgersOfManifest", "numbers").load()
        count = frame.selectExpr("count(DISTINCT payload) AS n", "count(*) AS total").first()
    finally:
        spark.stop()
    problems = check(uri, "numbers")
    if (count.n, count.total) != (ROWS, ROWS):
        problems.append(f"read on the executors: {count}")
    return problems


def main(arguments: list[str]) -> int:
    """Run what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.executors")
    parser.add_argument("--master", default="")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="executors-") as directory, three_bookies(Path(directory)) as uri:
        if options.master:
            problems = run(uri, options.master, hanging=False)
        else:
            with standalone(Path(directory)) as master:
                problems = run(uri, master, hanging=True)
    print("\n".join(problems) or f"{ROWS:,} rows published once, no ledger is left over", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tests.spark.local_cluster [--master URL]``: the sink on other processes, with tasks that fail or hang.

By default two executors on this machine (``local-cluster[2,1,1024]``), speculation on.  Of the tasks that write, one
fails at its first attempt after it has written rows, and one stands still at its first attempt until Spark has run a
second one beside it.  Every row has to be published once, no ledger may be left that is not published, and reading
on the executors gives the same rows again.
"""

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.spark.cluster import THREAD, connected
from bookkeeper_twisted.spark.manifest import ROLE, publications, published_rows
from examples.bookie_process import ROOT

PARTITIONS, ROWS = 4, 100_000
FAILING, SLOW = 1, 2
"""Partitions."""

_LATE = 20_000
"""Rows that a partition has written before it fails or stands still: two record batches."""


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


def rows(spark: Any) -> Any:
    """Numbers as payloads, from tasks of which some do not go well at first."""
    from pyspark import TaskContext
    from pyspark.sql.functions import udf

    def payload(value: int) -> str:
        context = TaskContext.get()
        assert context is not None
        if not context.attemptNumber() and value % (ROWS // PARTITIONS) == _LATE:
            if context.partitionId() == FAILING:
                raise RuntimeError("injected")
            if context.partitionId() == SLOW:
                threading.Event().wait(120)
        return f"row {value}"

    return spark.range(0, ROWS, 1, PARTITIONS).select(udf(payload, "string", useArrow=False)("id").alias("payload"))


def check(uri: str, manifest: str) -> list[str]:
    """What is wrong with the ledgers of a manifest."""
    problems = []
    with connected(uri, ClientConfig()) as cluster:
        known = [row for _, row in published_rows(cluster, manifest)]
        kept = {row.ledger_id for row in known} | {one.rows_ledger for one in publications(cluster, manifest)}
        there = cluster.metadata(cluster.ledger_ids())
    orphans = {ledger_id for ledger_id, one in there.items() if ROLE in one.custom_metadata} - kept
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


def run(uri: str, master: str) -> list[str]:
    """Write, read on the executors, and check once they have ended."""
    spark = session(master)
    try:
        writer = rows(spark).write.format("bookkeeper").mode("append").option("metadataServiceUri", uri)
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
    parser = argparse.ArgumentParser(prog="python -m tests.spark.local_cluster")
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="local-cluster-") as directory:
        config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
        configs = standalone_configs(config, 3, str(Path(directory)))
        bookies = [make_bookie(THREAD.reactor, one) for one in configs]
        for bookie in bookies:
            THREAD.wait(bookie.start)
        try:
            problems = run(configs[0].metadata_service_uri, options.master)
        finally:
            for bookie in bookies:
                THREAD.wait(bookie.stop)
    print("\n".join(problems) or f"{ROWS:,} rows published once, no ledger is left over", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

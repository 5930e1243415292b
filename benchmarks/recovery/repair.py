"""``python -m benchmarks repair``: a lost bookie repaired by Spark, beside the same by one replication worker.

Five bookies run as processes on loopback.  One of them is killed, and the worker, in this process, makes the ledgers
that name it whole on the others; then the killed one is started again, another one is lost, and ``bookkeeper-spark
replicate --gone-only`` does the same on ``local-cluster[2,1,1024]``: two executors with one core each.  Each has a
round without limits and one with a limit.  Every round is a line of JSON; bytes are of payloads with their headers, and
count for each bookie that got them.  A last line says what ``verify`` finds of all replicas.

The limit of the worker is of reads, that of Spark of reads and writes together, so it is twice as high.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from twisted.internet.threads import deferToThread

from bookkeeper_twisted.autorecovery.limits import REPLICATION_READ
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.limits.ratelimit import Rate

from ..shared.processes import ROOT
from ..spark.spark_setting import session
from .lost_bookies import MIB, Bench, Cluster, Worker, reactor, run_on_cluster, show

EXECUTORS = 2
MASTER = f"local-cluster[{EXECUTORS},1,1024]"
_HEADER = 36
_BOOKIES = 5
_REPLICAS = 3


async def measure(options: argparse.Namespace, cluster: Cluster) -> None:
    """All rounds."""
    client = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    helper = await BookKeeper.connect(reactor, cluster.uri, ClientConfig())
    bench, worker = Bench(cluster, client), Worker(helper)
    await bench.write(options.ledgers * _BOOKIES * 103 // (_REPLICAS * 100), options.entries, options.size)
    for limit in (0.0, options.limit * MIB):
        worker.limit(REPLICATION_READ, Rate(bytes=limit))
        found = await bench.repair(worker)
        error = {"error_percent": round((found.done.read / found.done.seconds / limit - 1) * 100, 2)} if limit else {}
        show("worker", limit_mib_per_s=limit / MIB, **found.figures(), **error)
        async with bench.lost_bookie():
            await deferToThread(_in_a_process, ["--repair", cluster.uri, "--limit", str(2 * limit / MIB)])
    await deferToThread(_in_a_process, ["--verify", cluster.uri])
    await helper.close()
    await client.close()


def _in_a_process(arguments: Sequence[str]) -> None:
    """A Spark application of its own, which prints what it finds."""
    subprocess.run([sys.executable, "-m", "benchmarks", "repair", *arguments], cwd=ROOT, check=True)


def _warm(spark: Any) -> None:
    """Start what is started once: Python in both executors."""
    from pyspark.sql import functions as f

    def load(n: int) -> int:
        import_module("bookkeeper_twisted.spark.pipelines.copying")
        time.sleep(0.5)  # so that each executor gets one of them
        return n

    frame = spark.range(EXECUTORS).repartition(EXECUTORS, "id")
    frame.select(f.udf(load, "bigint", useArrow=False)("id")).collect()


def repair(uri: str, limit: float) -> None:
    """Repair by Spark, and print how fast it was."""
    from bookkeeper_twisted.spark.pipelines import repairs, replicate, verify

    spark = session(MASTER)
    _warm(spark)
    began = time.monotonic()
    check = replicate.check_of_bookies(verify.fragments(spark, uri), replicate.read_marks(uri))
    planned = time.monotonic()
    done = replicate.replicate(spark, uri, check, limit=Rate(bytes=limit), parallelism=EXECUTORS)
    seconds = time.monotonic() - planned
    rows = done.collect()
    entries = sum(row.entries for row in rows)
    length = spark.read.format("bookkeeper").option("metadataServiceUri", uri).option("view", "ledgers").load()
    size = length.selectExpr("sum(length) / sum(last_entry_id + 1) AS size").first().size + _HEADER
    figures = {
        "ledgers": len(check.losses), "replicas_repaired": sum(row.state == repairs.REPAIRED for row in rows),
        "replicas": len(rows), "entries": entries, "planned_seconds": round(planned - began, 2),
        "seconds": round(seconds, 2), "written_mib_per_s": round(entries * size / seconds / MIB, 3),
    }  # fmt: skip
    if limit:
        figures["error_percent"] = round((2 * entries * size / seconds / limit - 1) * 100, 2)
    show(f"Spark {MASTER}", limit_mib_per_s=limit / MIB, **figures)
    spark.stop()


def check(uri: str) -> None:
    """Read every replica, and print in which states entries are."""
    from bookkeeper_twisted.spark.pipelines import verify

    spark = session(MASTER)
    began = time.monotonic()
    findings = verify.verify(verify.fragments(spark, uri), parallelism=EXECUTORS)
    states = {row.status: row.entries for row in findings.groupBy("status").sum("entries").toDF(
        "status", "entries").collect()}  # fmt: skip
    show("verify", seconds=round(time.monotonic() - began, 2), entries=states)
    spark.stop()


def main(arguments: Sequence[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks repair")
    parser.add_argument("--ledgers", type=int, default=2000, help="on the lost bookie")
    parser.add_argument("--entries", type=int, default=100, help="of each ledger")
    parser.add_argument("--size", type=int, default=1024, help="bytes of an entry")
    parser.add_argument("--limit", type=float, default=8.0, help="MiB/s that are read, and written as well")
    parser.add_argument("--repair", default=None, metavar="URI", help="repair this cluster by Spark, and end")
    parser.add_argument("--verify", default=None, metavar="URI", help="verify this cluster by Spark, and end")
    options = parser.parse_args(arguments)
    if options.repair is not None:
        repair(options.repair, options.limit * MIB)
        return 0
    if options.verify is not None:
        check(options.verify)
        return 0
    return run_on_cluster(lambda _, cluster: measure(options, cluster), n_bookies=_BOOKIES)

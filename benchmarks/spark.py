"""``python -m benchmarks spark [ENTRIES SIZE]...``: what reading a ledger through Spark costs, against two other ways.

(a) a plain loop over the batch reads of our client in this process; (b) Spark over the same rows in Parquet on the
local disk.  Three bookies run in a process of their own; Spark has one core.  Each way counts the entries and adds up
their bytes, and the sums have to be the writer's.  Runs are interleaved; the best of three counts.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper

CASES = ((5_000_000, 100), (1_000_000, 1024))
RUNS = 3

_BOOKIES = """
import sys, threading
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.reactor_thread import ReactorThread

thread = ReactorThread()
config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=16)
configs = standalone_configs(config, 3, sys.argv[1])
bookies = [make_bookie(thread.reactor, one) for one in configs]
for bookie in bookies:
    thread.wait(bookie.start)
print(configs[0].metadata_service_uri, flush=True)
sys.stdin.read()
for bookie in bookies:
    thread.wait(bookie.stop)
"""


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    numbers = list(map(int, arguments))
    cases = list(zip(numbers[::2], numbers[1::2], strict=True)) or CASES
    with tempfile.TemporaryDirectory(prefix="spark-") as directory:
        command = [sys.executable, "-c", _BOOKIES, directory]
        bookies = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert bookies.stdin is not None and bookies.stdout is not None
        try:
            _measure(bookies.stdout.readline().strip(), cases, Path(directory))
        finally:
            bookies.stdin.close()
            bookies.wait(60)
    return 0


def _measure(uri: str, cases: Sequence[tuple[int, int]], directory: Path) -> None:
    spark = _session()
    with BookKeeper.connect(uri) as client:
        for entries, size in cases:
            ledger = _write(client, entries, size)
            frame = spark.read.format("bookkeeper").option("metadataServiceUri", uri).option("ledger", ledger).load()
            path = str(directory / f"{ledger}.parquet")
            frame.write.parquet(path)
            ways: dict[str, Callable[[], tuple[int, int]]] = {
                "client, plain loop": lambda ledger=ledger: _loop(client, ledger),  # type: ignore[misc]
                "Spark, ledger": lambda frame=frame: _sums(frame),  # type: ignore[misc]
                "Spark, Parquet": lambda path=path: _sums(spark.read.parquet(path)),  # type: ignore[misc]
            }
            _report(entries, size, ways)
    spark.stop()


def _report(entries: int, size: int, ways: dict[str, Callable[[], tuple[int, int]]]) -> None:
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(RUNS):
        for name, way in ways.items():
            began = time.perf_counter()
            found = way()
            best[name] = min(best[name], time.perf_counter() - began)
            assert found == (entries, entries * size), f"{name}: {found}"
    print(f"{entries:,} entries of {size} B")
    plain = best["client, plain loop"]
    for name, seconds in best.items():
        rate = f"{entries / seconds:>12,.0f} entries/s {entries * size / seconds / 1e6:>8.1f} MB/s"
        print(f"  {name:<20} {rate} {plain / seconds:>6.2f}x of the loop", flush=True)


def _write(client: BookKeeper, entries: int, size: int) -> int:
    with client.create_ledger(3, 3, 2) as ledger:
        for at in range(0, entries, 10_000):
            ledger.append_many([bytes([at // 10_000 % 256]) * size] * min(10_000, entries - at))
    return int(ledger.ledger_id)


def _loop(client: BookKeeper, ledger: int) -> tuple[int, int]:
    entries = n_bytes = 0
    with client.open_ledger(ledger) as reader:
        for batch in reader.batches():
            entries += len(batch)
            n_bytes += sum(map(len, batch.payloads))
    return entries, n_bytes


def _sums(frame: Any) -> tuple[int, int]:
    row = frame.selectExpr("count(*) AS entries", "sum(octet_length(payload)) AS bytes").first()
    return row.entries, row.bytes


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[1]").appName("benchmark")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
                "spark.python.unix.domain.socket.enabled": "true", "spark.driver.memory": "1g"}  # fmt: skip
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()

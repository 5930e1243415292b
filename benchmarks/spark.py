"""``python -m benchmarks spark [ENTRIES SIZE]...``: what reading a ledger through Spark costs, against two other ways.

(a) a plain loop over the batch reads of our client in this process; (b) Spark over the same rows in Parquet on the
local disk.  Three bookies run in a process of their own; Spark has one core.  Each way counts the entries and adds up
their bytes, and the sums have to be the writer's.  Runs are interleaved; the best of three counts.  A last query
compares the sum of the CRC-32 of all payloads with the writer's, and the peaks of memory of all processes of Spark
are printed.
"""

import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def three_bookies() -> Iterator[tuple[str, Path]]:
    """Three bookies in a process of their own: the URI of their metadata, and a directory that goes with them."""
    with tempfile.TemporaryDirectory(prefix="spark-") as directory:
        command = [sys.executable, "-c", _BOOKIES, directory]
        bookies = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert bookies.stdin is not None and bookies.stdout is not None
        try:
            yield bookies.stdout.readline().strip(), Path(directory)
        finally:
            bookies.stdin.close()
            bookies.wait(60)


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    numbers = list(map(int, arguments))
    cases = list(zip(numbers[::2], numbers[1::2], strict=True)) or CASES
    with three_bookies() as (uri, directory):
        _measure(uri, cases, directory)
    return 0


def _measure(uri: str, cases: Sequence[tuple[int, int]], directory: Path) -> None:
    spark = session(1)
    with BookKeeper.connect(uri) as client:
        for entries, size in cases:
            ledger, checksum = _write(client, entries, size)
            frame = spark.read.format("bookkeeper").option("metadataServiceUri", uri).option("ledger", ledger).load()
            path = str(directory / f"{ledger}.parquet")
            frame.write.parquet(path)
            ways: dict[str, Callable[[], tuple[int, int]]] = {
                "client, plain loop": lambda ledger=ledger: _loop(client, ledger),  # type: ignore[misc]
                "Spark, ledger": lambda frame=frame: _sums(frame),  # type: ignore[misc]
                "Spark, Parquet": lambda path=path: _sums(spark.read.parquet(path)),  # type: ignore[misc]
            }
            _report(entries, size, ways)
            row = frame.selectExpr("count(*) AS entries", "sum(crc32(payload)) AS checksum").first()
            assert (row.entries, row.checksum) == (entries, checksum), f"{row} is not what was written"
            print(f"  count and sum of the CRC-32 are the writer's; peaks of memory: {peaks()}", flush=True)
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


def _write(client: BookKeeper, entries: int, size: int) -> tuple[int, int]:
    """Write a ledger: its id, and the sum of the CRC-32 of all payloads."""
    checksum = 0
    with client.create_ledger(3, 3, 2) as ledger:
        for at in range(0, entries, 10_000):
            payloads = [
                n.to_bytes(8, "big") * (size // 8) + bytes(size % 8) for n in range(at, min(at + 10_000, entries))
            ]
            checksum += sum(map(zlib.crc32, payloads))
            ledger.append_many(payloads)
    return int(ledger.ledger_id), checksum


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


def session(cores: int) -> Any:
    """A Spark session on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmark")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
                "spark.python.unix.domain.socket.enabled": "true", "spark.driver.memory": "1g"}  # fmt: skip
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def spark_processes() -> dict[str, list[int]]:
    """The processes of the session that this process started: ``driver``, ``JVM``, ``workers``."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended meanwhile
    machines = [pid for pid, parent in parents.items() if parent == os.getpid() and _name(pid) == "java"]
    family = list(machines)
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    return {"driver": [os.getpid()], "JVM": machines, "workers": [pid for pid in family if pid not in machines]}


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def peaks() -> str:
    """The most memory that a process of each kind ever had resident."""
    parts = []
    for kind, pids in spark_processes().items():
        highest = 0
        for pid in pids:
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            highest = max(highest, *(int(line.split()[1]) for line in status.splitlines() if line[:5] == "VmHWM"), 0)
        parts.append(f"{kind} {highest / 1024:.0f} MiB")
    return ", ".join(parts)

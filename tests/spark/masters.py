"""``python -m tests.spark.masters [--place NAME]``: reads, writes, follows and verifies ledgers wherever Spark runs.

The places are ``local``, ``local-cluster``, ``standalone`` and ``connect``, by default all of them.  Each has an
application in a process of its own, three bookies are the same for all.  A place that is not there is skipped with a
line that says what is missing.
"""

import argparse
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.spark import main as commands
from bookkeeper_twisted.spark.reactor import THREAD
from examples.bookie_process import ROOT

from .places import connect_server, standalone, three_bookies
from .session import missing

LEDGERS, ENTRIES, ROWS = 3, 20_000, 50_000

_NEEDED_BY_CONNECT = ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard")


class Walk:
    """The steps of an application, each of which fails if the result is not what was written.

    :param ledgers: ids of the ledgers to read.
    :param checksum: sum of the CRC-32 of their entries.
    """

    def __init__(self, spark: Any, uri: str, place: str, ledgers: str, checksum: int) -> None:
        self._spark = spark
        self._uri = uri
        self._place = place
        self._ledgers = ledgers
        self._checksum = checksum

    def _load(self, **options: str) -> Any:
        return self._spark.read.format("bookkeeper").options(metadataServiceUri=self._uri, **options).load()

    def _expect_entries(self, **options: str) -> None:
        row = self._load(**options).selectExpr("count(*)", "sum(crc32(payload))").first()
        _expect(tuple(row), (LEDGERS * ENTRIES, self._checksum))

    def read(self) -> str:
        """All entries once."""
        self._expect_entries(ledgers=self._ledgers, minPartitions="4")
        return f"{LEDGERS * ENTRIES:,} entries"

    def write(self) -> str:
        """Rows with keys, and what the manifest says of them."""
        name = f"{self._place}-rows"
        numbers = self._spark.range(0, ROWS, 1, 4)
        rows = numbers.selectExpr("CAST(id AS STRING) AS payload", "CAST(id % 3 AS STRING) AS ledger_key")
        sink = rows.write.format("bookkeeper").mode("append")
        sink.options(metadataServiceUri=self._uri, manifest=name).save()
        said = self._load(manifest=name).selectExpr("count(*)", "sum(entries)").first()
        found = self._load(ledgersOfManifest=name).selectExpr("count(*)", "count(DISTINCT payload)").first()
        _expect((*said, *found), (12, ROWS, ROWS, ROWS))
        return f"{ROWS:,} rows"

    def stream(self) -> str:
        """A copy by a query that is started twice."""
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as checkpoint:
            for _ in range(2):
                source = self._spark.readStream.format("bookkeeper").options(metadataServiceUri=self._uri)
                source = source.options(ledgers=self._ledgers, startingOffsets="earliest", maxEntriesPerTrigger="25000")
                sink = source.load().select("payload").writeStream.format("bookkeeper")
                sink = sink.options(metadataServiceUri=self._uri, manifest=f"{self._place}-copy")
                query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
                query.awaitTermination()
        self._expect_entries(ledgersOfManifest=f"{self._place}-copy")
        return f"{LEDGERS * ENTRIES:,} entries copied once"

    def verify(self) -> str:
        """All replicas, by the command."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            status = commands.main(["--parallelism", "2", "verify", self._uri, "--ledgers", self._ledgers])
        whole = printed.getvalue().count(f"{LEDGERS * ENTRIES:,} entries")
        _expect((status, whole), (0, 3))
        return f"{3 * LEDGERS * ENTRIES:,} replicas whole"


def _expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"{found} instead of {wanted}")


def application(master: str, uri: str, place: str, ledgers: str, checksum: int) -> None:
    """What a process of its own runs."""
    spark = session(master)
    walk = Walk(spark, uri, place, ledgers, checksum)
    for step in (walk.read, walk.write, walk.stream, walk.verify):
        began = time.monotonic()
        outcome = step()
        print(f"{place:<14} {step.__name__:<8} {time.monotonic() - began:6.1f} s  {outcome}", flush=True)
    spark.stop()


def session(master: str) -> Any:
    """Spark on a master, or behind a server of Spark Connect."""
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        os.environ["SPARK_REMOTE"] = master
        return SparkSession.builder.getOrCreate()
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "600m", "spark.executor.cores": "1", "spark.cores.max": "2",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }  # fmt: skip
    builder = SparkSession.builder.master(master).appName("masters")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def _built_in(master: str) -> Iterator[str]:
    yield master


def _no_connect() -> str:
    absent = [name for name in _NEEDED_BY_CONNECT if not _is_installed(name)]
    return f"module {absent[0]} is missing: pip install 'pyspark[connect]'" if absent else ""


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # its package is missing
        return False


Place = tuple[Callable[[Path], AbstractContextManager[str]], Callable[[], str]]

PLACES: dict[str, Place] = {
    "local": (lambda directory: _built_in("local[2]"), str),
    "local-cluster": (lambda directory: _built_in("local-cluster[2,1,1024]"), str),
    "standalone": (standalone, str),
    "connect": (connect_server, _no_connect),
}
"""What gives the URL of a master, and what says why there is none."""


def write_ledgers(uri: str) -> tuple[str, int]:
    """Ledgers to read: their ids and their checksum."""
    ids, checksum = [], 0
    with BookKeeper.connect(uri, thread=THREAD) as client:
        for n in range(LEDGERS):
            payloads = [b"%d %d" % (n, i) * (i % 20) for i in range(ENTRIES)]
            with client.create_ledger(3, 3, 2) as ledger:
                ledger.append_many(payloads)
            ids.append(str(ledger.ledger_id))
            checksum += sum(map(zlib.crc32, payloads))
    return ",".join(ids), checksum


def run(uri: str, directory: Path, places: Sequence[str]) -> list[str]:
    """One application after the other; returns the places where one failed."""
    ledgers, checksum = write_ledgers(uri)
    failed = []
    for name in places:
        start, reason = PLACES[name]
        if why := missing() or reason():
            print(f"{name:<14} skipped: {why}", flush=True)
            continue
        with start(directory) as master:
            command = [sys.executable, "-m", "tests.spark.masters", "--on", master, uri, name, ledgers, str(checksum)]
            own = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
            done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                told = [line for line in done.stderr.splitlines(True) if not line.startswith("\tat ")]
                print("".join(told[-30:]), end="", flush=True)
                failed.append(name)
    return failed


def main(arguments: list[str]) -> int:
    """Run what the command line says; returns the exit status."""
    if arguments[:1] == ["--on"]:
        master, uri, place, ledgers, checksum = arguments[1:]
        application(master, uri, place, ledgers, int(checksum))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.spark.masters")
    parser.add_argument("--place", action="append", choices=PLACES, help="default: all of them")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="masters-") as directory, three_bookies(Path(directory)) as uri:
        failed = run(uri, Path(directory), options.place or list(PLACES))
    print(f"failed: {', '.join(failed)}" if failed else "no application failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

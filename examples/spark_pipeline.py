"""The data pipeline, end to end: a real corpus in ledgers, read, queried, followed, checked and exported with Spark.

``python examples/spark_pipeline.py [DIRECTORY]``, or ``make pipeline``.  Three bookies run in this process;
the corpus is the source code of Python's standard library, one ledger a package, one entry a line.
"""

import argparse
import logging
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.spark.reactor import THREAD

CORES = 2


class Cluster:
    """Three bookies below a directory."""

    def __init__(self, directory: Path) -> None:
        config = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=4)
        self.configs = standalone_configs(config, 3, str(directory))
        self.uri = self.configs[0].metadata_service_uri
        self.bookies = [self._started(index) for index in range(3)]

    def _started(self, index: int) -> Any:
        bookie = make_bookie(THREAD.reactor, self.configs[index])
        THREAD.wait(bookie.start)
        return bookie

    def damage(self, index: int, needle: bytes) -> None:
        """Stop a bookie, change one byte of an entry in its entry log, and start it again."""
        THREAD.wait(self.bookies[index].stop)
        for log in sorted(Path(self.configs[index].ledger_directories[0], "current").glob("*.log")):
            data = log.read_bytes()
            at = data.find(needle)
            if at >= 0:
                with log.open("r+b") as file:
                    file.seek(at)
                    file.write(bytes([data[at] ^ 1]))
                break
        self.bookies[index] = self._started(index)

    def stop(self) -> None:
        """Stop all bookies."""
        for bookie in self.bookies:
            THREAD.wait(bookie.stop)


def packages() -> Iterator[tuple[str, list[Path]]]:
    """The packages and modules of the standard library, and their sources."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.iterdir()):
        if path.suffix == ".py":
            yield path.stem, [path]
        elif (path / "__init__.py").exists() and path.name not in ("test", "site-packages", "idlelib", "lib2to3"):
            yield path.name, sorted(p for p in path.rglob("*.py") if "test" not in p.parts)


def write_corpus(client: BookKeeper) -> tuple[int, int, int]:
    """Write one ledger a package; returns ledgers, entries and bytes."""
    ledgers = entries = n_bytes = 0
    for name, sources in packages():
        lines = [line for source in sources for line in source.read_bytes().splitlines()]
        with client.create_ledger(
            3, 3, 2, custom_metadata={"application": b"stdlib", "package": name.encode()}
        ) as ledger:
            for at in range(0, len(lines), 20_000):
                ledger.append_many(lines[at : at + 20_000])
        ledgers, entries, n_bytes = ledgers + 1, entries + len(lines), n_bytes + sum(map(len, lines))
    return ledgers, entries, n_bytes


def spark_session() -> Any:
    """A local session without noise."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger().addHandler(logging.NullHandler())  # or PySpark's bridge prints the stack of a call at Ctrl-C
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("pipeline")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
                "spark.sql.shuffle.partitions": str(CORES)}  # fmt: skip
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Report:
    """Steps with their times, printed as they end."""

    def step(self, name: str, work: Callable[[], str]) -> None:
        """Run a step and print its result."""
        began = time.monotonic()
        outcome = work()
        print(f"{name:<34} {time.monotonic() - began:6.1f} s  {outcome}", flush=True)


class Pipeline:
    """The steps on Spark."""

    def __init__(self, cluster: Cluster, client: BookKeeper, directory: Path) -> None:
        self.cluster = cluster
        self.client = client
        self.directory = directory
        self.spark: Any = None
        self.expected = 0
        self.page: list[str] = []
        self.picture = directory / "pipeline.html"

    def write(self) -> str:
        """Write the corpus."""
        ledgers, self.expected, n_bytes = write_corpus(self.client)
        return f"{ledgers} ledgers, {self.expected:,} entries, {n_bytes / 1e6:.1f} MB on three bookies"

    def start(self) -> str:
        """Start Spark."""
        self.spark = spark_session()
        return f"Spark {self.spark.version} on {CORES} cores"

    def lines(self) -> Any:
        """The corpus as a DataFrame."""
        reader = self.spark.read.format("bookkeeper").option("metadataServiceUri", self.cluster.uri)
        return reader.option("ledgersPattern", "application=stdlib").option("includeMetadata", "true").load()

    def read(self) -> str:
        """Count what was written."""
        row = self.lines().selectExpr("count(*) AS entries", "sum(octet_length(payload)) AS bytes").first()
        assert row.entries == self.expected, f"{row.entries} entries, {self.expected} were written"
        return f"{row.entries:,} entries, {row.bytes / 1e6:.1f} MB, as written"

    def query(self) -> str:
        """SQL over the corpus."""
        self.lines().createOrReplaceTempView("lines")
        rows = self.spark.sql(
            "SELECT regexp_extract(CAST(payload AS STRING), '^(import|from) ([a-z_]+)', 2) AS module, count(*) AS n "
            "FROM lines GROUP BY 1 HAVING module != '' ORDER BY n DESC LIMIT 3"
        ).collect()
        return "most imported: " + ", ".join(f"{row.module} ({row.n})" for row in rows)

    def stream(self) -> str:
        """Copy the corpus with a query that is started twice, a new ledger in between."""
        for _ in range(2):
            source = self.spark.readStream.format("bookkeeper").option("metadataServiceUri", self.cluster.uri)
            source = source.option("ledgersPattern", "application=stdlib").option("startingOffsets", "earliest")
            rows = source.option("maxEntriesPerTrigger", "200000").load().select("payload")
            sink = rows.writeStream.format("bookkeeper").option("metadataServiceUri", self.cluster.uri)
            sink = sink.option("manifest", "copy").option("checkpointLocation", str(self.directory / "checkpoint"))
            sink.trigger(availableNow=True).start().awaitTermination()
            if _ == 0:
                with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"stdlib"}) as more:
                    more.append_many([b"# written between the two runs"] * 100)
                self.expected += 100
        manifest = self.spark.read.format("bookkeeper").option("metadataServiceUri", self.cluster.uri)
        row = (
            manifest.option("manifest", "copy")
            .load()
            .selectExpr("sum(entries) AS n", "count(DISTINCT batch_id) AS b")
            .first()
        )
        assert row.n == self.expected, f"{row.n} entries were copied, not {self.expected}"
        return f"{row.n:,} entries copied once, in {row.b} batches, with a restart"

    def verify(self) -> str:
        """Damage one byte on one bookie, and find it."""
        from bookkeeper_twisted.spark.pipelines import pictures, verify

        self.cluster.damage(1, b"class OrderedDict(dict)")
        findings = verify.verify(verify.fragments(self.spark, self.cluster.uri), parallelism=CORES).persist()
        bad = verify.damages(findings).collect()
        totals = verify.summary(findings).collect()
        self.page += [pictures.chart("Entries of each bookie", pictures.replica_bars(totals)), pictures.findings(bad)]
        found = ", ".join(
            f"ledger {row.ledger_id} entries {row.first}-{row.last} on {row.bookie_id} {row.status}" for row in bad
        )
        assert {row.bookie_id for row in bad} == {"bookie-1"}, found
        return f"{sum(row.entries for row in totals):,} replicas checked; {found}"

    def usage(self) -> str:
        """See which ledgers hold the space, and draw it."""
        from bookkeeper_twisted.spark.pipelines import pictures, space

        directories = [config.ledger_directories[0] for config in self.cluster.configs]
        rows = space.by_ledger(space.usage(space.entry_logs(self.spark, directories), CORES)).limit(20).collect()
        bars = pictures.space_bars(rows, self.names())
        self.page.append(pictures.chart("Largest ledgers, on all bookies together", bars))
        self.picture.write_text(pictures.page("The pipeline", self.page))
        return f"largest: {bars[0].label}, {bars[0].note} of all bookies together"

    def names(self) -> dict[int, str]:
        """What each ledger has, from its custom metadata: a package, or what the stream copied."""
        reader = self.spark.read.format("bookkeeper").option("metadataServiceUri", self.cluster.uri)
        package, copy = "CAST(custom_metadata['package'] AS STRING)", "concat('copies, ledger ', ledger_id)"
        rows = reader.option("view", "ledgers").load().selectExpr("ledger_id", f"coalesce({package}, {copy}) AS name")
        return {row.ledger_id: row.name for row in rows.collect()}

    def export(self) -> str:
        """Write the ledgers to Parquet."""
        from bookkeeper_twisted.spark.pipelines import archive

        path = self.directory / "archive"
        ledgers = archive.export(self.spark, self.cluster.uri, str(path), ledgersPattern="application=stdlib")
        size = sum(file.stat().st_size for file in path.rglob("*.parquet"))
        return f"{ledgers.count()} ledgers in {path}, {size / 1e6:.1f} MB of Parquet"


_JAVA = re.compile(r'version "(\d+)')


def missing(directory: Path | None) -> str:
    """Why nothing can be run; empty if it can."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else shutil.which("java")
    if java is None:
        return "Java is missing: Spark needs Java 17 or later (apt install openjdk-17-jre-headless)"
    version = _JAVA.search(subprocess.run([java, "-version"], capture_output=True, text=True).stderr)
    if version and int(version[1]) < 17:
        return f"Java {version[1]} is too old: Spark needs Java 17 or later"
    if find_spec("pyspark") is None:
        return "PySpark is missing: pip install 'bookkeeper-twisted[spark]'"
    if directory is not None and directory.exists() and any(directory.iterdir()):
        return f"{directory} is not empty: name another one"
    return ""


def main(directory: Path) -> None:
    """Run all steps."""
    report, began = Report(), time.monotonic()
    cluster = Cluster(directory / "cluster")
    try:
        with BookKeeper.connect(cluster.uri, thread=THREAD) as client:
            one = Pipeline(cluster, client, directory)
            report.step("write the standard library", one.write)
            report.step("start Spark", one.start)
            report.step("read as a DataFrame", one.read)
            report.step("query with SQL", one.query)
            report.step("copy as a stream, restarted", one.stream)
            report.step("verify, one byte damaged", one.verify)
            report.step("usage of the entry logs", one.usage)
            report.step("export to Parquet", one.export)
            one.spark.stop()
    finally:
        cluster.stop()
    print(f"{'all':<34} {time.monotonic() - began:6.1f} s  picture: {one.picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the standard library to ledgers, and work on them with Spark.")
    parser.add_argument("directory", nargs="?", help="empty, or to be made; default: a temporary one, which stays")
    given = parser.parse_args().directory
    if reason := missing(Path(given) if given else None):
        sys.exit(reason)
    place = Path(given).absolute() if given else Path(tempfile.mkdtemp(prefix="pipeline-"))
    try:
        main(place)
    except KeyboardInterrupt:
        sys.exit(f"interrupted; what was written is in {place}")

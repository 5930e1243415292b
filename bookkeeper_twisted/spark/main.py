"""``bookkeeper-spark verify | replicate | usage | compaction-plan | export | import``: the pipelines as commands.

Each prints a table, writes a page with a picture where ``--picture`` is given, and ends with status 1 if something
is wrong.  Where Spark runs is its own business: ``--master``, or what ``spark-submit`` and ``SPARK_REMOTE`` say.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import BookKeeperError
from ..ratelimit import Rate


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(prog="bookkeeper-spark", description="work on whole clusters of bookies, on Spark")
    main.add_argument("--master", help="Spark's master; by default all cores of this machine")
    main.add_argument(
        "--parallelism", type=int, default=0, help="tasks at a time; by default as many as Spark has cores"
    )
    commands = main.add_subparsers(dest="command", required=True)
    for name, (_, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name != "usage":
            command.add_argument("uri", help="metadata service URI")
        if name in ("usage", "compaction-plan"):
            command.add_argument(
                "directories", nargs="+", help="ledger directories, or http://HOST:PORT of the HTTP servers of bookies"
            )
        if name in ("export", "import"):
            command.add_argument("path", help="directory of the archive")
            command.add_argument("--write-id", default="", help="makes an import repeatable")
        if name in ("verify", "replicate", "export"):
            command.add_argument("--ledgers", default="", help="ids and ranges, by default all")
        if name in ("verify", "replicate", "export", "import"):
            command.add_argument("--password-file", help="file with the password of the ledgers")
        if name in ("verify", "usage"):
            command.add_argument("--picture", help="HTML file to write")
        if name != "compaction-plan":
            command.add_argument("--max-bytes-per-second", type=float, default=0.0, help="of the whole cluster")
            command.add_argument("--max-entries-per-second", type=float, default=0.0, help="of the whole cluster")
        if name == "replicate":
            command.add_argument(
                "--gone-only", action="store_true",
                help="read no replicas first: give other bookies what those kept that are not registered any more",
            )  # fmt: skip
        if name == "verify":
            command.add_argument("--mark", action="store_true", help="mark ledgers under-replicated that lack replicas")
    return main


def session(arguments: argparse.Namespace) -> Any:
    """Return a Spark session; one that is there already is taken.

    :param arguments: of the command line; ``parallelism`` is set to that of the session if it is 0.
    :raises ImportError: PySpark is not installed.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"bookkeeper-spark {arguments.command}")
    builder = builder.config("spark.ui.showConsoleProgress", "true").config("spark.ui.enabled", "false")
    if not os.environ.get("SPARK_REMOTE"):
        builder = builder.master(arguments.master or "local[*]")
    spark = builder.getOrCreate()
    if not arguments.parallelism:
        arguments.parallelism = spark.sparkContext.defaultParallelism if not _is_remote(spark) else 8
    return spark


def _is_remote(spark: Any) -> bool:
    return ".connect." in type(spark).__module__


def _password(arguments: argparse.Namespace) -> bytes:
    return Path(arguments.password_file).read_bytes().strip() if arguments.password_file else b""


def _selection(arguments: argparse.Namespace) -> dict[str, str]:
    return {"ledgers": arguments.ledgers} if arguments.ledgers else {}


def _limit(arguments: argparse.Namespace) -> Rate:
    return Rate(arguments.max_entries_per_second, arguments.max_bytes_per_second)


def _limit_options(arguments: argparse.Namespace) -> dict[str, str]:
    """The limits as options of the source and of the sink."""
    limit = _limit(arguments)
    given = {"maxEntriesPerSecond": limit.entries, "maxBytesPerSecond": limit.bytes}
    return {key: str(int(rate)) for key, rate in given.items()} | {"tasksAtOnce": str(arguments.parallelism)}


def _verify(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, verify

    limit = _limit(arguments)
    replicas = verify.fragments(spark, arguments.uri, **_selection(arguments))
    began = time.monotonic()
    findings = verify.verify(replicas, _password(arguments), limit, arguments.parallelism).persist()
    totals = verify.summary(findings).collect()
    seconds = time.monotonic() - began
    bad = findings.where("status != 'ok'").orderBy("ledger_id", "first", "bookie_id")
    for row in bad.limit(1000).collect():
        print(f"ledger {row.ledger_id} entries {row.first}-{row.last} on {row.bookie_id}: {row.status}: {row.detail}")
    for row in totals:
        print(f"{row.bookie_id:24} {row.status:12} {row.entries:>14,} entries {pictures.human(row.bytes or 0):>12}")
    n_bytes = sum(row.bytes or 0 for row in totals)
    print(f"{pictures.human(n_bytes)} in {seconds:.1f} s")
    print(_speed(verify.speed(findings), limit))
    if arguments.mark:
        marked = verify.lacking(findings)
        verify.mark_underreplicated(arguments.uri, marked)
        print(f"{len(marked)} ledgers are marked under-replicated")
    if arguments.picture:
        _write_page(arguments.picture, "Replicas", [pictures.chart("Entries of each bookie", _bars(totals))])
    return 1 if any(row.status != "ok" for row in totals) else 0


def _replicate(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import repairs, replicate, verify

    replicas = verify.fragments(spark, arguments.uri, **_selection(arguments)).persist()
    password, limit = _password(arguments), _limit(arguments)
    if arguments.gone_only:
        losses = replicate.losses_of_gone_bookies(replicas)
    else:
        losses = replicate.losses_of(verify.verify(replicas, password, limit, arguments.parallelism), replicas)
    rows = replicate.replicate(spark, arguments.uri, losses, password, limit, arguments.parallelism).collect()
    for row in rows:
        where = row.bookie_id if row.target in (None, row.bookie_id) else f"{row.bookie_id}, now {row.target}"
        text = f"ledger {row.ledger_id} fragment {row.fragment} position {row.position} on {where}: {row.state}"
        print(f"{text}, {row.entries:,} entries" + (f" ({row.detail})" if row.detail else ""))
    repaired = sum(row.state == repairs.REPAIRED for row in rows)
    print(f"{repaired} of {len(rows)} replicas repaired")
    return 1 if repaired < len(rows) else 0


def _speed(measured: Rate, limit: Rate) -> str:
    """How fast bookies were read, and how far that is from the limits."""
    from .pipelines.pictures import human

    text = f"{measured.entries:,.0f} entries/s, {human(measured.bytes)}/s while bookies were read"
    for name, rate, allowed in (("entries", measured.entries, limit.entries), ("bytes", measured.bytes, limit.bytes)):
        if allowed:
            text += f"; {rate / allowed - 1:+.1%} of the limit of {name}"
    return text


def _bars(totals: Sequence[Any]) -> list[Any]:
    from .pipelines.pictures import Bar

    bookies = dict.fromkeys(row.bookie_id for row in totals)
    return [
        Bar(bookie, [(row.status, row.entries) for row in totals if row.bookie_id == bookie],
            ", ".join(f"{row.entries:,} {row.status}" for row in totals if row.bookie_id == bookie))
        for bookie in bookies
    ]  # fmt: skip


def _usage(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, space

    used = space.usage(space.entry_logs(spark, arguments.directories), arguments.parallelism, _limit(arguments))
    used.persist()
    ledgers = space.by_ledger(used).limit(30).collect()
    for row in ledgers:
        print(f"ledger {row.ledger_id:>20} {pictures.human(row.bytes):>12} in {row.logs} logs")
    if arguments.picture:
        bars = [
            pictures.Bar(f"ledger {row.ledger_id}", [("bytes", row.bytes)], pictures.human(row.bytes))
            for row in ledgers
        ]
        _write_page(arguments.picture, "Space", [pictures.chart("Largest ledgers", bars)])
    return 0


def _compaction_plan(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, space

    used = space.usage(space.entry_logs(spark, arguments.directories), arguments.parallelism)
    reader = spark.read.format("bookkeeper").option("metadataServiceUri", arguments.uri)
    plan = space.compaction_plan(used, reader.option("view", "ledgers").load())
    for row in plan.collect():
        won, copied = pictures.human(row.won), pictures.human(row.copied)
        print(f"threshold {row.threshold:.1f}: {row.logs:>6} logs, {won:>12} won, {copied:>12} copied")
    return 0


def _export(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import archive

    options = {"bookkeeper.passwd": _password(arguments).decode(), **_limit_options(arguments)}
    ledgers = archive.export(spark, arguments.uri, arguments.path, **_selection(arguments), **options)
    print(f"{ledgers.count():,} ledgers in {arguments.path}")
    return 0


def _import(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import archive

    options = {"bookkeeper.passwd": _password(arguments).decode(), "writeId": arguments.write_id}
    options |= _limit_options(arguments)
    archive.restore(archive.archived(spark, arguments.path), arguments.uri, arguments.parallelism, **options)
    print(f"the ledgers of {arguments.path} are written")
    return 0


def _write_page(path: str, title: str, charts: Sequence[str]) -> None:
    from .pipelines.pictures import page

    Path(path).write_text(page(title, charts))
    print(f"picture: {path}")


COMMANDS: dict[str, tuple[Callable[[Any, argparse.Namespace], int], str]] = {
    "verify": (_verify, "read every replica of every fragment and report what is missing, damaged or unreachable"),
    "replicate": (_replicate, "read every replica, and give bookies what they lack"),
    "usage": (_usage, "which ledgers hold which space in the entry logs"),
    "compaction-plan": (_compaction_plan, "what a compaction with each threshold would win"),
    "export": (_export, "write closed ledgers to Parquet"),
    "import": (_import, "write ledgers from Parquet, under their old ids"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of ``bookkeeper-spark``.

    :param arguments: of the command line, None for the arguments of this process.
    :returns: the exit status: of the command, or 2 after an error that was printed.
    """
    options = parser().parse_args(arguments)
    try:
        return COMMANDS[options.command][0](session(options), options)
    except ImportError as error:
        print(f"bookkeeper-spark needs PySpark ({error}): pip install 'bookkeeper-twisted[spark]'", file=sys.stderr)
    except BookKeeperError as error:
        print(f"bookkeeper-spark: {error}", file=sys.stderr)
    except Exception as error:
        if not type(error).__module__.startswith("pyspark"):
            raise
        lines = str(error).splitlines()
        own = [line for line in lines if line.startswith("bookkeeper_twisted.") or "bookkeeper_twisted.errors" in line]
        print(f"bookkeeper-spark: {(own or lines)[0]}", file=sys.stderr)
    return 2

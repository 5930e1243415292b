"""``bookkeeper-spark verify | replicate | usage | compaction-plan | export | import``: the pipelines as commands.

Each command prints its results, and exits with status 1 if ledgers are damaged or were not repaired.  With
``--picture``, ``verify`` and ``usage`` also write an HTML page with a chart.  The argument ``--master``, the program
``spark-submit`` or the variable ``SPARK_REMOTE`` say which Spark cluster runs the command.
"""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from math import ceil
from operator import attrgetter
from pathlib import Path
from typing import Any

from .. import __version__
from ..arguments import decimal_number
from ..cli.ending import ended_by_signal
from ..config.client import ClientConfig
from ..config.fields import fields_of, from_file
from ..errors import BookKeeperError, ConfigError
from ..limits.ratelimit import Rate
from .options import PASSWORD, PREFIX


def _rate(text: str) -> float:
    """Parse a speed limit per second.

    :raises argparse.ArgumentTypeError: the text is not a number, or the number is negative.
    """
    try:
        rate = decimal_number(text)
    except ValueError:
        rate = -1.0
    if not rate >= 0:
        raise argparse.ArgumentTypeError(f"expected a number from 0, not {text!r}")
    return rate


def _new_file(text: str) -> Path:
    """Parse the path of an output file; check that its directory exists, before any work begins.

    :raises argparse.ArgumentTypeError: the directory does not exist.
    """
    if not Path(text).absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {Path(text).absolute().parent}")
    return Path(text)


_WORK = ("verify", "replicate", "export", "import")
"""The commands that read or write entries, and so have arguments for passwords and for speed limits."""

_ARGUMENTS: tuple[tuple[str, Collection[str], dict[str, Any]], ...] = (
    ("uri", (*_WORK, "compaction-plan"), {
        "metavar": "URI", "help": "where the metadata of the cluster are, for example zk+hierarchical://host:2181/ledgers",
    }),
    ("locations", ("usage", "compaction-plan"), {
        "metavar": "LOCATION", "nargs": "+",
        "help": "a ledger directory, or http(s)://HOST:PORT, a bookie's HTTP server",
    }),
    ("path", ("export", "import"), {"metavar": "PATH", "help": "directory of the archive"}),
    ("--ledgers", ("verify", "replicate", "export"), {
        "metavar": "IDS", "help": "ids and ranges, for example 3,5-9; default: all ledgers",
    }),
    ("--conf", (*_WORK, "usage", "compaction-plan"), {
        "metavar": "FILE", "help": "settings of the client, as for TLS: lines of KEY=VALUE; default: none",
    }),
    ("--password-file", _WORK, {"metavar": "FILE", "help": "holds the password of the ledgers; default: no password"}),
    ("--write-id", ("import",), {
        "metavar": "NAME", "default": "", "help": "an import with the same name goes on where the last one ended",
    }),
    ("--mark", ("verify",), {
        "action": "store_true", "help": "mark ledgers under-replicated that lack replicas, for autorecovery",
    }),
    ("--gone-only", ("replicate",), {
        "action": "store_true",
        "help": "read no replicas first: give other bookies what those kept that are not registered any more",
    }),
    ("--picture", ("verify", "usage"), {"metavar": "FILE", "type": _new_file, "help": "HTML page to write"}),
    ("--max-bytes-per-second", (*_WORK, "usage"), {
        "metavar": "N", "type": _rate, "default": 0.0, "help": "of all tasks together; default: no limit",
    }),
    ("--max-entries-per-second", (*_WORK, "usage"), {
        "metavar": "N", "type": _rate, "default": 0.0, "help": "of all tasks together; default: no limit",
    }),
)  # fmt: skip
"""Each argument: its name, the commands that have it, and the keyword arguments for ``argparse``."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line of ``bookkeeper-spark``."""
    main = argparse.ArgumentParser(
        prog="bookkeeper-spark", description="Work on whole clusters of bookies, on Spark.", epilog=_STATUS + _MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    main.add_argument("--version", action="version", version=f"bookkeeper-spark {__version__}")
    main.add_argument("--master", metavar="URL", help="Spark's master; default: all cores of this machine")
    main.add_argument(
        "--parallelism", metavar="N", type=int, default=0, help="tasks at a time; default: as many as Spark has cores"
    )
    main.add_argument("--log", metavar="LEVEL", default="OFF", help="what Spark logs, for example WARN; default: OFF")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        sentence = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text, description=sentence, epilog=_STATUS)
        for argument, takers, settings in _ARGUMENTS:
            if name in takers:
                command.add_argument(argument, **settings)
    return main


_STATUS = "Ends with status 0, with 1 if something is wrong with the ledgers, with 2 if the command failed."

_MORE = """
"bookkeeper-spark COMMAND --help" shows the arguments of a command; all are described in docs/spark.rst.

Example:
  bookkeeper-spark verify zk+hierarchical://host:2181/ledgers --max-bytes-per-second 50000000"""


def session(arguments: argparse.Namespace) -> Any:
    """Return a Spark session: the active one, or a new one.

    :param arguments: the parsed command line.  If its ``parallelism`` is 0, this call changes it to the parallelism of
        the Spark session.
    :raises ImportError: PySpark is not installed.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # without a handler of the root logger, PySpark's bridge to the JVM prints a stack trace at Ctrl-C
    logging.getLogger().addHandler(logging.NullHandler())
    builder = SparkSession.builder.appName(f"bookkeeper-spark {arguments.command}")
    if not os.environ.get("SPARK_REMOTE"):
        builder = builder.config("spark.ui.showConsoleProgress", "true").config("spark.ui.enabled", "false")
        builder = builder.master(arguments.master or "local[*]")
    spark = builder.getOrCreate()
    if not _is_remote(spark):
        spark.sparkContext.setLogLevel(arguments.log)
    # When Spark shows a plan, it masks the options whose names match the regular expression in the setting _REDACTED.
    # Add ``zkauth``, the option with the credentials for ZooKeeper, to this expression.
    masked = spark.conf.get(_REDACTED)
    if "zkauth" not in masked:
        spark.conf.set(_REDACTED, f"{masked}|zkauth")
    if not arguments.parallelism:
        arguments.parallelism = spark.sparkContext.defaultParallelism if not _is_remote(spark) else 8
    return spark


_REDACTED = "spark.sql.redaction.options.regex"
"""The name of Spark's setting for a regular expression: Spark masks the options that match it when it shows a plan."""


def _is_remote(spark: Any) -> bool:
    return ".connect." in type(spark).__module__


def _password(arguments: argparse.Namespace) -> bytes:
    return Path(arguments.password_file).read_bytes().strip() if arguments.password_file else b""


def client_options(name: str | None) -> dict[str, str]:
    """Read the settings of the client from a file; return them as options of the source and of the sink.

    Keys that only bookies or other programs use are left out, with a warning for each on the standard error.

    :param name: path of the file, in the format of ``bk_server.conf``; None for no settings.
    :raises ConfigError: the file cannot be read, or a setting in it is wrong.
    """
    if not name:
        return {}
    try:
        settings = from_file(Path(name).read_text("utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ConfigError(f"option --conf: {name}: {reason}") from None
    for warning in ClientConfig.load(settings).warnings:
        print(f"bookkeeper-spark: {warning}", file=sys.stderr)
    known = {key for field in fields_of(ClientConfig).values() for key in (field.key, field.alias) if key}
    return {PREFIX + each.key: each.text for each in settings if each.key in known}


def _selection(arguments: argparse.Namespace) -> dict[str, str]:
    return {} if arguments.ledgers is None else {"ledgers": arguments.ledgers}


def _limit(arguments: argparse.Namespace) -> Rate:
    return Rate(arguments.max_entries_per_second, arguments.max_bytes_per_second)


def _limit_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the speed limits that the command line sets, as options of the source and of the sink."""
    limit = _limit(arguments)
    given = {"maxEntriesPerSecond": limit.entries, "maxBytesPerSecond": limit.bytes}
    return {key: str(ceil(rate)) for key, rate in given.items()} | {"tasksAtOnce": str(arguments.parallelism)}


_SHOWN = 1000
"""Maximum number of damaged ranges of entries that are printed; damaged ledgers are all printed."""


def _verify(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, verify

    limit, client = _limit(arguments), client_options(arguments.conf)
    replicas = verify.fragments(spark, arguments.uri, **_selection(arguments), **client).persist()
    began = time.monotonic()
    passwords = verify.stored_passwords(arguments.uri, replicas, client)
    findings = verify.verify(
        replicas, _password(arguments), limit, arguments.parallelism, passwords, options=client
    ).persist()  # fmt: skip
    totals = verify.summary(findings).collect()
    seconds = time.monotonic() - began
    damaged = verify.damages(findings).persist()
    _print_ledgers(verify.by_ledger(damaged))
    shown = verify.first_of_each(damaged, _SHOWN)
    for row in shown:
        where = f"ledger {row.ledger_id} entries {row.first}-{row.last} on {row.bookie_id}"
        print(f"{where}: {row.status}: {row.entries:,} entries: {row.detail}")
    if len(shown) == _SHOWN:
        print(f"these are the first ranges of each ledger, {_SHOWN:,} of {damaged.count():,}")
    empty = verify.without_entries(replicas).collect()
    unregistered = [row for row in empty if row.gone]
    for row in unregistered:
        print(f"ledger {row.ledger_id} has no entries; not registered: {', '.join(row.gone)}")
    count = replicas.select("ledger_id").distinct().count()
    print(f"{count:,} ledgers were looked at, {len(empty):,} of them without entries")
    for row in totals:
        print(f"{row.bookie_id:24} {row.status:12} {row.entries:>14,} entries {pictures.human(row.bytes or 0):>12}")
    n_bytes = sum(row.bytes or 0 for row in totals)
    print(f"{pictures.human(n_bytes)} in {seconds:.1f} s")
    print(_speed(verify.speed(findings), limit))
    if arguments.mark:
        marked = verify.lacking(findings)
        verify.mark_underreplicated(arguments.uri, marked, client)
        print(f"{len(marked)} ledgers are marked under-replicated")
    if arguments.picture:
        chart = pictures.chart("Entries of each bookie", pictures.replica_bars(totals))
        _write_page(arguments.picture, "Replicas", [chart, pictures.findings(shown)])
    return 1 if unregistered or any(row.status != "ok" for row in totals) else 0


def _print_ledgers(rows: Any) -> None:
    """Print a line for each damaged ledger, with the bookies whose replicas are damaged.

    :param rows: result of :func:`~.verify.by_ledger`.
    """
    for ledger_id, states in groupby(rows.toLocalIterator(), attrgetter("ledger_id")):
        parts = (f"{row.bookie_id} {row.status} {row.entries:,} entries" for row in states)
        print(f"ledger {ledger_id}: {', '.join(parts)}")


def _replicate(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import repairs, replicate, verify

    client = client_options(arguments.conf)
    marks = replicate.read_marks(arguments.uri, client)
    replicas = verify.fragments(spark, arguments.uri, **_selection(arguments), **client).persist()
    password, limit = _password(arguments), _limit(arguments)
    if arguments.gone_only:
        check = replicate.check_of_bookies(replicas, marks)
    else:
        passwords = verify.stored_passwords(arguments.uri, replicas, client)
        findings = verify.verify(replicas, password, limit, arguments.parallelism, passwords, options=client)
        check = replicate.check_of_entries(findings, replicas, marks)
    done = replicate.replicate(spark, arguments.uri, check, password, limit, arguments.parallelism, client)
    rows = done.collect()
    for row in rows:
        where = row.bookie_id if row.target in (None, row.bookie_id) else f"{row.bookie_id}, now {row.target}"
        text = f"ledger {row.ledger_id} fragment {row.fragment} position {row.position} on {where}: {row.state}"
        print(f"{text}, {row.entries:,} entries" + (f" ({row.detail})" if row.detail else ""))
    repaired = sum(row.state == repairs.REPAIRED for row in rows)
    print(f"{repaired} of {len(rows)} replicas repaired")
    return 1 if repaired < len(rows) else 0


def _speed(measured: Rate, limit: Rate) -> str:
    """Describe the speed at which entries were read from bookies, and its difference from the speed limits in percent.
    """
    from .pipelines.pictures import human

    text = f"{measured.entries:,.0f} entries/s, {human(measured.bytes)}/s while bookies were read"
    for name, rate, allowed in (("entries", measured.entries, limit.entries), ("bytes", measured.bytes, limit.bytes)):
        if allowed:
            text += f"; {rate / allowed - 1:+.1%} of the limit of {name}"
    return text


def _usage(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, space

    client = client_options(arguments.conf)
    logs = space.entry_logs(spark, arguments.locations, client)
    used = space.usage(logs, arguments.parallelism, _limit(arguments), client).persist()
    ledgers = space.by_ledger(used).limit(30).collect()
    for row in ledgers:
        print(f"ledger {row.ledger_id:>20} {pictures.human(row.bytes):>12} in {row.logs} logs")
    if arguments.picture:
        _write_page(arguments.picture, "Space", [pictures.chart("Largest ledgers", pictures.space_bars(ledgers))])
    return 0


def _compaction_plan(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import pictures, space

    client = client_options(arguments.conf)
    used = space.usage(space.entry_logs(spark, arguments.locations, client), arguments.parallelism, options=client)
    reader = spark.read.format("bookkeeper").options(metadataServiceUri=arguments.uri, **client)
    plan = space.compaction_plan(used, reader.option("view", "ledgers").load())
    found = {row.threshold: row for row in plan.collect()}
    for threshold in space.THRESHOLDS:
        row = found.get(threshold)
        logs, won, copied = (row.logs, row.won, row.copied) if row else (0, 0, 0)
        text = f"threshold {threshold:.1f}: {logs:>6} logs"
        print(f"{text}, {pictures.human(won):>12} won, {pictures.human(copied):>12} copied")
    return 0


def _export(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import archive

    options = {**client_options(arguments.conf), PASSWORD: _password(arguments).decode(), **_limit_options(arguments)}
    ledgers = archive.export(spark, arguments.uri, arguments.path, **_selection(arguments), **options)
    print(f"{ledgers.count():,} ledgers in {arguments.path}")
    return 0


def _import(spark: Any, arguments: argparse.Namespace) -> int:
    from .pipelines import archive

    options = {**client_options(arguments.conf), PASSWORD: _password(arguments).decode(), **_limit_options(arguments)}
    options["writeId"] = arguments.write_id
    archive.restore(archive.archived(spark, arguments.path), arguments.uri, arguments.parallelism, **options)
    print(f"the ledgers of {arguments.path} are written")
    return 0


def _write_page(path: Path, title: str, charts: Sequence[str]) -> None:
    from .pipelines.pictures import page

    path.write_text(page(title, charts))
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
    """Run one command of ``bookkeeper-spark``.

    :param arguments: arguments of the command line; None for the arguments of this process.
    :returns: the exit status of the command, or 2 if it failed and its error was printed.
    """
    with ended_by_signal():
        return _run(parser().parse_args(arguments))


def _run(options: argparse.Namespace) -> int:
    try:
        return COMMANDS[options.command][0](session(options), options)
    except ImportError as error:
        reason = f"PySpark is needed ({error}): pip install 'bookkeeper-twisted[spark]'"
    except BrokenPipeError:
        raise
    except (BookKeeperError, OSError) as error:
        reason = str(error)
    except KeyboardInterrupt:
        reason = "interrupted"
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        reason = _sentence(str(error))
    print(f"bookkeeper-spark: {reason}", file=sys.stderr)
    return 2


_OWN_ERROR = re.compile(r"bookkeeper_twisted\.[\w.]+: (.*)")
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.*)", re.MULTILINE)

_AS_ARGUMENTS = {
    "option bookkeeper.password": "--password-file",
    "option ledgers": "--ledgers",
    "; with failOnDataLoss = false it is passed over": "",
}
"""Maps texts in the errors of the data source to the texts that are printed instead.

The errors contain names of options of the source; users of the command line know the arguments instead.
"""


def _sentence(text: str) -> str:
    """Extract the message to print from the text of an error of Spark.

    If the text contains an error of this package, return the message of this error.  Otherwise return the last "Caused
    by" of the text or, if there is none, its first line.
    """
    own, causes = _OWN_ERROR.search(text), _CAUSE.findall(text)
    if own is None:
        return str(causes[-1] if causes else text.partition("\n")[0])
    sentence = own[1]
    for option, argument in _AS_ARGUMENTS.items():
        sentence = sentence.replace(option, argument)
    return sentence

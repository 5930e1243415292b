"""``python -m benchmarks compare``: our bookie and Apache's in turn, and what came out beside what should."""

import argparse
import contextlib
import datetime
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

import bookkeeper_twisted

from . import apache
from .apache import NoApacheError, ZooKeeper
from .chart import svg
from .comparison import Runs, headlines, missed, rows
from .grouping import GROUPED, Grouping, compare_grouping
from .loads import Figures, Generator
from .machine import Machine
from .results import Circumstances, figure, markdown
from .stage import OURS, Stage
from .targets import against
from .workloads import WORKLOADS, Workload, chosen


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    p.add_argument("patterns", nargs="*", metavar="PATTERN", help="workloads to run, with wildcards; all if left out")
    p.add_argument("--list", action="store_true", help="print the names of the workloads and end")
    p.add_argument("--rounds", type=int, default=3, help="rounds of each workload (3); medians are shown")
    p.add_argument("--apache", type=Path, metavar="JARS", help="folder of Apache's jars (else Maven fetches them)")
    p.add_argument("--raw", type=Path, help="an external generator on a bare socket, instead of ours")
    p.add_argument("--json", type=Path, metavar="FILE", help="write every round here")
    p.add_argument("--syscalls", action="store_true", help="count socket writes and syncs with strace, at the end")
    p.add_argument("--scale", type=float, default=1.0, help="share of the work (1); less is good only for a trial")
    p.add_argument("--work", type=Path, help="where the bookies keep their files: the disk that is measured (/var/tmp)")
    p.add_argument(
        "--results", type=Path, default=Path(__file__).parent, metavar="FOLDER",
        help="where results.md and results.svg are written (beside this program)",
    )  # fmt: skip
    return p.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Runs the comparison; returns 1 if a target was missed."""
    options = parse(arguments)
    workloads = chosen(options.patterns)
    if options.list or not workloads:
        print("\n".join(workload.name for workload in WORKLOADS))
        return 0 if options.list else 2
    generator = Generator(options.raw.resolve() if options.raw else None)
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")
    try:
        with _work_folder(options.work) as folder:
            machine = Machine.here(folder)
            runs = _run(options, workloads, generator, folder)
            grouping = _grouping(options, generator, folder) if options.syscalls else {}
    except NoApacheError as error:
        print(f"compare: no Apache bookie: {error}", file=sys.stderr)
        return 2
    versions = {
        "bookkeeper-twisted": bookkeeper_twisted.__version__, "Python": machine.python,
        "Apache BookKeeper": apache.version(),
    }  # fmt: skip
    driver = "an external generator" if options.raw else "our generator"
    facts = Circumstances(_command(options), date, options.rounds, options.scale, driver, machine, versions)
    return _report(options, facts, runs, grouping)


def _command(options: argparse.Namespace) -> str:
    """The command line without what only this machine knows."""
    words = ["python", "-m", "benchmarks", "compare", *options.patterns, "--rounds", str(options.rounds)]
    words += ["--scale", f"{options.scale:g}"] if options.scale != 1 else []
    words += [word for name in ("apache", "raw") if getattr(options, name) for word in (f"--{name}", name.upper())]
    return shlex.join([*words, *(["--syscalls"] if options.syscalls else [])])


@contextlib.contextmanager
def _work_folder(parent: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-compare-", dir=parent or "/var/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(options: argparse.Namespace, workloads: Sequence[Workload], generator: Generator, folder: Path) -> Runs:
    """All rounds of all workloads."""
    zookeeper = ZooKeeper.start(options.apache)
    with contextlib.closing(zookeeper), contextlib.closing(Stage(folder, zookeeper, generator, options.scale)) as stage:
        return {workload.name: _rounds(stage, workload, options.rounds) for workload in workloads}


def _grouping(options: argparse.Namespace, generator: Generator, folder: Path) -> dict[str, dict[str, Grouping]]:
    """Empty if it cannot be had: what took many minutes before is not to be lost for that."""
    try:
        return compare_grouping(folder, generator, options.rounds, options.scale)
    except RuntimeError as error:
        print(f"compare: no system calls: {error}", file=sys.stderr)
        return {}


def _rounds(stage: Stage, workload: Workload, rounds: int) -> dict[str, list[Figures]]:
    """All rounds of one workload, the bookies in turn."""
    names = [OURS, *against(workload.name)]
    for name in names:
        stage.prepare(name, workload)
    found: dict[str, list[Figures]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            figures = stage.run(name, workload)
            found[name].append(figures)
            text = ", ".join(f"{key} {figure(value)}" for key, value in figures.items())
            print(f"{workload.name} {name}: {text}", file=sys.stderr, flush=True)
    return found


def _report(
    options: argparse.Namespace, facts: Circumstances, runs: Runs, grouping: dict[str, dict[str, Grouping]]
) -> int:
    """Writes and prints what was found."""
    found, headline = rows(runs), headlines(runs)
    page = markdown(found, headline, grouping, facts)
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "results.md").write_text(page)
    (options.results / "results.svg").write_text(svg(found))
    if options.json:
        everything = {
            "circumstances": attrs.asdict(facts), "runs": runs, "rows": [attrs.asdict(row) for row in found],
            "headlines": {name: attrs.asdict(each) for name, each in headline.items()},
            "grouping": {
                wire: {name: attrs.asdict(each) for name, each in ways.items()} for wire, ways in grouping.items()
            },
        }  # fmt: skip
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
    print(page)
    lost = missed(found, headline)
    lost += [f"system calls of {wire}" for wire, ways in grouping.items() if not ways[GROUPED].counts.met]
    print(f"{len(lost)} of the targets missed" + (f": {', '.join(lost)}" if lost else ""))
    return 1 if lost else 0

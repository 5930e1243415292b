"""``python -m benchmarks compare``: our bookie and Apache's in turn, and what came out beside what should.

A long comparison can be made in pieces: each run keeps its rounds with ``--json``, ``--report`` makes the page of them.
"""

import argparse
import contextlib
import datetime
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import bookkeeper_twisted

from ..shared import apache
from ..shared.apache import NoApacheError, ZooKeeper
from ..shared.loads import Figures, Generator
from ..shared.machine import Machine, Stolen, load_average
from ..shared.processes import ROOT
from ..shared.workloads import WORKLOADS, Workload, chosen
from .chart import svg
from .comparison import Runs, changes, headlines, missed, rows
from .grouping import GROUPED, Grouping, compare_grouping
from .pieces import Circumstances, Piece, together
from .published import Published
from .results import figure, markdown
from .stage import OLD, OURS, Stage
from .targets import against


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    p.add_argument("patterns", nargs="*", metavar="PATTERN", help="workloads to run, with wildcards; all if left out")
    p.add_argument("--list", action="store_true", help="print the names of the workloads and end")
    p.add_argument("--rounds", type=int, default=3, help="rounds of each workload (3); medians are shown")
    p.add_argument("--apache", type=Path, metavar="JARS", help="folder of Apache's jars (else Maven fetches them)")
    p.add_argument("--raw", type=Path, help="an external generator on a bare socket, instead of ours")
    p.add_argument("--json", type=Path, metavar="FILE", help="write every round here")
    p.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="run nothing: report what --json has written")
    p.add_argument(
        "--against", type=Path, metavar="TREE",
        help="another source tree, whose bookie takes turns, too, on the Python of its .venv if it has one",
    )
    p.add_argument("--syscalls", action="store_true", help="count socket writes and syncs with strace, at the end")
    p.add_argument("--scale", type=float, default=1.0, help="share of the work (1); less is good only for a trial")
    p.add_argument("--work", type=Path, help="where the bookies keep their files: the disk that is measured (/var/tmp)")
    p.add_argument(
        "--results", type=Path, metavar="FOLDER",
        help="where results.md, results.svg and results/HOST.json are written (benchmarks, but for a part of the "
        "workloads or of the work: nowhere)",
    )  # fmt: skip
    return p.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Runs the comparison; returns 1 if a target was missed."""
    options = parse(arguments)
    workloads = chosen(options.patterns)
    if options.list or not workloads:
        print("\n".join(workload.name for workload in WORKLOADS))
        return 0 if options.list else 2
    if options.report:
        return _report([Piece.kept(path) for path in options.report], results_folder(options))
    try:
        piece = _piece(options, workloads)
    except NoApacheError as error:
        print(f"compare: no Apache bookie: {error}", file=sys.stderr)
        return 2
    if options.json:
        piece.keep(options.json)
    return _report([piece], results_folder(options))


def results_folder(options: argparse.Namespace) -> Path | None:
    """The folder for the results, or None: a part of the workloads must not replace the figures of all."""
    is_part = not options.report and (options.patterns or options.scale != 1)
    folder: Path | None = options.results
    return folder if folder is not None or is_part else ROOT / "benchmarks"


def _piece(options: argparse.Namespace, workloads: Sequence[Workload]) -> Piece:
    """Runs workloads."""
    generator = Generator(options.raw.resolve() if options.raw else None)
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")
    load, stolen = load_average(), Stolen()
    with _work_folder(options.work) as folder:
        machine = Machine.here(folder)
        runs = _run(options, workloads, generator, folder)
        grouping = _grouping(options, generator, folder) if options.syscalls else {}
    versions = {
        "bookkeeper-twisted": bookkeeper_twisted.__version__, "Python": machine.python,
        "Apache BookKeeper": apache.version(),
    }  # fmt: skip
    if options.against:
        versions["the old tree's commit"] = _commit(options.against)
    driver = "an external generator" if options.raw else "our generator"
    facts = Circumstances(
        _command(options), date, options.scale, driver, machine, versions, load, stolen.share()
    )  # fmt: skip
    return Piece(facts, runs, grouping)


def _commit(tree: Path) -> str:
    """The commit that is checked out there."""
    command = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"


def _command(options: argparse.Namespace) -> str:
    """The command line without what only this machine knows."""
    words = ["python", "-m", "benchmarks", "compare", *options.patterns, "--rounds", str(options.rounds)]
    words += ["--scale", f"{options.scale:g}"] if options.scale != 1 else []
    given = [name for name in ("apache", "raw", "against") if getattr(options, name)]
    words += [word for name in given for word in (f"--{name}", "TREE" if name == "against" else name.upper())]
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
    old = options.against.resolve() if options.against else ROOT
    stage = Stage(folder, zookeeper, generator, options.scale, old)
    names = [OURS, OLD] if options.against else [OURS]
    with contextlib.closing(zookeeper), contextlib.closing(stage):
        return {workload.name: rounds_of(stage, workload, options.rounds, names) for workload in workloads}


def _grouping(options: argparse.Namespace, generator: Generator, folder: Path) -> dict[str, dict[str, Grouping]]:
    """Empty if it cannot be had: what took many minutes before is not to be lost for that."""
    try:
        return compare_grouping(folder, generator, options.rounds, options.scale)
    except RuntimeError as error:
        print(f"compare: no system calls: {error}", file=sys.stderr)
        return {}


def rounds_of(stage: Stage, workload: Workload, rounds: int, ours: Sequence[str]) -> dict[str, list[Figures]]:
    """All rounds of one workload, the bookies in turn.

    A round in which a bookie that is not ours refuses requests counts for no bookie, because rounds are compared: an
    Apache bookie whose journal falls behind answers ETOOMANYREQUESTS.

    :param ours: names of our bookies, of which none may refuse a request.
    :raises RuntimeError: one of our bookies has refused requests, or another one in every round.
    """
    names = [*ours, *against(workload.name)]
    for name in names:
        stage.prepare(name, workload)
    found: dict[str, list[Figures]] = {name: [] for name in names}
    refused: RuntimeError | None = None
    for number in range(rounds):
        figures: dict[str, Figures] = {}
        name = names[0]
        try:
            for name in names if number % 2 == 0 else reversed(names):  # nobody follows the same bookie in every round
                stage.settle()
                figures[name] = stage.run(name, workload)
                _say(workload, name, ", ".join(f"{key} {figure(value)}" for key, value in figures[name].items()))
        except RuntimeError as error:
            if name in ours:
                raise
            refused = error
            _say(workload, name, f"round {number + 1} does not count: {error}")
            continue
        for name in names:
            found[name].append(figures[name])
    if refused is not None and not found[names[0]]:
        raise refused
    return found


def _say(workload: Workload, name: str, text: str) -> None:
    print(f"{workload.name} {name}: {text}", file=sys.stderr, flush=True)


def _report(pieces: Sequence[Piece], folder: Path | None) -> int:
    """Prints what was found, and writes it to a ``folder`` if there is one; returns 1 if a target was missed."""
    runs, grouping = together(pieces)
    found, headline = rows(runs), headlines(runs)
    facts = [piece.facts for piece in pieces]
    page = markdown(found, headline, grouping, facts, changes(runs))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text(page)
        (folder / "results.svg").write_text(svg(found))
        Published.of(facts, found).keep(folder / "results")
    print(page)
    lost = missed(found, headline)
    lost += [f"system calls of {wire}" for wire, ways in grouping.items() if not ways[GROUPED].counts.met]
    print(f"{len(lost)} of the targets missed" + (f": {', '.join(lost)}" if lost else ""))
    return 1 if lost else 0

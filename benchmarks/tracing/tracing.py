"""``python -m benchmarks tracing``: the rate of appends without traces, and with a tracer at 0 %, 1 % and 100 %.

One setting is that of the defaults, with 1 % and a limit of traces a second; the others have no such limit.

A client appends to three bookies over V3, every entry to all of them, synced.  Client and bookies are processes of
their own, each with a provider of the SDK and an exporter that drops the spans.  The settings take turns in rounds on
the same bookies, and what is compared is the median of the ratios of a round: of the rate, and of the appends in a
second of the processor, which other programs on the machine disturb less.  With ``--against TREE`` a client and
bookies of another source tree, from before there were traces, are compared with those of this one without a tracer.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..shared.processes import ROOT

_PACKAGE = "bookkeeper_twisted"
NONE, TREE = "none", "older tree"
DEFAULT = "tracer, 1 %"
SETTINGS: dict[str, dict[str, float]] = {
    NONE: {},
    "tracer, 0 %": {"trace_sample_ratio": 0.0},
    DEFAULT: {"trace_sample_ratio": 0.01},
    "1 %, no limit": {"trace_sample_ratio": 0.01, "trace_max_per_second": 0},
    "100 %, no limit": {"trace_sample_ratio": 1.0, "trace_max_per_second": 0},
}
"""Name, and keys of the client; no key without a tracer."""

Figures = dict[str, float]

LIMITS = {DEFAULT: 0.98}
"""Name, and the least ratio to the rate without traces that is promised."""


@contextmanager
def cluster_of(tree: Path, directory: Path) -> Iterator["Cluster"]:
    """Run three bookies and a client of a source tree, each in a process of its own."""
    script = str(Path(__file__).with_name("traced_appends.py"))
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not Path(path, _PACKAGE).exists()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), *others])}
    directory.mkdir()
    uri = f"sqlite:///{directory}/metadata"
    with ExitStack() as stack:

        def start(*arguments: str) -> "Process":
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, "-P", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                cwd="/", env=environment,
            ))  # fmt: skip
            stack.callback(process.kill)
            return Process(process)

        processes = [start("bookie", uri, str(directory / f"bookie-{number}")) for number in range(3)]
        processes.append(start("client", uri))
        for process in processes:
            process.line()
        yield Cluster(processes)


class Process:
    """A bookie or a client, which takes a request a line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, request: dict[str, Any]) -> dict[str, float]:
        """Send a request, and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self.line())
        return found

    @property
    def cpu(self) -> float:
        """The seconds of the processor that its threads have used."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum([int(thread.read_text().split()[0]) for thread in threads]) / 1e9

    def line(self) -> str:
        """The next line that it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a process ended")
        return line


class Cluster:
    """Three bookies and a client, the last of the processes."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    def measure(self, keys: dict[str, float], count: int) -> Figures:
        """One round: appends a second, and those in a second of the processor, of all processes together."""
        count //= 10 if keys.get("trace_sample_ratio") == 1 else 1  # all traced take about ten times as long
        before = sum(process.cpu for process in self._processes)
        found = self._processes[-1].ask({"keys": keys, "count": count})
        cpu = sum(process.cpu for process in self._processes) - before
        return {"rate": count / found["wall"], "rate of CPU": count / cpu, "client": count / found["cpu"]}


def run(trees: dict[str, Path], rounds: int, count: int) -> dict[str, list[Figures]]:
    """By setting: the figures of each round."""
    found: dict[str, list[Figures]] = {name: [] for name in (trees if len(trees) > 1 else SETTINGS)}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="tracing-")))
        clusters = {n: stack.enter_context(cluster_of(t, directory / str(i))) for i, (n, t) in enumerate(trees.items())}
        for number in range(rounds + 1):
            names = list(found)
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:  # each setting is the first of a round in its turn
                figures = clusters.get(name, clusters[NONE]).measure(SETTINGS.get(name, {}), count)
                if number:  # the first round warms up
                    found[name].append(figures)
    return found


def ratios(measured: dict[str, list[Figures]], key: str) -> dict[str, float]:
    """By setting: the median of a figure, each divided by that without traces in the same round."""
    return {
        name: median([a[key] / b[key] for a, b in zip(each, measured[NONE], strict=True)])
        for name, each in measured.items()
    }


def best(each: list[Figures]) -> float:
    """The appends in a second of the processor of the round that was disturbed least."""
    return max([one["rate of CPU"] for one in each])


def main(arguments: Sequence[str]) -> int:
    """Print the table; with ``--json``, keep every rate.

    :returns: 1 if a ratio is below its limit.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks tracing", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="TREE", help="a source tree from before there were traces")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each setting (15)")
    parser.add_argument("--count", type=int, default=30_000, help="appends of a round (30000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rates are kept")
    options = parser.parse_args(arguments)
    trees = {NONE: ROOT} | ({TREE: options.against.resolve()} if options.against else {})
    measured = run(trees, options.rounds, options.count)
    rates, of_cpu = ratios(measured, "rate"), ratios(measured, "rate of CPU")
    print(f"{'':16} {'appends/s':>10} {'ratio':>7}   {'of CPU/s':>10} {'ratio':>7} {'of best':>7}   limit")
    for name, each in measured.items():
        rate, cpu = (median(one[key] for one in each) for key in ("rate", "rate of CPU"))
        least = best(each) / best(measured[NONE])
        limit = LIMITS.get(name, "")
        print(f"{name:16} {rate:10,.0f} {rates[name]:7.3f}   {cpu:10,.0f} {of_cpu[name]:7.3f} {least:7.3f}   {limit}")
    if options.json is not None:
        kept: dict[str, Any] = {"count": options.count, "limits": LIMITS, "rounds": measured}
        options.json.write_text(json.dumps({"ratios": rates, "ratios of CPU": of_cpu, **kept}, indent=1) + "\n")
    return int(any(rates[name] < limit for name, limit in LIMITS.items() if name in rates))

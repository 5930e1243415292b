"""``python -m benchmarks``: see the package's docstring."""

import argparse
import contextlib
import fnmatch
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import CASES, FIRST_ID, IDLE_MIB, READ_ENTRIES, STARTUP_SECONDS, Case
from .judge import Judge
from .processes import Target, apache, ours

Figures = dict[str, float]


ROOT = Path(__file__).parents[1]


def generator_command(options: argparse.Namespace, mode: str, target: Target, wire: int, **values: int) -> list[str]:
    """The command line of the generator: ours, or an external one, which begins its ids at 0."""
    words: dict[str, Any] = dict(values)
    if options.raw:
        words |= {"targets": f"127.0.0.1:{target.port}", "ledgers": words.pop("ledger"), "proto": wire}
        command = [options.raw, mode]
    else:
        words |= {"port": target.port, "wire": wire, "start": FIRST_ID}
        command = [sys.executable, "-m", "benchmarks.generator", mode]
    return command + [str(word) for key, value in words.items() for word in (f"--{key}", value)]


def case_command(options: argparse.Namespace, case: Case, target: Target, ledger: int) -> list[str]:
    return generator_command(
        options, case.mode, target, case.wire, ledger=ledger, size=case.size, inflight=case.inflight, count=case.count,
        warmup=case.warmup, batch=case.batch, entries=READ_ENTRIES[case.size],
    )  # fmt: skip


def measure(command: list[str], target: Target) -> Figures:
    """One run of the generator; the bookie's cost is sampled over the measured part."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout
    line = process.stdout.readline()
    if line.strip() != "MEASURE":
        process.wait()
        raise RuntimeError(f"the generator failed: {' '.join(command)}")
    before, cpu = target.metrics(), target.cpu_seconds()
    figures: Figures = json.loads(process.stdout.readline())
    spent, after = target.cpu_seconds() - cpu, target.metrics()
    process.wait()
    figures["cpu_s_per_million"] = spent / figures["entries"] * 1e6
    for name, metric in (("syncs", "bookie_journal_JOURNAL_SYNC_count"), ("writes", "bookie_connection_writes")):
        if metric in after:
            figures[f"{name}_per_1000"] = (after[metric] - before.get(metric, 0.0)) / figures["entries"] * 1000
    return figures


class Ledgers:
    """Gives each case a fresh ledger, and the reading ones the ledger that was filled for them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._next = 1000
        self._filled: dict[tuple[str, int], int] = {}

    def fresh(self) -> int:
        self._next += 1
        return self._next

    def filled(self, target: Target, size: int) -> int:
        """A ledger of :data:`READ_ENTRIES` entries on the target."""
        key = (target.name, size)
        if key not in self._filled:
            ledger = self._filled[key] = self.fresh()
            command = generator_command(
                self._options, "add", target, 2, ledger=ledger, size=size, count=READ_ENTRIES[size], inflight=500
            )
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        return self._filled[key]


def run_case(
    options: argparse.Namespace, case: Case, targets: list[Target], ledgers: Ledgers
) -> dict[str, list[Figures]]:
    """All rounds of one case, the targets in turn."""
    results: dict[str, list[Figures]] = {target.name: [] for target in targets}
    for _ in range(options.rounds):
        for target in targets:
            ledger = ledgers.fresh() if case.mode == "add" else ledgers.filled(target, case.size)
            results[target.name].append(measure(case_command(options, case, target, ledger), target))
    return results


@contextlib.contextmanager
def running(options: argparse.Namespace, folder: Path) -> Iterator[list[Target]]:
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(ours(folder / "ours", {}))]
        if options.apache:
            targets.append(stack.enter_context(apache(folder / "apache", Path(options.apache).resolve())))
        yield targets


def parse(arguments: list[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    p.add_argument("patterns", nargs="*", metavar="NAME", help="cases to run, with wildcards; all if left out")
    p.add_argument("--list", action="store_true", help="print the names of the cases and end")
    p.add_argument("--json", action="store_true", help="one JSON line for each case instead of a table")
    p.add_argument("--rounds", type=int, default=3, help="rounds for each case (3); medians are shown")
    p.add_argument("--apache", metavar="DIR", help="folder of Apache BookKeeper's jars: measure it too, in turn")
    p.add_argument("--raw", metavar="FILE", help="an external socket generator to use instead of ours")
    p.add_argument("--work", metavar="DIR", help="where the bookies keep their files (a new folder under /tmp)")
    return p.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    patterns = options.patterns or ["*"]
    cases = [case for case in CASES if any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns)]
    if options.list or not cases:
        print("\n".join(case.name for case in CASES))
        return 0 if options.list else 2
    judge = Judge(as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="bookkeeper-bench-", dir=options.work) as folder, running(
        options, Path(folder)
    ) as targets:
        mine = targets[0]
        judge.startup(mine.started, STARTUP_SECONDS, mine.resident_mib(), IDLE_MIB)
        ledgers = Ledgers(options)
        for case in cases:
            results = run_case(options, case, targets, ledgers)
            judge.case(case, {name: median(rounds) for name, rounds in results.items()}, ratios(results))
    return judge.verdict()


def median(rounds: list[Figures]) -> Figures:
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def ratios(results: dict[str, list[Figures]]) -> Figures:
    """Medians of what one round's pair gives, ours over Apache's; empty if there is no pair."""
    if "Apache" not in results:
        return {}
    pairs = list(zip(results["ours"], results["Apache"], strict=True))
    keys = ("rate", "p50_ms", "cpu_s_per_million")
    return {key: statistics.median(a[key] / b[key] for a, b in pairs) for key in keys}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

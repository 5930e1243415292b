"""``python -m benchmarks writing --against OLD_TREE``: what appends cost a client, beside those of another source tree.

The bookies are processes that confirm everything at once, so that CPU and time are the client's; the trees take turns,
round by round, and what is compared is the median of the rounds.
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
from typing import Any

from ..pool.pool_loads import answering
from ..shared.processes import ROOT

CASES = {
    "lone E1": 4000, "lone E3": 3000, "append_many E1": 200_000, "append_many E3": 100_000, "ledgers many": 40_000,
    "overlapping E1": 30_000, "overlapping E3": 20_000,
}  # fmt: skip
"""Name, and appends of a round."""

Figures = dict[str, float]


class Client:
    """A process that appends, with a source tree."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def measure(self, case: str, count: int) -> Figures:
        """One round of one case: microseconds of an append."""
        found = json.loads(self._ask({"case": case, "count": count}))
        return {
            "cpu": found["cpu"] / count * 1e6, "wall": found["wall"] / count * 1e6, "p50": found["p50"] * 1e6,
            "p99": found["p99"] * 1e6,
        }  # fmt: skip

    def walk(self, case: str, count: int) -> dict[str, Any]:
        """The modules through which one case goes."""
        found: dict[str, Any] = json.loads(self._ask({"case": case, "count": count, "walk": True}))
        return found

    def _ask(self, request: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self.line()

    def line(self) -> str:
        """The next line that it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a client ended")
        return line


@contextmanager
def client_of(tree: Path, bookies: Sequence[str]) -> Iterator[Client]:
    """A client of a source tree."""
    script = str(Path(__file__).with_name("writing_cases.py"))
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(
        [sys.executable, "-P", script, *bookies], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        env=environment,
    ) as process:  # fmt: skip
        try:
            client = Client(process)
            client.line()
            yield client
        finally:
            process.kill()


def run(trees: dict[str, Path], cases: Sequence[str], rounds: int, scale: float) -> dict[str, dict[str, Figures]]:
    """By case and tree: medians of the rounds, microseconds of an append."""
    found: dict[str, dict[str, list[Figures]]] = {case: {name: [] for name in trees} for case in cases}
    with ExitStack() as stack:
        bookies = [stack.enter_context(answering()) for _ in range(3)]
        clients = {name: stack.enter_context(client_of(tree, bookies)) for name, tree in trees.items()}
        for number in range(rounds + 1):
            for case in cases:
                count = max(1000, int(CASES[case] * scale)) // 1000 * 1000
                for name, client in clients.items():
                    figures = client.measure(case, count)
                    if number:  # the first round warms up
                        found[case][name].append(figures)
    return {
        case: {name: {key: median(one[key] for one in all_) for key in all_[0]} for name, all_ in by_tree.items()}
        for case, by_tree in found.items()
    }


def table(results: dict[str, dict[str, Figures]]) -> Iterator[str]:
    """The results for a reader."""
    yield f"{'us an append':16} {'tree':6} {'cpu':>8} {'wall':>8} {'p50':>8} {'p99':>8}"
    for case, by_tree in results.items():
        for name, figures in by_tree.items():
            yield f"{case:16} {name:6} " + " ".join(f"{figures[key]:8.2f}" for key in ("cpu", "wall", "p50", "p99"))
        if len(by_tree) == 2:
            new, old = by_tree["this"], by_tree["old"]
            ratios = [new[key] / old[key] if old[key] else 0 for key in ("cpu", "wall", "p50", "p99")]
            yield f"{'':16} {'ratio':6} " + " ".join(f"{ratio:8.2f}" for ratio in ratios)


def main(arguments: Sequence[str]) -> int:
    """Prints the table and, with ``--json``, keeps the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks writing", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="TREE", help="another source tree, measured in turn")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each case (7)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the appends of a round (1.0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures are kept")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)} (all)")
    options = parser.parse_args(arguments)
    trees = {"this": ROOT} if options.against is None else {"this": ROOT, "old": options.against.resolve()}
    results = run(trees, options.cases or list(CASES), options.rounds, options.scale)
    print("\n".join(table(results)))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1))
    return 0

"""``python -m benchmarks structure --against OLD_TREE``: the size of the code, and the way of an append through it.

Sizes are those of ``bookkeeper_twisted``, without its ``testing``; documented is as
:mod:`benchmarks.shared.documented` counts it.  The way is that of a running client: which modules' functions are called
from ``append`` to the completion callback, and how often the next function is in another module (a change of room) or
in another package.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from subprocess import PIPE

from ..pool.pool_loads import answering
from ..shared.documented import counts
from ..shared.processes import ROOT
from .writing import client_of

WALKS = {"lone E1": 1, "lone E3": 1, "append_many E1": 1000, "append_many E3": 1000, "ledgers many": 1000}
"""Case of :mod:`.writing_cases`, and its appends."""

Row = dict[str, int]


def sizes(tree: Path) -> Row:
    """Numbers and lengths of modules and functions."""
    modules, functions, trees = list[int](), list[int](), dict[str, ast.Module]()
    for path in sorted((tree / "bookkeeper_twisted").rglob("*.py")):
        source = path.read_text()
        if "testing" in path.parts or not source:
            continue
        modules.append(source.count("\n"))
        trees[str(path)] = ast.parse(source)
        for node in ast.walk(trees[str(path)]):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
    public, documented = counts(trees)
    return {
        "modules": len(modules), "lines": sum(modules), "module median": round(median(modules)),
        "module p90": round(quantiles(modules, n=10)[-1]), "functions": len(functions),
        "function median": round(median(functions)), "function p90": round(quantiles(functions, n=10)[-1]),
        "public functions with arguments": public, "of these documented": documented,
    }  # fmt: skip


def way(calls: Sequence[str], name: str) -> Row:
    """Modules, and changes of module and package, of one way."""
    packages = [call.rpartition(".")[0] for call in calls]
    return {
        f"{name}files": len(set(calls)), f"{name}changes of room": changes(calls),
        f"{name}changes of package": changes(packages),
    }  # fmt: skip


def changes(names: Sequence[str]) -> int:
    """How often a name differs from the one before."""
    return sum(one != other for one, other in pairwise(names))


def walks(tree: Path, bookies: Sequence[str]) -> dict[str, Row]:
    """The ways of a client of a tree, by case."""
    found = {}
    with client_of(tree, bookies) as client:
        for case, count in WALKS.items():
            walk = client.walk(case, count)
            calls = walk["calls"]
            found[case] = {
                **way(calls[: walk["sent"]], "to the socket: "), **way(calls, "in all: "), "calls": walk["functions"]
            }  # fmt: skip
    return found


def whole_walks(tree: Path) -> dict[str, Row]:
    """The ways through bookies, client and autorecovery of a tree, by their names in :mod:`.walks`."""
    program = Path(__file__).with_name("walks.py")
    command = [sys.executable, "-W", "ignore", str(program)]
    printed = subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, stdout=PIPE, check=True)
    found: dict[str, Row] = json.loads(printed.stdout)
    return {f"whole {name}": row for name, row in found.items()}


def table(results: dict[str, dict[str, Row]]) -> Iterator[str]:
    """The results for a reader: a line for each figure, a column for each tree."""
    yield f"{'':50} " + " ".join(f"{name:>8}" for name in results)
    first = next(iter(results.values()))
    for group, rows in first.items():
        for row in rows:
            figures = [found[group][row] for found in results.values()]
            ratio = f"  {figures[0] / figures[1]:.2f}" if len(figures) == 2 and figures[1] else ""
            yield f"{group + ': ' + row:50} " + " ".join(f"{figure:8}" for figure in figures) + ratio


def main(arguments: Sequence[str]) -> int:
    """Prints the table and, with ``--json``, keeps the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks structure", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="TREE", help="another source tree")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures are kept")
    options = parser.parse_args(arguments)
    trees = {"this": ROOT} if options.against is None else {"this": ROOT, "old": options.against.resolve()}
    with ExitStack() as stack:
        bookies = [stack.enter_context(answering()) for _ in range(3)]
        results = {
            name: {"all": sizes(tree), **walks(tree, bookies), **whole_walks(tree)} for name, tree in trees.items()
        }
    print("\n".join(table(results)))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1))
    return 0

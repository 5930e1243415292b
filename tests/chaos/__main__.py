"""``python -m tests.chaos [--bookies N] [--seconds S] [--seed K]``; ends with status 1 if anything was wrong."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from .run import Outcome, run


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--bookies", type=int, choices=range(3, 10), default=3, metavar="N")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S")
    parser.add_argument("--seed", type=int, default=1, metavar="K", help="of the faults")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-chaos-"))
    outcome: Outcome | None = None

    async def once(reactor: Any) -> None:
        nonlocal outcome
        outcome = await run(reactor, folder, options.bookies, options.seconds, options.seed)

    try:
        react(lambda reactor: Deferred.fromCoroutine(once(reactor)))
    except SystemExit as end:
        if outcome is None:
            return int(end.code or 1)
    finally:
        shutil.rmtree(folder)
    assert outcome is not None
    report(options.bookies, options.seconds, outcome)
    return 1 if outcome.problems else 0


def report(bookies: int, seconds: float, outcome: Outcome) -> None:
    """Prints a table, what was wrong, and one line about it."""
    for name, figure in outcome.figures.items():
        print(f"  {name:<24}{figure:>28}")
    for problem in outcome.problems:
        print(problem)
    print(f"{bookies} bookies, {seconds:g} seconds, {len(outcome.problems)} problems", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

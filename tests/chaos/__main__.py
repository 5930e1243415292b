"""``python -m tests.chaos [--bookies N] [--seconds S] [--seed K]``; ends with status 1 if anything was wrong.

With ``--autorecovery ROUNDS`` bookies are lost for good, and processes of autorecovery are killed so many times.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.task import react

from bookkeeper_twisted.cli.main import begin

from .recovery import MIN_BOOKIES, RecoveryRun
from .run import Outcome, run


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--bookies", type=int, choices=range(3, 10), default=3, metavar="N")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S")
    parser.add_argument("--seed", type=int, default=1, metavar="K", help="of the faults")
    parser.add_argument("--autorecovery", type=int, default=0, metavar="ROUNDS", help="kill autorecovery so often")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-chaos-"))
    outcome: Outcome | None = None

    async def once(reactor: Any) -> None:
        nonlocal outcome
        if options.autorecovery:
            rounds = RecoveryRun(reactor, folder, max(options.bookies, MIN_BOOKIES), options.autorecovery, options.seed)
            outcome = await rounds.run()
        else:
            outcome = await run(reactor, folder, options.bookies, options.seconds, options.seed)

    try:
        react(lambda reactor: begin(reactor, once(reactor)))  # no process outlives Ctrl-C
    except SystemExit as end:
        if outcome is None:
            return int(end.code or 1)
    finally:
        shutil.rmtree(folder)
    assert outcome is not None
    if options.autorecovery:
        report(max(options.bookies, MIN_BOOKIES), f"{options.autorecovery} rounds", outcome)
    else:
        report(options.bookies, f"{options.seconds:g} seconds", outcome)
    return 1 if outcome.problems else 0


def report(bookies: int, length: str, outcome: Outcome) -> None:
    """Prints a table, what was wrong, and one line about it."""
    for name, figure in outcome.figures.items():
        print(f"  {name:<24}{figure:>28}")
    for problem in outcome.problems:
        print(problem)
    print(f"{bookies} bookies, {length}, {len(outcome.problems)} problems", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tests.fuzz [--operations N] [--seed K]``; ends with status 1 if anything was wrong."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.task import react

from bookkeeper_twisted.cli.main import begin

from .run import Outcome, Run


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--operations", type=int, default=3000, metavar="N", help="connections that are made")
    parser.add_argument("--secured", action="store_true", help="fuzz a bookie with TLS and SASL")
    parser.add_argument("--seed", type=int, default=1, metavar="K", help="of what they send")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-fuzz-"))
    outcome: Outcome | None = None
    kind = Run
    if options.secured:
        from .secured import SecuredRun  # needs the packages of the extra tls

        kind = SecuredRun

    async def once(reactor: Any) -> None:
        nonlocal outcome
        outcome = await kind(reactor, folder, options.operations, options.seed).run()

    try:
        react(lambda reactor: begin(reactor, once(reactor)))  # no process outlives Ctrl-C
    except SystemExit as end:
        if outcome is None:
            return int(end.code or 1)
    finally:
        shutil.rmtree(folder)
    assert outcome is not None
    for name, figure in outcome.figures.items():
        print(f"  {name:<24}{figure:>28}")
    for problem in outcome.problems:
        print(problem)
    print(f"seed {options.seed}, {len(outcome.problems)} problems", flush=True)
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tests.mutation [--room ROOM] [--jobs N] [--only NAME]``: exit status 1 if a plant is not noticed.

A plant names the function or class it is in, the code to replace (an expression, or statements; ``...`` as the body of
a statement is any body) and the tests that should fail.  Formatting and the rest of the function do not matter.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .catalogue import chosen
from .runner import Trial, Verdict, try_all

ROOT = Path(__file__).parents[2]


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--room", default="", help="folder of the package, and those inside it: storage")
    parser.add_argument("--jobs", type=int, default=2, help="plants tried at once")
    parser.add_argument("--only", default="", metavar="NAME", help="plants whose names contain this")
    parser.add_argument("--why", action="store_true", help="print the last line of each failure, too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Try the chosen plants; returns the exit status."""
    options = parse(arguments)
    plants = chosen(options.room, options.only)
    began = time.monotonic()

    def report(trial: Trial) -> None:
        print(f"{trial.verdict.value:11} {trial.seconds:5.1f} s  {trial.plant.room}: {trial.plant.name}")
        reason = trial.reason if options.why or trial.verdict is not Verdict.NOTICED else ""
        print("".join(f"{'':21}{line}\n" for line in (trial.test, reason) if line), end="", flush=True)

    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        trials = try_all(ROOT, Path(scratch), plants, options.jobs, report)
    counts = Counter(trial.verdict for trial in trials)
    said = ", ".join(f"{counts[verdict]} {verdict.value.lower()}" for verdict in Verdict)
    print(f"{said}; {time.monotonic() - began:.0f} s")
    return 0 if plants and counts[Verdict.NOTICED] == len(plants) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

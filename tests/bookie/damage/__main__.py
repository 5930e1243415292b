"""``python -m tests.bookie.damage [CASES] [SEED]``: damage files of a bookie, and print what came of it."""

import argparse
import sys
import tempfile
from collections.abc import Sequence

from ...silence import log_nothing
from .worlds import sweep_collected, sweep_older, sweep_real, sweep_simulated

MOST_TEXTS = 20


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if something was violated.
    """
    parser = argparse.ArgumentParser("python -m tests.bookie.damage", description="Damage files of a bookie.")
    parser.add_argument("count", nargs="?", metavar="CASES", type=int, default=50_000, help="%(default)s if left out")
    parser.add_argument("seed", nargs="?", metavar="SEED", type=int, default=1, help="%(default)s if left out")
    options = parser.parse_args(arguments)
    count, seed = options.count, options.seed
    log_nothing()
    with tempfile.TemporaryDirectory() as directory:
        tallies = [
            sweep_simulated(count - count // 5, seed),
            sweep_real(count // 10, seed, f"{directory}/real"),
            sweep_collected(count // 10, seed, f"{directory}/collected"),
            sweep_older(f"{directory}/older"),
        ]
    for tally in tallies:
        print(tally)
        print("".join(f"  {text}\n" for text in tally.violations[:MOST_TEXTS]), end="")
    return 1 if any(tally.violations for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tests.bookie.damage [CASES] [SEED]``: damage files of a bookie, and print what came of it."""

import sys
import tempfile
from collections.abc import Sequence

from twisted.logger import ILogObserver, LogEvent, globalLogBeginner
from zope.interface import provider

from .worlds import sweep_collected, sweep_real, sweep_simulated

MOST_TEXTS = 20


def main(arguments: Sequence[str]) -> int:
    """Run and print.

    :returns: the exit status: 1 if something was violated.
    """
    count = int(arguments[0]) if arguments else 50_000
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    globalLogBeginner.beginLoggingTo([_ignore], redirectStandardIO=False)
    with tempfile.TemporaryDirectory() as directory:
        tallies = [
            sweep_simulated(count - count // 5, seed),
            sweep_real(count // 10, seed, f"{directory}/real"),
            sweep_collected(count // 10, seed, f"{directory}/collected"),
        ]
    for tally in tallies:
        print(tally)
        print("".join(f"  {text}\n" for text in tally.violations[:MOST_TEXTS]), end="")
    return 1 if any(tally.violations for tally in tallies) else 0


@provider(ILogObserver)
def _ignore(event: LogEvent) -> None:
    """The sweep looks at what is served, not at what is logged."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

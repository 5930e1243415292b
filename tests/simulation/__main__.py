"""Runs seeds: ``python -m tests.simulation [--seeds N] [--from K] [--log]``.

The last line is ``N seeds, N violations``; the exit status is 1 if there was any.  A seed that fails prints
the command that runs it again with the log of its events.
"""

import argparse
import gc
import sys
import time

from ..silence import log_nothing
from .run import Outcome, simulate

_COLLECT_EVERY = 10
"""Seeds between two collections of garbage."""


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--log", action="store_true", help="print every event")
    parser.add_argument("--trace", action="store_true", help="print the trace hash of each seed")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    violations, seen = 0, dict[str, int]()
    for seed in range(options.first, options.first + options.seeds):
        outcome = simulate(seed, lines=options.log)
        if seed % _COLLECT_EVERY == 0:
            gc.collect()
        violations += len(outcome.violations)
        for path in outcome.counters:
            seen[path] = seen.get(path, 0) + 1
        _print(outcome, options.trace)
    elapsed = time.perf_counter() - began
    for path, count in sorted(seen.items()):
        print(f"{count:6} seeds, {100 * count / options.seeds:5.1f} %: {path}")
    print(f"{elapsed:.1f} s, {elapsed / options.seeds:.3f} s each")
    print(f"{options.seeds} seeds, {violations} violations", flush=True)
    return 1 if violations else 0


def _print(outcome: Outcome, trace: bool) -> None:
    for line in outcome.lines:
        print(line)
    for violation in outcome.violations:
        print(f"seed {outcome.seed}: {violation}")
    if outcome.violations:
        print(f"again: .venv/bin/python -m tests.simulation --seeds 1 --from {outcome.seed} --log", flush=True)
    if trace:
        print(f"seed {outcome.seed}: trace {outcome.trace}, {outcome.events} events", flush=True)


if __name__ == "__main__":
    log_nothing()
    sys.exit(main(sys.argv[1:]))

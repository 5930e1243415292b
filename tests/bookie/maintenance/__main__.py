"""``python -m tests.bookie.maintenance``: cut the power in every script of background work, everywhere.

Deletion, garbage collection, compaction and scrub, the rebuild of indexes, and the way to Apache's bookie and back.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...silence import log_nothing
from ...simulated_disk.crash import CrashReport
from .. import test_hand_back_crash as exchange
from . import test_drawn_lives as drawn
from . import test_full_disk_lives as full
from . import test_maintenance_crash as maintenance
from . import test_rebuild_crash as rebuilding


def _enumerations() -> Iterator[tuple[str, Callable[[], CrashReport]]]:
    for name in rebuilding.SCRIPTS:
        yield f"rebuild of {name}", partial(rebuilding.enumerate_rebuild, name, whole=True)
    for name in maintenance.SCRIPTS:
        yield name, partial(maintenance.enumerate_script, name, whole=True)
    yield "drawn lives", lambda: drawn.check_lives(1000, 2000)[0]
    yield "drawn lives on a full disk", lambda: full.check_lives(1000, 2000)[0]
    yield "there and back, one directory", partial(exchange.cut, exchange.ONE, True, 10)
    yield "there and back, two directories", partial(exchange.cut, exchange.TWO, True, 10)


def main(arguments: Sequence[str]) -> int:
    """Print what was tried.

    :returns: the exit status: 1 if something was lost or left over.
    """
    description = "Cut the power in every script of background work, everywhere; it takes minutes."
    argparse.ArgumentParser("python -m tests.bookie.maintenance", description=description).parse_args(arguments)
    log_nothing()
    states = violations = 0
    for name, enumerate_all in _enumerations():
        report = enumerate_all()
        print(f"{name}: {report}", flush=True)
        for violation in report.violations[:3]:
            print(f"  {violation}")
        states += report.states
        violations += len(report.violations)
    print(f"{states} crash states, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tests.bookie.maintenance``: cut the power in every script of background work, everywhere."""

import sys

from .test_maintenance_crash import SCRIPTS, enumerate_script


def main() -> int:
    """Print what was tried.

    :returns: the exit status: 1 if something was lost or left over.
    """
    states = violations = 0
    for name in SCRIPTS:
        report = enumerate_script(name, whole=True)
        print(f"{name}: {report}", flush=True)
        for violation in report.violations[:3]:
            print(f"  {violation}")
        states += report.states
        violations += len(report.violations)
    print(f"{states} crash states, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

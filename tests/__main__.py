"""Runs the tests under trial and ends with one line ``N passed, N failed``.

``python -W error -m tests [MODULE ...]``; without arguments all tests run.  The slowest are named with their
times.  A skipped test is named with its reason and counts as neither.  An expected failure or a "todo" counts
as a failure: none is wanted here.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import Any

from twisted.trial.reporter import TestResult, VerboseTextReporter
from twisted.trial.runner import TestLoader, TrialRunner

SLOWEST = 10
SLOW = 2.0
"""Seconds below which a test is not worth a line."""


class TimingReporter(VerboseTextReporter):
    """Says what its base says, and knows how long each test took.

    :ivar seconds: by name of the test.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds: dict[str, float] = {}
        self._began = 0.0

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._began = time.perf_counter()

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        self.seconds[test.id()] = time.perf_counter() - self._began

    def slowest(self) -> list[tuple[float, str]]:
        """Seconds and names of those that took longest, the slowest first."""
        times = [(seconds, name) for name, seconds in self.seconds.items() if seconds >= SLOW]
        return sorted(times, reverse=True)[:SLOWEST]


def summary(result: TestResult) -> tuple[int, int]:
    """How many tests passed, and how many did not."""
    failed = len(result.failures) + len(result.errors) + len(result.expectedFailures) + len(result.unexpectedSuccesses)
    return result.successes, failed


def main(names: list[str]) -> int:
    """Runs the named tests; returns the exit status."""
    suite = TestLoader().loadByNames(names or ["tests"], recurse=True)
    temporary = str(Path("_trial_temp").absolute())
    result = TrialRunner(TimingReporter, workingDirectory=temporary, uncleanWarnings=False).run(suite)
    assert isinstance(result, TimingReporter)
    for seconds, name in result.slowest():
        print(f"{seconds:6.1f} s {name}")
    for test, reason in result.skips:
        print(f"skipped {test.id()}: {reason}")
    passed, failed = summary(result)
    if passed == failed == 0:
        failed = 1  # nothing ran: a wrong name is no success
    print(f"{passed} passed, {failed} failed", flush=True)
    # A reactor that has listened keeps /dev/null open as a spare descriptor until the interpreter ends; that warning
    # would come after the last line.
    warnings.filterwarnings("ignore", r"unclosed file .*'/dev/null'", ResourceWarning)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

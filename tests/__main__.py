"""Runs the tests under trial, in several processes, and ends with one line ``N passed, N failed``.

``python -W error -m tests [--jobs N] [--limit SECONDS] [--exitfirst] [MODULE ...]``; without modules all tests run.
The slowest tests, and the slowest modules, are named with their times.  A skipped test is named, or counted with others
of the same reason, and is neither passed nor failed.  An expected failure or a "todo" counts as a failure: none is
wanted here.  A test that exceeds its bounds fails and is the last one (``tests/time_limit.py``).  Those that failed are
named once more in the last lines, each with its error: the reports before them are long, and whoever shows the output
may show its end only.
"""

import argparse
import atexit
import contextlib
import faulthandler
import io
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from twisted.internet import defer
from twisted.python.failure import Failure
from twisted.trial.reporter import SafeStream, TestResult, VerboseTextReporter
from twisted.trial.runner import TrialRunner

from .side_by_side import Modules, Outcome, SharedSuite, modules_of, run_side_by_side
from .time_limit import SECONDS, Overrun, Watchdog

SLOWEST = 10
SLOW = 2.0
"""Seconds below which a test is not worth a line."""

LONGEST_ERROR = 300
"""Characters of an error in the line of a test that failed."""

MOST_JOBS = 4
"""Processes by default: each may run servers and Spark."""


class WholeLines:
    """Writes to a file that other processes write to, too: only whole lines."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._begun = ""

    def write(self, text: str) -> None:
        """Write the lines that are complete with ``text``."""
        lines, end, self._begun = (self._begun + text).rpartition("\n")
        if end:
            self._file.write(lines + end)
            self._file.flush()

    def flush(self) -> None:
        """Do nothing: a line is not written before its end."""


class BoundedReporter(VerboseTextReporter):
    """Reports as its base does, times each test and ends the run at the first one that exceeds its bounds.

    :ivar seconds: by name of the test.
    :ivar report: what there is to say of the tests when all have run.
    """

    def __init__(self, watchdog: Watchdog, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds: dict[str, float] = {}
        self.report = io.StringIO()
        self._watchdog = watchdog
        self._began = 0.0
        self._overrun_reported = False

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._overrun_reported = False
        self._began = time.perf_counter()
        self._watchdog.began(test)

    def addError(self, test: Any, error: Any) -> None:
        if isinstance(error, Failure):
            self._overrun_reported = self._overrun_reported or bool(error.check(Overrun))
            if error.check(defer.TimeoutError) and "still running" in str(error.value):
                self.stop()
        super().addError(test, error)

    def stopTest(self, test: Any) -> None:
        overrun = self._watchdog.ended()
        if overrun:
            if not self._overrun_reported:
                self.addError(test, Failure(Overrun(overrun)))
            self.stop()
        super().stopTest(test)
        self.seconds[test.id()] = time.perf_counter() - self._began

    def done(self) -> None:
        self._stream = SafeStream(self.report)
        super().done()


def slowest(seconds: dict[str, float]) -> list[tuple[float, str]]:
    """Return seconds and names of what took longest, the slowest first.

    :param seconds: by name of a test or a module.
    """
    times = [(taken, name) for name, taken in seconds.items() if taken >= SLOW]
    return sorted(times, reverse=True)[:SLOWEST]


def by_module(seconds: dict[str, float]) -> dict[str, float]:
    """Return how long the tests of each module took together.

    :param seconds: by name of the test.
    """
    totals: dict[str, float] = {}
    for name, taken in seconds.items():
        module = name.rsplit(".", 2)[0]
        totals[module] = totals.get(module, 0.0) + taken
    return totals


def summary(result: TestResult) -> tuple[int, int]:
    """How many tests passed, and how many did not."""
    failed = len(result.failures) + len(result.errors) + len(result.expectedFailures) + len(result.unexpectedSuccesses)
    return result.successes, failed


def failures(result: TestResult) -> list[str]:
    """A line for each test that failed: its name and the error, without the stack."""
    failed = [*result.failures, *result.errors]
    errors = [(test, repr(error.value) if isinstance(error, Failure) else error) for test, error in failed]
    errors += [(test, "was expected to fail") for test, *_ in result.expectedFailures]
    errors += [(test, "was expected to fail and passed") for test, *_ in result.unexpectedSuccesses]
    return [f"{test.id()}: {' '.join(text.split())[:LONGEST_ERROR]}" for test, text in errors]


def skipped(result: TestResult) -> dict[str, list[str]]:
    """The names of the tests that were skipped, by reason."""
    names: dict[str, list[str]] = {}
    for test, reason in result.skips:
        names.setdefault(str(reason), []).append(test.id())
    return names


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests")
    jobs = min(os.cpu_count() or 1, MOST_JOBS)
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help=f"processes side by side ({jobs} here)")
    parser.add_argument("--limit", type=float, default=SECONDS, metavar="SECONDS", help="bound of a test")
    parser.add_argument("--exitfirst", action="store_true", help="end at the first failure")
    parser.add_argument("names", nargs="*", metavar="MODULE", help="of tests; all by default")
    return parser.parse_args(arguments)


def run(suite: SharedSuite, limit: float, exit_first: bool) -> Outcome:
    """Run tests in this process."""
    watchdog = Watchdog(limit)
    reporters: list[BoundedReporter] = []

    def make_reporter(*args: Any) -> BoundedReporter:
        reporters.append(BoundedReporter(watchdog, *args))
        return reporters[-1]

    temporary = str(Path("_trial_temp").absolute())
    watchdog.arm()
    TrialRunner(
        make_reporter, stream=cast(TextIO, WholeLines(sys.stdout)), workingDirectory=temporary, uncleanWarnings=False,
        exitFirst=exit_first,
    ).run(suite)  # fmt: skip
    watchdog.disarm()
    (result,) = reporters
    return Outcome(*summary(result), result.seconds, skipped(result), failures(result), result.report.getvalue())


def main(arguments: list[str]) -> int:
    """Runs the named tests; returns the exit status."""
    options = parse(arguments)
    names = [module for name in options.names or ["tests"] for module in modules_of(name)]
    start = partial(run, SharedSuite(Modules(names)), options.limit, options.exitfirst)
    jobs = min(options.jobs, len(names))
    outcome = start() if jobs <= 1 else run_side_by_side(jobs, start, partial(end, 0))
    print(outcome.report, end="")
    for seconds, name in [*slowest(outcome.seconds), *slowest(by_module(outcome.seconds))]:
        print(f"{seconds:6.1f} s {name}")
    for reason, tests in outcome.skipped.items():
        print(f"skipped {tests[0]}: {reason}" if len(tests) == 1 else f"skipped {len(tests)} tests: {reason}")
    for line in outcome.failures:
        print(f"failed {line}")
    passed, failed = outcome.passed, outcome.failed
    if passed == failed == 0:
        failed = 1  # nothing ran: a wrong name is no success
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def end(status: int) -> NoReturn:
    """Ends the process, and those that tests have left behind, once its threads have ended, which the watchdog bounds.

    An interpreter that ends by itself frees millions of objects one by one, longer than that bound.
    """
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    faulthandler.cancel_dump_traceback_later()
    atexit._run_exitfuncs()
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():  # servers of a test that was the last one, as it took too long
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    end(main(sys.argv[1:]))

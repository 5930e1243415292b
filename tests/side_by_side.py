"""Runs modules of tests in several processes side by side; each takes the next module when it has done the last.

The processes are forked, share the standard output, and write to it by whole lines.  What failed is printed together
when all have ended.
"""

import contextlib
import json
import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO
from unittest import TestSuite

import attrs
from twisted.python.modules import getModule
from twisted.trial.runner import TestLoader

LONGEST = (
    "tests.simulation.test_seeds", "tests.integration.test_first_hour", "tests.bookie.test_bookie_crash",
    "tests.bookie.maintenance.test_maintenance_crash",
)  # fmt: skip
"""Modules that take minutes; they begin first, so that none of them is what all others wait for in the end."""

_NUMBER = 4
"""Bytes of the number of a module."""


@attrs.define
class Outcome:
    """What the tests of one process, or of several, have come to.

    :ivar seconds: by name of the test.
    :ivar skipped: names of tests by the reason why they were skipped.
    :ivar failures: a line for each test that failed: its name and the error.
    :ivar report: what is to be printed in the end.
    """

    passed: int = 0
    failed: int = 0
    seconds: dict[str, float] = attrs.Factory(dict)
    skipped: dict[str, list[str]] = attrs.Factory(dict)
    failures: list[str] = attrs.Factory(list)
    report: str = ""

    def add(self, other: "Outcome") -> None:
        """Add what another process has come to.

        :param other: of that process.
        """
        self.passed += other.passed
        self.failed += other.failed
        self.seconds.update(other.seconds)
        for reason, names in other.skipped.items():
            self.skipped.setdefault(reason, []).extend(names)
        self.failures += other.failures
        self.report += other.report


def modules_of(name: str) -> list[str]:
    """Return the names of the test modules of a package; of anything else its own name.

    :param name: of a package, module, class or test.
    """
    try:
        found = [module.name for module in getModule(name).walkModules()]
    except KeyError:
        return [name]
    return [each for each in found if each.rpartition(".")[2].startswith("test_")] or [name]


class Modules:
    """Names of modules that processes take one after the other; made before these are forked.

    :param names: each is taken once, however often it is there.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(dict.fromkeys([*(name for name in LONGEST if name in names), *names]))
        self._numbers, end = os.pipe()
        os.write(end, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(self._names))))
        os.close(end)

    def __iter__(self) -> Iterator[str]:
        while number := os.read(self._numbers, _NUMBER):
            yield self._names[int.from_bytes(number, "big")]


class SharedSuite(TestSuite):
    """The tests of the modules that this process takes, loaded when they are.

    :param modules: that processes share; none of them takes another one after a result that should stop.
    """

    def __init__(self, modules: Modules) -> None:
        super().__init__()
        self._modules = modules

    def run(self, result: Any, debug: bool = False) -> Any:
        """See :meth:`unittest.TestSuite.run`."""
        for name in self._modules:
            if not result.shouldStop:
                TestLoader().loadByNames([name], recurse=True).run(result)
        return result


def run_side_by_side(count: int, run: Callable[[], Outcome], end: Callable[[], None]) -> Outcome:
    """Fork processes and return what they have come to together; one that gives no answer counts as a failure.

    :param count: of processes.
    :param run: called in each of them.
    :param end: ends a process, called after that.
    """
    whole = Outcome()
    with contextlib.ExitStack() as stack:
        # Files, not pipes: a process that has ended its tests must not wait for one that has not.
        answers = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(count)]
        pids = [_fork(answer, run, end) for answer in answers]
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # they get it, too, and say where they were
        for pid, answer in zip(pids, answers, strict=True):
            _, status = os.waitpid(pid, 0)
            whole.add(_outcome(answer, os.waitstatus_to_exitcode(status)))
        signal.signal(signal.SIGINT, before)
    return whole


def _outcome(file: TextIO, status: int) -> Outcome:
    file.seek(0)
    answer = file.read()
    if answer:
        return Outcome(**json.loads(answer))
    return Outcome(failed=1, report=f"a process that ran tests ended with {status}\n")


def _fork(answer: TextIO, run: Callable[[], Outcome], end: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        outcome = run()
        answer.write(json.dumps(attrs.asdict(outcome)))
        answer.flush()
        end()
    except BaseException:  # what began the processes must not go on in each of them
        traceback.print_exc()
    os._exit(1)

"""Modules of tests shared by processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .__main__ import by_module, slowest
from .side_by_side import LONGEST, Modules, Outcome, modules_of, run_side_by_side

ROOT = Path(__file__).parents[1]


def _by_three(run: Callable[[], Outcome]) -> Outcome:
    return run_side_by_side(3, run, partial(os._exit, 0))


def _kill() -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return Outcome()


class TimesTests(SynchronousTestCase):
    """What is said of the times of tests."""

    def test_modules(self) -> None:
        """The times of a module's tests are summed up; the slowest come first, quick ones are left out."""
        seconds = {"tests.a.test_b.C.test_d": 1.5, "tests.a.test_b.E.test_f": 2.5, "tests.test_g.H.test_i": 9.0}
        seconds["tests.test_quick.J.test_k"] = 0.1
        self.assertEqual(slowest(seconds), [(9.0, "tests.test_g.H.test_i"), (2.5, "tests.a.test_b.E.test_f")])
        self.assertEqual(slowest(by_module(seconds)), [(9.0, "tests.test_g"), (4.0, "tests.a.test_b")])


class ModulesTests(SynchronousTestCase):
    """What there is to run."""

    def test_names(self) -> None:
        """A package is its test modules; anything else stands for itself."""
        self.assertIn(__name__, modules_of("tests"))
        self.assertNotIn("tests.side_by_side", modules_of("tests"))
        for name in (__name__, f"{__name__}.ModulesTests", "tests.no_such_thing", "no_such_thing", "tests.time_limit"):
            self.assertEqual(modules_of(name), [name])

    def test_longest_first(self) -> None:
        """What takes minutes begins first, and exists."""
        everything = modules_of("tests")
        self.assertLessEqual(set(LONGEST), set(everything))
        taken = list(Modules(everything))
        self.assertEqual(tuple(taken[: len(LONGEST)]), LONGEST)
        self.assertEqual(sorted(taken), sorted(everything))

    def test_named(self) -> None:
        """Only what is named is run, and once."""
        self.assertEqual(list(Modules(["a", "b"])), ["a", "b"])
        self.assertEqual(list(Modules(["a", LONGEST[1], "b", LONGEST[1], "a"])), [LONGEST[1], "a", "b"])


class SideBySideTests(SynchronousTestCase):
    """Several processes."""

    def test_shared(self) -> None:
        """Each module is taken by one of the processes, and all outcomes count."""
        names = [f"m{n}" for n in range(500)]
        modules = Modules(names)

        def run() -> Outcome:
            taken = list(modules)
            seconds, skipped = dict.fromkeys(taken, 0.5), {"no Java": taken[:1]}
            return Outcome(len(taken), 1, seconds, skipped, ["a: broken"], "a report\n")

        outcome = _by_three(run)
        self.assertEqual((outcome.passed, outcome.failed, sorted(outcome.seconds)), (500, 3, sorted(names)))
        self.assertLessEqual(set(outcome.skipped["no Java"]), set(names))
        self.assertEqual((outcome.failures, outcome.report), (["a: broken"] * 3, "a report\n" * 3))

    def test_long_answer(self) -> None:
        """A process that has much to say ends although another one is at work."""
        receiver, sender = os.pipe()
        modules = Modules(["waits", "says"])

        def run() -> Outcome:
            for name in modules:
                if name == "waits":
                    self.assertEqual(os.read(receiver, 1), b"!")
                    return Outcome(1)
                return Outcome(2, report="x" * 200_000)
            return Outcome()

        def end() -> None:
            os.write(sender, b"!")
            os._exit(0)

        outcome = run_side_by_side(2, run, end)
        os.close(receiver)
        os.close(sender)
        self.assertEqual((outcome.passed, len(outcome.report)), (3, 200_000))

    def test_silent_end(self) -> None:
        """A process that ends without an answer is a failure."""
        outcome = _by_three(partial(os._exit, 3))
        self.assertEqual((outcome.passed, outcome.failed), (0, 3))
        self.assertIn("ended with 3\n", outcome.report)

    def test_killed(self) -> None:
        """So is one that a signal ends."""
        outcome = _by_three(_kill)
        self.assertEqual((outcome.failed, "ended with -9\n" in outcome.report), (3, True))

    def test_interrupt(self) -> None:
        """The answer to an interrupt is the processes': afterwards it is again what it was."""
        before = signal.getsignal(signal.SIGINT)
        _by_three(Outcome)
        self.assertIs(signal.getsignal(signal.SIGINT), before)


_LEFT_BEHIND = """
import subprocess, tests.__main__
subprocess.Popen(["sleep", "60"])
print("left", flush=True)
tests.__main__.end(0)
"""


_FAILING = """
from twisted.trial.unittest import SynchronousTestCase

class Broken(SynchronousTestCase):
    def test_unequal(self):
        self.assertEqual(1, 2)

    def test_raises(self):
        raise OSError(28, "no space")

    def test_expected(self):
        self.assertEqual(1, 2)
    test_expected.todo = "later"

    def test_well(self):
        pass
"""


class OutputTests(SynchronousTestCase):
    """The last lines of a run."""

    def test_failures(self) -> None:
        """Each test that failed is named there with its error: the reports before may be too long to be shown."""
        directory = Path(self.mktemp())
        directory.mkdir()
        (directory / "test_broken.py").write_text(_FAILING)
        command = [sys.executable, "-m", "tests", "test_broken"]
        variables = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{directory.absolute()}"}
        ended = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, timeout=60)
        *_, first, second, third, last = ended.stdout.splitlines()
        self.assertEqual(
            (sorted([first, second, third]), last, ended.returncode),
            (
                [
                    "failed test_broken.Broken.test_expected: was expected to fail",
                    "failed test_broken.Broken.test_raises: OSError(28, 'no space')",
                    "failed test_broken.Broken.test_unequal: FailTest('1 != 2')",
                ],
                "1 passed, 3 failed",
                1,
            ),
        )


class EndTests(SynchronousTestCase):
    """The end of a process that ran tests."""

    def test_left_behind(self) -> None:
        """Servers that a test has left behind end with it: else the pipe that they have inherited would stay open."""
        command = [sys.executable, "-c", _LEFT_BEHIND]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
        self.assertEqual((ended.returncode, ended.stdout), (0, "left\n"))

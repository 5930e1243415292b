"""A test that does not end by itself fails within the bounds of the run, in a process of its own."""

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ..time_limit import Watchdog

_ROOT = Path(__file__).parents[2]


class OverrunTests(SynchronousTestCase):
    """What the command line says of endless tests."""

    def _output(self, name: str, limit: float = 0.5) -> str:
        """The output of a run that fails."""
        here = Path(self.mktemp())
        here.mkdir()
        command = [sys.executable, "-m", "tests", f"--limit={limit}", f"tests.integration.endless.{name}"]
        found = subprocess.run(
            command,
            cwd=here,
            env={"PYTHONPATH": str(_ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertNotEqual(found.returncode, 0)
        return found.stdout

    def test_loop(self) -> None:
        """An endless loop fails with its place, and no further test runs."""
        output = self._output("Loop")
        self.assertIn("in test_endless", output)
        self.assertIn("Overrun: time limit", output)
        self.assertTrue(output.endswith("\n0 passed, 1 failed\n"), output)

    def test_caught(self) -> None:
        """A test that catches the interruption fails nevertheless."""
        self.assertIn("1 failed\n", self._output("Catching"))

    def test_asynchronous(self) -> None:
        """A result that never comes ends the run."""
        self.assertTrue(self._output("Waiting").endswith("\n0 passed, 1 failed\n"))

    def test_memory(self) -> None:
        """A test that takes memory without end fails before the machine does."""
        output = self._output("Growing", limit=30)
        self.assertIn("Overrun: memory limit", output)
        self.assertTrue(output.endswith("\n0 passed, 1 failed\n"), output)

    def test_left_thread(self) -> None:
        """A thread that the interpreter would wait for ends with the process, named by its stack."""
        self.assertIn("in wait", self._output("LeftThread"))

    def test_no_return(self) -> None:
        """A call that does not return to the interpreter ends with the process, named by its stack."""
        self.assertIn("in test_endless", self._output("Uninterruptible"))

    def test_between_tests(self) -> None:
        """While tests are loaded, or one is reported, no bound holds."""
        Watchdog().tick(0, None)

"""The types of the doors, as the type checker of an application sees them."""

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[2]


class TypeTests(SynchronousTestCase):
    """``mypy --strict``, without the plugins and settings of this project."""

    def test_programs(self) -> None:
        """Each program has the types it says, and its mistakes are found: no await, wrong types, no such call."""
        command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--follow-imports=silent"]
        command += ["--config-file=", "--cache-dir=.mypy_cache/doors", "tests/doors/typed"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout + done.stderr, "Success: no issues found in 4 source files\n")

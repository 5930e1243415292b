"""The first hour of a new user, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

ROOT = Path(__file__).parents[2]


class FirstHourTests(SynchronousTestCase):
    """``python -m tests.first_hour``."""

    timeout = 900

    def setUp(self) -> None:
        """Asks the package index for something small."""
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", self.mktemp(), "idna"]
        if subprocess.run(command, capture_output=True).returncode:
            raise SkipTest("no package index can be reached")

    def test_all(self) -> None:
        """What the documentation tells a newcomer to type works, with a wheel from the source distribution."""
        command = [sys.executable, "-m", "tests.first_hour"]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("BK_")}
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)

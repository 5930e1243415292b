"""A bookie on a small disk that is filled; ``python -m tests.chaos.full_disk`` does it twenty times.

``python -m tests.chaos.last_byte`` fills it to the last byte in eight kinds of ways; ``python -m
tests.chaos.read_only_disk`` makes it, or that of a journal or an index, read-only as a kernel does after an error.
"""

import subprocess
import sys

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ..chaos.full_disk import ROOT


class FullDiskTests(SynchronousTestCase):
    """Two cycles: filled by the bookie, and by another file."""

    timeout = 150

    def test_two_cycles(self) -> None:
        """Read-only, reads and recovery go on, writable again without a restart, nothing lost."""
        command = [sys.executable, "-m", "tests.chaos.full_disk", "--cycles", "2", "--patient"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=140)
        if done.stdout.startswith("skipped"):
            raise SkipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 ledgers recovered while full", done.stdout)
        self.assertIn(" 0 lost", done.stdout)

    def test_last_byte(self) -> None:
        """Without a free byte: ledgers in order; ledgers in turns, with the bookie killed and started meanwhile."""
        command = [sys.executable, "-m", "tests.chaos.last_byte", "--kinds", "0", "5"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=140)
        if done.stdout.startswith("skipped"):
            raise SkipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(", 0 lost"), 2, done.stdout)

    def test_read_only(self) -> None:
        """All entries are read when the kernel has made a disk of ledgers, or of a journal, read-only."""
        command = [sys.executable, "-m", "tests.chaos.read_only_disk", "--kinds", "ledgers", "journal"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=140)
        if done.stdout.startswith("skipped"):
            raise SkipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for kind in ("ledgers", "journal"):
            self.assertIn(f"{kind}: 2,000 entries acknowledged, 0 lost, 0 lines of damage", done.stdout)

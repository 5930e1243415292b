"""What is counted of the bytes that a process copies."""

import shutil
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from benchmarks.bookie import copies
from benchmarks.bookie.copies import Counter, main
from benchmarks.shared.processes import ROOT

_MIB = 1 << 20


class CounterTests(SynchronousTestCase):
    """With a C compiler."""

    def setUp(self) -> None:
        if shutil.which("cc") is None:
            raise SkipTest("there is no C compiler")
        folder = Path(self.mktemp())
        folder.mkdir()
        self.counter = Counter(folder)

    def _copied(self, statements: str) -> float:
        """MiB that a program copies by these statements, more than without them."""
        counts = [self.counter.n_bytes()]
        for program in ("", statements):
            with self.counter.counting():
                subprocess.run([sys.executable, "-c", f"a = bytes(10 << 20)\n{program}"], check=True)
            counts.append(self.counter.n_bytes())
        return (counts[2] - 2 * counts[1] + counts[0]) / _MIB

    def test_copies(self) -> None:
        """A slice and a join are copies, a view is none."""
        self.assertApproximates(self._copied("a[1:]"), 10, 0.5)
        self.assertApproximates(self._copied("b''.join([a, a, a])"), 30, 0.5)
        self.assertApproximates(self._copied("memoryview(a)[1:]"), 0, 0.5)

    def test_only_meanwhile(self) -> None:
        """A process that is started later is not counted."""
        before = self.counter.n_bytes()
        subprocess.run([sys.executable, "-c", "bytes(10 << 20)[1:]"], check=True)
        self.assertEqual(self.counter.n_bytes(), before)

    def test_adds(self) -> None:
        """Each byte of a large add is copied to a run, to the journal's buffer and to that of the entry log.

        ``google_crc32c`` copies it once more.
        """
        copied = copies.copies(self.counter, ROOT, 10_240, 2, n_bytes=32 * _MIB)
        self.assertGreater(copied, 2.9)


class MissingCompilerTests(SynchronousTestCase):
    """Without one."""

    def test_said(self) -> None:
        """The command says why it cannot count."""
        self.patch(copies, "COMPILER", "no-such-compiler")
        with redirect_stderr(StringIO()) as output:
            self.assertEqual(main([]), 1)
        self.assertIn("no C compiler makes the library", output.getvalue())

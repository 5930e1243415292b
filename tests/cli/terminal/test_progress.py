"""Lines and progress."""

import io
import sys
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.ending import OutputError
from bookkeeper_twisted.cli.terminal import progress
from bookkeeper_twisted.cli.terminal.progress import LinesAndProgress


class _Tty(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class ProgressTests(SynchronousTestCase):
    """What is shown, and where."""

    def setUp(self) -> None:
        try:
            import tqdm  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra tools") from None
        self.patch(progress, "_DELAY", 0)
        self.shown = self.errors(_Tty())
        self.lines = LinesAndProgress()

    def errors(self, stream: io.StringIO) -> io.StringIO:
        """Makes it the error output."""
        self.patch(sys, "stderr", stream)
        return stream

    def run_bar(self, forced: bool = False, total: int | None = 10, unit: str = "ledgers") -> str:
        """Does all of it; gives what was shown."""
        with self.lines.progress("reading", total, unit, forced) as advance:
            advance(4)
            advance(6)
        return self.shown.getvalue()

    def test_terminal(self) -> None:
        """A terminal shows title, count, unit, and the total where it is known."""
        shown = self.run_bar()
        self.assertIn("reading", shown)
        self.assertIn("0.00/10.0 [", shown)
        self.assertIn(" ledgers", self.run_bar(total=None))
        self.assertIn("B/s", self.run_bar(unit="B"))

    def test_short(self) -> None:
        """Nothing is shown of a command that ends within two seconds."""
        self.patch(progress, "_DELAY", 2)
        self.assertEqual(self.run_bar().strip("\r "), "")

    def test_no_terminal(self) -> None:
        """Elsewhere nothing is shown, unless it is forced."""
        self.shown = self.errors(io.StringIO())
        self.assertEqual(self.run_bar(), "")
        self.assertIn("reading", self.run_bar(forced=True))

    def test_lines(self) -> None:
        """A line on the terminal begins where the bar was, which is cleared once; a line in a file does not matter."""
        output = _Tty()
        self.patch(sys, "stdout", output)
        with self.lines.progress("reading", 10, "ledgers", False) as advance:
            self.lines._shown_at = 0.0  # as if the bar had been drawn again
            before = len(self.shown.getvalue())
            self.lines.out("one")
            cleared = self.shown.getvalue()[before:]
            self.lines.out("two")
            self.assertEqual(self.shown.getvalue()[before:], cleared)
            self.patch(sys, "stdout", io.StringIO())
            self.lines._shown_at = 0.0
            self.lines.out("three")
            self.assertEqual(self.shown.getvalue()[before:], cleared)
            advance(10)
        self.assertEqual((output.getvalue(), cleared.strip(), cleared[:2]), ("one\ntwo\n", "", "\r "))
        self.lines.complain("three")
        self.assertTrue(self.shown.getvalue().endswith("three\n"))

    def test_closed(self) -> None:
        """What goes to a stream that is closed goes nowhere, and not to the other one."""
        output = _Tty()
        self.patch(sys, "stdout", output)
        self.patch(sys, "stderr", None)
        self.lines.complain("one")
        self.run_bar(forced=True)
        self.lines.out("two")
        self.assertEqual(output.getvalue(), "two\n")

    def test_unwritable(self) -> None:
        """An output that cannot be written is an error; an error output that cannot be written is none."""
        self.patch(sys, "stdout", None)
        error = self.assertRaises(OutputError, self.lines.out, "one")
        self.assertEqual(str(error), "the standard output cannot be written: it is closed")
        for name, write in (("stdout", self.lines.out), ("stderr", self.lines.complain)):
            with open("/dev/full", "w") as stream:
                self.patch(sys, name, stream)
                if name == "stdout":
                    error = self.assertRaises(OutputError, write, "one")
                    self.assertEqual(str(error), "the standard output cannot be written: No space left on device")
                write("two")  # nobody reads it: the text before it is lost already

    def test_no_library(self) -> None:
        """Without ``tqdm`` nothing is shown, which is said where progress is wanted."""
        self.addCleanup(sys.modules.__setitem__, "tqdm", sys.modules["tqdm"])
        sys.modules["tqdm"] = None  # type: ignore[assignment]
        self.assertEqual(self.run_bar(), "")
        self.assertEqual(self.run_bar(forced=True), "-progress needs tqdm, of the extra tools: no progress is shown\n")

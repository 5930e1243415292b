"""The program around the shell: its questions, its files, its arguments."""

import io
import sys

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.main import DiskFiles, ask, main


class AskTests(SynchronousTestCase):
    """Questions on a terminal."""

    def _asked(self, typed: str) -> tuple[bool, str]:
        output = io.StringIO()
        self.patch(sys, "stdin", io.StringIO(typed))
        self.patch(sys, "stdout", output)
        return ask("Sure?"), output.getvalue()

    def test_answers(self) -> None:
        """Y and N in either case are answers."""
        for typed, answer in (("Y\n", True), ("yes\n", True), ("N\n", False), ("no\n", False)):
            self.assertEqual(self._asked(typed), (answer, "Sure? (Y or N) "))

    def test_again(self) -> None:
        """Anything else is asked again."""
        expected = "Sure? (Y or N) Invalid input: maybe\nSure? (Y or N) "
        self.assertEqual(self._asked("maybe\ny\n"), (True, expected))

    def test_end(self) -> None:
        """The end of the input is a no."""
        self.assertEqual(self._asked(""), (False, "Sure? (Y or N) "))


class FilesTests(SynchronousTestCase):
    """Files of this machine."""

    def test_round_trip(self) -> None:
        """What is written is read."""
        name = self.mktemp()
        DiskFiles().write(name, b"data")
        self.assertEqual(DiskFiles().read(name), b"data")
        self.assertRaises(FileNotFoundError, DiskFiles().read, name + "x")


class MainTests(SynchronousTestCase):
    """The word before the command."""

    def test_usage(self) -> None:
        """Anything but ``shell`` is answered with the usage."""
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        for arguments, status in (([], 255), (["sell"], 255), (["--help"], 0)):
            stopped = self.assertRaises(SystemExit, main, arguments)
            self.assertEqual(stopped.code, status)
        self.assertEqual(output.getvalue().count("Usage: bookkeeper-twisted shell"), 3)

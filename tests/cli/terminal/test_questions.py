"""Questions of the shell to its user."""

import io
import signal
import sys

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.shell_command import NotConfirmedError
from bookkeeper_twisted.cli.terminal.questions import ask


class _Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class AskTests(SynchronousTestCase):
    """Questions on a terminal."""

    def _asked(self, typed: str) -> tuple[bool, str]:
        output = _Terminal()
        self.patch(sys, "stdin", _Terminal(typed))
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
        """The end of the input is no answer, and says that nothing was done; what follows has a line of its own."""
        error = self.assertRaises(NotConfirmedError, self._asked, "")
        self.assertEqual(str(error), "not confirmed: nothing was done; -force does not ask")
        self.assertEqual(sys.stdout.getvalue(), "Sure? (Y or N) \n")  # type: ignore[union-attr]

    def test_part_of_a_line(self) -> None:
        """What was typed before the end of the input is no answer without the end of its line."""
        for typed in ("y", "yes", "maybe\ny"):
            self.assertRaises(NotConfirmedError, self._asked, typed)

    def test_signals_of_before(self) -> None:
        """A signal that has come already is the answer, and Ctrl-C that the parent of the process ignores is none."""

        class Interrupted(_Terminal):
            def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
                signal.raise_signal(signal.SIGINT)
                return "y\n"

        self.patch(sys, "stdout", _Terminal())
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.patch(sys, "stdin", _Terminal("y\n"))
        self.assertRaises(KeyboardInterrupt, ask, "Sure?")
        self.patch(sys, "stdin", Interrupted())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.assertTrue(ask("Sure?"))
        self.assertIs(signal.getsignal(signal.SIGINT), signal.SIG_IGN)

    def test_interrupted(self) -> None:
        """Ctrl-C is no answer, whatever else handles it; that handler is back afterwards."""

        class Interrupted(_Terminal):
            def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
                signal.raise_signal(signal.SIGINT)
                return "y\n"

        heard: list[int] = []
        before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.patch(sys, "stdin", Interrupted())
        self.patch(sys, "stdout", _Terminal())
        self.assertRaises(KeyboardInterrupt, ask, "Sure?")
        signal.raise_signal(signal.SIGINT)
        self.assertEqual(heard, [signal.SIGINT])

    def test_no_terminal(self) -> None:
        """Nobody is asked where the input is no terminal, be there an answer in it or no input at all."""
        output = _Terminal()
        self.patch(sys, "stdout", output)
        for given in (io.StringIO("Y\n"), None):
            self.patch(sys, "stdin", given)
            error = self.assertRaises(NotConfirmedError, ask, "Sure?")
            self.assertEqual(
                str(error),
                "the standard input is no terminal, so nobody can be asked: nothing was done; -force does not ask",
            )
        self.assertEqual(output.getvalue(), "")

    def test_piped_output(self) -> None:
        """The question goes to the error output where the output is piped."""
        errors = _Terminal()
        self.patch(sys, "stdin", _Terminal("y\n"))
        self.patch(sys, "stdout", io.StringIO())
        self.patch(sys, "stderr", errors)
        self.assertTrue(ask("Sure?"))
        self.assertEqual(errors.getvalue(), "Sure? (Y or N) ")

"""A terminal as a screen."""

import fcntl
import os
import signal
import struct
import sys
import termios
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.internet.testing import MemoryReactor
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.cli.terminal.screen import TerminalScreen, open_screen


class _Reactor(MemoryReactor):
    """Runs at once what comes from a signal."""

    def callFromThread(self, function: Any, *arguments: Any) -> None:
        function(*arguments)


class ScreenTests(SynchronousTestCase):
    """A pseudo-terminal of 20 columns and 5 lines."""

    def setUp(self) -> None:
        self.user, self.terminal = os.openpty()
        self.addCleanup(os.close, self.user)
        self.resize(20, 5)
        os.set_blocking(self.user, False)
        self.reactor: Any = _Reactor()
        self.screen = TerminalScreen(self.reactor, self.terminal, self.terminal, True)
        self.keys: list[str] = []
        self.screen.on_key = self.keys.append
        self.addCleanup(signal.signal, signal.SIGWINCH, signal.getsignal(signal.SIGWINCH))

    def resize(self, columns: int, lines: int) -> None:
        """Changes the size."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def shown(self) -> str:
        """What was written to the terminal since the last call."""
        found = b""
        while True:
            try:
                found += os.read(self.user, 65536)
            except BlockingIOError:
                return found.decode()

    def test_settings(self) -> None:
        """Keys come one by one, without an echo; afterwards everything is as it was, whatever ended it."""
        before = termios.tcgetattr(self.terminal)
        for error in (None, KeyboardInterrupt(), ValueError()):
            try:
                with self.screen:
                    self.assertIn(self.screen, self.reactor.getReaders())
                    self.assertFalse(termios.tcgetattr(self.terminal)[3] & (termios.ECHO | termios.ICANON))
                    self.assertTrue(termios.tcgetattr(self.terminal)[3] & termios.ISIG)
                    if error is not None:
                        raise error
            except (KeyboardInterrupt, ValueError):
                pass
            self.assertEqual(termios.tcgetattr(self.terminal), before)
            shown = "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l"
            self.assertEqual((self.reactor.getReaders(), self.shown()), ([], shown))
        os.close(self.terminal)

    def test_quit(self) -> None:
        """SIGQUIT does what it did before, after the terminal is as it was."""
        before = termios.tcgetattr(self.terminal)
        found: list[Any] = []
        self.addCleanup(signal.signal, signal.SIGQUIT, signal.getsignal(signal.SIGQUIT))
        signal.signal(signal.SIGQUIT, lambda number, frame: found.append(termios.tcgetattr(self.terminal)))
        with self.screen:
            self.shown()
            signal.raise_signal(signal.SIGQUIT)
            self.assertEqual((found, self.shown()), ([before], "\x1b[?25h\x1b[?1049l"))
        os.close(self.terminal)

    def test_frames(self) -> None:
        """A frame takes the place of the last, and is no longer than the terminal."""
        with self.screen:
            self.shown()
            self.screen.draw(["one", "two"])
            self.assertEqual(self.shown(), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J")
            self.screen.draw(["x"] * 9)
            self.assertEqual(self.shown().count("x"), 5)
        os.close(self.terminal)

    def test_size(self) -> None:
        """A change of the size is told, and the new size is known."""
        told: list[tuple[int, int]] = []
        self.screen.on_resize = lambda: told.append(self.screen.size())
        with self.screen:
            self.resize(40, 12)
            signal.raise_signal(signal.SIGWINCH)
        self.assertEqual(told, [(40, 12)])
        os.close(self.terminal)

    def test_keys(self) -> None:
        """Keys are passed on one by one; the end of the terminal is an empty one."""
        verifyObject(IReadDescriptor, self.screen)
        with self.screen:
            os.write(self.user, b"aq")
            self.screen.doRead()
            self.assertEqual((self.keys, self.screen.fileno()), (["a", "q"], self.terminal))
            self.screen.connectionLost(Failure(ValueError()))
            self.assertEqual(self.keys.pop(), "")
            os.close(self.terminal)
            self.screen.doRead()
            self.assertEqual(self.keys.pop(), "")
            self.screen.draw(["x"])
            self.assertEqual((self.keys.pop(), self.screen.size()), ("", (80, 24)))


class OpenTests(SynchronousTestCase):
    """Where there is a screen."""

    def test_terminal(self) -> None:
        """Input and output have to be a terminal that can place the cursor; colours are off where nobody wants them."""
        user, terminal = os.openpty()
        self.addCleanup(os.close, user)
        with os.fdopen(terminal, "rb+", buffering=0) as stream, open(os.devnull) as other:
            for given, environ, expected in (
                ((stream, stream), {"TERM": "xterm"}, True),
                ((stream, stream), {"TERM": "xterm", "NO_COLOR": "1"}, False),
                ((stream, stream), {"TERM": "dumb"}, None), ((stream, stream), {}, None),
                ((other, stream), {"TERM": "xterm"}, None), ((stream, other), {"TERM": "xterm"}, None),
                ((None, stream), {"TERM": "xterm"}, None),
            ):  # fmt: skip
                self.patch(sys, "stdin", given[0])
                self.patch(sys, "stdout", given[1])
                found = open_screen(_Reactor(), environ)
                self.assertEqual(None if found is None else found.has_colours, expected)

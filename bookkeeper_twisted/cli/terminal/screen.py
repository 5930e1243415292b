"""Shows text on a whole terminal, reads keys, and restores the terminal at the end.

The text is always drawn completely: from the top left corner, each line cleared to its end.  So it is correct after the
size of the terminal has changed.  Only control sequences that all common terminals understand are used.
"""

import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

# Hide the cursor, and switch to the alternate buffer, so that the terminal shows its former text again at the end.
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _END_OF_LINE, _END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def open_screen(reactor: Any, environ: Mapping[str, str]) -> "TerminalScreen | None":
    """Return the terminal of this process as a screen, which the caller enters with ``with``.

    :param reactor: reads the keys.
    :param environ: environment variables; ``TERM`` and ``NO_COLOR`` are used.
    :returns: the screen; None if input or output is no terminal, or the terminal cannot place the cursor
        (``TERM=dumb``).
    """
    streams = sys.stdin, sys.stdout
    if any(stream is None or not stream.isatty() for stream in streams) or environ.get("TERM", "dumb") == "dumb":
        return None
    return TerminalScreen(reactor, sys.stdin.fileno(), sys.stdout.fileno(), not environ.get("NO_COLOR"))


@implementer(IReadDescriptor)
class TerminalScreen:
    """The terminal of this process as a screen; its ``with`` block changes the terminal's mode, then restores it.

    Ctrl-C, SIGTERM and SIGHUP end the command.  Ctrl-\\ (SIGQUIT) ends the process at once.  Ctrl-Z does nothing,
    because a stopped process would leave the terminal without a cursor and without echo.

    :ivar has_colours: whether lines may have colours.
    :ivar on_key: called with each key that is pressed, and with an empty text when the terminal is closed.
    :ivar on_resize: called after the size has changed.
    """

    def __init__(self, reactor: Any, keys: int, output: int, has_colours: bool) -> None:
        self._reactor = reactor
        self._keys = keys
        self._output = output
        self.has_colours = has_colours
        self.on_key: Callable[[str], None] = lambda key: None
        self.on_resize: Callable[[], None] = lambda: None
        self._settings: list[Any] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "TerminalScreen":
        self._settings = termios.tcgetattr(self._keys)
        for number, handler in ((signal.SIGWINCH, self._resized), (signal.SIGQUIT, self._quit)):
            self._handlers[number] = signal.signal(number, handler)
        tty.setcbreak(self._keys)
        changed = termios.tcgetattr(self._keys)
        changed[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(self._keys, termios.TCSADRAIN, changed)
        self._write(_ENTER)
        self._reactor.addReader(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._reactor.removeReader(self)
        self._leave()

    def _leave(self) -> None:
        self._write(_LEAVE)
        try:
            termios.tcsetattr(self._keys, termios.TCSADRAIN, self._settings)
        except termios.error:
            pass  # the terminal was closed
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _quit(self, number: int, frame: object) -> None:
        """Restore the terminal and the former signal handler, then send the signal again, which ends the process."""
        self._leave()
        signal.raise_signal(number)

    def _resized(self, number: int, frame: object) -> None:
        self._reactor.callFromThread(lambda: self.on_resize())

    def size(self) -> tuple[int, int]:
        """Return the columns and lines of the terminal."""
        try:
            return os.get_terminal_size(self._output)
        except OSError:
            return 80, 24  # the terminal was closed

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the shown text by ``lines``; no line may be longer than the terminal is wide."""
        _, height = self.size()
        self._write(_HOME + f"{_END_OF_LINE}\n".join(lines[:height]) + _END_OF_LINE + _END_OF_SCREEN)

    def _write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "replace"))
        try:
            while data:
                data = data[os.write(self._output, data) :]
        except OSError:
            self.on_key("")  # the terminal was closed

    # ---- called by the reactor -----------------------------------------------------------------------

    def fileno(self) -> int:
        """Return the descriptor of the terminal, from which the reactor reads keys."""
        return self._keys

    def doRead(self) -> None:
        """Read the pressed keys, and call :attr:`on_key` for each."""
        try:
            pressed = os.read(self._keys, 64).decode("utf-8", "replace")
        except OSError:
            pressed = ""
        if not pressed:
            self._reactor.removeReader(self)
            self.on_key("")
        for key in pressed:
            self.on_key(key)

    def connectionLost(self, reason: Failure) -> None:
        """Call :attr:`on_key` with an empty text, to report that the terminal was closed."""
        self.on_key("")

    def logPrefix(self) -> str:
        """Return the name of this object in the log."""
        return "terminal"

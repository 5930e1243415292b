"""Lines on a terminal, and a progress bar of ``tqdm`` (extra ``tools``) below them while a long command runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ..ending import OutputError, written

_DELAY = 2
"""Seconds before a bar appears."""
_INTERVAL_OF_FILE = 5
"""Seconds between two lines of progress where they do not go to a terminal."""


class LinesAndProgress:
    """The lines that a command prints, and its progress on the error output; a line never begins inside a bar."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._shown_at = 0.0

    def out(self, text: str) -> None:
        """Print ``text`` as a line, at once.

        :raises BrokenPipeError: the output is a pipe that has no reader.
        :raises OutputError: the output cannot be written for another reason.
        """
        if sys.stdout is None:
            raise OutputError("it is closed")
        self._print(text, sys.stdout)

    def complain(self, text: str) -> None:
        """Print ``text`` as a line of the error output, if that can be written."""
        if sys.stderr is not None:
            with suppress(BrokenPipeError, OutputError):
                self._print(text, sys.stderr)

    def _print(self, text: str, stream: TextIO) -> None:
        # last_print_t: when the bar was drawn; a bar that was cleared since then need not be cleared again
        if self._bar is not None and self._bar.last_print_t != self._shown_at and stream.isatty():
            self._shown_at = self._bar.last_print_t
            self._bar.clear()
        written(stream, f"{text}\n")

    @contextmanager
    def progress(self, title: str, total: int | None, unit: str, forced: bool) -> Iterator[Callable[[int], object]]:
        """Show the progress of a command that takes longer than two seconds until the ``with`` block ends.

        Nothing is shown without ``tqdm``, or if the error output is no terminal.

        :param title: text in front of the bar.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else the plural of what is counted.
        :param forced: whether progress is shown without a terminal, too.
        :returns: a context manager, which returns a function.  Call this function with the number of units done since
            its last call.
        """
        try:
            from tqdm import tqdm  # type: ignore[import-untyped]
        except ImportError:
            if forced:
                self.complain("-progress needs tqdm, of the extra tools: no progress is shown")
            yield int
            return
        tqdm.monitor_interval = 0  # no thread that looks after bars
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        with tqdm(
            desc=title, total=total, unit="B" if unit == "B" else f" {unit}", unit_scale=True, leave=False,
            delay=_DELAY, disable=sys.stderr is None or not (forced or is_terminal),
            mininterval=0.1 if is_terminal else _INTERVAL_OF_FILE,
        ) as bar:  # fmt: skip
            if not bar.disable:
                self._bar, self._shown_at = bar, bar.last_print_t
            try:
                yield bar.update
            finally:
                self._bar = None

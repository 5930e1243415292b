"""Prints the lines of a command, and below them a progress bar while a long command runs.

The bar needs the package ``tqdm``, which the extra ``tools`` installs.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ..ending import OutputError, written

_DELAY = 2
"""Seconds after the start of the progress before the bar appears."""
_INTERVAL_OF_FILE = 5
"""Seconds between two lines of progress if the error output is no terminal."""


class LinesAndProgress:
    """Prints lines, and shows the progress of a command on the error output; clears a shown bar before each line."""

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
        """Print ``text`` as a line of the error output; ignore errors of the output."""
        if sys.stderr is not None:
            with suppress(BrokenPipeError, OutputError):
                self._print(text, sys.stderr)

    def _print(self, text: str, stream: TextIO) -> None:
        # Clear the bar only if tqdm has drawn it since it was cleared; last_print_t is the time of the last drawing.
        if self._bar is not None and self._bar.last_print_t != self._shown_at and stream.isatty():
            self._shown_at = self._bar.last_print_t
            self._bar.clear()
        written(stream, f"{text}\n")

    @contextmanager
    def progress(self, title: str, total: int | None, unit: str, forced: bool) -> Iterator[Callable[[int], object]]:
        """Show the progress of a command until the ``with`` block ends, if the command takes longer than two seconds.

        Nothing is shown if ``tqdm`` is not installed.  If the error output is no terminal, progress is shown only if it
        is ``forced``.

        :param title: text in front of the bar.
        :param total: number of units to be done; None if it is not known.
        :param unit: ``B`` for bytes, else a plural noun for the units, such as ``ledgers``.
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
        tqdm.monitor_interval = 0  # prevents tqdm from starting its monitor thread
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

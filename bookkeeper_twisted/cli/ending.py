"""Ends a process after Ctrl-C, or after an error of its standard output, without a stack trace.

If the user presses Ctrl-C while no command handles SIGINT, for example during an import, the process ends by SIGINT
(status 130 in a shell).  If the program that reads the output, such as ``head``, closes the pipe, the process ends by
SIGPIPE (status 141).  If the output cannot be written for another reason, such as a full disk, the process prints one
line and ends with status 1.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class OutputError(Exception):
    """The standard output cannot be written; the text says why."""

    def __str__(self) -> str:
        return f"the standard output cannot be written: {self.args[0]}"


def written(stream: TextIO, text: str = "") -> None:
    """Write ``text`` to ``stream``, and flush the stream.

    :raises BrokenPipeError: the stream is a pipe that has no reader.
    :raises OutputError: the text cannot be written.  After this error, the stream discards its buffer and all further
        text.  Otherwise Python would flush the stream at the end of the process, fail again and print a stack trace.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        raise OutputError(error.strerror) from None


def show(text: str) -> None:
    """Write ``text`` and a line end to the standard output.

    :raises BrokenPipeError: the output is a pipe that has no reader.
    :raises OutputError: the text cannot be written.
    """
    if sys.stdout is None:
        raise OutputError("it is closed")
    written(sys.stdout, f"{text}\n")


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """End the process by SIGINT if the ``with`` block raises KeyboardInterrupt, by SIGPIPE if its output has no reader.

    The process ends immediately: it does not wait for threads, such as those of a metadata store.

    :raises SystemExit: the output cannot be written for another reason.  The reason has been printed.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                written(sys.stdout)  # flush here: an error of the flush at the end of the process cannot be caught
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
    except BrokenPipeError:
        _end_by(signal.SIGPIPE)
    except OutputError as error:
        if sys.stderr is not None:
            print(error, file=sys.stderr)
        raise SystemExit(1) from None


def _end_by(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Replace Python's handler of SIGINT during the ``with`` block, so that SIGINT ends the process.

    Python's handler raises KeyboardInterrupt.  During an import, the import system may swallow this exception, and
    Ctrl-C would do nothing.  If the process ignores SIGINT or has a handler of its own, this function changes nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def hold_hangups() -> None:
    """Block SIGHUP until :func:`release_hangups` is called, because the process has no handler yet and would end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def release_hangups() -> None:
    """Unblock SIGHUP: pass a SIGHUP that has arrived meanwhile, and each later one, to the handler of the process."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

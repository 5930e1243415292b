"""The end of a process by Ctrl-C, or by a standard output that takes no more.

If Ctrl-C comes while no command handles it, for example during an import, the process ends by SIGINT (status 130 in a
shell) and prints no stack trace.  If the reader of the output, such as ``head``, closes the pipe, the process ends by
SIGPIPE (status 141).  If the output fails in another way, as on a full disk, the process prints one line and ends with
status 1.
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
    """Write ``text``, and all that ``stream`` holds in its buffer, to the file behind the stream.

    :raises BrokenPipeError: the stream is a pipe that has no reader.
    :raises OutputError: the text cannot be written.  Then the buffer is discarded, and so is all further text: the
        flush at the end of the process would fail again, and print a stack trace.
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
    """Write ``text`` and the end of its line to the standard output.

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

    :raises SystemExit: the output could not be written for another reason, which this function has printed.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                written(sys.stdout)  # because errors of the flush at the end of a process cannot be caught
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
    """Let SIGINT end the process during the ``with`` block, unless the process ignores it or handles it.

    A KeyboardInterrupt that Python raises in the middle of an import may be swallowed, for example by a callback of
    the import system.
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
    """Hold back SIGHUP, which would end the process, until :func:`release_hangups`; the kernel keeps it meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def release_hangups() -> None:
    """Deliver a SIGHUP that was held back, and those that come from now on, to the handler of the process."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

"""Entry points of the program and of ``twistd``, which import the rest late, because that takes a second.

Ctrl-C that no command has taken, during an import above all, ends the process as it ends other programs: by the signal,
which a shell reports as status 130, and without a stack trace.  So does, by SIGPIPE (status 141), a reader of the
output that has seen enough, as ``head`` has.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """End the process by SIGINT after a KeyboardInterrupt in a context, by SIGPIPE if the reader of its output is gone.

    At once: threads that are at work, as those of a metadata store, are not waited for.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # flush here, because a failing flush at the end of the process would not be caught
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
    except BrokenPipeError:
        _end_by(signal.SIGPIPE)


def _end_by(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def main() -> None:
    """Run ``bookkeeper-twisted``, see :func:`bookkeeper_twisted.cli.main.main`.

    :raises SystemExit: at the end.
    """
    with ended_by_signal():
        from . import main as program

        program.main()

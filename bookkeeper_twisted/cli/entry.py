"""Entry points of the program and of ``twistd``: what they begin takes a second to import.

Ctrl-C that no command has taken, during an import above all, ends the process as it ends other programs: by the signal,
which a shell reports as status 130, and without a stack trace.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """End the process by SIGINT where a context is left by KeyboardInterrupt.

    At once: threads that are at work, as those of a metadata store, are not waited for.
    """
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Run ``bookkeeper-twisted``, see :func:`bookkeeper_twisted.cli.main.main`.

    :raises SystemExit: at the end.
    """
    with ended_by_interrupt():
        from . import main as program

        program.main()

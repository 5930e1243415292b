"""The entry point of ``bookkeeper-twisted``, and the end of a process by Ctrl-C or a closed pipe.

The entry point imports other modules late, because imports take a second.  If Ctrl-C comes while no command handles it,
for example during an import, the process ends by SIGINT (status 130 in a shell) and prints no stack trace.  If the
reader of the output, such as ``head``, closes the pipe, the process ends by SIGPIPE (status 141).
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """End the process by SIGINT if the ``with`` block raises KeyboardInterrupt, by SIGPIPE if its output has no reader.

    The process ends immediately: it does not wait for threads, such as those of a metadata store.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # flushed here, because errors of the flush at the end of a process cannot be caught
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
        if sys.argv[1:2] in (["probe"], ["drain"]):
            from .probe import run

            raise SystemExit(run(sys.argv[1:], os.environ))
        from . import main as program

        program.main()

"""The entry point of ``bookkeeper-twisted``.

It lets Ctrl-C end the process before it imports anything else, because imports take a second: the process then ends by
SIGINT (status 130 in a shell) and prints no stack trace.
"""

import signal
import sys


def main() -> None:
    """Run ``bookkeeper-twisted``, see :func:`bookkeeper_twisted.cli.main.main`.

    :raises SystemExit: at the end.
    """
    # Python's own handler never comes back: it would still print a stack trace after the command, while Python ends.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .ending import ended_by_signal

    with ended_by_signal():
        if sys.argv[1:2] in (["probe"], ["drain"]):
            import os

            from .probe import run

            raise SystemExit(run(sys.argv[1:], os.environ))
        from . import main as program

        program.main()

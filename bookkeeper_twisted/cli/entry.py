"""The entry point of ``bookkeeper-twisted``.

Before it imports other modules, which takes a second, it removes Python's handler of SIGINT.  So Ctrl-C during the
imports ends the process by SIGINT (status 130 in a shell), without a stack trace.
"""

import signal
import sys


def main() -> None:
    """Run one command of ``bookkeeper-twisted`` and end the process with its exit status.

    :raises SystemExit: always, at the end.
    """
    # Python's handler is not restored, because it would print a stack trace if Ctrl-C came while Python shuts down.
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

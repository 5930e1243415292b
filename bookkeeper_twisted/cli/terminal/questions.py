"""Asks the user on the terminal before a command destroys data."""

import signal
import sys

from ..shell_command import NotConfirmedError


def ask(question: str) -> bool:
    """Ask the user a ``question`` until the answer is Y or N; return whether it is Y.

    This blocks the reactor.  A shell has no other work meanwhile, and a thread that waits for a terminal could not be
    interrupted.

    :raises NotConfirmedError: the standard input is no terminal, or ended before an answer.  What a script pipes into
        a command is no answer to its question: it may have been meant for another command.
    :raises KeyboardInterrupt: the user pressed Ctrl-C; the blocked reactor could not handle it.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise NotConfirmedError("the standard input is no terminal, so nobody can be asked: nothing was done")
    of_reactor = signal.getsignal(signal.SIGINT)
    if of_reactor is signal.SIG_DFL:
        raise KeyboardInterrupt  # a first Ctrl-C or SIGTERM has come already, and only the reactor has not seen it yet
    if of_reactor is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _answer(question)
    finally:
        signal.signal(signal.SIGINT, of_reactor)


def _answer(question: str) -> bool:
    # where the standard output is a file or a pipe, the user would not see the question there
    shown = sys.stdout if sys.stdout is not None and sys.stdout.isatty() else sys.stderr
    while True:
        print(f"{question} (Y or N) ", end="", file=shown, flush=True)
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):  # the input has ended, perhaps after a part of a line
            print(file=shown)  # end the line of the question
            raise NotConfirmedError("not confirmed: nothing was done")
        if answer.strip().upper() in ("Y", "YES"):
            return True
        if answer.strip().upper() in ("N", "NO"):
            return False
        print(f"Invalid input: {answer.strip()}", file=shown)

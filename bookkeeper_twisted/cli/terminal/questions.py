"""Asks the user on the terminal before a command destroys data."""

import signal
import sys

from ..shell_command import NotConfirmedError


def ask(question: str) -> bool:
    """Ask the user a ``question`` until the answer is yes or no; return whether it is yes.

    This function blocks the reactor until the user answers.  It does not use a thread, because a thread that reads from
    a terminal cannot be interrupted.

    :raises NotConfirmedError: the standard input is no terminal, or it ended before an answer.  An answer from a pipe
        is not accepted, because it may have been meant for another command.
    :raises KeyboardInterrupt: the user pressed Ctrl-C.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise NotConfirmedError("the standard input is no terminal, so nobody can be asked: nothing was done")
    of_reactor = signal.getsignal(signal.SIGINT)
    if of_reactor is signal.SIG_DFL:
        # The handler of an earlier signal has restored the default action.  That signal is about to end the command, so
        # do not ask the user any more.
        raise KeyboardInterrupt
    if of_reactor is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _answer(question)
    finally:
        signal.signal(signal.SIGINT, of_reactor)


def _answer(question: str) -> bool:
    # If the standard output is a file or a pipe, the user sees only the error output.
    shown = sys.stdout if sys.stdout is not None and sys.stdout.isatty() else sys.stderr
    while True:
        print(f"{question} (Y or N) ", end="", file=shown, flush=True)
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):  # the input has ended, perhaps in the middle of a line
            print(file=shown)
            raise NotConfirmedError("not confirmed: nothing was done")
        if answer.strip().upper() in ("Y", "YES"):
            return True
        if answer.strip().upper() in ("N", "NO"):
            return False
        print(f"Invalid input: {answer.strip()}", file=shown)

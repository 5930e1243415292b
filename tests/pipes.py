"""Pipes in the places of files."""

import os
import stat
from typing import Any

from twisted.trial.unittest import SynchronousTestCase


def refuse_to_wait(case: SynchronousTestCase) -> None:
    """Fail a test that opens a pipe so that it would wait for a writer, instead of letting it wait."""
    opened = os.open

    def open_at_once(path: Any, flags: int, *mode: int) -> int:
        if not flags & (os.O_NONBLOCK | os.O_CREAT) and stat.S_ISFIFO(os.stat(path).st_mode):
            raise AssertionError(f"the writer of {path} is waited for")
        return opened(path, flags, *mode)

    case.patch(os, "open", open_at_once)

"""Test cases that do not end by themselves: not collected, run by name to try the bounds of a test run."""

import threading
from itertools import repeat

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase


class Loop(SynchronousTestCase):
    """Runs for ever."""

    def test_endless(self) -> None:
        """A loop in Python."""
        while True:
            pass

    def test_next(self) -> None:
        """A test after an endless one."""


class Catching(SynchronousTestCase):
    """Runs until it is interrupted."""

    def test_endless(self) -> None:
        """A loop that catches everything."""
        interrupted = False
        while not interrupted:
            try:
                while True:
                    pass
            except BaseException:
                interrupted = True


class Waiting(TestCase):
    """Waits for ever."""

    def test_endless(self) -> "Deferred[None]":
        """A result that never comes."""
        return Deferred()


class Growing(SynchronousTestCase):
    """Takes memory without end."""

    def test_endless(self) -> None:
        """A list that grows by pages of its own."""
        pages = []
        while True:
            pages.append(bytearray(b"x" * 65536))


class LeftThread(SynchronousTestCase):
    """Leaves a thread behind."""

    def test_endless(self) -> None:
        """A thread that the interpreter waits for at its end."""
        threading.Thread(target=threading.Event().wait).start()


class Uninterruptible(SynchronousTestCase):
    """Does not return to the interpreter."""

    def test_endless(self) -> None:
        """A loop inside the C library of Python."""
        sum(repeat(1))

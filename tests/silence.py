"""For tests that make failures by the thousand: these are not logged."""

import gc

from twisted.logger import ILogObserver, LogEvent, globalLogBeginner
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import provider


def log_nothing() -> None:
    """Have a program log nothing: what it looks for is in its own report."""
    globalLogBeginner.beginLoggingTo([_ignore], redirectStandardIO=False, discardBuffer=True)


def forget_failures(test: SynchronousTestCase) -> None:
    """Drop the failures that a test has made, those of Deferreds that nobody waits for any more, too.

    Each of these is logged when it is collected, which would be in another test.
    """
    gc.collect()
    test.flushLoggedErrors()


@provider(ILogObserver)
def _ignore(event: LogEvent) -> None:
    """Each failure that was made would be a stack."""

"""For programs among the tests that make failures by the thousand: nothing is logged."""

from twisted.logger import ILogObserver, LogEvent, globalLogBeginner
from zope.interface import provider


def log_nothing() -> None:
    """Have the process log nothing: what it looks for is in its own report."""
    globalLogBeginner.beginLoggingTo([_ignore], redirectStandardIO=False, discardBuffer=True)


@provider(ILogObserver)
def _ignore(event: LogEvent) -> None:
    """Each failure that was made would be a stack."""

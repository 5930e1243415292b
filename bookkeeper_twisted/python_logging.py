"""The log of this package in programs that do not use Twisted's: it goes to Python's ``logging``.

Programs of the asyncio and of the blocking client start no log of Twisted, so what their client logs would not be seen.
"""

from functools import cache
from typing import Any, cast

from twisted.logger import (
    FilteringLogObserver,
    ILogObserver,
    LogEvent,
    PredicateResult,
    STDLibLogObserver,
    globalLogPublisher,
)

NAME = __name__.partition(".")[0]
"""Name of the logger in ``logging``, and of the namespace of the events that it gets."""


@cache
def forward_to_logging() -> ILogObserver:
    """Pass what this package logs to the logger ``bookkeeper_twisted`` of ``logging``, from the first call on.

    :returns: the observer that does.
    """
    observer: ILogObserver = FilteringLogObserver(STDLibLogObserver(NAME), [cast(Any, _is_ours)])
    globalLogPublisher.addObserver(observer)
    return observer


def _is_ours(event: LogEvent) -> Any:
    namespace = str(event.get("log_namespace", ""))
    return PredicateResult.maybe if namespace.split(".", 1)[0] == NAME else PredicateResult.no

"""The forwarding of this package's log to Python's ``logging``, for programs without Twisted's log.

Programs with the asyncio or the blocking client start no log of Twisted, so their client's log would be lost.
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
"""Name of the logger in ``logging``, and first part of the namespaces of the events that it gets."""


@cache
def forward_to_logging() -> ILogObserver:
    """Begin to pass the log events of this package to the logger ``bookkeeper_twisted`` of ``logging``.

    :returns: the observer that passes them.
    """
    observer: ILogObserver = FilteringLogObserver(STDLibLogObserver(NAME), [cast(Any, _is_ours)])
    globalLogPublisher.addObserver(observer)
    return observer


def _is_ours(event: LogEvent) -> Any:
    namespace = str(event.get("log_namespace", ""))
    return PredicateResult.maybe if namespace.split(".", 1)[0] == NAME else PredicateResult.no

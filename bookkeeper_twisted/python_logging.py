"""Forwards the log of this package to Python's ``logging``.

Programs that use the asyncio or the blocking client do not start Twisted's log, so the log of the client would be lost.
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
"""The name of the logger in ``logging``; the namespaces of all log events of this package begin with it."""


@cache
def forward_to_logging() -> ILogObserver:
    """Forward log events of this package to the logger ``bookkeeper_twisted`` of ``logging`` from now on.

    :returns: the observer that forwards them; the same for every call.
    """
    observer: ILogObserver = FilteringLogObserver(STDLibLogObserver(NAME), [cast(Any, _is_ours)])
    globalLogPublisher.addObserver(observer)
    return observer


def _is_ours(event: LogEvent) -> Any:
    namespace = str(event.get("log_namespace", ""))
    return PredicateResult.maybe if namespace.split(".", 1)[0] == NAME else PredicateResult.no

"""The log levels of a process: for each namespace, the lowest level of events that are logged."""

from collections.abc import Mapping
from typing import Any

from twisted.logger import LogEvent, LogLevel, LogLevelFilterPredicate, PredicateResult

from ..config.log_levels import DEFAULT


class LogLevels:
    """A filter predicate that drops log events below the level of their namespace.

    A namespace without a level has the level of its nearest parent: ``a.b.c`` has that of ``a.b``, otherwise that of
    ``a``.  Events with ``log_always=True`` are never dropped.  They report changes of the configuration; a changed
    level could otherwise drop the report of its own change.
    """

    def __init__(self) -> None:
        self.set({DEFAULT: "info"})

    def set(self, levels: Mapping[str, str]) -> None:
        """Replace all levels; other threads see either the old levels or the new ones.

        :param levels: names of levels by namespace.  The key :data:`~bookkeeper_twisted.config.log_levels.DEFAULT` has
            the level for all namespaces that neither have a level nor a parent with a level.
        """
        predicate = LogLevelFilterPredicate(LogLevel.levelWithName(levels[DEFAULT]))
        for prefix, name in levels.items():
            if prefix != DEFAULT:
                predicate.setLogLevelForNamespace(prefix, LogLevel.levelWithName(name))
        self._predicate = predicate

    def __call__(self, event: LogEvent) -> Any:
        """Tell Twisted whether an ``event`` is dropped (``PredicateResult.no``) or may be logged."""
        return PredicateResult.maybe if event.get("log_always") else self._predicate(event)


LEVELS_OF_PROCESS = LogLevels()
"""The log levels of this process; one object is enough, because Twisted has one log per process."""

"""The levels of the log of a process: for each namespace the least level of the events that are logged."""

from collections.abc import Mapping
from typing import Any

from twisted.logger import LogEvent, LogLevel, LogLevelFilterPredicate, PredicateResult

from ..config.log_levels import DEFAULT


class LogLevels:
    """A predicate of log events that drops those below the level of their namespace.

    The level of a namespace is that of its longest prefix, by whole names between dots, that has a level.  Events with
    ``log_always=True`` are not dropped: they report changes of the configuration, among them those of the levels, and
    are logged after the change.
    """

    def __init__(self) -> None:
        self.set({DEFAULT: "info"})

    def set(self, levels: Mapping[str, str]) -> None:
        """Replace all levels, at once for all threads.

        :param levels: names of levels by prefix; :data:`~bookkeeper_twisted.config.log_levels.DEFAULT` is among them.
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
"""The levels of this process, which has one log, as Twisted has one ``globalLogBeginner``."""

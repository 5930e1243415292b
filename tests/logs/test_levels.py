"""The levels of the log of a process."""

from typing import cast

from twisted.logger import FilteringLogObserver, ILogFilterPredicate, ILogObserver, LogEvent, Logger
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.logs.levels import LogLevels


class LogLevelsTests(SynchronousTestCase):
    """What is logged of two namespaces."""

    def setUp(self) -> None:
        self.levels = LogLevels()
        self.events: list[LogEvent] = []

    def _logged(self, namespace: str) -> str:
        """The first letters of the levels that are logged."""
        keep = cast(ILogObserver, self.events.append)
        observer = FilteringLogObserver(keep, [cast(ILogFilterPredicate, self.levels)])
        logger = Logger(namespace, observer=observer)
        self.events.clear()
        for write in (logger.debug, logger.info, logger.warn, logger.error, logger.critical):
            write("x")
        return "".join(event["log_level"].name[0] for event in self.events)

    def test_at_first(self) -> None:
        """Lines of the level debug are dropped before a configuration says something else."""
        self.assertEqual(self._logged("ours"), "iwec")

    def test_prefixes(self) -> None:
        """The longest prefix of whole names counts, and the default for all others."""
        self.levels.set({"default": "error", "ours": "warn", "ours.room": "debug"})
        found = {name: self._logged(name) for name in ("ours.room.part", "ours.room", "ours.rooms", "ours", "kazoo")}
        self.assertEqual(
            found, {"ours.room.part": "diwec", "ours.room": "diwec", "ours.rooms": "wec", "ours": "wec", "kazoo": "ec"}
        )

    def test_changes(self) -> None:
        """An event that reports a change of the configuration is logged at any level."""
        self.levels.set({"default": "critical"})
        keep = cast(ILogObserver, self.events.append)
        logger = Logger("ours", observer=FilteringLogObserver(keep, [cast(ILogFilterPredicate, self.levels)]))
        logger.info("changed", log_always=True)
        logger.info("other")
        self.assertEqual([event["log_format"] for event in self.events], ["changed"])

    def test_set_again(self) -> None:
        """New levels replace all levels of before."""
        self.levels.set({"default": "error", "ours": "debug"})
        self.levels.set({"default": "warn"})
        self.assertEqual((self._logged("ours"), self._logged("kazoo")), ("wec", "wec"))

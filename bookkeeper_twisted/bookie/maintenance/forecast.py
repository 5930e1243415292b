"""Measures what garbage collections and compactions that begin now would free."""

from collections.abc import Collection, Sequence

from twisted.internet.interfaces import IReactorTime

from ..admin import DeletedLedgers, EntryLogSpace, SpaceForecast
from .garbage_collector import GarbageCollector
from .latest_reading import LatestReading
from .ledger_collector import LedgerCollector
from .maintained import MaintainedDirectory

KNOWN_SECONDS = 5.0
"""Seconds for which the list of ledgers that are deleted in metadata is used again."""


class SpaceForecaster:
    """Measures the entry logs of a bookie as a garbage collection that begins now would find them.

    Such a garbage collection first deletes the ledgers that do not exist in metadata any more.  So their entries count
    as dead here, although the index still refers to them.

    :param ledgers: lists the ledgers that are deleted in metadata.
    :param collector: has the thresholds of the compactions.
    """

    def __init__(
        self, directories: Sequence[MaintainedDirectory], ledgers: LedgerCollector, collector: GarbageCollector,
        clock: IReactorTime,
    ) -> None:  # fmt: skip
        self._directories = directories
        self._ledgers = ledgers
        self._collector = collector
        self._deleted = LatestReading(ledgers.deleted, clock, KNOWN_SECONDS)

    async def measure(self) -> SpaceForecast:
        """Measure each complete entry log, and say which are to be compacted."""
        deleted = self._ledgers.present(await self._deleted.latest() or ())
        found: list[EntryLogSpace] = []
        for directory in self._directories:
            found += await self._measure(directory, deleted)
        return SpaceForecast(tuple(found), self._told_of(deleted))

    def _told_of(self, deleted: Collection[int]) -> DeletedLedgers:
        reading = self._deleted
        reason = reading.failure
        if not reason and reading.waiting is not None:
            reason = f"no answer for {reading.waiting:.0f} s, of the store or of the speed limit gc-metadata"
        return DeletedLedgers(len(deleted), reading.read_at, reading.unread_since if reason else None, reason)

    async def _measure(self, directory: MaintainedDirectory, deleted: Collection[int]) -> list[EntryLogSpace]:
        options = self._collector.options
        logs = await directory.log_usage_without(sorted(deleted))
        major, minor = [
            {log.log_id for log in directory.logs_to_compact(logs, kind.threshold, options.target_size)}
            for kind in (options.major, options.minor)
        ]
        return [
            EntryLogSpace(directory.path, log.log_id, log.size, log.live, log.log_id in major, log.log_id in minor)
            for log in logs
        ]

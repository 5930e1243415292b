"""Measures what garbage collections and compactions that begin now would free."""

from collections.abc import Sequence
from functools import partial

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime

from ...storage.maintenance.plan import LogUsage
from ..admin import DeletedLedgers, EntryLogSpace, MeasuredDirectory, SpaceForecast
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
        self._usage = [LatestReading(partial(self._measure, directory), clock) for directory in directories]

    async def measure(self) -> SpaceForecast:
        """Measure each complete entry log, and say which are to be compacted.

        A directory whose disk does not answer in time has the result of its last measurement.
        """
        await self._deleted.latest()
        await gatherResults([Deferred.fromCoroutine(reading.latest()) for reading in self._usage], consumeErrors=True)
        found: list[EntryLogSpace] = []
        for directory, reading in zip(self._directories, self._usage, strict=True):
            found += self._space(directory, reading.result or ())
        measured = tuple(map(_told_of, self._directories, self._usage))
        return SpaceForecast(tuple(found), self._told_of_deleted(), measured)

    def _present(self) -> frozenset[int]:
        """Return the ledgers of this bookie that metadata did not have when it was last read."""
        return self._ledgers.present(self._deleted.result or ())

    def _told_of_deleted(self) -> DeletedLedgers:
        reading = self._deleted
        reason = reading.failure
        if not reason and reading.overdue is not None:
            reason = f"no answer for {reading.overdue:.0f} s, of the store or of the speed limit gc-metadata"
        return DeletedLedgers(
            len(self._present()), reading.read_at, reading.unread_since if reason else None, reason
        )  # fmt: skip

    async def _measure(self, directory: MaintainedDirectory) -> list[LogUsage]:
        return await directory.log_usage_without(sorted(self._present()))

    def _space(self, directory: MaintainedDirectory, logs: Sequence[LogUsage]) -> list[EntryLogSpace]:
        options = self._collector.options
        major, minor = [
            {log.log_id for log in directory.logs_to_compact(logs, kind.threshold, options.target_size)}
            for kind in (options.major, options.minor)
        ]
        return [
            EntryLogSpace(directory.path, log.log_id, log.size, log.live, log.log_id in major, log.log_id in minor)
            for log in logs
        ]


def _told_of(directory: MaintainedDirectory, reading: LatestReading[list[LogUsage]]) -> MeasuredDirectory:
    if reading.overdue is not None:
        reason = f"the disk has not answered for {reading.overdue:.0f} s"
    else:
        reason = reading.failure
    return MeasuredDirectory(directory.path, reading.read_at, reason)

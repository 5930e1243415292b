"""Stores the known damage of a bookie durably, logs and counts it, and marks damaged ledgers as underreplicated.

Scrubs and compactions find damage.  In the part of a directory that a scrub has verified, the damage that the scrub
found replaces the damage known before.  The damage that a compaction finds is added to the known damage.
"""

from collections.abc import Sequence

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import LogDamageError, StorageError
from ...metrics import ScrubMetrics
from ...storage.maintenance.scrub import DamagedEntries, Scrub, ScrubRecord, damage_now, load_record, save_record
from .damaged_ledger_marker import DamagedLedgerMarker
from .maintained import MaintainedDirectory, MaintainedJournal


class KnownDamage:
    """The known damage of a bookie: one ScrubRecord for each ledger directory and each journal.

    :param marker: marks the damaged ledgers as underreplicated.
    :ivar records: the damage record of each directory and journal, by the number of the directory or journal.
    :ivar passes: the scrubs in progress, by the number of the directory that each verifies.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, marker: DamagedLedgerMarker, metrics: ScrubMetrics) -> None:
        self.records: dict[int, ScrubRecord] = {}
        self.passes: dict[int, Scrub] = {}
        self.marker = marker
        self._clock = clock
        self._metrics = metrics
        self._refused: dict[int, int | None] = {}  # the errno of the last save, by the number, if it failed
        metrics.watch(lambda: sum(len(record.findings) for record in self.records.values()))

    async def load(self, maintained: MaintainedDirectory | MaintainedJournal) -> None:
        """Load the damage record of a directory or journal, and mark its damaged ledgers as underreplicated.

        :param maintained: the directory or journal; only the first call for it has an effect.
        """
        if maintained.number in self.records:
            return
        try:
            record = await maintained.in_thread(load_record, maintained.fs, maintained.path)
        except (OSError, StorageError) as error:
            self._log.warn("what is known of damage cannot be read: {error}", error=error)
            return
        self.marker.found(self.records.setdefault(maintained.number, record).findings)

    async def keep(self, maintained: MaintainedDirectory | MaintainedJournal, record: ScrubRecord) -> None:
        """Replace the known damage of a directory or journal by ``record``, in memory and on disk.

        If the disk is full, read-only or has failed, the damage is known until the bookie ends; the log says so once.

        :param maintained: the directory or journal.
        """
        number = maintained.number
        self.records[number] = record
        try:
            await maintained.in_thread(save_record, maintained.fs, maintained.path, record)
        except OSError as error:
            before, self._refused[number] = self._refused.get(number), error.errno
            if before != error.errno:
                self._log.warn("what is known of damage is kept in memory alone: {error}", error=error)
        else:
            self._refused.pop(number, None)

    def report(self, found: Sequence[DamagedEntries]) -> None:
        """Log and count the damage ``found``."""
        for each in found:
            self._metrics.damages.value += 1
            self._log.critical("DAMAGE: {text}", text=each.text, ledger_id=each.ledger_id, entry_id=each.first)

    async def join(self, directory: MaintainedDirectory, damage: LogDamageError) -> None:
        """Add the ``damage`` that a compaction has found in a ``directory``, unless it is known already.

        :raises StorageError: the index cannot be read.
        """
        await self.load(directory)
        now = int(self._clock.seconds())
        found = await directory.in_thread(damage_now, directory.storage.index, damage, now)
        scrub = self.passes.get(directory.number)
        before = self.records.get(directory.number, ScrubRecord()) if scrub is None else scrub.record
        record = before if found is None else before.joined([found])
        if found is None or record == before:
            return
        if scrub is not None:
            scrub.record = record
        self.report([found])
        await self.keep(directory, record)
        self.marker.found([found])

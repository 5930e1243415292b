"""Verifies all rows of an index, and keeps a durable list of damaged entries.

Rows are read in the order of ledger and entry, piece by piece.  A row that fails is looked up again: if it lies
elsewhere by now, or its ledger was deleted, nothing is damaged.  A pass may take days: its findings and its place
outlive the process, and the next process continues it.  Findings of compactions are added to the same list.
"""

import json
import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import attrs

from ...errors import LogDamageError
from ..directory_storage import DirectoryStorage
from ..files.disk_queue import DiskQueue
from ..files.replace import replace_file
from ..interfaces import IFileSystem, IndexRow, IRunIndex
from .row_reader import RowCutter, RowReader, Step

FINDINGS = "damage.json"
MOST_FINDINGS = 10_000
"""Findings that are kept: a disk that is damaged all over is to be replaced, not to be listed."""

NO_LEDGER = -1
"""The ledger of a finding in a journal, in which records of all ledgers lie."""


@attrs.frozen
class DamagedEntries:
    """Damaged entries ``first .. last`` of a ledger, or damage at a position of a journal.

    :ivar ledger_id: :data:`NO_LEDGER` for a journal.
    :ivar found_at: seconds since the epoch.
    :ivar text: file, offset and description of the damage.
    """

    ledger_id: int
    first: int
    last: int
    found_at: int
    text: str

    @property
    def key(self) -> tuple[int, int]:
        """Return ledger id and first entry id, by which lists are ordered."""
        return self.ledger_id, self.first


@attrs.frozen
class ScrubRecord:
    """The stored record of the passes over a directory.

    :ivar findings: ascending; up to the place of the present pass its own, after it those of the previous pass.
    :ivar after: ledger and first entry of the last row that the present pass has verified; None without a pass.
    :ivar ended_at: seconds since the epoch when the last whole pass ended; 0 for never.
    """

    findings: tuple[DamagedEntries, ...] = ()
    after: tuple[int, int] | None = None
    ended_at: int = 0

    def joined(self, found: Iterable[DamagedEntries]) -> "ScrubRecord":
        """Return the record with the new ones of the entries ``found`` added, as long as there is room."""
        findings = list(self.findings)
        for each in found:
            at = bisect_left(findings, each.key, key=_key_of)
            if len(findings) < MOST_FINDINGS and (at == len(findings) or findings[at].key != each.key):
                findings.insert(at, each)
        return attrs.evolve(self, findings=tuple(findings))


def _key_of(found: DamagedEntries) -> tuple[int, int]:
    return found.key


def damage_now(index: IRunIndex, damage: LogDamageError, now: int) -> DamagedEntries | None:
    """Return the damage of a row that failed, or None if the row has moved since, or its ledger was deleted.

    :param damage: of the row.
    :param now: seconds since the epoch.
    """
    row = index.find(damage.ledger_id, damage.first)
    if row is None or (row.first, row.last, row.log_id) != (damage.first, damage.last, damage.log_id):
        return None
    return DamagedEntries(damage.ledger_id, damage.first, damage.last, now, str(damage))


_NOTHING = ScrubRecord()


class Scrub:
    """One pass over a ledger directory, which verifies its rows step by step on the maintenance lane.

    :ivar cutter: returns the steps to read.
    :ivar record: to be stored during the pass.
    :param now: seconds since the epoch, for the findings.
    :param record: of earlier passes; a pass that has a place is continued.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, now: int, record: ScrubRecord = _NOTHING) -> None:
        after = record.after or (-1, -1)
        self.record = attrs.evolve(record, after=after)
        self._directory = directory
        self._reader = RowReader(fs, directory, DiskQueue())
        self._now = now
        self.cutter = RowCutter(directory.index, after)

    def read(self, step: Step) -> list[DamagedEntries]:
        """Verify the pieces of a step; pass the returned damage to :meth:`take`.

        :raises OSError: the disk failed in another way than by unreadable places.
        """
        found: list[DamagedEntries] = []
        failed: IndexRow | None = None
        self._reader.begin(step)
        self._reader.load(step)
        for piece in step.pieces:
            if piece.row is failed:
                continue
            try:
                self._reader.take(piece)
            except LogDamageError as damage:
                failed = piece.row
                damaged = damage_now(self._directory.index, damage, self._now)
                found += [damaged] if damaged is not None else []
                self.cutter.skip(piece.row)
        return found

    def take(self, found: Sequence[DamagedEntries]) -> Sequence[DamagedEntries]:
        """Replace the findings of the previous pass, as far as this pass has come, by the damage ``found``.

        :returns: the damage for which the record had room.
        """
        before, last = self.record, self.cutter.after
        passed = before.after or (-1, -1)
        kept = [each for each in before.findings if not passed < each.key <= last]
        found = found[: MOST_FINDINGS - len(kept)]
        self.record = attrs.evolve(before, findings=tuple(kept), after=last).joined(found)
        return found

    def ended(self, now: int) -> ScrubRecord:
        """Return the record of the completed pass.

        :param now: seconds since the epoch.
        """
        passed = self.record.after or (-1, -1)
        return ScrubRecord(tuple(each for each in self.record.findings if each.key <= passed), None, now)

    def close(self) -> None:
        """Close the logs that were read."""
        self._reader.close()
        self._reader.queue.close()


def load_record(fs: IFileSystem, directory: str) -> ScrubRecord:
    """Return the stored record of earlier passes, or an empty record if the file is missing or damaged.

    :param directory: the scrubbed directory, ``current`` included.
    :raises OSError: the file cannot be read.
    """
    path = posixpath.join(directory, FINDINGS)
    if not fs.exists(path):
        return ScrubRecord()
    file = fs.open(path)
    try:
        data = file.pread(file.size(), 0)
    finally:
        file.close()
    try:
        kept = json.loads(data)
        after = None if kept["after"] is None else (int(kept["after"][0]), int(kept["after"][1]))
        return ScrubRecord(tuple(DamagedEntries(**each) for each in kept["findings"]), after, int(kept["ended_at"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return ScrubRecord()


def save_record(fs: IFileSystem, directory: str, record: ScrubRecord) -> None:
    """Replace the stored record of a directory, durably.

    :param directory: the scrubbed directory, ``current`` included.
    :param record: of the present pass, or of the last one.
    """
    replace_file(fs, posixpath.join(directory, FINDINGS), json.dumps(attrs.asdict(record), indent=1).encode())

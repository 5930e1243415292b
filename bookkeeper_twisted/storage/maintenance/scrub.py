"""Scrubs a ledger directory: verifies all entries in its index, and keeps a list of the damaged entries on disk.

The entries are verified in the order of ledger and entry, in steps.  If the entries of an index row are damaged, the
row is looked up again.  The damage does not count if the entries were copied to another log meanwhile, or if their
ledger was deleted.  A pass over a directory may take days.  So its findings and its position are stored, and a restart
continues the pass.  Damage that compactions find is added to the same list.
"""

import json
import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import closing

import attrs

from ...errors import LogDamageError
from ..directory_storage import DirectoryStorage
from ..files.disk_queue import DiskQueue
from ..files.replace import replace_file
from ..interfaces import IFileSystem, IndexRow, IRunIndex
from .row_reader import RowCutter, RowReader, Step

FINDINGS = "damage.json"
MOST_FINDINGS = 10_000
"""Maximum number of findings (ranges of damaged entries) in the stored list.

With more damage, the disk must be replaced anyway, and a longer list would not help.
"""

NO_LEDGER = -1
"""The ledger id of damage in a journal, which has records of all ledgers."""


@attrs.frozen
class DamagedEntries:
    """Damage that a scrub found: to the entries ``first`` to ``last`` of a ledger, or to a part of a journal.

    :ivar ledger_id: the ledger; :data:`NO_LEDGER` for a journal.
    :ivar found_at: when the damage was found, in seconds since the epoch.
    :ivar text: file, offset, and what is wrong there.
    """

    ledger_id: int
    first: int
    last: int
    found_at: int
    text: str

    @property
    def key(self) -> tuple[int, int]:
        """Return the sort key: ledger id and first entry id."""
        return self.ledger_id, self.first


@attrs.frozen
class ScrubRecord:
    """The stored result of the scrubs of one ledger directory: of the present pass, and of the previous pass.

    :ivar findings: the damage found, sorted by ledger and entry.  Findings up to ``after`` are of the present pass,
        later findings of the previous pass.
    :ivar after: ledger id and first entry id of the last row that the present pass has verified; None between passes.
    :ivar ended_at: when the last complete pass ended, in seconds since the epoch; 0 before the first.
    """

    findings: tuple[DamagedEntries, ...] = ()
    after: tuple[int, int] | None = None
    ended_at: int = 0

    def joined(self, found: Iterable[DamagedEntries]) -> "ScrubRecord":
        """Return a copy to which the damaged entries in ``found`` are added, up to :data:`MOST_FINDINGS` in all."""
        findings = list(self.findings)
        for each in found:
            at = bisect_left(findings, each.key, key=_key_of)
            if len(findings) < MOST_FINDINGS and (at == len(findings) or findings[at].key != each.key):
                findings.insert(at, each)
        return attrs.evolve(self, findings=tuple(findings))


def _key_of(found: DamagedEntries) -> tuple[int, int]:
    return found.key


def damage_now(index: IRunIndex, damage: LogDamageError, now: int) -> DamagedEntries | None:
    """Return the damaged entries of an index row; None if these entries were copied or deleted meanwhile.

    :param damage: the error that the verification of the row raised.
    :param now: the present time, in seconds since the epoch.
    """
    row = index.find(damage.ledger_id, damage.first)
    if row is None or (row.first, row.last, row.log_id) != (damage.first, damage.last, damage.log_id):
        return None
    return DamagedEntries(damage.ledger_id, damage.first, damage.last, now, str(damage))


_NOTHING = ScrubRecord()


class Scrub:
    """One pass over a ledger directory: verifies all its entries in steps, on the maintenance thread.

    :ivar cutter: divides the entries into steps: those that are read and verified together.
    :ivar record: how far this pass has come, and its findings; the caller stores this from time to time.
    :param now: the present time, in seconds since the epoch, for the findings.
    :param record: the result of earlier passes; if the last one was interrupted, this scrub continues it.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, now: int, record: ScrubRecord = _NOTHING) -> None:
        after = record.after or (-1, -1)
        self.record = attrs.evolve(record, after=after)
        self._directory = directory
        self._reader = RowReader(fs, directory, DiskQueue())
        self._now = now
        self.cutter = RowCutter(directory.index, after)

    def read(self, step: Step) -> list[DamagedEntries]:
        """Verify the records of a step, and return the damage; the caller then passes the result to :meth:`take`.

        :raises OSError: the disk failed.  Unreadable bytes do not raise this error; they count as damage.
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
        """Add the damage that :meth:`read` found in the last step to the record.

        Findings of the previous pass about the same index rows are removed.

        :returns: the damage that was added; less than ``found`` if the record has too many findings.
        """
        before, last = self.record, self.cutter.after
        passed = before.after or (-1, -1)
        kept = [each for each in before.findings if not passed < each.key <= last]
        found = found[: MOST_FINDINGS - len(kept)]
        self.record = attrs.evolve(before, findings=tuple(kept), after=last).joined(found)
        return found

    def ended(self, now: int) -> ScrubRecord:
        """Return the record to store after a complete pass.

        :param now: the present time, in seconds since the epoch.
        """
        passed = self.record.after or (-1, -1)
        return ScrubRecord(tuple(each for each in self.record.findings if each.key <= passed), None, now)

    def close(self) -> None:
        """Close the entry logs."""
        self._reader.close()
        self._reader.queue.close()


def load_record(fs: IFileSystem, directory: str) -> ScrubRecord:
    """Return the stored progress and findings of the scrubs of a ledger directory.

    If they are missing or damaged, return an empty record.

    :param directory: path of the ledger directory, ending in ``current``.
    :raises OSError: the file cannot be read.
    """
    path = posixpath.join(directory, FINDINGS)
    if not fs.exists(path):
        return ScrubRecord()
    with closing(fs.open(path)) as file:
        data = file.pread(file.size(), 0)
    try:
        kept = json.loads(data)
        after = None if kept["after"] is None else (int(kept["after"][0]), int(kept["after"][1]))
        return ScrubRecord(tuple(DamagedEntries(**each) for each in kept["findings"]), after, int(kept["ended_at"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return ScrubRecord()


def save_record(fs: IFileSystem, directory: str, record: ScrubRecord) -> None:
    """Store the progress and the findings of the scrubs of a ledger directory; durable on return.

    :param directory: path of the ledger directory, ending in ``current``.
    :param record: the progress and findings, which replace the stored ones.
    """
    replace_file(fs, posixpath.join(directory, FINDINGS), json.dumps(attrs.asdict(record), indent=1).encode())

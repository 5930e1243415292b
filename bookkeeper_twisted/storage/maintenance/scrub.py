"""Verifies everything an index refers to, and keeps a durable list of the damage.

Rows are read in the order of ledger and entry, piece by piece.  A row that fails is looked up again: if it lies
elsewhere by now, or its ledger was deleted, nothing is damaged.  A pass may take days: what it has found, and how far
it has come, outlives the process, and the next process goes on there.
"""

import json
import posixpath

import attrs

from ...errors import DamageError
from ..directory_storage import DirectoryStorage
from ..interfaces import IFileSystem, IndexRow
from ..replace import replace_file
from .row_reader import RowCutter, RowReader, Step

FINDINGS = "damage.json"
MOST_FINDINGS = 10_000
"""Findings that are kept: a disk that is damaged all over is to be replaced, not to be listed."""

NO_LEDGER = -1
"""The ledger of a finding in a journal, in which records of all ledgers lie."""


@attrs.frozen
class DamagedEntries:
    """Entries ``first .. last`` of a ledger that cannot be read as they were written, or a place of a journal.

    :ivar ledger_id: :data:`NO_LEDGER` for a journal.
    :ivar found_at: seconds since the epoch.
    :ivar text: file, offset and what is wrong.
    """

    ledger_id: int
    first: int
    last: int
    found_at: int
    text: str


@attrs.frozen
class ScrubRecord:
    """The record of the passes over a directory, as it is stored.

    :ivar findings: ascending; up to the place of a pass at work they are its own, behind it those of the one before.
    :ivar after: ledger and first entry of the last row that a pass at work has verified; None if none is at work.
    :ivar ended_at: seconds since the epoch when the last whole pass ended; 0 for never.
    """

    findings: tuple[DamagedEntries, ...] = ()
    after: tuple[int, int] | None = None
    ended_at: int = 0


class Scrub:
    """One pass over a ledger directory.  Maintenance lane.

    :ivar cutter: gives the steps to read.
    :ivar findings: so far.
    :param now: seconds since the epoch, for what is found.
    :param record: of the passes before; one that has a place is continued.  None: there was none.
    """

    def __init__(
        self, fs: IFileSystem, directory: DirectoryStorage, now: int, record: ScrubRecord | None = None
    ) -> None:
        record = record or ScrubRecord()
        place = record.after or (-1, -1)
        self.findings = [each for each in record.findings if (each.ledger_id, each.first) <= place]
        self._before = record
        self._directory = directory
        self._reader = RowReader(fs, directory)
        self._now = now
        self.cutter = RowCutter(directory.index, place)

    @property
    def record(self) -> ScrubRecord:
        """Return the record to be kept while the pass is at work; between two steps."""
        place = self.cutter.after
        later = [each for each in self._before.findings if (each.ledger_id, each.first) > place]
        return ScrubRecord((*self.findings, *later), place, self._before.ended_at)

    def read(self, step: Step) -> None:
        """Verify the pieces of a step; damage is added to the findings.

        :raises OSError: the disk failed in another way than that it cannot read some places.
        """
        failed: IndexRow | None = None
        self._reader.begin(step)
        self._reader.load(step)
        for piece in step.pieces:
            if piece.row is failed:
                continue
            try:
                self._reader.take(piece)
            except DamageError as error:
                failed = piece.row
                self._found(piece.row, str(error))
                self.cutter.skip(piece.row)

    def _found(self, row: IndexRow, text: str) -> None:
        if self._directory.index.find(row.ledger_id, row.first) == row and len(self.findings) < MOST_FINDINGS:
            self.findings.append(DamagedEntries(row.ledger_id, row.first, row.last, self._now, text))

    def close(self) -> None:
        """Close the logs that were read."""
        self._reader.close()


def load_record(fs: IFileSystem, directory: str) -> ScrubRecord:
    """Return what was kept of the passes before; nothing if there was none, or if the file is damaged.

    :param directory: that was scrubbed, ``current`` included.
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
    except (ValueError, TypeError, LookupError):
        return ScrubRecord()


def save_record(fs: IFileSystem, directory: str, record: ScrubRecord) -> None:
    """Replace what is kept of the passes over a directory, durably.

    :param directory: that is scrubbed, ``current`` included.
    :param record: of the pass at work, or of the one that has ended.
    """
    replace_file(fs, posixpath.join(directory, FINDINGS), json.dumps(attrs.asdict(record), indent=1).encode())

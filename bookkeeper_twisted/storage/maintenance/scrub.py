"""Verifies everything an index refers to, and keeps a durable list of the damage.

Rows are read in the order of ledger and entry, piece by piece.  A row that fails is looked up again: if it lies
elsewhere by now, or its ledger was deleted, nothing is damaged.
"""

import json
import posixpath
from collections.abc import Sequence

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


class Scrub:
    """One pass over a ledger directory.  Maintenance lane.

    :ivar cutter: gives the steps to read.
    :ivar findings: so far.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, now: int) -> None:
        self.findings: list[DamagedEntries] = []
        self._directory = directory
        self._reader = RowReader(fs, directory)
        self._now = now
        self.cutter = RowCutter(directory.index)

    def read(self, step: Step) -> None:
        """Verify the pieces of a step; damage is added to the findings.

        :raises OSError: the disk failed in another way than that it cannot read some places.
        """
        failed: IndexRow | None = None
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


def load_findings(fs: IFileSystem, directory: str) -> list[DamagedEntries]:
    """Return the findings of the last pass; none if there was none, or if their file is damaged.

    :param directory: that was scrubbed, ``current`` included.
    :raises OSError: the file cannot be read.
    """
    path = posixpath.join(directory, FINDINGS)
    if not fs.exists(path):
        return []
    file = fs.open(path)
    try:
        data = file.pread(file.size(), 0)
    finally:
        file.close()
    try:
        return [DamagedEntries(**each) for each in json.loads(data)]
    except (ValueError, TypeError):
        return []


def save_findings(fs: IFileSystem, directory: str, findings: Sequence[DamagedEntries]) -> None:
    """Replace the findings of a directory, durably; a file is made with the first.

    :param directory: that was scrubbed, ``current`` included.
    :param findings: of the whole pass.
    """
    path = posixpath.join(directory, FINDINGS)
    if findings or fs.exists(path):
        replace_file(fs, path, json.dumps([attrs.asdict(each) for each in findings], indent=1).encode())

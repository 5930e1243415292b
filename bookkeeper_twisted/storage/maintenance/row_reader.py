"""Reads the bytes of index rows piece by piece and verifies each row that is whole.

Reads go past the page cache: what is verified is what the disk holds, the pages of clients' readers stay in memory,
and a limiter that is charged the pages of each piece is charged what the disk reads.  Read-ahead would fetch several
times that, of ledgers that are not wanted or dead.
"""

import struct
from collections.abc import Sequence

import attrs

from ...errors import LogDamageError
from ...model import EntryRun
from ..directory_storage import DirectoryStorage
from ..index.rows import first_bad_block, record_offsets, row_bytes
from ..interfaces import IFile, IFileSystem, IndexRow

STEP_BYTES = 1024 * 1024
"""Bytes that one step reads, at most."""

PAGE = 4096

_HEAD = struct.Struct(">iqq")  # size word, ledgerId, entryId


@attrs.frozen
class Piece:
    """Bytes ``start .. start + size`` of a row."""

    row: IndexRow
    start: int
    size: int
    ends_row: bool


@attrs.frozen
class Step:
    """What is read by one call.

    :ivar n_bytes: of the pieces.
    :ivar n_entries: of the rows that end in it.
    """

    pieces: Sequence[Piece]
    n_bytes: int
    n_entries: int

    @property
    def n_disk_bytes(self) -> int:
        """Bytes that a disk reads for it: whole pages."""
        total = 0
        for piece in self.pieces:
            start = piece.row.offset + piece.start
            total += (start + piece.size + PAGE - 1) // PAGE * PAGE - start // PAGE * PAGE
        return total


def next_piece(row: IndexRow, start: int, room: int) -> Piece:
    """The next bytes of a row, up to ``room``; where more follow, they begin with a page, which is read once."""
    left, begin = row_bytes(row) - start, row.offset + start
    if left <= room:
        return Piece(row, start, left, True)
    whole_pages = (begin + room) // PAGE * PAGE - begin
    return Piece(row, start, whole_pages if whole_pages > 0 else room, False)


class RowReader:
    """Reads the pieces of one row after the other; keeps the logs open that it meets.  Maintenance lane."""

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage) -> None:
        self._fs = fs
        self._directory = directory
        self._files: dict[int, IFile] = {}
        self._parts: list[bytes] = []

    def read(self, piece: Piece) -> EntryRun | None:
        """The whole row, verified, if this was its last piece.

        :raises LogDamageError: the log doesn't hold what its index says.
        :raises OSError: it cannot be read.
        """
        row = piece.row
        if not piece.start:
            self._parts = []
        data = self._file(row).pread(piece.size, row.offset + piece.start)
        if len(data) != piece.size:
            raise self._damage(row, f"the file ends after {len(data)} of {piece.size} bytes")
        self._parts.append(data)
        if not piece.ends_row:
            return None
        parts, self._parts = self._parts, []
        return self._verified(row, parts[0] if len(parts) == 1 else b"".join(parts))

    def _verified(self, row: IndexRow, data: bytes) -> EntryRun:
        offsets = record_offsets(row)
        count = row.last - row.first + 1
        if isinstance(row.sizes, int):
            run = EntryRun(row.ledger_id, row.first, count, data, row.sizes)
        else:
            run = EntryRun(row.ledger_id, row.first, count, data, 0, offsets)
        if row.checksums:
            if first_bad_block(row, len(data), 0, data) is not None or not run.ids_match():
                raise self._damage(row, "a block does not match its checksum")
        elif any(
            _HEAD.unpack_from(data, offsets[i]) != (offsets[i + 1] - offsets[i] - 4, row.ledger_id, row.first + i)
            for i in range(count)
        ):
            raise self._damage(row, "a record is not the entry it should be")
        return run

    def _file(self, row: IndexRow) -> IFile:
        file = self._files.get(row.log_id)
        if file is None:
            try:
                file = self._fs.open(self._directory.reader.path(row.log_id), direct=True)
            except FileNotFoundError as e:
                raise self._damage(row, "the file is missing") from e
            self._files[row.log_id] = file
        return file

    def _damage(self, row: IndexRow, what: str) -> LogDamageError:
        path = self._directory.reader.path(row.log_id)
        where = f"{path} offset {row.offset}: ledger {row.ledger_id} entries {row.first}..{row.last}"
        return LogDamageError(f"{where}: {what}", row.log_id)

    def close(self) -> None:
        """Close all files."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

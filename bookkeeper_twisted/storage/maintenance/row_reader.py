"""Reads the records of index rows from entry logs, and verifies each row as a whole.

The records are read in steps of limited size, in the order of ledger and entry.  A step reads several *pieces*: a piece
is the records of one index row, or a part of them.  Pieces that are adjacent in a log are read by one call.

Reads bypass the page cache, for three reasons.  The bytes on the disk are verified, and not a copy in memory.  The
pages that clients read stay in the page cache.  And a rate limiter can count the exact number of bytes that the disk
reads, because there is no read-ahead by the kernel.
"""

import errno
import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence

import attrs

from ...crc32c import Buffer
from ...errors import LogDamageError
from ..directory_storage import DirectoryStorage
from ..files.disk_queue import DiskQueue, FileRange
from ..index.rows import first_bad_block, record_offsets, row_bytes
from ..interfaces import IFile, IFileSystem, IndexRow, IRunIndex

STEP_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes of the records of index rows that are read together (in one step)."""

EXTENT_BYTES = 1024 * 1024
"""Maximum number of bytes of one read, unless a single piece (records of an index row) is longer."""

PASSED_OVER = 8 * 1024
"""If at most this many unneeded bytes lie between two pieces (records of index rows), both pieces are read by one call.

To read the unneeded bytes, too, takes less time than a second call.
"""

PAGE = 4096

_ROWS = 500  # number of index rows that one query reads from the index

_UNREADABLE = (errno.EIO, errno.ENOENT)
_HEAD = struct.Struct(">iqq")  # the head of a record: size, ledger id, entry id


VerifiedRow = tuple[IndexRow, Buffer]
"""An index row, and the bytes of its verified records."""


@attrs.frozen
class RowPiece:
    """A part of the records of an index row that is read in one step.

    :ivar start: offset of the part from the beginning of the row's first record, in bytes.
    :ivar size: number of bytes of the part.
    :ivar ends_row: whether it is the last part of the row.
    """

    row: IndexRow
    start: int
    size: int
    ends_row: bool

    @property
    def offset(self) -> int:
        """Return the offset of the part in its entry log."""
        return self.row.offset + self.start


@attrs.frozen
class Extent:
    """Adjacent pages of an entry log, from offset ``start`` to ``end``, that are read by one call."""

    log_id: int
    start: int
    end: int


@attrs.frozen
class Step:
    """A step of the reads: the pieces that are read together.

    A piece is the records of an index row, or a part of these records.

    :ivar n_bytes: number of bytes of all pieces.
    :ivar n_entries: number of entries of all index rows of which this step has the last piece.
    :ivar extents: the pages to read, sorted by log and offset.
    """

    pieces: Sequence[RowPiece]
    n_bytes: int
    n_entries: int
    extents: Sequence[Extent]

    @classmethod
    def of(cls, pieces: Sequence[RowPiece], passed_over: int) -> "Step | None":
        """Return a step that reads the given ``pieces`` (parts of index rows), or None if there are none.

        :param passed_over: maximum number of unneeded bytes between two pieces that are read by one call.
        """
        if not pieces:
            return None
        ended = [piece.row for piece in pieces if piece.ends_row]
        n_entries = sum(row.last - row.first + 1 for row in ended)
        return cls(pieces, sum(piece.size for piece in pieces), n_entries, extents_of(pieces, passed_over))

    @property
    def n_disk_bytes(self) -> int:
        """Return the number of bytes that the disk reads for the step: all bytes of its pages."""
        return sum(extent.end - extent.start for extent in self.extents)


def extents_of(pieces: Sequence[RowPiece], passed_over: int) -> list[Extent]:
    """Return the pages of entry logs that contain ``pieces`` (parts of index rows), sorted by log and offset.

    :param passed_over: maximum number of unneeded bytes between two pieces that are read by one call.
    """
    found: list[Extent] = []
    for log_id, offset, size in sorted((piece.row.log_id, piece.offset, piece.size) for piece in pieces):
        start, end = offset // PAGE * PAGE, -(-(offset + size) // PAGE) * PAGE
        last = found[-1] if found else None
        if (
            last is not None
            and last.log_id == log_id
            and start - last.end <= passed_over
            and max(end, last.end) - last.start <= EXTENT_BYTES
        ):
            found[-1] = Extent(log_id, last.start, max(end, last.end))
        else:
            found.append(Extent(log_id, start, end))
    return found


def next_piece(row: IndexRow, start: int, room: int) -> RowPiece:
    """Return the next piece of an index row: the part of its records to read next.

    A piece that is not the last one of its row ends at the end of a page, so that no page is read twice.

    :param start: number of bytes of the row that earlier pieces have read.
    :param room: maximum number of bytes of the piece.
    """
    left, begin = row_bytes(row) - start, row.offset + start
    if left <= room:
        return RowPiece(row, start, left, True)
    whole_pages = (begin + room) // PAGE * PAGE - begin
    return RowPiece(row, start, whole_pages if whole_pages > 0 else room, False)


class RowCutter:
    """Divides the records of all index rows into steps of limited size; called on the maintenance thread.

    A step is the records that are read together.  A long index row may be divided into pieces, for several steps.

    :ivar after: ledger id and first entry id of the last row that the steps so far contain completely.
    :ivar is_last: whether the steps so far contain all rows of the index.
    :param after: ledger id and first entry id of the row after which to begin.
    :param sources: ids of the entry logs; rows that refer to other logs are left out.  None for all logs.
    """

    def __init__(
        self, index: IRunIndex, after: tuple[int, int] = (-1, -1), sources: Sequence[int] | None = None
    ) -> None:
        self.after = after
        self.is_last = False
        self._index = index
        self._sources = sources
        self._ahead: deque[IndexRow] = deque()
        self._page_after = after
        self._start = 0

    def next_step(self, max_bytes: int = STEP_BYTES, passed_over: int = 0) -> Step | None:
        """Return the records to read next; None if none is left.

        :param passed_over: two pieces (records of index rows) with at most this number of unneeded bytes between them
            are read by one call.
        :param max_bytes: maximum number of bytes of all pieces.
        :raises bookkeeper_twisted.errors.DamageError: an index row is damaged.
        """
        pieces: list[RowPiece] = []
        n_bytes = 0
        while n_bytes < max_bytes and (row := self._next_row()) is not None:
            piece = next_piece(row, self._start, max_bytes - n_bytes)
            pieces.append(piece)
            n_bytes += piece.size
            if not piece.ends_row:
                self._start += piece.size
                break
            self._end_row()
        return Step.of(pieces, passed_over)

    def _next_row(self) -> IndexRow | None:
        if not self._ahead:
            self._ahead.extend(self._index.page(self._page_after, _ROWS, self._sources))
            if not self._ahead:
                self.is_last = True
                return None
            self._page_after = self._ahead[-1].ledger_id, self._ahead[-1].first
        return self._ahead[0]

    def _end_row(self) -> None:
        row = self._ahead.popleft()
        self.after = row.ledger_id, row.first
        self._start = 0

    def skip(self, row: IndexRow) -> None:
        """Do not read the rest of an index ``row`` if the last step ended inside this row.

        The caller has found damage in the records that the step contains.
        """
        if self._start and self._ahead[0] is row:
            self._end_row()


class RowReader:
    """Reads and verifies the records of index rows, in steps, on the maintenance thread.

    A step is the records that are read together: those of several index rows, or of a part of a long row.

    :meth:`close` closes the entry logs that were read.

    :ivar queue: the disk queue for the reads.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, queue: DiskQueue) -> None:
        self._fs = fs
        self._directory = directory
        self._files: dict[int, IFile] = {}
        self._parts: list[Buffer] = []
        self.queue = queue
        self._loaded: dict[int, tuple[list[int], list[memoryview | None]]] = {}

    def begin(self, step: Step) -> None:
        """Begin to read the pages of a step, without waiting for the disk; :meth:`load` waits.

        :raises OSError: an entry log cannot be opened.
        """
        opened = [extent for extent in step.extents if self._exists(extent.log_id)]
        self.queue.begin([
            FileRange(self._file(extent.log_id), extent.start, extent.end - extent.start) for extent in opened
        ])  # fmt: skip

    def _exists(self, log_id: int) -> bool:
        return log_id in self._files or self._fs.exists(self._directory.reader.path(log_id))

    def load(self, step: Step) -> None:
        """Wait until the pages of a step are read.

        After this call, the caller calls :meth:`take` for each piece (records of an index row) of the step, in order.

        :param step: the step; steps must be loaded in the order in which :meth:`begin` was called for them.
        :raises OSError: the disk failed.  Unreadable bytes do not raise this error; :meth:`take` reports them.
        """
        self._loaded = {}
        found = iter(self.queue.take())
        for extent in step.extents:
            data = next(found) if extent.log_id in self._files else None
            if isinstance(data, OSError) and data.errno not in _UNREADABLE:
                raise data
            starts, datas = self._loaded.setdefault(extent.log_id, ([], []))
            starts.append(extent.start)
            datas.append(None if isinstance(data, OSError) else data)

    def verified(self, step: Step) -> list[VerifiedRow]:
        """Wait until the records of a step are read, and verify them.

        :param step: the step; steps must be passed in the order in which :meth:`begin` was called for them.
        :returns: the index rows, with their records, of which this step contains the last record.  The rest of a long
            row is in a later step.
        :raises LogDamageError: a log does not have the records that its index row describes.
        :raises OSError: an entry log cannot be read.
        """
        self.load(step)
        return [(piece.row, data) for piece in step.pieces if (data := self.take(piece)) is not None]

    def take(self, piece: RowPiece) -> Buffer | None:
        """Add ``piece``, a part of the records of an index row, to the earlier pieces of this row.

        If it is the last piece of the row, verify and return all records; else return None.  The returned buffer is
        valid until the next call of :meth:`load`.

        :raises LogDamageError: the log does not have the records that the index row describes, or they are unreadable.
        """
        if not piece.start:
            self._parts = []
        data = self._bytes_of(piece)
        if not piece.ends_row:
            self._parts.append(bytes(data))
            return None
        if self._parts:
            data = b"".join([*self._parts, data])
            self._parts = []
        self._verify(piece.row, data)
        return data

    def _bytes_of(self, piece: RowPiece) -> Buffer:
        starts, datas = self._loaded[piece.row.log_id]
        index = bisect_right(starts, piece.offset) - 1
        data, start = datas[index], piece.offset - starts[index]
        found = self._read_alone(piece) if data is None else data[start : start + piece.size]
        if len(found) != piece.size:
            raise self._damage(piece.row, f"the file ends after {len(found)} of {piece.size} bytes")
        return found

    def _read_alone(self, piece: RowPiece) -> bytes:
        try:
            return self._file(piece.row.log_id).pread(piece.size, piece.offset)
        except FileNotFoundError as error:
            raise self._damage(piece.row, "the file is missing") from error
        except OSError as error:
            if error.errno not in _UNREADABLE:
                raise
            raise self._damage(piece.row, f"the disk cannot read it: {error.strerror}") from error

    def _verify(self, row: IndexRow, data: Buffer) -> None:
        """Verify the records of an index row by its checksums, and by the heads of its first and last record.

        If the row has no checksums, the head of every record is verified: size, ledger id and entry id.
        """
        offsets = record_offsets(row)
        count = row.last - row.first + 1
        if first_bad_block(row, len(data), 0, data) is not None:
            raise self._damage(row, "a block does not match its checksum")
        for i in (0, count - 1) if row.checksums else range(count):
            start = offsets[i]
            head = _HEAD.pack(offsets[i + 1] - start - 4, row.ledger_id, row.first + i)
            if data[start : start + _HEAD.size] != head:
                raise self._damage(row, "a record is not the entry it should be")

    def _file(self, log_id: int) -> IFile:
        file = self._files.get(log_id)
        if file is None:
            file = self._files[log_id] = self._fs.open(self._directory.reader.path(log_id), direct=True)
        return file

    def _damage(self, row: IndexRow, what: str) -> LogDamageError:
        path = self._directory.reader.path(row.log_id)
        where = f"{path} offset {row.offset}: ledger {row.ledger_id} entries {row.first}..{row.last}"
        return LogDamageError(f"{where}: {what}", row.log_id, row.ledger_id, row.first, row.last)

    def close(self) -> None:
        """Wait for the reads in progress, then close all entry logs."""
        self.queue.reset()
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

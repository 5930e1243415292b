"""Copies the live entries of sealed (completed) entry logs to new logs.

The records of an index row are copied together.  Index rows are copied in the order of ledger and entry, and
consecutive rows of a ledger are joined to one row.  Only records that were verified are copied, so that damage is never
copied.
"""

import posixpath
import struct
from collections import deque

from ...crc32c import Buffer, crc32c_of_block
from ..cache.write_cache import JOIN_BYTES, JOIN_ENTRIES
from ..directory_storage import DirectoryStorage
from ..entry_log.writer import OpenLog, create_log
from ..files.disk_queue import DiskQueue
from ..interfaces import CHECKSUM_BLOCK, IFileSystem, IndexRow
from ..ledger_dirs import entry_log_name
from .log_space import UNFINISHED_SUFFIX
from .row_reader import VerifiedRow

MOST_ROWS = 50_000
"""Maximum number of index rows of one new log, because they are all in memory until they are committed to the index."""


class _JoinedRow:
    """An index row for a new log that is built by joining consecutive index rows of old logs.

    :param head: the first of the old index rows.  The caller must call :meth:`append` for each old row, even this one.
    :param offset: offset of the first record in the new log.
    """

    def __init__(self, head: IndexRow, offset: int) -> None:
        self._ledger_id, self._first, self._last = head.ledger_id, head.first, head.first - 1
        self._offset = offset
        # for each old index row that was joined to this one: the field ``sizes``, and the number of records
        self._sizes: list[tuple[int | bytes, int]] = []
        self._n_bytes = 0
        self._checksums: list[int] = []  # CRC32C of each complete block
        self._checksum = 0  # CRC32C of the last block, while it is incomplete

    def takes(self, row: IndexRow, n_bytes: int) -> bool:
        """Test whether the index ``row``, with ``n_bytes`` bytes of records, can be joined to the end of this row."""
        return (
            (row.ledger_id, row.first) == (self._ledger_id, self._last + 1)
            and self._n_bytes + n_bytes <= JOIN_BYTES
            and row.last - self._first < JOIN_ENTRIES
        )

    def append(self, row: IndexRow, data: Buffer) -> None:
        """Add the index ``row``, whose records are the bytes ``data``, at the end of this row."""
        self._sizes.append((row.sizes, row.last - row.first + 1))
        self._last = row.last
        view = memoryview(data)
        while view:
            block = view[: CHECKSUM_BLOCK - self._n_bytes % CHECKSUM_BLOCK]
            view = view[len(block) :]
            self._checksum = crc32c_of_block(block, self._checksum)
            self._n_bytes += len(block)
            if not self._n_bytes % CHECKSUM_BLOCK:
                self._checksums.append(self._checksum)
                self._checksum = 0

    def row(self, log_id: int) -> IndexRow:
        """Return the joined row as an index row of the entry log ``log_id``."""
        checksums = self._checksums + ([self._checksum] if self._n_bytes % CHECKSUM_BLOCK else [])
        packed = struct.pack(f">{len(checksums)}I", *checksums)
        return IndexRow(self._ledger_id, self._first, self._last, log_id, self._offset, self._joined_sizes(), packed)

    def _joined_sizes(self) -> int | bytes:
        different = {sizes for sizes, _ in self._sizes}
        if len(different) == 1 and isinstance(size := different.pop(), int):
            return size
        return b"".join([
            struct.pack(">I", sizes) * count if isinstance(sizes, int) else sizes for sizes, count in self._sizes
        ])  # fmt: skip


class LogCopy:
    """A new entry log to which a compaction copies live entries.

    All methods are called on the maintenance thread; at the end, call :meth:`finish` or :meth:`abandon`.

    :ivar log_id: the id of the new log.
    :param queue: the disk queue through which the new log is written.
    """

    def __init__(
        self, fs: IFileSystem, directory: DirectoryStorage, log_id: int, queue: DiskQueue, most_rows: int = MOST_ROWS
    ) -> None:  # fmt: skip
        self.log_id = log_id
        self._fs = fs
        self._directory = directory
        self._path = posixpath.join(directory.path, entry_log_name(log_id))
        self._log: OpenLog | None = create_log(
            fs, log_id, self._path + UNFINISHED_SUFFIX, directory.log.direct, queue, directory.log.size_limit
        )
        self._most_rows = most_rows
        self._rows: list[_JoinedRow] = []

    def write(self, rows: deque[VerifiedRow]) -> None:
        """Copy records to the new log until it is full; remove the index rows of the copied records from ``rows``."""
        log = self._log
        assert log is not None
        while rows and self._make_room(log, *rows[0]):
            row, data = rows.popleft()
            self._rows[-1].append(row, data)
            log.append_records(row.ledger_id, data)
        log.write_blocks()

    def _make_room(self, log: OpenLog, row: IndexRow, data: Buffer) -> bool:
        """Prepare to append the records of an index row; return False if the log has no room for them.

        If ``row`` does not continue the last index row of the new log, begin another index row there.

        :param row: the index row to copy.
        :param data: the records of the row.
        """
        if log.has_records and log.position + len(data) > self._directory.log.size_limit:
            return False
        if not self._rows or not self._rows[-1].takes(row, len(data)):
            if len(self._rows) >= self._most_rows:
                return False
            self._rows.append(_JoinedRow(row, log.position))
        return True

    def finish(self) -> list[IndexRow]:
        """Sync the new log, then rename it to its final name and sync the directory.

        Index rows may refer to the log only after that.

        :returns: the index rows of the copies, which the caller commits to the index.
        """
        assert self._log is not None
        self._log.seal_unnamed(self._fs)
        self._log.file.close()
        self._fs.rename(self._path + UNFINISHED_SUFFIX, self._path)
        self._log = None
        self._fs.sync_directory(self._directory.path)
        return [row.row(self.log_id) for row in self._rows]

    def abandon(self) -> None:
        """Delete the new log, unless it is finished."""
        log, self._log = self._log, None
        if log is None:
            return
        log.file.close()
        if self._fs.exists(self._path + UNFINISHED_SUFFIX):
            self._fs.unlink(self._path + UNFINISHED_SUFFIX)
            self._fs.sync_directory(self._directory.path)

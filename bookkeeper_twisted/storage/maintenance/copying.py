"""Copies the live runs of some sealed entry logs into a new one.

Rows are taken in the order of ledger and entry, and a row is copied whole: one read of a contiguous piece, however
many entries it has.  Rows that follow each other in their ledger become one.  Every byte is verified before it is
written, by the row's checksums or, where it has none, by the head of each record, so damage is never copied.

The disk reads a step, and writes the ones before, while one is verified.
"""

import posixpath
from collections.abc import Sequence

from ...model import EntryRun
from ..cache import JOIN_BYTES, JOIN_ENTRIES
from ..directory_storage import DirectoryStorage
from ..entry_log.writer import OpenLog, create_log
from ..index.rows import row_bytes
from ..interfaces import IFileSystem, IndexRow
from ..ledger_dirs import entry_log_name
from .log_space import UNFINISHED_SUFFIX
from .row_reader import RowCutter, RowReader, Step

MOST_ROWS = 50_000
"""Rows of one new log: they are in memory until the index has them."""


class LogCopy:
    """Writes one new entry log of live entries.  Maintenance lane; to be ended by :func:`finish` or :meth:`abandon`.

    :ivar log_id: of the new log.
    :ivar cutter: gives the steps to read; None from it ends this log, and the next copy goes on behind its last row.
    :ivar rows: of the new log, for the index once :func:`finish` has returned.
    :ivar waiting_bytes: verified, to be written by the next :meth:`write`; ``waiting_entries`` of them.
    :param sources: the logs that are copied.
    :param reader: of them, in which no step is begun.
    """

    def __init__(
        self, fs: IFileSystem, directory: DirectoryStorage, sources: Sequence[int], reader: RowReader, log_id: int,
        after: tuple[int, int] = (-1, -1), most_rows: int = MOST_ROWS,
    ) -> None:  # fmt: skip
        self.log_id = log_id
        self.rows: list[IndexRow] = []
        self.waiting_bytes = self.waiting_entries = 0
        self._fs = fs
        self._directory = directory
        self._path = posixpath.join(directory.path, entry_log_name(log_id))
        self._log: OpenLog | None = create_log(
            fs, log_id, self._path + UNFINISHED_SUFFIX, directory.log.direct, reader.queue, directory.log.size_limit
        )
        self._reader = reader
        self.cutter = RowCutter(directory.index, after, tuple(sources), self._admits)
        self._group: list[EntryRun] = []
        self._group_bytes = self._group_entries = 0
        self._ready: list[list[EntryRun]] = []
        self._room = directory.log.size_limit - self._log.position
        self._most_rows = most_rows
        self._taken = 0

    def _admits(self, row: IndexRow) -> bool:
        """Gives a row its place, unless the new log is full."""
        n_bytes = row_bytes(row)
        if self._taken >= self._most_rows or (self._taken and n_bytes > self._room):
            return False
        self._taken += 1
        self._room -= n_bytes
        return True

    # -- read and write --

    def begin(self, step: Step) -> None:
        """Begin to read a step, which :meth:`read` waits for.

        :raises OSError: a log cannot be opened.
        """
        self._reader.begin(step)

    def read(self, step: Step) -> None:
        """Take the pieces of the step that was begun first, and verify the rows that are whole by now.

        :raises LogDamageError: a log doesn't hold what its index says.
        :raises OSError: it cannot be read.
        """
        self._reader.load(step)
        for piece in step.pieces:
            run = self._reader.take(piece)
            if run is not None:
                self._take(run)

    def _take(self, run: EntryRun) -> None:
        """Puts a run behind the one it follows, or begins another group."""
        group = self._group
        follows = group and (group[-1].ledger_id, group[-1].last + 1) == (run.ledger_id, run.first)
        fits = self._group_bytes + run.size <= JOIN_BYTES and self._group_entries + run.count <= JOIN_ENTRIES
        if group and not (follows and fits):
            self._end_group()
        self._group.append(run)
        self._group_bytes += run.size
        self._group_entries += run.count

    def _end_group(self) -> None:
        if self._group:
            self._ready.append(self._group)
            self.waiting_bytes += self._group_bytes
            self.waiting_entries += self._group_entries
            self._group, self._group_bytes, self._group_entries = [], 0, 0

    def end_reading(self) -> None:
        """Nothing more is read: what is left is to be written."""
        self._end_group()

    def write(self) -> None:
        """Append what is verified to the new log."""
        assert self._log is not None
        ready, self._ready = self._ready, []
        self.waiting_bytes = self.waiting_entries = 0
        for group in ready:
            self.rows.append(self._log.append(EntryRun.join(group)))

    # -- the end --

    def name(self) -> None:
        """Make the new log durable, then give it its name; see :func:`finish`."""
        assert self._log is not None
        self._log.seal_unnamed(self._fs)
        self._log.file.close()
        self._fs.rename(self._path + UNFINISHED_SUFFIX, self._path)
        self._log = None

    def abandon(self) -> None:
        """Remove the new log unless it is finished."""
        log, self._log = self._log, None
        if log is None:
            return
        log.file.close()
        if self._fs.exists(self._path + UNFINISHED_SUFFIX):
            self._fs.unlink(self._path + UNFINISHED_SUFFIX)
            self._fs.sync_directory(self._directory.path)


def finish(fs: IFileSystem, directory: str, copies: Sequence[LogCopy]) -> None:
    """Make new logs durable under their names, before anything refers to them (S8).  Maintenance lane.

    :param directory: the ledger directory, ``current`` included.
    :param copies: in which everything is written.
    """
    for copy in copies:
        if copy.rows:
            copy.name()
        else:
            copy.abandon()
    fs.sync_directory(directory)

"""The disk space of the entry logs of one ledger directory: lists, measures and removes logs."""

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ...errors import DamageError
from ..directory_storage import DirectoryStorage
from ..entry_log import format as layout
from ..entry_log.scan import LogScan
from ..interfaces import IFileSystem
from ..ledger_dirs import ENTRY_LOG_SUFFIX, entry_log_ids, entry_log_name
from .plan import LogUsage

UNFINISHED_SUFFIX = ".compacting"
"""A log that a compaction is writing: ``<hex>.log.compacting``, as Apache's is called."""

_LEFT_OVER = (UNFINISHED_SUFFIX, ".compacted")
_STEP_BYTES = 1024 * 1024
_STEP_ROWS = 64  # the number of rows of one step, although the rows of several ledgers may follow the wanted ones
_MAX_ID = 2**63 - 1


class LogSpace:
    """The disk space of the entry logs of a directory.

    :ivar directory: the ledger directory.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage) -> None:
        self.directory = directory
        self._fs = fs

    def sealed_logs(self) -> list[int]:
        """Return the logs that get no more entries, and whose rows are in the index.  Flush lane.

        As no checkpoint is being written on that lane meanwhile, the rows of a full log are committed, or
        never will be.
        """
        active = self.directory.log.active_log_id
        return [log_id for log_id in entry_log_ids(self._fs, self.directory.path) if log_id != active]

    def usage(self, log_ids: Sequence[int]) -> list[LogUsage]:
        """Return the space of sealed logs.  Maintenance lane.

        :param log_ids: of the logs.
        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        live = self.directory.count_live()
        return [LogUsage(log_id, self._record_bytes(log_id), live.get(log_id, (0, 0))[1]) for log_id in log_ids]

    def _record_bytes(self, log_id: int) -> int:
        """Return the bytes between header and ledgers map, or up to the end of the file if the header is damaged."""
        path = self.path(log_id)
        file = self._fs.open(path)
        try:
            size = file.size()
            try:
                header = layout.parse_header(file.pread(layout.HEADER_SIZE, 0), path)
            except DamageError:
                return max(size - layout.HEADER_SIZE, 0)
        finally:
            file.close()
        return max((header.map_offset or size) - layout.HEADER_SIZE, 0)

    def files(self) -> list[tuple[int, int]]:
        """Return id and bytes of every log file, including the active log.  Maintenance lane."""
        found = []
        for log_id in entry_log_ids(self._fs, self.directory.path):
            if self._fs.exists(self.path(log_id)):  # another lane may have removed the log since the listing
                file = self._fs.open(self.path(log_id))
                try:
                    found.append((log_id, file.size()))
                finally:
                    file.close()
        return found

    def mapped_bytes(self, log_id: int) -> dict[int, int] | None:
        """Return the bytes of each ledger by the ledgers map of ``log_id``; None without a map.  Maintenance lane.

        :raises OSError: the log cannot be read.
        """
        path = self.path(log_id)
        file = self._fs.open(path)
        try:
            header = layout.parse_header(file.pread(layout.HEADER_SIZE, 0), path)
            if not header.map_offset:
                return None
            return layout.decode_map(file.pread(file.size() - header.map_offset, header.map_offset), header.map_ledgers)
        except DamageError:
            return None
        finally:
            file.close()

    def remove_left_over(self) -> int:
        """Remove the files of an interrupted compaction.  Maintenance lane, while no compaction runs.

        :returns: the number of removed files.
        """
        names = [name for name in self._fs.list(self.directory.path) if _is_left_over(name)]
        for name in names:
            self._fs.unlink(posixpath.join(self.directory.path, name))
        if names:
            self._fs.sync_directory(self.directory.path)
        return len(names)

    def remove(self, log_id: int) -> int:
        """Remove a log whose :meth:`checks` have ended; durable after :meth:`sync`.  Maintenance lane.

        :param log_id: of the log.
        :returns: the bytes of the file.
        """
        path = self.path(log_id)
        file = self._fs.open(path)
        try:
            size = file.size()
        finally:
            file.close()
        self._fs.unlink(path)
        self.directory.reader.remove(log_id)
        return size

    def sync(self) -> None:
        """Make the removals durable.  Maintenance lane."""
        self._fs.sync_directory(self.directory.path)

    def checks(self, log_ids: Sequence[int]) -> "RemovalChecks":
        """Return the checks that must pass before the logs ``log_ids`` are removed."""
        return RemovalChecks(self._fs, self.directory, log_ids)

    def path(self, log_id: int) -> str:
        """Return the path of the file of ``log_id``."""
        return posixpath.join(self.directory.path, entry_log_name(log_id))


class RemovalChecks:
    """A check that the index needs none of the logs to be removed (S8), one ledger after the other.

    A damaged row does not name its log; then all the logs stay.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, log_ids: Sequence[int]) -> None:
        self._directory = directory
        self._log_ids = log_ids
        self._fs = fs
        self._steps = self._run()

    def step(self) -> tuple[int, int] | None:
        """Check a bounded number of rows or bytes.  Maintenance lane.

        :returns: the bytes of a log and the rows of the index that were read; None at the end.
        :raises DamageError: one of the logs may still be needed, or is damaged.
        """
        return next(self._steps, None)

    def _run(self) -> Iterator[tuple[int, int]]:
        ledger_ids: set[int] = set()
        for log_id in self._log_ids:
            yield from self._named(LogScan(self._fs, self._directory.path, log_id), ledger_ids)
        named, at, after = sorted(ledger_ids), 0, (-1, -1)
        while at < len(named):
            if named[at] != after[0]:
                after = named[at] - 1, _MAX_ID
            rows = self._directory.index.page(after, _STEP_ROWS)
            for row in rows:
                if row.log_id in self._log_ids:
                    path = self._directory.reader.path(row.log_id)
                    raise DamageError(f"{path}: entry {row.first} of ledger {row.ledger_id} still lies there")
            yield 0, len(rows)
            if len(rows) < _STEP_ROWS:
                return
            after = rows[-1].ledger_id, rows[-1].first
            at = bisect_left(named, after[0], at)

    def _named(self, scan: LogScan, ledger_ids: set[int]) -> Iterator[tuple[int, int]]:
        """Add the ids of the ledgers of a log to ``ledger_ids``, from its ledgers map or, without one, its records."""
        sizes = scan.ledgers_map()
        if sizes is not None:
            ledger_ids.update(sizes)
            yield 16 * len(sizes), 0
            return
        begin = 0
        for record in scan:
            ledger_ids.add(record.ledger_id)
            if record.offset - begin >= _STEP_BYTES:
                yield record.offset - begin, 0
                begin = record.offset
        yield max(scan.file_size - begin, 0), 0


def _is_left_over(name: str) -> bool:
    return layout.reserved_id_of(name) is not None and name.endswith(_LEFT_OVER) and ENTRY_LOG_SUFFIX in name

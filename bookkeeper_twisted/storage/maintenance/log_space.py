"""The disk space of the entry logs in one ledger directory: lists and measures the logs, and deletes unneeded ones."""

import posixpath
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing

from ...errors import DamageError
from ..directory_storage import DirectoryStorage
from ..entry_log import format as layout
from ..entry_log.scan import LogScan
from ..index.rows import row_bytes
from ..interfaces import IFileSystem
from ..ledger_dirs import ENTRY_LOG_SUFFIX, entry_log_ids, entry_log_name
from .plan import LogUsage

UNFINISHED_SUFFIX = ".compacting"
"""The suffix of a log that a compaction is writing: ``<hex>.log.compacting``, as in Apache's bookie."""

_LEFT_OVER = (UNFINISHED_SUFFIX, ".compacted")
_STEP_BYTES = 1024 * 1024
_STEP_ROWS = 64  # maximum number of index rows that one step checks
_MAX_ID = 2**63 - 1


class LogSpace:
    """Lists and measures the entry logs of one ledger directory, and deletes logs.

    :ivar directory: the storage of the ledger directory.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage) -> None:
        self.directory = directory
        self._fs = fs

    def sealed_logs(self) -> list[int]:
        """Return the ids of all sealed (completed) logs; all index rows that refer to these logs are committed already.

        So logs with entries whose rows the index has refused are not among them.

        Called on the flush thread.  Checkpoints write logs and commit index rows on the same thread, so no checkpoint
        is in progress during the call.
        """
        left = self.directory.uncommitted
        needed = {self.directory.log.active_log_id, *(left.log_ids if left is not None else ())}
        return [log_id for log_id in entry_log_ids(self._fs, self.directory.path) if log_id not in needed]

    def usage(self, log_ids: Sequence[int]) -> list[LogUsage]:
        """Return the size and live bytes of each completed log in ``log_ids``.  Called on a maintenance thread.

        :param log_ids: the ids of the logs.
        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        live = self.directory.count_live()
        return [self._usage_of(log_id, *live.get(log_id, (0, 0))) for log_id in log_ids]

    def _usage_of(self, log_id: int, entries: int, live: int) -> LogUsage:
        try:
            return LogUsage(log_id, self._record_bytes(log_id), live, live_entries=entries)
        except OSError as error:
            return LogUsage(log_id, live, live, str(error), entries)

    def bytes_of(self, ledger_ids: Sequence[int]) -> Counter[int]:
        """Return, for each log, how many bytes the index refers to of all ledgers in ``ledger_ids`` together.

        Called on the maintenance thread.

        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        found, index = Counter[int](), self.directory.index
        for ledger_id in ledger_ids:
            rows = index.page((ledger_id - 1, _MAX_ID), _STEP_ROWS)
            while rows:
                for row in rows:
                    if row.ledger_id == ledger_id:
                        found[row.log_id] += row_bytes(row)
                last = rows[-1]
                rows = index.page((ledger_id, last.first), _STEP_ROWS) if last.ledger_id == ledger_id else []
        return found

    def missing(self) -> dict[str, int]:
        """Return the path of each missing log to which index rows refer, with the number of entries of these rows.

        Called on the maintenance thread, while no log is deleted.

        :raises bookkeeper_twisted.errors.StorageError: the index cannot be read.
        """
        live = self.directory.count_live()
        found = set(entry_log_ids(self._fs, self.directory.path))
        return {self.path(log_id): count for log_id, (count, _) in sorted(live.items()) if log_id not in found}

    def _record_bytes(self, log_id: int) -> int:
        """Return the number of bytes between the header of a log and its ledgers map; without a map, up to its end."""
        path = self.path(log_id)
        with closing(self._fs.open(path)) as file:
            size = file.size()
            try:
                header = layout.parse_header(file.pread(layout.HEADER_SIZE, 0), path)
            except DamageError:
                return max(size - layout.HEADER_SIZE, 0)
        return max((header.map_offset or size) - layout.HEADER_SIZE, 0)

    def files(self) -> list[tuple[int, int]]:
        """Return (log id, size of the file in bytes) for every entry log, including the active log.

        Called on the maintenance thread.
        """
        found = []
        for log_id in entry_log_ids(self._fs, self.directory.path):
            if self._fs.exists(self.path(log_id)):  # another thread may have deleted this log after it was listed
                with closing(self._fs.open(self.path(log_id))) as file:
                    found.append((log_id, file.size()))
        return found

    def mapped_bytes(self, log_id: int) -> dict[int, int] | None:
        """Return the number of bytes of each ledger in ``log_id``, from its ledgers map.

        Called on the maintenance thread.

        :returns: None if the log has no valid map.
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
        """Delete the files that interrupted compactions have left.

        Called on the maintenance thread, while no compaction runs.

        :returns: the number of deleted files.
        """
        names = [name for name in self._fs.list(self.directory.path) if _is_left_over(name)]
        for name in names:
            self._fs.unlink(posixpath.join(self.directory.path, name))
        if names:
            self._fs.sync_directory(self.directory.path)
        return len(names)

    def remove(self, log_id: int) -> int:
        """Delete a log that has passed :meth:`checks`; durable after :meth:`sync`.  Called on a maintenance thread.

        :param log_id: the id of the log.
        :returns: the size that the file had, in bytes.
        """
        path = self.path(log_id)
        with closing(self._fs.open(path)) as file:
            size = file.size()
        self._fs.unlink(path)
        self.directory.reader.remove(log_id)
        return size

    def sync(self) -> None:
        """Make the deletions durable.  Called on the maintenance thread."""
        self._fs.sync_directory(self.directory.path)

    def checks(self, log_ids: Sequence[int]) -> "RemovalChecks":
        """Return the checks that must pass before the logs ``log_ids`` may be deleted."""
        return RemovalChecks(self._fs, self.directory, log_ids)

    def path(self, log_id: int) -> str:
        """Return the path of the entry log ``log_id``."""
        return posixpath.join(self.directory.path, entry_log_name(log_id))


class RemovalChecks:
    """Checks, ledger by ledger, that no index row refers to entry logs that are to be deleted.

    If an index row is damaged, it is unknown to which log it refers.  Then none of the logs may be deleted.
    """

    def __init__(self, fs: IFileSystem, directory: DirectoryStorage, log_ids: Sequence[int]) -> None:
        self._directory = directory
        self._log_ids = log_ids
        self._fs = fs
        self._steps = self._run()

    def step(self) -> tuple[int, int] | None:
        """Check a limited number of index rows, or read a limited part of a log.  Called on a maintenance thread.

        :returns: (number of bytes of a log, number of index rows) that this step read; None when all checks have
            passed.
        :raises DamageError: an index row still refers to one of the logs, or a log or an index row is damaged.
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
        """Add the ids of the ledgers in a log to ``ledger_ids``; yield the progress as :meth:`step` returns it.

        The ids come from the ledgers map of the log or, without a map, from the records.
        """
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

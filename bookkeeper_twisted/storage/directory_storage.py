"""One ledger directory: its caches, entry logs and run index.

The write cache has two halves.  The reactor fills the active one; a flush swaps them, and the flushing
half stays readable until the reactor drops it, which is after the index commit.  So an entry is always in
a half, or in the index, or in both: a reader that missed both halves on the reactor thread finds it on
the read lane.

Memory has the rows of the newest flushes, and rows that the read lane has looked up.  The reactor adds and drops
the latter, so that none of them outlives the arrival of a newer copy: a row that was looked up while the newer copy
was being written is not kept.
"""

import errno
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import NO_SPACE, DamageError, NoWritableDirectoryError, StorageError
from .cache.mixed_entries import Scattered, SortedEntries
from .cache.write_cache import WriteCache
from .entry_log.reader import EntryLogReader
from .entry_log.writer import EntryLogWriter
from .files.space_reserve import SpaceReserve
from .index.looked_up import FoundRows, LookedUpRows
from .index.recent_index import RecentIndex
from .index.rows import packed_where_many
from .index.scattered import Lookup
from .interfaces import IndexBatch, IndexRow, IRunIndex, LedgerRow
from .mixed_rows import MOST_APART
from .rebuild import Rebuilt

_MOST_FOUND = 64
"""Look-ups of the read lane whose rows wait for the reactor."""

_ROWS_AHEAD = 500
"""Rows that are looked up together: each time costs two changes of thread, some 100 us."""

_NEAR = 2048
"""Entries behind the last look-up of a ledger up to which the next one takes rows along: threads of the read lane take
turns with the reads of one connection, some tens each."""

_MOST_AHEAD = 64  # the number of ledgers for which index rows are kept on the read lane
_MOST_ID = 2**63 - 1
_FULL = (*NO_SPACE, errno.EROFS)
_DELETED_TOGETHER = 64
"""Ledgers of one commit of deletions alone: what a commit takes of a full disk is free again for the next."""


def storage_error(error: OSError, directory: str) -> StorageError:
    """Convert an error of a file operation to a storage error.

    A full disk has a class of its own, because it may get space again.

    :param directory: named in the text if ``error`` names no file.
    """
    text = f"{error.filename or directory}: {error.strerror or error}"
    return NoWritableDirectoryError(text) if error.errno in _FULL else StorageError(text)


class DirectoryStorage:
    """The entries of the ledgers of one directory, in memory and on disk.

    :ivar path: the directory, ``current`` included.
    :ivar active: the half of the write cache that takes entries.
    :ivar flushing: the half that is written by a checkpoint, empty between checkpoints.
    :ivar recent: the index rows of the last flushes.
    :ivar looked_up: rows that look-ups found in the index; none of them shares an entry with a newer copy.
    :ivar reserve: disk space that entries may not use.
    :ivar rebuilt: the result of the rebuild of the index, if this start made one.
    :ivar flushed_bytes: bytes of the records written to entry logs and indexed.
    :ivar entries: entries in entry logs at the last count, and entries flushed since.
    """

    def __init__(
        self,
        path: str,
        log: EntryLogWriter,
        reader: EntryLogReader,
        index: IRunIndex,
        recent: RecentIndex,
        rebuilt: Rebuilt | None = None,
        reserve: SpaceReserve | None = None,
    ) -> None:
        self.path = path
        self.log = log
        self.reader = reader
        self.index = index
        self.recent = recent
        self.looked_up = LookedUpRows(recent.limit)
        self.rebuilt = rebuilt
        self.reserve = reserve
        self.active = WriteCache()
        self.flushing = WriteCache()
        self.flushed_bytes = 0
        self.entries = 0
        self._n_written = 0
        self._found: deque[tuple[int, FoundRows]] = deque(maxlen=_MOST_FOUND)
        self._rows: dict[int, tuple[int, FoundRows]] = {}  # short rows by ledger, those of the last look-ups

    # -- reactor --

    def add(self, entries: Entries) -> None:
        """Add ``entries`` to the active write cache, and forget the rows of older copies."""
        self.active.add(entries)
        if self.looked_up:
            for ledger_id, first, last in entries.spans():
                self.looked_up.discard(ledger_id, first, last)

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return a run of the write caches that holds ``entry_id`` of ``ledger_id``, or None.

        All its entries from ``entry_id`` on are the newest copies.

        :param max_count: most entries that the caller can use from there on.
        """
        held = self.active.find(ledger_id, entry_id, max_count)
        if held is not None:
            return held
        held = self.flushing.find(ledger_id, entry_id, max_count)
        if held is not None:
            newer = self.active.next_from(ledger_id, entry_id)
            if newer <= held.last:
                return held.slice(entry_id, min(newer - entry_id, max_count))
        return held

    def next_cached(self, ledger_id: int, entry_id: int) -> int:
        """Return the lowest entry id of ``ledger_id`` in the write caches from ``entry_id`` upwards, or NO_ENTRY."""
        return min(self.active.next_from(ledger_id, entry_id), self.flushing.next_from(ledger_id, entry_id))

    def resident(
        self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int, window: int = 0
    ) -> EntryRun | None:
        """Return consecutive entries of an entry log if their index row and their bytes are in memory.

        They end before the next entry of which a write cache has a newer copy.

        :param entry_id: of the first entry, which the write caches do not hold.
        :param max_count: most entries.
        :param max_bytes: most bytes of the records; one entry is returned even if it is longer.
        :param window: bytes to read if the wanted entries are only a small part of them.
        """
        row = self.recent.find(ledger_id, entry_id) or self.looked_up.find(ledger_id, entry_id)
        if row is None:
            return None
        count = self.next_cached(ledger_id, entry_id) - entry_id
        run = self.reader.read_resident(row, entry_id, min(max_count, count), max_bytes, window)
        return run.slice(entry_id, count) if run is not None and run.count > count else run

    def scattered(self, ledger_id: int, entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        """See :meth:`~.interfaces.ILedgerStorage.scattered`."""
        halves = [*self.active.held(ledger_id), *self.flushing.held(ledger_id)]
        recent = self.recent.tables_of(ledger_id, max(min(entry_ids), 0), max(entry_ids)) if entry_ids else ()
        looked_up = self.looked_up.rows_of(ledger_id)
        tables = [*recent, *([looked_up] if looked_up is not None else ())]
        lookup = Lookup(halves, tables, self.reader.offsets_of)
        lookup.find(entry_ids, max_bytes)
        for log_id, records in lookup.logs.items():
            self.reader.read_scattered(ledger_id, log_id, records, lookup.found)
        return lookup.found

    def learn(self) -> None:
        """Keep the index rows that reading threads have found, except rows with entries that a write cache holds."""
        while self._found:
            n_written, found = self._found.popleft()
            if n_written == self._n_written:
                self.looked_up.add(found)
                self._discard_cached(found)

    def moved(self) -> None:
        """Drop the looked-up rows, as a copy has moved some of their entries."""
        self.looked_up = LookedUpRows(self.recent.limit)
        self._n_written += 1

    def _discard_cached(self, found: FoundRows) -> None:
        """Forget each row that a look-up ``found`` if a write cache holds an entry of it."""
        ledger_id = found.ledger_id
        for half in (*self.active.held(ledger_id), *self.flushing.held(ledger_id)):
            for row in found.rows() if half.overlaps(found.first, found.last) else ():
                if half.overlaps(row.first, row.last):
                    self.looked_up.discard(ledger_id, row.first, row.last)

    def last_cached(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the write caches, or -1."""
        return max(self.active.last_entry(ledger_id), self.flushing.last_entry(ledger_id))

    def forget(self, ledger_id: int) -> None:
        """Drop the deleted ledger ``ledger_id`` from memory; the next checkpoint deletes its rows."""
        self.active.discard_ledger(ledger_id)
        self.flushing.discard_ledger(ledger_id)
        self.looked_up.discard(ledger_id, 0, _MOST_ID)
        self._n_written += 1  # learn() then ignores rows of this ledger that the read lane has looked up meanwhile

    def swap(self) -> None:
        """Swap the write caches for a flush.

        The cache of the last flush must be empty, because its entries would be lost (trap 12).
        """
        assert not self.flushing
        self.active, self.flushing = self.flushing, self.active
        self.flushing.outgoing = None

    def written(self) -> None:
        """Empty the flushing write cache after a successful flush."""
        self.active.outgoing, self.flushing = self.flushing, WriteCache()
        self._n_written += 1

    def not_written(self) -> None:
        """End a failed flush: merge the two write caches, where the newer copy of an entry wins.

        So the next checkpoint writes all entries below the marks that it makes durable.
        """
        self.flushing.absorb(self.active)
        self.active, self.flushing = self.flushing, WriteCache()

    # -- flush lane --

    def write(self, ledgers: list[LedgerRow], deleted: Sequence[int] = ()) -> None:
        """Write the flushing cache to entry logs, sync the logs, then commit the rows to the index atomically.

        :param deleted: ledgers whose stored rows are deleted; all other rows of them in the commit are newer.
        :raises StorageError: the write failed; none of the entries counts as written.
        """
        batch = IndexBatch(ledgers=ledgers, deleted_ledgers=list(deleted))
        try:
            if self.reserve is not None:
                self.reserve.check(self.flushing.bytes)
            self._append(batch)
            self.log.sync()
        except OSError as e:
            raise storage_error(e, self.path) from e
        # Commit after the sync: no row may refer to bytes that a power cut can lose.
        if batch:
            self.index.commit(batch)
        self.recent.discard_ledgers(deleted)
        self.recent.add(batch.runs, batch.mixed)
        self.flushed_bytes += self.flushing.bytes
        self.entries += self.flushing.count

    def make_room(self, ledgers: Sequence[LedgerRow], deleted: Sequence[int], done: set[int]) -> None:
        """Commit only deletions of ledgers, so that a full disk gets free space; lend the space reserve if necessary.

        The next collection then removes logs.  The active log is ended, since otherwise it could not be collected for
        as long as nothing can be appended.

        :param ledgers: ledger states; those of ``deleted`` ledgers are committed with the deletion: a fence stays
            (S3).
        :param deleted: ledgers whose stored rows are deleted.
        :param done: receives each ledger whose deletion is durable, even if the rest fails.
        :raises StorageError: the commit failed.
        """
        with suppress(OSError):  # an error is harmless: a log without a seal is scanned before its removal
            self.log.close()
        try:
            self._delete(ledgers, deleted, done)
        except NoWritableDirectoryError:
            if not self.lend_reserve():
                raise
            try:
                self._delete(ledgers, [ledger_id for ledger_id in deleted if ledger_id not in done], done)
            finally:
                self.take_reserve_back()

    def _delete(self, ledgers: Sequence[LedgerRow], deleted: Sequence[int], done: set[int]) -> None:
        rows = {row.ledger_id: row for row in ledgers}
        for begin in range(0, len(deleted), _DELETED_TOGETHER):
            part = deleted[begin : begin + _DELETED_TOGETHER]
            states = [rows[ledger_id] for ledger_id in part if ledger_id in rows]
            self.index.commit(IndexBatch(ledgers=states, deleted_ledgers=list(part)))
            self.recent.discard_ledgers(part)
            done.update(part)

    def lend_reserve(self) -> bool:
        """Free the disk space of the reserve; see :meth:`.SpaceReserve.lend`.

        :raises StorageError: a disk failed.
        """
        try:
            return self.reserve is not None and self.reserve.lend()
        except OSError as e:
            raise storage_error(e, self.path) from e

    def take_reserve_back(self) -> None:
        """Allocate the space of the reserve again, as much as the disk has.

        :raises StorageError: a disk failed.
        """
        try:
            if self.reserve is not None:
                self.reserve.take_back()
        except OSError as e:
            raise storage_error(e, self.path) from e

    def _append(self, batch: IndexBatch) -> None:
        """Append the flushing cache to the entry logs, and add its rows to a batch."""

        def of_run(run: EntryRun) -> None:
            batch.runs += self.log.append(run)

        def of_singles(entries: SortedEntries) -> None:
            rows, packed = self.log.append_sorted(entries)
            batch.runs += rows
            batch.mixed += packed

        for part in self.flushing.parts():
            part.each(of_run, of_singles)
        batch.runs, short = packed_where_many(batch.runs)
        batch.mixed += short

    def count_live(self) -> dict[int, tuple[int, int]]:
        """Count the live entries and bytes of each entry log; set :attr:`entries` to the total.  Maintenance lane.

        See :meth:`~.interfaces.IRunIndex.live`.

        :raises StorageError: the index cannot be read.
        """
        live = self.index.live()
        self.entries = sum(count for count, _ in live.values())
        return live

    def commit_moved(self, rows: Sequence[IndexRow], moved_from: frozenset[int]) -> None:
        """Commit the rows of entries that compaction has copied, except entries with a newer copy since then.

        :param rows: the rows of the copies.
        :param moved_from: ids of the logs that the entries were copied from.
        :raises StorageError: the commit failed; no row was committed.
        """
        self.index.commit(IndexBatch(moved=list(rows), moved_from=moved_from))
        self.recent.discard_moved(rows, moved_from)

    # -- read lane --

    def load(self, ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        """See :meth:`~.interfaces.ILedgerStorage.load`."""
        row = self.recent.find(ledger_id, entry_id) or self._ahead(ledger_id, entry_id)
        if row is None:
            row = self._look_up(ledger_id, entry_id)
        while row is not None:
            try:
                return self.reader.read(row, entry_id, max_bytes)
            except DamageError:
                # Look the entry up again: it may have been copied to another log before its old log was removed.
                now = self._look_up(ledger_id, entry_id)
                if now == row:
                    raise
                row = now
        return None

    def _look_up(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Find the index row of an entry, and often the next rows too, so that the next entries need no look-up."""
        n_written = self._n_written
        row = self.index.find(ledger_id, entry_id)
        if row is None:
            return None
        found = self._rows_ahead(row)
        self._found.append((n_written, found))
        before = self._before(ledger_id)
        # Keep the rows of another thread that reads this ledger a little ahead.
        is_onward = before is None or not 0 < before.first - entry_id <= _NEAR
        if row.last - row.first < MOST_APART and is_onward:
            self._rows[ledger_id] = n_written, found
        return row

    def _before(self, ledger_id: int) -> FoundRows | None:
        """Return the short rows that the last look-up in a ledger found, also if they may have changed since."""
        known = self._rows.get(ledger_id)
        return known[1] if known is not None else None

    def _ahead(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Return the row of an entry if the previous look-up found that row and no entry has moved since; else None."""
        known = self._rows.get(ledger_id)
        return known[1].find(entry_id) if known is not None and known[0] == self._n_written else None

    def _rows_ahead(self, row: IndexRow) -> FoundRows:
        """Return the ``row`` that was found; add the next rows if the previous one was short and lies shortly before.

        A reader of a ledger that took turns with others meets a row for each entry, and so does a reader of a striped
        ledger, of which this bookie has, for example, every third entry: such rows are looked up together.
        """
        if len(self._rows) >= _MOST_AHEAD:
            self._rows.clear()
        before = self._before(row.ledger_id)
        if before is not None and 0 < row.first - before.last <= _NEAR:
            # If the rows behind it cannot be read, the row that was found is enough.
            with suppress(StorageError):
                found = FoundRows(row.ledger_id, self.index.rows_ahead(row.ledger_id, row.first, _ROWS_AHEAD))
                if found.find(row.first) == row:
                    return found
        return FoundRows(row.ledger_id, [row])

    def entry_ranges(self, ledger_id: int, stored: bool = True) -> list[tuple[int, int]]:
        """Return the first and last id, inclusive, of each contiguous range of a ledger, ascending.

        The caches are read first: an entry that leaves them meanwhile is in the index already.

        :param stored: whether entries on disk count, too.
        """
        ranges = self.active.ranges(ledger_id) + self.flushing.ranges(ledger_id)
        if stored:
            ranges += [(row.first, row.last) for row in self.index.rows(ledger_id)]
        return merged(ranges)

    def close(self) -> None:
        """Seal the active log and close all files.

        :raises StorageError: a step failed; all files are closed all the same.
        """
        try:
            self.log.close()
        except OSError as e:
            raise storage_error(e, self.path) from e
        finally:
            self.reader.close()
            self.index.close()


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge ``ranges`` of ids, given in any order, into disjoint ascending ones; join adjacent ranges."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return result

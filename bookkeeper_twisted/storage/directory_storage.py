"""The storage of one ledger directory: its write caches, its entry logs, and its index of the entry logs.

There are two write caches.  The reactor thread adds entries to the active cache.  A flush swaps the two caches, and
then writes out the cache that was active: the flushing cache.  This cache stays readable until its index rows are
committed.  So an entry is always in a cache, in the index, or in both.  A reader that found an entry in neither cache
finds it in the index.  The searches in the index run on the read threads.

Two kinds of index rows are also in memory: rows of the newest flushes (``recent``), and rows that searches on the read
threads have found (``looked_up``).  The reactor thread adds and drops the looked-up rows.  It drops a row when a newer
copy of one of its entries arrives.  It ignores the rows of a search if a flush has ended since the search began,
because the flush may have stored newer rows of the same entries.
"""

import errno
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import NO_SPACE, DamageError, NoWritableDirectoryError, StorageError
from .cache.mixed_entries import Scattered, SortedEntries
from .cache.write_cache import WriteCache
from .entry_log.reader import EntryLogReader
from .entry_log.writer import EntryLogWriter
from .files.space_reserve import SpaceReserve
from .index.looked_up import FoundRows, LastSearches, LookedUpRows
from .index.recent_index import RecentIndex
from .index.rows import packed_where_many
from .index.scattered import Lookup
from .interfaces import IndexBatch, IndexRow, IRunIndex, LedgerRow
from .rebuild import Rebuilt
from .uncommitted import NOT_TAKEN, UncommittedEntries

_MOST_FOUND = 64
"""Maximum number of results of searches in the index that wait for the reactor thread.

A result is the index rows that a search on a read thread found.  The reactor thread adds these rows to ``looked_up``.
"""

_MOST_ID = 2**63 - 1
_FULL = (*NO_SPACE, errno.EROFS)
_DELETED_TOGETHER = 64
"""Maximum number of ledgers that one commit deletes if the disk is full, so that each commit needs little space."""


def storage_error(error: OSError, directory: str) -> StorageError:
    """Convert an error of a file operation to a StorageError.

    The error of a full disk becomes a NoWritableDirectoryError, because the disk may have space again later.

    :param directory: the path for the error text if ``error`` has no file name.
    """
    text = f"{error.filename or directory}: {error.strerror or error}"
    return NoWritableDirectoryError(text) if error.errno in _FULL else StorageError(text)


class DirectoryStorage:
    """The entries of all ledgers of one ledger directory, in memory and on disk.

    :ivar path: path of the directory, ending in ``current``.
    :ivar active: the write cache to which entries are added.
    :ivar flushing: the write cache that a checkpoint writes out; empty between checkpoints.
    :ivar uncommitted: entries of the write caches that are in entry logs already; None unless an index commit failed.
    :ivar recent: the index rows of the newest flushes, in memory.
    :ivar looked_up: index rows that searches found, in memory; only rows whose entries have no newer copies.
    :ivar reserve: disk space for deletions and compactions, which entries may not use; None without a reserve.
    :ivar refusal: the error of the last commit to the index; None if it succeeded.
    :ivar rebuilt: the result of the rebuild, if this start has rebuilt the index.
    :ivar index_path: path of the directory of its index; empty if the index is in the same directory.
    :ivar is_marking: whether the log mark of a journal is being written in the directory.
    :ivar entries: number of entries in entry logs: the last result of :meth:`count_live`, plus the entries flushed
        since.
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
        index_path: str = "",
    ) -> None:
        self.path = path
        self.log = log
        self.reader = reader
        self.index = index
        self.recent = recent
        self.looked_up = LookedUpRows(recent.limit)
        self.rebuilt = rebuilt
        self.reserve = reserve
        self.index_path = index_path
        self.is_marking = False
        self.active = WriteCache()
        self.flushing = WriteCache()
        self.uncommitted: UncommittedEntries | None = None
        # while a flush that has committed uncommitted entries, and after it has failed: the entries that it writes
        self._rest: WriteCache | None = None
        self.refusal: StorageError | None = None
        self._forgotten: set[int] = set()  # the ledgers that were deleted since the last swap
        self.entries = 0
        # counts the changes of the index after which rows that an earlier search found may be wrong: flushes,
        # compactions and deletions of ledgers
        self._n_written = 0
        self._found: deque[tuple[int, FoundRows]] = deque(maxlen=_MOST_FOUND)
        self._searches = LastSearches(index)

    # -- reactor thread --

    def add(self, entries: Entries) -> None:
        """Add ``entries`` to the active write cache; drop cached index rows that refer to older copies."""
        self.active.add(entries)
        if left := self.uncommitted:  # read it once: the flush thread may assign None
            left.later.add(entries)
        if self.looked_up:
            for ledger_id, first, last in entries.spans():
                self.looked_up.discard(ledger_id, first, last)

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        """Return the run (consecutive entries) in a write cache that contains an entry; None if no cache has the entry.

        Its entries from ``entry_id`` on are the newest copies; earlier entries of the run may be out of date.

        :param max_count: maximum number of entries that the caller can use, from ``entry_id`` on.
        """
        held = self.active.find(ledger_id, entry_id, max_count)
        if held is not None or not self.flushing.count:  # the flushing cache is empty between checkpoints
            return held
        held = self.flushing.find(ledger_id, entry_id, max_count)
        if held is not None:
            newer = self.active.next_from(ledger_id, entry_id)
            if newer <= held.last:
                return held.slice(entry_id, min(newer - entry_id, max_count))
        return held

    def next_cached(self, ledger_id: int, entry_id: int) -> int:
        """Return the lowest entry id of ``ledger_id`` in the write caches, from ``entry_id`` on, or NO_ENTRY."""
        newest = self.active.next_from(ledger_id, entry_id)
        return min(newest, self.flushing.next_from(ledger_id, entry_id)) if self.flushing.count else newest

    def resident(
        self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int, window: int = 0
    ) -> EntryRun | None:
        """Return consecutive entries of an entry log if their index row is cached and the page cache has their bytes.

        The result ends before the next entry that is in a write cache, because the copy in the cache is newer.

        :param entry_id: id of the first entry, which is in no write cache.
        :param max_count: number of wanted entries.
        :param max_bytes: maximum number of bytes of the wanted records; a single entry may be longer.
        :param window: number of bytes for read-ahead; 0 to read only the wanted entries.  If the wanted entries have
            less than a quarter of this number, consecutive entries of about this size are read and returned.
        """
        row = self.recent.find(ledger_id, entry_id) or self.looked_up.find(ledger_id, entry_id)
        if row is None:
            return None
        count = self.next_cached(ledger_id, entry_id) - entry_id
        run = self.reader.read_resident(row, entry_id, min(max_count, count), max_bytes, window)
        return run.slice(entry_id, count) if run is not None and run.count > count else run

    def scattered(self, ledger_id: int, entry_ids: Sequence[int], max_bytes: int) -> Scattered:
        """Return entries of a ledger, as far as they are in a write cache or can be read from disk without waiting.

        See :meth:`~.interfaces.ILedgerStorage.scattered` for parameters and errors.
        """
        cached = [*self.active.held(ledger_id), *self.flushing.held(ledger_id)]
        recent = self.recent.tables_of(ledger_id, max(min(entry_ids), 0), max(entry_ids)) if entry_ids else ()
        looked_up = self.looked_up.rows_of(ledger_id)
        tables = [*recent, *([looked_up] if looked_up is not None else ())]
        lookup = Lookup(cached, tables, self.reader.offsets_of)
        lookup.find(entry_ids, max_bytes)
        for log_id, records in lookup.logs.items():
            self.reader.read_scattered(ledger_id, log_id, records, lookup.found)
        return lookup.found

    def add_looked_up_rows(self) -> None:
        """Add the index rows that read threads have found to ``looked_up``.

        Leave out rows with an entry in a write cache, and rows of searches during which the index has changed.
        """
        while self._found:
            n_written, found = self._found.popleft()
            if n_written == self._n_written:
                self.looked_up.add(found)
                self._discard_cached(found)

    def moved(self) -> None:
        """Drop all looked-up index rows, because a compaction has copied entries to other logs."""
        self.looked_up = LookedUpRows(self.recent.limit)
        self._n_written += 1

    def _discard_cached(self, found: FoundRows) -> None:
        """Remove the rows of ``found`` from ``looked_up`` whose entries are in a write cache.

        The write cache has newer copies of these entries.

        :param found: the index rows that one search found.
        """
        ledger_id = found.ledger_id
        for cached in (*self.active.held(ledger_id), *self.flushing.held(ledger_id)):
            for row in found.rows() if cached.overlaps(found.first, found.last) else ():
                if cached.overlaps(row.first, row.last):
                    self.looked_up.discard(ledger_id, row.first, row.last)

    def last_cached(self, ledger_id: int) -> int:
        """Return the highest entry id of ``ledger_id`` in the write caches; -1 if they have none of its entries."""
        return max(self.active.last_entry(ledger_id), self.flushing.last_entry(ledger_id))

    def forget(self, ledger_id: int) -> None:
        """Drop the deleted ledger ``ledger_id`` from memory; the next checkpoint deletes its stored index rows."""
        self.active.discard_ledger(ledger_id)
        self.flushing.discard_ledger(ledger_id)
        self._forgotten.add(ledger_id)
        # read ``uncommitted`` before ``_rest``: the flush thread moves what it writes from the one to the other
        if left := self.uncommitted:
            left.forget(ledger_id)
        if rest := self._rest:
            rest.discard_ledger(ledger_id)
        self.looked_up.discard(ledger_id, 0, _MOST_ID)
        # so that add_looked_up_rows() does not cache rows that a search in progress finds for this ledger
        self._n_written += 1

    @property
    def unwritten(self) -> tuple[int, int]:
        """Return the bytes of the entries in the active write cache that no entry log has, and of those in the other.

        A checkpoint in progress may have written a part of the entries in the flushing cache.
        """
        left = self.uncommitted
        return (left.later if left else self.active).bytes, self.flushing.bytes

    def swap(self) -> None:
        """Exchange the two write caches: the active one becomes the flushing one, and the empty one becomes active.

        The flushing cache must be empty before the call, because the next flush would not write entries that are still
        in it.
        """
        assert not self.flushing
        self.active, self.flushing = self.flushing, self.active
        self.flushing.outgoing = None
        self._forgotten = set()
        if left := self.uncommitted:
            left.swap()

    def written(self) -> None:
        """Replace the flushing write cache by an empty one, after a successful flush."""
        self.active.outgoing, self.flushing, self._rest = self.flushing, WriteCache(), None
        self._n_written += 1

    def not_written(self) -> None:
        """End a failed flush: merge the two write caches, and keep the newest copy of each entry.

        So the next checkpoint also writes the entries of the failed flush, before it moves the log marks of the
        journals.  Entries whose rows the flush has committed nevertheless leave the caches.
        """
        if self._rest is not None:
            self.flushing, self._rest = self._rest, None
            self._n_written += 1
        if left := self.uncommitted:
            left.not_written(self.active, self._forgotten)
        self.flushing.absorb(self.active)
        self.active, self.flushing = self.flushing, WriteCache()

    # -- flush thread --

    @contextmanager
    def marking(self) -> Iterator[None]:
        """Have :attr:`is_marking` set as long as this context lasts."""
        self.is_marking = True
        try:
            yield
        finally:
            self.is_marking = False

    def write(self, ledgers: list[LedgerRow], deleted: Sequence[int] = (), done: set[int] | None = None) -> None:
        """Write the flushing cache to entry logs, sync these, then commit index rows, ledger states and deletions.

        Entries that an earlier flush has written already are not written again: only their index rows are committed,
        and nothing is written before the index takes these.

        :param ledgers: the ledger states.
        :param deleted: ids of ledgers whose stored index rows are deleted.  This flush may have entries of these
            ledgers that were written after the deletion; these entries stay.
        :param done: a set to which the ids in ``deleted`` are added as soon as their deletion is durable; the set is
            correct even if the flush fails.
        :raises StorageError: the flush failed; :meth:`not_written` keeps what it has not made durable.
        """
        entries, batch = self.flushing, IndexBatch(ledgers=ledgers, deleted_ledgers=list(deleted))
        left = self.uncommitted
        if left is not None and left.taken is not None:
            self._commit(left.batch(ledgers, list(deleted)), left.count)
            # a later deletion would also delete the rows just committed, of a ledger that was created again
            (done if done is not None else set()).update(deleted)
            self._rest = entries = left.taken  # before the next line: forget() must find them in one of the two
            self.uncommitted, batch = None, IndexBatch()
        try:
            if self.reserve is not None:
                self.reserve.check(entries.bytes)
            self._append(entries, batch)
            self.log.sync()
        except OSError as e:
            raise storage_error(e, self.path) from e
        # commit after the sync: index rows must not refer to bytes that a power cut can lose
        try:
            self._commit(batch, entries.count)
        except StorageError:
            if batch.runs or batch.mixed:
                self.uncommitted = UncommittedEntries(batch, entries.count)
            raise

    def _commit(self, batch: IndexBatch, n_entries: int = 0) -> None:
        if batch:
            try:
                self.index.commit(batch)
            except StorageError as e:
                self.refusal = e
                raise
            self.refusal = None
        self.recent.discard_ledgers(batch.deleted_ledgers)
        self.recent.add(batch.runs, batch.mixed)
        self.entries += n_entries

    def reserve_logs(self, count: int) -> list[int]:
        """Reserve ids for the logs of a compaction, which :meth:`.EntryLogWriter.reserve` explains.

        The logs of uncommitted entries have lower ids, so a rebuild of the index would prefer the compaction's copies.

        :param count: number of ids.
        :raises StorageError: the index has not taken the rows of written entries yet.
        """
        if self.uncommitted is not None:
            if self.index_path:
                raise StorageError(f"{self.index_path}: {NOT_TAKEN}")
            self.uncommitted = None  # on a full disk, a compaction may be what makes room; then all is written again
        return self.log.reserve(count)

    def make_room(self, ledgers: Sequence[LedgerRow], deleted: Sequence[int], done: set[int]) -> None:
        """On a full disk, commit only the deletions of ledgers, so that garbage collection can delete entry logs.

        First complete the active entry log, because garbage collection never deletes an active log.  Then commit the
        deletions.  If there is no space even for this commit, use the space reserve.

        :param ledgers: ledger states.  Only the states of ledgers in ``deleted`` are committed, because a deleted
            ledger must stay fenced.
        :param deleted: ids of ledgers whose index rows are deleted.
        :param done: a set to which this function adds the ids of the ledgers whose deletion is durable.  The set is
            correct even if the function raises an error.
        :raises StorageError: a commit failed.
        """
        # An error does no harm: the log then has no list of its ledgers at its end, so garbage collection must scan it
        # to find out whether it can be deleted.
        with suppress(OSError):
            self.log.close()
        deleted = [ledger_id for ledger_id in deleted if ledger_id not in done]
        try:
            self._delete(ledgers, deleted, done)
        except NoWritableDirectoryError:
            if not self.release_reserve():
                raise
            try:
                self._delete(ledgers, [ledger_id for ledger_id in deleted if ledger_id not in done], done)
            finally:
                self.restore_reserve()

    def _delete(self, ledgers: Sequence[LedgerRow], deleted: Sequence[int], done: set[int]) -> None:
        rows = {row.ledger_id: row for row in ledgers}
        for begin in range(0, len(deleted), _DELETED_TOGETHER):
            part = deleted[begin : begin + _DELETED_TOGETHER]
            states = [rows[ledger_id] for ledger_id in part if ledger_id in rows]
            self._commit(IndexBatch(ledgers=states, deleted_ledgers=list(part)))
            done.update(part)

    def release_reserve(self) -> bool:
        """Delete the reserve files of the disk, so that a deletion or compaction can use their space for a while.

        :returns: whether space was freed; the caller then calls :meth:`restore_reserve` after its work.
        :raises StorageError: a disk failed.
        """
        try:
            return self.reserve is not None and self.reserve.release()
        except OSError as e:
            raise storage_error(e, self.path) from e

    def restore_reserve(self) -> None:
        """Create the files of the space reserve again, as large as the disk allows.

        :raises StorageError: a disk failed.
        """
        try:
            if self.reserve is not None:
                self.reserve.restore()
        except OSError as e:
            raise storage_error(e, self.path) from e

    def _append(self, entries: WriteCache, batch: IndexBatch) -> None:
        """Append ``entries`` to entry logs; add their index rows to ``batch``."""

        def of_run(run: EntryRun) -> None:
            batch.runs += self.log.append(run)

        def of_singles(entries: SortedEntries) -> None:
            rows, packed = self.log.append_sorted(entries)
            batch.runs += rows
            batch.mixed += packed

        for part in entries.parts():
            part.dispatch(of_run, of_singles)
        batch.runs, short = packed_where_many(batch.runs)
        batch.mixed += short

    def count_live(self) -> dict[int, tuple[int, int]]:
        """Return, for each entry log, the number and the total size of its live entries; set :attr:`entries`.

        Called on the maintenance thread.

        An entry is live if an index row refers to it; see :meth:`~.interfaces.IRunIndex.live`.

        :raises StorageError: the index cannot be read.
        """
        live = self.index.live()
        self.entries = sum(count for count, _ in live.values())
        return live

    def commit_moved(self, rows: Sequence[IndexRow], moved_from: frozenset[int]) -> None:
        """Commit the index rows of entries that compaction has copied; leave out entries that were written again.

        :param rows: the index rows of the copies.
        :param moved_from: ids of the entry logs from which the entries were copied.
        :raises StorageError: the commit failed; no row was committed.
        """
        self._commit(IndexBatch(moved=list(rows), moved_from=moved_from))
        self.recent.discard_moved(rows, moved_from)

    # -- read threads --

    def load(self, ledger_id: int, entry_id: int, max_bytes: int) -> EntryRun | None:
        """Read consecutive entries of an entry log, from ``entry_id`` on: as many as fit ``max_bytes``, at least one.

        See :meth:`~.interfaces.ILedgerStorage.load` for parameters and errors.
        """
        row = self.recent.find(ledger_id, entry_id) or self._searches.find(ledger_id, entry_id, self._n_written)
        if row is None:
            row = self._look_up(ledger_id, entry_id)
        while row is not None:
            try:
                return self.reader.read(row, entry_id, max_bytes)
            except DamageError:
                # a compaction may have copied the entry to another log and deleted the old log: look it up again
                now = self._look_up(ledger_id, entry_id)
                if now == row:
                    raise
                row = now
        return None

    def _look_up(self, ledger_id: int, entry_id: int) -> IndexRow | None:
        """Look up the index row of an entry; also cache the next rows if a reader will probably need them."""
        n_written = self._n_written
        row, found = self._searches.search(ledger_id, entry_id, n_written)
        if found is not None:
            self._found.append((n_written, found))
        return row

    def entry_ranges(self, ledger_id: int, stored: bool = True) -> list[tuple[int, int]]:
        """Return (first id, last id) of each range of consecutive entries of a ledger, ascending.

        This method reads the caches before the index, because an entry leaves its cache only after the index has it.

        :param stored: whether to include entries on disk; False for the entries in the write caches alone.
        """
        ranges = self.active.ranges(ledger_id) + self.flushing.ranges(ledger_id)
        if stored:
            ranges += [(row.first, row.last) for row in self.index.rows(ledger_id)]
        return merged(ranges)

    def close(self) -> None:
        """Seal the entry log that is being written, and close all files.

        :raises StorageError: an operation failed; all files are closed nevertheless.
        """
        try:
            self.log.close()
        except OSError as e:
            raise storage_error(e, self.path) from e
        finally:
            self.reader.close()
            self.index.close()


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping and adjacent ``ranges`` of entry ids; return all ranges in ascending order."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return result

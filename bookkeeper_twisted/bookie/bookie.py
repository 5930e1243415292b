"""The operations of a bookie on its storage and journals.  They run on the reactor thread, and only touch memory."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ..entries.entry_run import EntryRun
from ..entries.interfaces import Entries
from ..errors import (
    BadRequestError,
    BookieIOError,
    BookKeeperError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    WriteOnReadOnlyBookieError,
)
from ..metrics import BookieMetrics
from ..model import INVALID_ENTRY_ID
from ..storage.interfaces import ILedgerStorage, JournalPosition
from .disk_reads import DiskReads
from .group_commit import GroupCommit
from .interfaces import AddDone, IBookie, IStorageExecutor, ReadTimes
from .ledger_handle import LacWatches, LedgerHandle, LedgerHandles, take_note
from .records import explicit_lac_record, fence_record, lac_of_packet, ledger_of_packet
from .waiting_adds import WaitingAdds


@attrs.frozen
class BookieOptions:
    """Limits and other settings of a bookie's operations.

    :ivar write_data: whether entries are written to the journal (``journalWriteData``).
    :ivar max_throttle_time: maximum number of seconds that an add waits for room in the write cache and the journal's
        queue.
    :ivar max_waiting_bytes: maximum number of bytes of adds that wait for room; more adds are refused.
    :ivar max_waiting_reads: maximum number of reads that wait for the disk.
    :ivar read_threads: number of threads that read from disk; a bookie only exports this number as a metric.
    :ivar max_long_polls: maximum number of requests that wait for a LAC to advance.
    """

    write_data: bool = True
    max_throttle_time: float = 10.0
    max_waiting_bytes: int = 64 * 1024 * 1024
    max_waiting_reads: int = 20_000
    read_threads: int = 1
    max_long_polls: int = 10_000


@attrs.define
class WriteMode:
    """The write mode of a bookie: whether the bookie accepts adds.

    :ivar high_priority: whether the bookie accepts adds of high priority even if it is read-only.
    :ivar refusing: numbers of the journals whose directories take no writes.  The bookie is read-only then, and refuses
        whatever else needs one of these journals, because a failed write to a journal ends the bookie.
    """

    read_only: bool = False
    high_priority: bool = True
    refusing: Collection[int] = ()

    def check(self, ledger_id: int, high_priority: bool) -> None:
        """Raise an error if the bookie refuses an add.

        :param ledger_id: id of the ledger, for the error.
        :param high_priority: whether the add has high priority.
        :raises WriteOnReadOnlyBookieError: the bookie refuses the add.
        """
        if self.read_only and not (high_priority and self.high_priority):
            raise WriteOnReadOnlyBookieError(ledger_id)


@implementer(IBookie)
class Bookie:
    """The operations of one bookie on its storage and journals.

    :param commits: for each of the ``n`` journals, the queue of records that wait for it.  The records of a ledger are
        put into the queue with the index ``ledger_id mod n``.
    :param flush: sends the replies that were collected for the connections
        (:meth:`~bookkeeper_twisted.protocol.server.outbox.Outbox.flush`).
    :param on_full: called when the write cache is full; it begins a checkpoint unless one is in progress.
    """

    def __init__(
        self, storage: ILedgerStorage, commits: Sequence[GroupCommit], executor: IStorageExecutor, clock: IReactorTime,
        flush: Callable[[], None], metrics: BookieMetrics, on_full: Callable[[], object] = lambda: None,
        options: BookieOptions = BookieOptions(),
    ) -> None:  # fmt: skip
        self.mode = WriteMode()
        self._storage = storage
        self._commits = commits
        self._metrics = metrics
        self._on_full = on_full
        self._write_data = options.write_data
        self._handles = LedgerHandles(storage, commits)
        self._watches = LacWatches(clock, flush, options.max_long_polls)
        self._reads = DiskReads(storage, executor, flush, metrics, clock.seconds, options.max_waiting_reads)
        self._waiting = WaitingAdds(
            clock, self._admit, flush, metrics, options.max_throttle_time, options.max_waiting_bytes
        )
        metrics.watch(self._status, len(commits))

    def _status(self) -> int:
        return 0 if self.mode.read_only else 1

    def log_marks(self) -> list[JournalPosition]:
        """Return a new log mark for each journal: a position before which the storage has every record."""
        return [commit.log_mark for commit in self._commits]

    # -- adds --

    def add(
        self, entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool,
        done: AddDone,
    ) -> None:  # fmt: skip
        if self._waiting or not self._has_room(entries):
            self._waiting.put((entries, master_key, recovery, deferred_sync, high_priority, done))
        else:
            self._admit(entries, master_key, recovery, deferred_sync, high_priority, done)

    def _has_room(self, entries: Entries) -> bool:
        commits = self._commits
        for number in entries.part_numbers(len(commits)):
            if commits[number].is_full:
                return False
        if not self._storage.is_full():
            return True
        # ``on_full`` may begin a checkpoint, which makes room immediately, because new entries then go to the other
        # write cache.
        self._on_full()
        return not self._storage.is_full()

    def resume_adds(self) -> None:
        """Store the waiting adds, oldest first, while the write cache and the queues of the journals have room."""
        if self._waiting:
            self._waiting.resume(self._has_room)

    def lacked_room_since(self, began: float) -> bool:
        """Test whether an add has waited for room since the time ``began``, in seconds of the reactor's clock."""
        return self._waiting.ended_at >= began

    @property
    def room_seconds(self) -> float:
        """Return for how long the oldest waiting add has waited for room, in seconds; 0 if none waits."""
        return self._waiting.seconds

    def refuse_waiting(self, error: BookKeeperError) -> None:
        """Pass ``error`` to all adds that wait for room in the write cache or in the queue of a journal."""
        self._waiting.fail_all(error)

    def _admit(
        self, entries: Entries, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool,
        done: AddDone,
    ) -> None:  # fmt: skip
        # A read-only bookie may accept some runs (consecutive entries of one ledger) and refuse others, so each run is
        # checked separately.
        if self.mode.read_only or not self._admit_together(entries, master_key, deferred_sync, done):
            for run in entries.runs():
                self._admit_run(run, master_key, recovery, deferred_sync, high_priority, done)

    def _admit_together(self, entries: Entries, master_key: bytes, deferred_sync: bool, done: AddDone) -> bool:
        """Store entries of one or several ledgers in one call.

        If the fence or key of one of the ledgers must be checked first, store nothing and return False.
        """
        handles = self._handles.accepting(entries.ledger_ids, master_key)
        if handles is None:
            return False
        self._storage.add(entries)
        take_note(handles, entries)
        self._measure(entries)
        if not self._write_data:
            done(entries, None)
            return True
        for number, part in entries.split(len(self._commits)):
            self._commits[number].append(part.data, part.count, partial(done, part), not deferred_sync)
        return True

    def _measure(self, entries: Entries) -> None:
        self._metrics.write_bytes.value += entries.size
        self._metrics.add_entry_bytes.success.record(entries.size / entries.count, entries.count)

    def _admit_run(
        self, run: EntryRun, master_key: bytes, recovery: bool, deferred_sync: bool, high_priority: bool,
        done: AddDone,
    ) -> None:  # fmt: skip
        try:
            handle = self._check_add(run, master_key, recovery, high_priority)
            self._storage.add(run)
        except BookKeeperError as error:
            done(run, error)
            return
        # Write to the storage before the journal.  Otherwise a checkpoint could move the log mark past a record in the
        # journal while the storage does not have the record's entries yet; a crash would then lose these entries.
        # In the journal, write the key record before the entries, because a replay needs the key first.
        records = self._adopt_key(handle, master_key)
        handle.last_entry = max(handle.last_entry, run.last)
        handle.advance_lac(run.last_add_confirmed())
        self._measure(run)
        if self._write_data:
            data = records + run.data if records else run.data
            handle.commit.append(data, run.count, partial(done, run), not deferred_sync)
        else:
            if records:
                handle.commit.append(records, 0, lambda error: None)
            done(run, None)

    def _check_add(self, run: EntryRun, master_key: bytes, recovery: bool, high_priority: bool) -> LedgerHandle:
        if run.first < 0 or run.ledger_id < 0:  # the journal uses negative entry ids for its own records
            raise BadRequestError(run.ledger_id, detail=f"entry id {run.first}")
        self.mode.check(run.ledger_id, high_priority)
        handle = self._handles.get(run.ledger_id)
        if not handle.known and self._storage.was_fenced(run.ledger_id):
            # The ledger was deleted: even a recovery add is refused, because it would create the ledger again.
            raise LedgerFencedError(run.ledger_id, run.first)
        handle.authorize(master_key)
        if handle.row.fenced and not recovery:
            raise LedgerFencedError(run.ledger_id, run.first)
        return handle

    def _adopt_key(self, handle: LedgerHandle, master_key: bytes) -> bytes:
        """Store the master key of a ledger.

        :returns: the key record that the caller must write to the journal; no bytes if the journal has the key.
        """
        row = handle.row
        if not handle.known or row.master_key != master_key or row.forgotten_at:
            self._handles.save(handle, attrs.evolve(row, master_key=master_key, forgotten_at=0))
            handle.key_journaled = False
        handle.adopts = False
        return handle.key_records()

    # -- fences, LACs, force --

    def fence(self, ledger_id: int, master_key: bytes) -> "Deferred[None]":
        if self._storage.was_fenced(ledger_id):
            return succeed(None)  # the ledger was deleted, but the storage still remembers its fence
        handle = self._handles.get(ledger_id)
        try:
            handle.authorize(master_key)
        except BookKeeperError as error:
            return fail(error)
        result: Deferred[None] = Deferred()
        if handle.fencing is not None:
            handle.fencing.append(result)
            return result
        # After a failure of the journal, the fence record may be lost, so the fence does not count as durable.
        if handle.row.fenced and not handle.commit.failed:
            return succeed(None)
        if self._is_refused(ledger_id):
            return fail(WriteOnReadOnlyBookieError(ledger_id))
        # Set the fence in memory before its record is durable, so that an add that arrives from now on is refused.
        records = self._adopt_key(handle, master_key)
        self._handles.save(handle, attrs.evolve(handle.row, fenced=True))
        handle.fencing = [result]
        # Append the key and the fence together, so that no journal has the fence without the key.
        handle.commit.append(records + fence_record(ledger_id), 0, lambda error: self._fenced(handle, error))
        handle.wake()
        return result

    def _fenced(self, handle: LedgerHandle, error: Exception | None) -> None:
        waiting, handle.fencing = handle.fencing or [], None
        for result in waiting:
            if error is None:
                result.callback(None)
            else:
                result.errback(BookieIOError(handle.ledger_id, detail=str(error)))

    def set_explicit_lac(self, ledger_id: int, master_key: bytes, body: bytes) -> "Deferred[None]":
        try:
            if ledger_of_packet(body) != ledger_id:
                raise BadRequestError(ledger_id, detail="not a LAC packet of this ledger")
            self.mode.check(ledger_id, False)
            if self._storage.was_fenced(ledger_id):
                raise LedgerFencedError(ledger_id)
            handle = self._handles.get(ledger_id)
            handle.authorize(master_key)
        except BookKeeperError as error:
            return fail(error)
        records = self._adopt_key(handle, master_key)
        lac = lac_of_packet(body)
        if lac >= lac_of_packet(handle.row.explicit_lac):  # an explicit LAC never decreases
            self._handles.save(handle, attrs.evolve(handle.row, explicit_lac=body))
        handle.advance_lac(lac)
        return self._journal(handle, records + explicit_lac_record(ledger_id, body))

    def explicit_lac(self, ledger_id: int) -> bytes:
        handle = self._handles.find(ledger_id)
        return handle.row.explicit_lac if handle is not None else b""

    def force(self, ledger_id: int) -> "Deferred[None]":
        self._metrics.force_ledger.value += 1
        if self._is_refused(ledger_id):
            return fail(WriteOnReadOnlyBookieError(ledger_id))
        return self._journal(self._handles.get(ledger_id), b"")

    def _is_refused(self, ledger_id: int) -> bool:
        """Test whether the journal of a ledger takes no records, because its directory takes no writes."""
        return ledger_id % len(self._commits) in self.mode.refusing

    def _journal(self, handle: LedgerHandle, records: bytes) -> "Deferred[None]":
        result: Deferred[None] = Deferred()

        def done(error: Exception | None) -> None:
            if error is None:
                result.callback(None)
            else:
                result.errback(BookieIOError(handle.ledger_id, detail=str(error)))

        handle.commit.append(records, 0, done)
        return result

    # -- deletion --

    def forget(self, ledger_ids: Sequence[int], now: int, is_elsewhere: bool = False) -> Sequence[int]:
        """Delete ledgers; the next checkpoint makes the deletion durable.

        A ledger whose fence is in progress is not deleted; a later call can delete it.

        :param now: the present time, in seconds since the epoch.
        :param is_elsewhere: True if the ledgers exist, but this bookie is in none of their ensembles.  In this case the
            bookie keeps their fences, and still accepts recovery adds to them.  False if the caller has confirmed that
            the metadata store has no such ledgers.
        :returns: the deleted ledgers.
        """
        forgotten = [ledger_id for ledger_id in ledger_ids if self._handles.forget(ledger_id)]
        rows = [self._storage.ledger(ledger_id) for ledger_id in forgotten] if is_elsewhere else ()
        self._storage.forget(forgotten, now)
        for row in rows:
            if row is not None and row.fenced and row.master_key:
                self._storage.put_ledger(attrs.evolve(row, explicit_lac=b"", forgotten_at=max(now, 1)))
        return forgotten

    # -- reads --

    @property
    def waiting_reads(self) -> int:
        """Return the number of reads that wait for the disk."""
        return self._reads.waiting

    def present_reads(self) -> ReadTimes:
        """Return for how long reads have waited for the disk, and for a read thread, at present."""
        return self._reads.present()

    def cached(self, ledger_id: int, entry_id: int, max_count: int = 1) -> EntryRun | None:
        return self._storage.cached(ledger_id, entry_id, max_count)

    def resident(self, ledger_id: int, entry_id: int, max_count: int, max_bytes: int) -> EntryRun | None:
        run = self._storage.resident(ledger_id, entry_id, max_count, max_bytes)
        if run is not None:
            self._metrics.read_bytes.value += len(run.data)
        return run

    def scattered(
        self, ledger_ids: Sequence[int], entry_ids: Sequence[int], max_bytes: int
    ) -> Sequence[bytes | None]:  # fmt: skip
        found = self._storage.scattered(ledger_ids, entry_ids, max_bytes)
        self._metrics.read_bytes.value += found.read_bytes
        return found.entries

    def load(
        self, wanted: Sequence[tuple[int, int, int]], times: ReadTimes | None = None
    ) -> "Deferred[list[EntryRun | Exception]]":  # fmt: skip
        missing = [self._missing(ledger_id, entry_id) for ledger_id, entry_id, _ in wanted]
        on_disk = [triple for triple, error in zip(wanted, missing, strict=True) if error is None]
        if not on_disk:
            return succeed([error for error in missing if error is not None])
        loading = self._reads.load(on_disk, times)
        return loading if len(on_disk) == len(wanted) else loading.addCallback(_with_missing, missing)

    def _missing(self, ledger_id: int, entry_id: int) -> Exception | None:
        """Return an error if an entry certainly does not exist; None if the index must be searched."""
        if entry_id < 0:  # no entry has a negative id; -1, which means the last entry, was replaced before the call
            return BadRequestError(ledger_id, detail=f"entry id {entry_id}")
        handle = self._handles.find(ledger_id)
        if handle is None:
            return NoSuchLedgerError(ledger_id)
        if handle.last_complete and entry_id > handle.last_entry:
            return NoSuchEntryError(ledger_id, entry_id)
        return None

    def last_entry(self, ledger_id: int) -> "Deferred[int]":
        handle = self._handles.find(ledger_id)
        if handle is None:
            return fail(NoSuchLedgerError(ledger_id))
        if handle.last_complete:
            return _last_of(handle)
        # Look for the last entry in the write cache first, then on disk.  In the other order, a checkpoint could move
        # the entry to disk between the two searches, so that neither would find it.
        handle.last_entry = max(handle.last_entry, self._storage.last_cached(ledger_id))
        return self._reads.last_entry(ledger_id).addCallback(self._found_last, handle)

    def known_last(self, ledger_id: int) -> int:
        handle = self._handles.peek(ledger_id)
        return handle.last_entry if handle is not None and handle.last_complete else INVALID_ENTRY_ID

    def _found_last(self, on_disk: int, handle: LedgerHandle) -> "Deferred[int]":
        handle.last_entry = max(handle.last_entry, on_disk)
        handle.last_complete = True
        return _last_of(handle)

    def entry_ranges(self, ledger_id: int) -> "Deferred[list[tuple[int, int]]]":
        if self._storage.ledger(ledger_id) is None:
            return fail(NoSuchLedgerError(ledger_id))
        return self._reads.entry_ranges(ledger_id)

    def last_add_confirmed(self, ledger_id: int) -> int:
        handle = self._handles.peek(ledger_id)
        return handle.last_add_confirmed if handle is not None else -1

    def wait_lac(self, ledger_id: int, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        handle = self._handles.find(ledger_id)
        if handle is None:
            return fail(NoSuchLedgerError(ledger_id))
        if handle.last_add_confirmed > previous_lac:
            return succeed(None)
        waiting = self._watches.wait(handle, previous_lac, timeout)
        if not handle.lac_learned:
            handle.lac_learned = True
            Deferred.fromCoroutine(self._learn_lac(handle))
        return waiting

    async def _learn_lac(self, handle: LedgerHandle) -> None:
        """Read the last stored entry of a ledger, to learn the LAC in its header.

        Without this, a long poll could wait for a LAC that is already in a stored entry.
        """
        try:
            last = await self.last_entry(handle.ledger_id)
            run = self.cached(handle.ledger_id, last)
            found = run if run is not None else (await self.load([(handle.ledger_id, last, 0)]))[0]
        except BookKeeperError:
            return
        if isinstance(found, EntryRun):
            lac = found.slice(last, 1).last_add_confirmed()
            if lac > handle.last_add_confirmed:
                handle.last_add_confirmed = lac
                handle.wake([watch for watch, previous in handle.watches.items() if previous < lac])


def _last_of(handle: LedgerHandle) -> "Deferred[int]":
    return succeed(handle.last_entry) if handle.last_entry >= 0 else fail(NoSuchEntryError(handle.ledger_id))


def _with_missing(
    loaded: list[EntryRun | Exception], missing: Sequence[Exception | None]
) -> list[EntryRun | Exception]:
    rest = iter(loaded)
    return [error if error is not None else next(rest) for error in missing]

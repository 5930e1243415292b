"""Group commit: the records that arrive while the journal is busy are written and synced together, as one group.

The reactor thread appends items to a queue; an item has records and a *completion*, a callback for their end.  The
journal thread *drains* the queue: it writes all queued records by one ``write_group``, syncs once if an item requires
it, and reports the group to the reactor thread by one call.  As long as the queue is not empty, the journal thread
writes the next group without waiting for the reactor thread.

If the journal thread is idle, the records that are appended in one turn of the reactor are collected.  At the end of
the turn, the reactor thread submits them as one small group to the kernel, without waiting for the disk, which saves
two hand-overs between threads (:meth:`.IStorageExecutor.write`).  Nothing waits for the end of the turn if more than
:data:`AT_ONCE_BYTES` are collected, which the journal thread writes, or while records come one by one (:data:`LONE`).

There is one *token*, which stands for the right to write.  Only the thread that has taken the token may write.  So
groups are written one after the other, and their completions are called in this order.
"""

from collections import deque
from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import StorageFailedError
from ..metrics import JournalGroup, JournalMetrics
from ..storage.interfaces import JournalPosition
from ..storage.journal.interfaces import IJournal
from .commit_group import CommitGroup, CommitItem, Done
from .interfaces import IStorageExecutor

QUEUE = "its turn in the queue of the journal"
SYNC = "the write and the sync of the journal"
LOOP = "the event loop, which was busy, or waited for a processor"
HELD = "the journal's file system, which held up the write"
"""The log says with one of these texts what a slow add has waited for."""

BUSY_SECONDS = 0.1
"""Seconds for which a journal counts as busy after an append; a steady client pauses only for milliseconds."""

AT_ONCE_BYTES = 16 * 1024
"""If the queue has at most this number of bytes, the reactor thread begins the write, otherwise the journal thread.

To copy these bytes and to compute their checksum takes only microseconds, so the reactor is not held up.
"""

SLOW_BEGIN = 0.05
BY_THREAD = 60.0
"""If the reactor thread needs SLOW_BEGIN seconds to begin a write, the journal thread writes for BY_THREAD seconds.

The kernel is asked not to wait for the disk, but some file systems do, and a frozen one waits until it is thawed.
"""

LONE = 16
"""Number of appends in a row, each alone in its group, after which an append does not wait for the end of the turn."""


@attrs.frozen
class CommitOptions:
    """The settings of a journal: when it writes and syncs, and how many bytes may wait for it.

    :ivar sync_data: whether records are acknowledged after the sync; if False, after the write (``journalSyncData``).
    :ivar sync_interval: maximum number of seconds from the write of a record to its sync.
    :ivar max_wait: seconds that an idle journal waits for more records before it writes; 0: it writes at the end of the
        reactor's turn.
    :ivar enough_bytes: the wait of ``max_wait`` ends early when the queue has this many bytes.
    :ivar max_queued_bytes, max_queued_items: size of the queue in bytes and in items from which
        :attr:`GroupCommit.is_full` is true, so that the queue's memory is bounded.
    """

    sync_data: bool = True
    sync_interval: float = 1.0
    max_wait: float = 0.0
    enough_bytes: int = 512 * 1024
    max_queued_bytes: int = 64 * 1024 * 1024
    max_queued_items: int = 10_000


class GroupCommit:
    """The queue of records that wait for one journal, and the scheduler of the journal's group commits.

    :param thread: name of the thread that writes the journal.
    :param flush: sends the replies that are queued for the connections; called once for each group of records, after
        the completions of all its records.
    :param on_failure: called once, with the first failure; after that, no record is acknowledged any more.
    :ivar log_mark: the position up to which all records are synced and completed, so that the storage has them; the
        next checkpoint makes it the log mark of the journal.
    :ivar held_seconds: for how many seconds in all the file system has held up the reactor thread as writes began; the
        calls that took the usual time do not count.
    """

    _log = Logger()

    def __init__(
        self, journal: IJournal, thread: str, executor: IStorageExecutor, clock: IReactorTime,
        flush: Callable[[], None], on_failure: Callable[[Failure], None], metrics: JournalMetrics,
        options: CommitOptions = CommitOptions(),
    ) -> None:  # fmt: skip
        self.thread = thread
        self.journal = journal
        self.log_mark = journal.durable
        self.queued_bytes = 0
        self.held_seconds = 0.0
        self.failed = False
        self._closed = False
        self._stopped = False
        self._executor = executor
        self._clock = clock
        self._flush = flush
        self._on_failure = on_failure
        self._metrics = metrics
        self._options = options
        self._queue: deque[CommitItem] = deque()
        # the token: only the thread that has taken it writes to the journal
        self._idle: deque[None] = deque((None,))
        # number of calls of _drain() whose last group of records still waits for its completions
        self._drains = 0
        self._completing: tuple[CommitGroup, CommitItem] | None = None
        # the group that the kernel is writing without the journal thread; None if there is no such write in progress
        self._begun: CommitGroup | None = None
        self._start: IDelayedCall | None = None
        self._n_lone = 0  # number of appends in a row that found the journal idle and were alone in their groups
        self._sync_due: IDelayedCall | None = None
        self._appended_at = -BUSY_SECONDS
        self._began = self._ended = self._by_thread_until = 0.0
        metrics.watch_queue(
            lambda: len(self._queue), lambda: self.queued_bytes, options.max_queued_bytes, lambda: 1 - len(self._idle)
        )

    @property
    def is_full(self) -> bool:
        """Test whether the queue has reached its limits, so that adds have to wait."""
        options = self._options
        return self.queued_bytes >= options.max_queued_bytes or len(self._queue) >= options.max_queued_items

    @property
    def is_busy(self) -> bool:
        """Test whether a record was appended recently; may be called on any thread."""
        return self._clock.seconds() - self._appended_at < BUSY_SECONDS

    @property
    def blocked_seconds(self) -> float:
        """Return how long the journal write or sync in progress has lasted, in seconds; 0 if none is in progress.

        It counts from the moment at which the group was taken from the queue; before that, from its first append.
        """
        return 0.0 if self._idle or self.failed else self._clock.seconds() - self._began

    @property
    def completing(self) -> CommitGroup | None:
        """Return the group of records whose completions (callbacks) are being called at the moment, or None."""
        return None if self._completing is None else self._completing[0]

    def waits(self) -> dict[str, float]:
        """Return how long the record that is being completed has waited, in seconds by cause.

        The causes are :data:`QUEUE`, :data:`SYNC`, :data:`HELD` and :data:`LOOP`.  The wait for the write and the sync
        of the group before counts as :data:`SYNC`.  Call this in a record's completion; elsewhere the result is empty.
        """
        if self._completing is None:
            return {}
        group, item = self._completing
        began = max(item.queued_at, group.behind)
        in_sync = began - item.queued_at + group.ended - group.began - group.held
        late = self._clock.seconds() - group.ended
        return {QUEUE: group.began - began, SYNC: in_sync, HELD: group.held, LOOP: late}

    # -- reactor --

    def append(self, records: bytes, n_entries: int, done: Done, sync: bool = True) -> None:
        """Queue complete records for the next write to the journal.

        If ``records`` is empty, ``done`` is called after the completions of all records that were queued earlier.

        :param records: the encoded records, one after the other; the buffer must not change.
        :param n_entries: number of entries in the records, for the metrics.
        :param done: called once, with None or the error.
        :param sync: True to call ``done`` when the records are durable, False to call it when they are written.
        """
        self._append(records, n_entries, done, sync and self._options.sync_data)

    def _append(self, records: bytes, n_entries: int, done: Done, sync: bool) -> None:
        if self.failed:
            done(StorageFailedError(f"{self.thread} has failed"))
            return
        if self._closed:
            done(StorageFailedError(f"{self.thread} is closed: the bookie is stopping"))
            return
        self.queued_bytes += len(records)
        self._appended_at = self._clock.seconds()
        self._queue.append(CommitItem(records, n_entries, sync, done, self._appended_at))
        if self._start is None and self._take_token():
            self._begin()
            return
        self._n_lone = 0
        if self._start is not None and self._is_enough:
            self._start.cancel()
            self._submit()

    def _take_token(self) -> bool:
        try:
            self._idle.pop()
        except IndexError:
            return False
        return True

    @property
    def _is_enough(self) -> bool:
        """Test whether the queue is so large that it must be written now, instead of waiting for more records."""
        options = self._options
        return self.queued_bytes >= (options.enough_bytes if options.max_wait else AT_ONCE_BYTES)

    def _begin(self) -> None:
        self._began = self._appended_at
        self._n_lone += 1
        if self._is_enough or (self._n_lone > LONE and not self._options.max_wait):
            self._submit()
        else:
            # With 0 seconds, the reactor first handles all sockets that are readable now, so that the records of all of
            # them are in one group.
            self._start = self._clock.callLater(self._options.max_wait, self._submit)

    def _submit(self) -> None:
        self._start = None
        # Begin no write here while the last group of the journal thread is still on its way to the reactor thread: the
        # new write could end first, and its completions would be called before those of the older group.
        if not self._drains and self._began_write():
            return
        self._drains += 1
        drained = self._executor.submit(self.thread, self._drain)
        drained.addCallbacks(self._drained, self._broken)

    def _began_write(self) -> bool:
        """Begin to write the queued items as one group, by one asynchronous write without the journal thread.

        :returns: False if the journal thread must write the items: they are too large, some need no sync, the journal
            needs more than one write for them, or the system does not accept the write or was slow to accept one.
        """
        began = self._clock.seconds()
        if self.queued_bytes > AT_ONCE_BYTES or began < self._by_thread_until:
            return False
        records = [item.records for item in self._queue if item.records and item.sync]
        if not records or len(records) < len(self._queue):
            return False
        write = self.journal.begin_group(records)
        if write is None or not self._executor.write(self.thread, *write, self._written):
            return False
        group = self._begun = self._take_group()
        group.held, group.began, group.written = group.began - began, began, began
        if group.held > SLOW_BEGIN:
            self._accepted_slowly(group)
        return True

    def _accepted_slowly(self, group: CommitGroup) -> None:
        self.held_seconds += group.held
        self._by_thread_until = group.began + group.held + BY_THREAD
        self._log.warn(
            "{thread}: its file system held up the reactor thread for {seconds:.1f} s as a write began; the journal "
            "thread writes for the next {pause:.0f} s", thread=self.thread, seconds=group.held, pause=BY_THREAD,
        )  # fmt: skip

    def _drained(self, group: CommitGroup) -> None:
        self._drains -= 1
        self._complete(group)

    def _written(self, failure: Failure | None) -> None:
        """Begin the next write, or return the token (the right to write); then complete the group that was written.

        :param failure: None if the group is durable.
        """
        group, self._begun = self._begun, None
        assert group is not None
        if failure is not None:
            # Do not return the token: after a failed write, nothing may be written any more (safety rule S10).
            self.journal.end_group(failure.value)
            self._fail(failure, group.items)
            return
        self.journal.end_group()
        self._record_end(group)
        if self._queue:
            self._submit()
        else:
            self._idle.append(None)
        self._complete(group)

    def _complete(self, group: CommitGroup) -> None:
        """Call the completions of a group of records in order; then send the replies that they have queued."""
        if group.failure is not None:
            self._fail(group.failure, group.items)
            return
        self.log_mark = group.durable
        for item in group.items:
            self.queued_bytes -= len(item.records)
            self._completing = group, item
            self._call(item, None)
        self._completing = None
        self._flush()
        # The group may be empty: an append has submitted a drain, but an earlier drain that was still running has
        # already written the appended record.
        if group.items:
            self._measure(group)  # measure after the completions, because clients wait for the completions
        self._watch_unsynced(group.synced)

    def _call(self, item: CommitItem, error: Exception | None) -> None:
        try:
            item.done(error)
        except Exception:
            # The records are durable, so the other completions must be called even if this one raises an error.
            self._log.failure("a completion failed")

    def _broken(self, failure: Failure) -> None:
        self._fail(failure, ())

    def _fail(self, failure: Failure, items: Sequence[CommitItem]) -> None:
        first, self.failed = not self.failed, True
        error = StorageFailedError(f"{self.thread} has failed: {failure.getErrorMessage()}")
        if first and failure.check(OSError, StorageFailedError):  # a traceback says nothing more about a disk
            self._log.critical("{error}; nothing more is acknowledged", error=error, thread=self.thread)
        elif first:
            self._log.failure("{error}; nothing more is acknowledged", failure, error=error, thread=self.thread)
        left = [self._queue.popleft() for _ in range(len(self._queue))]
        for item in (*items, *left):
            self._call(item, error)
        self.queued_bytes = 0
        self.stop()
        self._flush()
        if first:
            self._on_failure(failure)

    def _watch_unsynced(self, synced: bool) -> None:
        if synced and self._sync_due is not None:
            self._sync_due.cancel()
            self._sync_due = None
        elif not synced and self._sync_due is None and not self._stopped:
            self._sync_due = self._clock.callLater(self._options.sync_interval, self._sync)

    def _sync(self) -> None:
        self._sync_due = None
        self._append(b"", 0, lambda error: None, sync=True)

    def stop(self) -> None:
        """Stop the timers; the records in the queue are still written."""
        self._stopped = True
        if self._start is not None:
            self._start.cancel()
            self._submit()
        if self._sync_due is not None:
            self._sync_due.cancel()
            self._sync_due = None

    def finish(self) -> "Deferred[None]":
        """Stop the timers; the result fires when every queued record is durable or has failed."""
        self.stop()
        result: Deferred[None] = Deferred()
        self._append(b"", 0, lambda error: result.callback(None), sync=True)
        return result

    def close(self) -> "Deferred[None]":
        """Do the same as :meth:`finish`, and fail every later append.

        Call this before the journal is closed on another thread: records that are written meanwhile would be lost.
        """
        finished = self.finish()
        self._closed = True
        return finished

    def release_files(self, log_mark: JournalPosition) -> None:
        """Recycle or delete old journal files and prepare the next file.

        The present file may be written at the same time.

        :param log_mark: position in the journal; files that end before it are no longer needed.
        """
        Deferred.fromCoroutine(self._release_files(log_mark)).addErrback(self._broken)

    def make_ready(self) -> None:
        """Prepare the next journal file; the present file may be written at the same time."""
        Deferred.fromCoroutine(self._make_ready()).addErrback(self._broken)

    async def _release_files(self, log_mark: JournalPosition) -> None:
        await self._executor.submit("flush", self.journal.release, log_mark)
        await self._make_ready()

    async def _make_ready(self) -> None:
        while not self._stopped and not await self._executor.submit("flush", self.journal.prepare):
            pass

    def _measure(self, group: CommitGroup) -> None:
        n_entries, n_bytes, queued_at = group.n_entries, 0, 0.0
        for item in group.items:
            n_bytes += len(item.records)
            queued_at += item.queued_at
        metrics = self._metrics
        metrics.group_entries.success.record(n_entries)
        metrics.group_bytes.success.record(n_bytes)
        waited = group.began - queued_at / len(group.items)
        metrics.queue_latency.success.record(waited * 1000, len(group.items))
        written = group.written - group.began
        synced = group.ended - group.written if group.synced else None
        if synced is not None:
            metrics.sync.success.record(synced * 1000)
        else:
            metrics.write.success.record(written * 1000)
        metrics.groups.append(JournalGroup(group.ended, n_entries, n_bytes, waited, written, synced))
        metrics.add_entry.success.record((waited + group.ended - group.began) * 1000, max(n_entries, 1))

    # -- journal thread --

    def _drain(self) -> CommitGroup:
        """Write the queued records, in groups (each written together), until the queue is empty.

        The completions of the groups are called on the reactor thread.  For the last group, which is returned, the
        caller calls them.
        """
        while True:
            group = self._commit()
            if group.failure is not None:
                # Do not return the token that a thread needs to write to the journal: after a failure, nothing may be
                # written to the journal any more.
                return group
            if not self._queue:
                self._idle.append(None)
                # Check the queue again: while this thread had the token (the right to write), the reactor thread may
                # have queued a record that no other thread could write.
                if not self._queue or not self._take_token():
                    return group
            self._executor.notify(self._complete, group)

    def _commit(self) -> CommitGroup:
        group = self._take_group()
        try:
            self._write(group)
        except Exception:
            group.failure = Failure()
        return group

    def _write(self, group: CommitGroup) -> None:
        items = group.items
        records = [item.records for item in items if item.records]
        waiting = [item for item in items if item.sync]
        if records and len(waiting) == len(items):
            # every item in the queue needs a sync, so the journal can write and sync by one call
            self.journal.write_group(records)
        else:
            self._write_and_sync(group, records, waiting)
        self._record_end(group)

    def _write_and_sync(self, group: CommitGroup, records: Sequence[bytes], waiting: Sequence[CommitItem]) -> None:
        """Write the records, then sync the journal.

        Items that need no sync complete after the write, all other items after the sync.
        """
        if records:
            self.journal.write_group(records, sync=False)
            group.written = self._clock.seconds()
        if waiting:
            if records:
                self._complete_early(group, waiting)
            self.journal.sync()

    def _complete_early(self, group: CommitGroup, waiting: Sequence[CommitItem]) -> None:
        early = CommitGroup([item for item in group.items if not item.sync], group.began, group.behind)
        early.written = early.ended = group.written
        early.durable = self.journal.durable
        self._executor.notify(self._complete, early)
        group.items = waiting

    # -- whichever thread has the token --

    def _take_group(self) -> CommitGroup:
        """Take all items from the queue, as a group that is written now."""
        items = [self._queue.popleft() for _ in range(len(self._queue))]
        group = CommitGroup(items, self._clock.seconds(), self._ended)
        self._began = group.began
        return group

    def _record_end(self, group: CommitGroup) -> None:
        """Store in a ``group`` that was just written the position up to which the journal is durable."""
        group.durable = self.journal.durable
        group.synced = group.durable == self.journal.position
        group.ended = self._ended = self._clock.seconds()

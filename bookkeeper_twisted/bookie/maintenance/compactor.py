"""Compacts the entry logs of one ledger directory, step by step, within speed limits.

A few logs at a time, a group, are copied to new logs.  Normally, the old logs of all groups are deleted together, when
the compaction has ended.  But if disk space is scarce, the old logs of each group are deleted before the next group.
On a full disk, a compaction can use the space reserve, a file that only keeps disk space occupied
(:mod:`~bookkeeper_twisted.storage.files.space_reserve`).

While clients add entries, a compaction slows down even without a speed limit: it pauses after each step.  Only few of
its writes are in progress at a time, so that a write of the journal waits only a short time for the disk.
"""

import errno
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ...errors import LogDamageError, StorageError
from ...limits.throttle import Throttle
from ...metrics import MaintenanceMetrics
from ...storage.files.disk_queue import DiskQueue
from ...storage.interfaces import IndexRow
from ...storage.ledger_dirs import entry_log_names
from ...storage.maintenance.copying import LogCopy
from ...storage.maintenance.plan import LogUsage, is_scarce, next_group
from ...storage.maintenance.row_reader import RowCutter, RowReader, Step, VerifiedRow
from ..checkpointer import is_disk_full
from .log_collector import LogCollector
from .maintained import MaintainedDirectory, step_limits
from .progress import Progress, Suspension

_COMMIT_ROWS = 500

REST = 0.5
"""While clients add entries, a compaction pauses after each step, for this fraction of the time that the step took."""

T = TypeVar("T")


@attrs.frozen
class CompactionOrder:
    """The parameters of one compaction of a directory.

    :ivar threshold: a log is compacted if its live share is lower than this.  The live share is the share of its bytes
        that belong to existing ledgers.
    :ivar target_size: a log that is smaller than this counts as if it had this size when its live share is computed,
        so that small logs are merged; 0 to use the true size of each log.
    :ivar max_time: seconds after which the running compaction begins no further log; None for no limit.
    """

    threshold: float
    target_size: int = 0
    max_time: float | None = None


class Compactor:
    """A compactor of the entry logs of one directory.

    :ivar progress: progress of the present compaction; None while no compaction is in progress.
    :ivar compacted: number of entry logs compacted so far.
    :ivar suspension: the switch by which the present and later compactions are suspended.
    :param logs: deletes the entry logs without live entries.
    :param damage_found: called with the error when a compaction finds a damaged entry; stores a record of the damage,
        and marks the ledger as underreplicated in the metadata store.
    :param clients_add: tests whether clients are adding entries at the moment; may be called on any thread.
    """

    _log = Logger()

    def __init__(
        self, directory: MaintainedDirectory, logs: LogCollector, clock: IReactorTime, reads: Throttle,
        writes: Throttle, metrics: MaintenanceMetrics, damage_found: Callable[[LogDamageError], Awaitable[None]],
        clients_add: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.progress: Progress | None = None
        self.compacted = 0
        self.suspension = Suspension()
        self._directory = directory
        self._logs = logs
        self._clock = clock
        self._reads = reads
        self._writes = writes
        self._metrics = metrics
        self._damage_found = damage_found
        self._clients_add = clients_add
        self._queue: DiskQueue | None = None
        self._worked = 0.0
        self._borrows = False  # whether this compaction has deleted the space reserve, to use its space

    async def run(self, order: CompactionOrder) -> None:
        """Compact the entry logs that a compaction ``order`` selects.

        If the call is cancelled, the logs that are being copied at the moment stay unchanged.

        :raises bookkeeper_twisted.errors.StorageError: the index or the disk failed.
        :raises OSError: the disk failed, or has no space for the copy of a log.
        """
        progress = self.progress = Progress(self._clock.seconds(), (self._reads, self._writes))
        is_first = True
        try:
            usage = await self._directory.log_usage()
            chosen = self._directory.logs_to_compact(usage, order.threshold, order.target_size)
            progress.left = sum(log.live for log in chosen)
            progress.entries_left = sum(log.live_entries for log in chosen)
            while chosen:
                if order.max_time is not None and self._clock.seconds() - progress.began >= order.max_time:
                    break
                group = await self._next_group(chosen, is_first)
                try:
                    await self._compact_whole(group)
                except (StorageError, OSError) as error:
                    if is_disk_full(error) and await self._borrow():
                        continue
                    raise
                chosen, is_first = [log for log in chosen if log not in group], False
        finally:
            self.progress = None
            if self._borrows:
                self._borrows = False
                await self._directory.in_flush_thread(self._directory.storage.restore_reserve)

    async def close(self) -> None:
        """Free the queue of disk operations, and its buffers.

        The queue is kept between compactions, because closing it takes some time.
        """
        queue, self._queue = self._queue, None
        if queue is not None:
            await self._directory.in_thread(queue.close)

    async def _next_group(self, chosen: Sequence[LogUsage], is_first: bool) -> list[LogUsage]:
        """Return the logs to compact together next.

        If disk space is scarce, first delete old logs or use the space reserve.

        :raises OSError: the free space is too small for a copy of any log.
        """
        size_limit, free = self._directory.storage.log.size_limit, await self._free()
        if not is_first and is_scarce(chosen, size_limit, free):
            await self._logs.run()
            free = await self._free()
        group = next_group(chosen, size_limit, free)
        if not group and await self._borrow():
            free = await self._free()
            group = next_group(chosen, size_limit, free)
        if not group:
            least = min(log.live for log in chosen)
            reason = f"{free:,} bytes free are too few for the copy of {least:,} of a log"
            raise OSError(errno.ENOSPC, reason, self._directory.path)
        return group

    async def _borrow(self) -> bool:
        """Delete the space reserve, a file that only occupies disk space, so that this compaction can use the space.

        :returns: False if there is no such file, or another operation uses its space.
        """
        self._borrows = True  # set before the await: even a cancelled compaction must create the reserve file again
        if not await self._directory.in_flush_thread(self._directory.storage.release_reserve):
            return False
        self._log.info("{path}: a compaction finds no space, and uses the reserve", path=self._logs.path)
        return True

    async def _free(self) -> int:
        """Return the number of free bytes on the disk, for copies of entries.

        Normally, blocks that the file system reserves for privileged processes do not count.  On a full disk, when this
        compaction also uses the space reserve, they count as far as this process may use them.
        """
        fs = self._directory.fs
        if self._borrows:
            return await self._directory.in_thread(fs.allocatable, self._directory.path)
        _, free = await self._directory.in_thread(fs.usage, self._directory.path)
        return free

    async def _compact_whole(self, group: Sequence[LogUsage]) -> None:
        """Compact several logs together; if one of them is damaged, report the damage and compact the other logs."""
        left = [log.log_id for log in group]
        n_targets = 1 + sum(log.live for log in group) // self._directory.storage.log.size_limit
        while left:
            try:
                if await self._compact(left, n_targets):
                    self.compacted += len(left)
                    return
            except LogDamageError as damage:
                self._directory.damaged[damage.log_id] = str(damage)
                self._log.error(
                    "{damage}; the log is kept as it is and not compacted", damage=damage, log_id=damage.log_id
                )
                left.remove(damage.log_id)
                await self._damage_found(damage)

    async def _compact(self, sources: Sequence[int], n_targets: int) -> bool:
        """Copy the live entries of some entry logs to new logs; then commit index rows that refer to the new logs.

        :param sources: ids of the logs to compact.
        :param n_targets: maximum number of new logs to write.
        :returns: False if live entries are left because the new logs are full; another call copies these entries.
        """
        directory = self._directory
        in_thread, user = directory.in_thread, f"compaction of {entry_log_names(sources)}"
        queue = self._queue = self._queue or DiskQueue(self._clients_add)
        reader = RowReader(directory.fs, directory.storage, queue)
        cutter = RowCutter(directory.storage.index, sources=tuple(sources))
        # Reserve the ids of the new logs before the first index row is read.  If a client adds an entry again during
        # the compaction, the entry is stored in a log with a higher id than the compaction's copy.  So a rebuild of the
        # index, which prefers the log with the highest id, finds the client's entry.
        log_ids = await directory.in_flush_thread(directory.storage.reserve_logs, n_targets)
        # the new log that is being written; it is not durable yet, and no index row refers to it
        copy: LogCopy | None = None
        # Fires when the index rows of the previous new log are committed; the next new log is written meanwhile.
        committed: Deferred[None] = succeed(None)
        try:
            step, following = None, await in_thread(cutter.next_step, *self._limits())
            while step is not None or following is not None:
                if following is not None:
                    await self._admitted(following, user)
                rows, after = await self._work(_turn, reader, cutter, step, following, self._limits())
                if rows:
                    await self._may_write(rows, user)
                while rows:
                    if copy is None:
                        if not log_ids:
                            return False
                        copy = await in_thread(LogCopy, directory.fs, directory.storage, log_ids.pop(0), queue)
                    await self._work(copy.write, rows)
                    if rows:
                        committed = await self._finish(copy, committed, sources)
                        copy = None
                if step is not None:
                    self._advance(step)
                step, following = following, after
            if copy is not None:
                committed = await self._finish(copy, committed, sources)
                copy = None
            return True
        finally:
            await in_thread(reader.close)  # first: reads and writes share a queue, so this also waits for the writes
            if copy is not None:
                await in_thread(copy.abandon)
            await committed

    async def _may_write(self, rows: Sequence[VerifiedRow], user: str) -> None:
        """Wait for the limit on writes; a suspension that begins during this wait holds, too."""
        size = _size(rows)
        await self._allowed(self._writes, size, user, size[0])
        await self._idle(self.suspension.passed())

    def _limits(self) -> tuple[int, int]:
        return step_limits(self._reads, self._writes)

    def _advance(self, step: Step) -> None:
        if self.progress is not None:
            self.progress.advance(step.n_bytes, self._clock.seconds(), step.n_entries)
        self._metrics.compacted_bytes.value += step.n_bytes

    async def _allowed(self, limit: Throttle, size: tuple[int, int], user: str, n_bytes: int) -> None:
        """Wait for a speed ``limit``; see :meth:`.Progress.acquire`."""
        if self.progress is None:
            await limit.acquire(*size, user)
        else:
            await self.progress.acquire(limit, size, user, self._clock, n_bytes)

    async def _idle(self, waiting: Awaitable[None]) -> None:
        """Wait for the end of a suspension, without an effect on the measured speed."""
        if self.progress is None:
            await waiting
        else:
            await self.progress.idle(waiting, self._clock)

    async def _admitted(self, step: Step, user: str) -> None:
        """Wait until the next step may begin: because of the speed limit, the pause between steps, and a suspension.

        There is a pause between two steps while clients add entries (:data:`REST`).

        :param step: the next step.
        :param user: name of the compaction, for the log of the speed limit.
        """
        await self._allowed(self._reads, (step.n_disk_bytes, step.n_entries), user, step.n_bytes)
        worked, self._worked = self._worked, 0.0
        if worked and self._clients_add():
            await deferLater(self._clock, worked * REST)
        await self._idle(self.suspension.passed())  # last: a suspension may begin during each of the other waits

    async def _work(self, work: Callable[..., T], *args: Any) -> T:
        """Run a piece of work on the maintenance thread of the directory.

        The longer this work takes, the longer is the pause before the next step.
        """
        began = self._clock.seconds()
        done = await self._directory.in_thread(work, *args)
        self._worked += self._clock.seconds() - began
        return done

    async def _finish(self, copy: LogCopy, committed: "Deferred[None]", sources: Sequence[int]) -> "Deferred[None]":
        """Make a new log durable, then begin to commit its index rows.

        :param copy: the new log.
        :param committed: fires when the index rows of the previous new log are committed; this method waits for that.
        :param sources: ids of the logs that are compacted.
        :returns: fires when the index rows of this new log are committed.  The coroutine itself does not wait for that.
        """
        rows = await self._work(copy.finish)
        await committed
        return Deferred.fromCoroutine(self._commit(rows, sources))

    async def _commit(self, rows: Sequence[IndexRow], sources: Sequence[int]) -> None:
        """Replace index rows of the old logs by the ``rows`` of a new log, which is durable."""
        storage = self._directory.storage
        for begin in range(0, len(rows), _COMMIT_ROWS):
            batch = rows[begin : begin + _COMMIT_ROWS]
            await self._directory.in_flush_thread(storage.commit_moved, batch, frozenset(sources))
        storage.moved()


def _turn(
    reader: RowReader, cutter: RowCutter, step: Step | None, following: Step | None, limits: tuple[int, int]
) -> tuple[deque[VerifiedRow], Step | None]:
    """Verify the entries of one step of a compaction while the next step is read from disk.

    :param reader: reads the steps.
    :param cutter: divides the logs into steps.
    :param step: the step to verify, which was read before; None at the first call.
    :param following: the next step, whose read begins now; None if there is none.
    :param limits: size limits of the step after ``following``.
    :returns: two results.  First: the index rows whose last entry is in ``step``, each with its verified records.
        Second: the step after ``following``; None if there is no further step.
    """
    after = None
    if following is not None:
        reader.begin(following)
        after = cutter.next_step(*limits)
    return deque(reader.verified(step) if step is not None else ()), after


def _size(rows: Iterable[VerifiedRow]) -> tuple[int, int]:
    """Return the size in bytes of the records of some index ``rows``, and the number of their entries."""
    return sum([len(data) for _, data in rows]), sum([row.last - row.first + 1 for row, _ in rows])

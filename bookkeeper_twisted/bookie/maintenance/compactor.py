"""Compacts the entry logs of one ledger directory, step by step, behind speed limits."""

from collections.abc import Sequence

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import LogDamageError
from ...metrics import MaintenanceMetrics
from ...storage.maintenance.copying import LogCopy
from ...storage.maintenance.plan import LogUsage, candidates, group_bytes, next_group
from ...throttle import Throttle
from .lanes import MaintainedDirectory, step_limits
from .progress import Progress, Suspension

_COMMIT_ROWS = 500


@attrs.frozen
class CompactionOrder:
    """The order for one run of a compaction.

    :ivar threshold: logs with a smaller live share are compacted.
    :ivar target_size: a smaller log counts as if it had this size; 0: as it is.
    :ivar max_time: seconds after which no further group of logs is begun; None: no limit.
    """

    threshold: float
    target_size: int = 0
    max_time: float | None = None


class Compactor:
    """The compaction of one directory.

    :ivar progress: of the run, None while there is none.
    :ivar suspension: of the run at work and of later ones.
    """

    _log = Logger()

    def __init__(
        self, directory: MaintainedDirectory, clock: IReactorTime, reads: Throttle, writes: Throttle,
        metrics: MaintenanceMetrics,
    ) -> None:  # fmt: skip
        self.progress: Progress | None = None
        self.suspension = Suspension()
        self._directory = directory
        self._clock = clock
        self._reads = reads
        self._writes = writes
        self._metrics = metrics

    async def run(self, order: CompactionOrder) -> None:
        """Compact what the order names.  Cancelled, it leaves everything as it was before the group at work.

        :raises bookkeeper_twisted.errors.StorageError: index or disk failed.
        :raises OSError: the disk failed, or is full.
        """
        progress = self.progress = Progress(self._clock.seconds())
        try:
            chosen = await self._candidates(order)
            progress.left = sum(log.live for log in chosen)
            while chosen:
                if order.max_time is not None and self._clock.seconds() - progress.began >= order.max_time:
                    break
                group = next_group(chosen, await self._group_bytes())
                await self._compact_whole([log.log_id for log in group])
                chosen = chosen[len(group) :]
        finally:
            self.progress = None

    async def _candidates(self, order: CompactionOrder) -> list[LogUsage]:
        space = self._directory.space
        sealed = await self._directory.on_flush_lane(space.sealed_logs)
        usage = await self._directory.on_lane(space.usage, sealed)
        whole = [log for log in usage if log.log_id not in self._directory.damaged]
        return candidates(whole, order.threshold, order.target_size)

    async def _group_bytes(self) -> int:
        directory = self._directory
        _, free = await directory.on_lane(directory.fs.usage, directory.storage.path)
        return group_bytes(directory.storage.log.size_limit, free)

    async def _compact_whole(self, sources: Sequence[int]) -> None:
        """Compacts a group of logs; without the damaged ones, if there are some among them."""
        left = list(sources)
        while left:
            try:
                return await self._compact(left)
            except LogDamageError as damage:
                self._directory.damaged[damage.log_id] = str(damage)
                self._log.critical(
                    "DAMAGE: {damage}; the log is kept as it is and not compacted", damage=damage, log_id=damage.log_id
                )
                left.remove(damage.log_id)

    async def _compact(self, sources: Sequence[int]) -> None:
        directory = self._directory
        after, is_last = (-1, -1), False
        while not is_last:
            log_id = await directory.on_flush_lane(directory.storage.log.reserve)
            copy = await directory.on_lane(LogCopy, directory.fs, directory.storage, sources, log_id, after)
            try:
                await self._copy(copy)
                if copy.rows:
                    await directory.on_lane(copy.finish)
            finally:
                await directory.on_lane(copy.abandon)
            for begin in range(0, len(copy.rows), _COMMIT_ROWS):
                rows = copy.rows[begin : begin + _COMMIT_ROWS]
                await directory.on_flush_lane(directory.storage.commit_moved, rows, frozenset(sources))
            directory.storage.moved()
            after, is_last = copy.cutter.after, copy.cutter.is_last

    async def _copy(self, copy: LogCopy) -> None:
        on_lane = self._directory.on_lane
        while (step := await on_lane(copy.cutter.next_step, *step_limits(self._reads, self._writes))) is not None:
            await self._reads.acquire(step.n_disk_bytes, step.n_entries)
            await self.suspension.passed()
            await on_lane(copy.read, step)
            if copy.waiting_bytes:
                await self._write(copy)
            if self.progress is not None:
                self.progress.advance(step.n_bytes, self._clock.seconds())
            self._metrics.compacted_bytes.value += step.n_bytes
        copy.end_reading()
        if copy.waiting_bytes:
            await self._write(copy)

    async def _write(self, copy: LogCopy) -> None:
        await self._writes.acquire(copy.waiting_bytes, copy.waiting_entries)
        await self._directory.on_lane(copy.write)


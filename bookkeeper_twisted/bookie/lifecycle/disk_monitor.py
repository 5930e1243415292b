"""How full the disks of the ledger directories are, and what follows from it."""

from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ...storage.interfaces import IFileSystem
from ..interfaces import IStorageExecutor


@attrs.frozen
class DiskThresholds:
    """:ivar full: a disk used more than this share is full.
    :ivar low: a full disk is usable again when it is used less than this.
    :ivar warn: from here on the log warns.
    :ivar reserve: free bytes that let adds of high priority go on.
    """

    full: float = 0.95
    low: float = 0.95
    warn: float = 0.90
    reserve: int = 1 << 30


class DiskMonitor:
    """Looks at the disks now and then.

    :param on_change: called after each check with whether any disk is full, whether any is almost full, and whether
        each still has the reserve.
    """

    _log = Logger()

    def __init__(
        self, fs: IFileSystem, directories: Sequence[str], executor: IStorageExecutor, clock: IReactorTime,
        thresholds: DiskThresholds, on_change: Callable[[bool, bool, bool], None],
    ) -> None:  # fmt: skip
        self._fs = fs
        self._directories = directories
        self._executor = executor
        self._thresholds = thresholds
        self._on_change = on_change
        self._full = False
        self._timer = LoopingCall(self._check_logged)
        self._timer.clock = clock

    def start(self, interval: float) -> None:
        """Checks every ``interval`` seconds, for the first time after one."""
        self._timer.start(interval, now=False)

    async def stop(self) -> None:
        """Ends the checks."""
        if self._timer.running:
            self._timer.stop()

    def usage(self) -> "Deferred[list[tuple[int, int]]]":
        """Total and free bytes of each directory's disk."""
        return self._executor.submit("read", self._usage)

    def space(self) -> "Deferred[tuple[int, int]]":
        """Total and free bytes of all the disks, directories on one disk counted once."""
        return self.usage().addCallback(_sum_of_disks)

    def _usage(self) -> list[tuple[int, int]]:
        return [self._fs.usage(directory) for directory in self._directories]

    def _check_logged(self) -> "Deferred[None]":
        return Deferred.fromCoroutine(self.check()).addErrback(
            lambda failure: self._log.failure("a disk check failed", failure)
        )

    async def check(self) -> None:
        """Looks once; what was full has to get well below the threshold to be usable again."""
        usage = await self.usage()
        used = max(1 - free / total if total else 1.0 for total, free in usage)
        limit = self._thresholds.low if self._full else self._thresholds.full
        self._full = used > limit
        if used > self._thresholds.warn:
            self._log.warn("a disk is used to {used:.1%}", used=used)
        has_reserve = min(free for _, free in usage) > self._thresholds.reserve
        self._on_change(self._full, used > self._thresholds.warn, has_reserve)


def _sum_of_disks(usage: list[tuple[int, int]]) -> tuple[int, int]:
    disks = dict.fromkeys(usage)  # two directories on one disk see the same numbers
    return sum(total for total, _ in disks), sum(free for _, free in disks)

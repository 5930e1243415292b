"""How full the disks of the ledger directories are, and what follows from it."""

from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

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
        self._said: dict[str, str] = {}
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
        return Deferred.fromCoroutine(self.check()).addErrback(self._check_failed)

    def _check_failed(self, failure: Failure) -> None:
        text = f"failed: {failure.getErrorMessage()}"
        if failure.check(OSError) is None:
            self._log.failure("a disk check failed", failure)
        elif self._is_new("the check of the disks", text):
            self._log.error("the check of the disks {text}", text=text)

    def _is_new(self, subject: str, text: str) -> bool:
        """Whether something else was said of a subject before: each state is logged once."""
        before, self._said[subject] = self._said.get(subject, ""), text
        return before != text

    async def check(self) -> None:
        """Looks once; what was full has to get well below the threshold to be usable again."""
        usage = await self.usage()
        used = max(1 - free / total if total else 1.0 for total, free in usage)
        limit = self._thresholds.low if self._full else self._thresholds.full
        self._full = used > limit
        self._said.pop("the check of the disks", None)
        for directory, (total, free) in zip(self._directories, usage, strict=True):
            self._say(directory, total, free)
        has_reserve = min(free for _, free in usage) > self._thresholds.reserve
        self._on_change(self._full, used > self._thresholds.warn, has_reserve)


    def _say(self, directory: str, total: int, free: int) -> None:
        used = 1 - free / total if total else 1.0
        full, warn = used > self._thresholds.full, used > self._thresholds.warn
        state = "full" if full else "almost full" if warn else ""
        if not self._is_new(directory, state):
            return
        facts = {"directory": directory, "used": used, "free": free}
        if state:
            text = "the disk of {directory} is {state}: {used:.1%} used, {free:,} bytes free"
            self._log.warn(text, state=state, **facts)
        else:
            self._log.info("the disk of {directory} has space: {used:.1%} used, {free:,} bytes free", **facts)


def _sum_of_disks(usage: list[tuple[int, int]]) -> tuple[int, int]:
    disks = dict.fromkeys(usage)  # two directories on one disk see the same numbers
    return sum(total for total, _ in disks), sum(free for _, free in disks)

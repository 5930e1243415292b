"""A monitor of the disks of the ledger directories, which makes a bookie read-only or writable."""

from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import NO_FILES
from ...storage.interfaces import IFileSystem
from ..interfaces import IStorageExecutor


@attrs.frozen
class DiskThresholds:
    """The thresholds above which a disk counts as full; shares are from 0 to 1.

    :ivar full: a disk used more than this share is full.
    :ivar low: a full disk is usable again when it is used less than this.
    :ivar warn: the share from which on the log warns.
    :ivar reserve: free bytes with which adds of high priority go on.
    :ivar any_full: one full disk is enough to call the disks full; else all of them must be.
    """

    full: float = 0.95
    low: float = 0.95
    warn: float = 0.90
    reserve: int = 1 << 30
    any_full: bool = True


@attrs.frozen
class DiskState:
    """The result of one check of the disks.

    :ivar full, almost_full: state of the ledger directories' disks.
    :ivar has_reserve: whether each of them still has the free bytes of the reserve.
    :ivar unusable: ledger directories that are missing or unreadable, each with a text.
    :ivar lost_journals: the same for journal directories: no start would find the records written there.
    """

    full: bool = False
    almost_full: bool = False
    has_reserve: bool = True
    unusable: tuple[str, ...] = ()
    lost_journals: tuple[str, ...] = ()


class DiskMonitor:
    """A monitor that checks the disks at intervals and on demand.

    :param directories: the ledger directories; ``journals``: the journal directories.
    :param on_check: called with the result of each check.
    """

    _log = Logger()

    def __init__(
        self, fs: IFileSystem, directories: Sequence[str], executor: IStorageExecutor, clock: IReactorTime,
        thresholds: DiskThresholds, on_check: Callable[[DiskState], None], journals: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._fs = fs
        self._directories = directories
        self._executor = executor
        self._thresholds = thresholds
        self._on_check = on_check
        self._journals = journals
        self._full = [False] * len(directories)
        self._logged: dict[str, str] = {}
        self._used: dict[str, float] = {}
        self._looking = False
        self._timer = LoopingCall(self.look)
        self._timer.clock = clock

    def start(self, interval: float) -> None:
        """Check the disks every ``interval`` seconds, for the first time after ``interval``."""
        self._timer.start(interval, now=False)

    async def stop(self) -> None:
        """Stop the checks."""
        if self._timer.running:
            self._timer.stop()

    def used(self, directory: str) -> float:
        """Return the share of the disk of a ``directory`` that was in use at the last check.

        :returns: from 0 to 1; 0 before the first check.
        """
        return self._used.get(directory, 0.0)

    @property
    def n_writable(self) -> int:
        """Return the number of directories whose disks accepted data at the last check."""
        return sum(self.used(directory) <= self._thresholds.full for directory in self._directories)

    def usage(self) -> "Deferred[list[tuple[int, int]]]":
        """Return total and free bytes of each directory's disk."""
        return self._executor.submit("read", self._usage)

    def space(self) -> "Deferred[tuple[int, int]]":
        """Return total and free bytes of all disks together; directories on one disk count once."""
        return self.usage().addCallback(_sum_of_disks)

    def _usage(self) -> list[tuple[int, int]]:
        return [self._fs.usage(directory) for directory in self._directories]

    def look(self) -> None:
        """Check the disks now, between two regular checks, unless a check is in progress or the monitor was stopped."""
        if self._timer.running and not self._looking:
            self._looking = True
            Deferred.fromCoroutine(self.check()).addErrback(self._check_failed).addBoth(self._looked)

    def _looked(self, _: None) -> None:
        self._looking = False

    def _check_failed(self, failure: Failure) -> None:
        text = f"failed: {failure.getErrorMessage()}"
        if failure.check(OSError) is None:
            self._log.failure("a disk check failed", failure)
        elif self._is_new("the check of the disks", text):
            self._log.error("the check of the disks {text}", text=text)

    def _is_new(self, subject: str, text: str) -> bool:
        """Test whether the state of a subject differs from its last state, so that each state is logged once."""
        before, self._logged[subject] = self._logged.get(subject, ""), text
        return before != text

    async def check(self) -> None:
        """Check all disks once; a full disk becomes usable again only well below the threshold."""
        wrong, lost, usage = await self._executor.submit("read", self._survey)
        self._logged.pop("the check of the disks", None)
        for number, (directory, (total, free)) in enumerate(zip(self._directories, usage, strict=True)):
            used = 1 - free / total if total else 1.0
            limit = self._thresholds.low if self._full[number] else self._thresholds.full
            self._full[number] = used > limit
            if not wrong[number]:
                self._say(directory, total, free)
        for directory, text in zip((*self._directories, *self._journals), (*wrong, *lost), strict=True):
            if self._is_new(f"{directory} is usable", text) and text:
                self._log.critical("{directory} cannot be used: {text}", directory=directory, text=text)
        almost_full = any((1 - free / total if total else 1.0) > self._thresholds.warn for total, free in usage)
        self._on_check(
            DiskState(
                any(self._full) if self._thresholds.any_full else all(self._full),
                almost_full,
                all(free > self._thresholds.reserve for _, free in usage) and not any(wrong),
                tuple(f"{d}: {text}" for d, text in zip(self._directories, wrong, strict=True) if text),
                tuple(f"{d}: {text}" for d, text in zip(self._journals, lost, strict=True) if text),
            )
        )

    def _survey(self) -> tuple[list[str], list[str], list[tuple[int, int]]]:
        """Check that each ledger and journal directory is usable; measure the disks of ledger directories.  Read lane.

        :raises OSError: see :meth:`_what_is_wrong`; the result of the last survey stays valid.
        """
        wrong, usage = [], []
        for directory in self._directories:
            text = self._what_is_wrong(directory)
            space = (1, 1)
            if not text:
                try:
                    space = self._fs.usage(directory)
                except OSError as error:
                    text = str(error)
            wrong.append(text)
            usage.append(space)
        return wrong, [self._what_is_wrong(directory) for directory in self._journals], usage

    def _what_is_wrong(self, directory: str) -> str:
        """Return an error text if the directory lacks our files, as an empty mount point does; else an empty text.

        :raises OSError: no file descriptor is left for the check.
        """
        try:
            return "" if self._fs.list(directory) else "it is empty: was its disk unmounted?"
        except OSError as error:
            if error.errno in NO_FILES:
                raise
            return str(error)

    def _say(self, directory: str, total: int, free: int) -> None:
        used = self._used[directory] = 1 - free / total if total else 1.0
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
    disks = dict.fromkeys(usage)  # directories on one disk report the same numbers: count their disk once
    return sum(total for total, _ in disks), sum(free for _, free in disks)

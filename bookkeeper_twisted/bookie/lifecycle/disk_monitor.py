"""A monitor of the disks of a bookie; full disks of ledger directories make the bookie read-only."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import compress

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from ...errors import NO_FILES
from ...storage.cookies import LOCK_NAME
from ...storage.interfaces import IFileSystem
from ...storage.ledger_dirs import current
from ..admin import DirectoryUsage
from ..interfaces import IStorageExecutor
from .disk_history import DiskHistory
from .store import StorePaths

FEW_INODES = 1000
"""The log warns if a disk has fewer free inodes than this."""

INDEX_DIRECTORY = "the index directory"
"""Reasons for being read-only that begin with this text are those of an index directory that cannot be used."""

READ_ONLY = "its file system is read-only: what it has can be read"
REPLACED = "another file system is mounted there now, and the open files of the bookie are not on it"


@attrs.frozen
class DiskThresholds:
    """The limits by which a disk counts as full or almost full; shares of used space are from 0 to 1.

    :ivar full: share of used space above which a disk is full.
    :ivar low: share of used space at which a full disk becomes usable again.
    :ivar warn: share of used space above which the log warns and the disk is almost full.
    :ivar reserve: free bytes above which adds of high priority are still accepted.
    :ivar any_full: True if one full disk makes the bookie read-only; False if it becomes read-only only when all disks
        are full.
    """

    full: float = 0.95
    low: float = 0.95
    warn: float = 0.90
    reserve: int = 1 << 30
    any_full: bool = True


@attrs.frozen
class DiskState:
    """The result of one check of the disks.

    :ivar full: whether the disks of the ledger directories count as full: one full disk is enough with
        :attr:`DiskThresholds.any_full`, otherwise all must be full.
    :ivar almost_full: whether the disk of at least one ledger directory is almost full.
    :ivar has_reserve: whether the disk of each ledger directory, and each disk that only an index directory is on,
        still has more free bytes than the reserve.
    :ivar unusable: the error text of each ledger directory that is missing or unreadable, or whose disk takes no
        writes, by its path.
    :ivar unusable_indexes: the same of the index directories that are not ledger directories.
    :ivar stuck_journals: the journal directories that can be read, but take no writes of the bookie, each with
        :data:`READ_ONLY` or, when its disk takes writes again but not to the files that the bookie has open,
        :data:`REPLACED`.
    :ivar lost_journals: journal directories that are missing or unreadable, each with its error text.  A restart would
        not find the records that were written there.
    :ivar full_disks: the ledger directories whose disks are full, if the disks count as full; and with
        :attr:`DiskThresholds.any_full`, the index directories on other disks that are full.
    :ivar text: which ledger directories have full or else almost full disks, and above which threshold; empty if the
        disks count neither as full nor as almost full.
    """

    full: bool = False
    almost_full: bool = False
    has_reserve: bool = True
    unusable: Mapping[str, str] = attrs.field(factory=dict)
    lost_journals: tuple[str, ...] = ()
    text: str = ""
    full_disks: tuple[str, ...] = ()
    unusable_indexes: Mapping[str, str] = attrs.field(factory=dict)
    stuck_journals: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def shortage(self) -> str:
        """The reason why adds of high priority are refused, if ``has_reserve`` is False."""
        unusable = {**self.unusable, **self.unusable_indexes, **self.stuck_journals}
        if unusable:
            return ", and ".join(f"{path} cannot be used: {text}" for path, text in unusable.items())
        return "less than minUsableSizeForHighPriorityWrites is free"

    def refusing(self, paths: StorePaths) -> list[int]:
        """Return the numbers of the journals whose directories take no writes.

        :param paths: the configured directories.
        """
        return [number for number, path in enumerate(paths.journals) if current(path) in self.stuck_journals]

    def reasons(self, paths: StorePaths) -> list[tuple[str, bool]]:
        """Return each reason for being read-only that a disk can be, and whether it holds, those that hold first.

        In this order, the bookie is not writable for a moment when one reason takes the place of another.

        :param paths: the configured directories, which the reasons name.
        """
        disks = (*paths.ledgers, *paths.index_only)
        found = [(f"a disk is full: that of {path}", current(path) in self.full_disks) for path in disks]
        found += [
            (f"the ledger directory {path} cannot be used", current(path) in self.unusable) for path in paths.ledgers
        ]
        found += [
            (f"{INDEX_DIRECTORY} {path} cannot be used", current(path) in self.unusable_indexes)
            for path in paths.index_only
        ]
        for path in paths.journals:
            text = self.stuck_journals.get(current(path))
            start = f"the journal directory {path} takes no writes: "
            found.append((f"{start}once its file system is repaired, restart the bookie", text == READ_ONLY))
            found.append((f"{start}{REPLACED}: restart the bookie", text == REPLACED))
        return sorted(found, key=lambda each: not each[1])


class DiskMonitor:
    """A monitor that checks the disks at intervals and on demand.

    :param directories: paths of the ledger directories.
    :param journals: paths of the journal directories.
    :param indexes: paths of the index directories that are not ledger directories.
    :param on_check: called with the result of each check.
    :param history: makes the record of the used space of a disk.
    :param unwritten: returns, for each ledger directory, the bytes that :attr:`.DirectoryStorage.unwritten` has.
    :ivar unusable, unusable_indexes: :attr:`DiskState.unusable` and :attr:`DiskState.unusable_indexes` of the last
        check.
    """

    _log = Logger()

    def __init__(
        self, fs: IFileSystem, directories: Sequence[str], executor: IStorageExecutor, clock: IReactorTime,
        thresholds: DiskThresholds, on_check: Callable[[DiskState], None], journals: Sequence[str] = (),
        history: Callable[[], DiskHistory] = DiskHistory,
        unwritten: Callable[[], Sequence[tuple[int, int]]] = tuple, indexes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._fs = fs
        self._directories = directories
        self._executor = executor
        self._thresholds = thresholds
        self._on_check = on_check
        self._journals = journals
        self._indexes = indexes
        self._unwritten = unwritten
        self._full = [False] * len(directories)
        self.unusable: Mapping[str, str] = {}
        self.unusable_indexes: Mapping[str, str] = {}
        self._stuck: Mapping[str, str] = {}
        self._first_disks: dict[str, int] = {}  # of the journals, which opened their files at the start
        self._logged: dict[str, str] = {}
        self._used: dict[str, float | None] = {}
        self._full_indexes: set[str] = set()
        self._history = {directory: history() for directory in (*directories, *journals, *indexes)}
        self._looking = False
        self._timer = LoopingCall(self.look)
        self._timer.clock = clock

    def start(self, interval: float) -> None:
        """Check the disks every ``interval`` seconds; the first check follows after the first interval."""
        self._timer.start(interval, now=False)

    def change(self, thresholds: DiskThresholds, interval: float) -> None:
        """Check the disks by other ``thresholds`` from now on, and immediately if the monitor is running.

        :param interval: seconds between two checks.
        """
        self._thresholds = thresholds
        if self._timer.running:
            self._timer.stop()
            self._timer.start(interval, now=False)
            self.look()

    async def stop(self) -> None:
        """Stop checking the disks."""
        if self._timer.running:
            self._timer.stop()

    def used(self, directory: str) -> float | None:
        """Return the used share of the disk of a ledger or journal ``directory`` at the last check.

        :returns: from 0 to 1; 0 before the first check; None if the directory was missing or unreadable.
        """
        return self._used.get(directory, 0.0)

    @property
    def n_writable(self) -> int:
        """Return the number of ledger directories that were usable at the last check, and whose disks were not full."""
        shares = [self.used(directory) for directory in self._directories]
        return sum(share is not None and share <= self._thresholds.full for share in shares)

    def usage(self) -> "Deferred[list[tuple[int, int]]]":
        """Measure the total and free bytes of each ledger directory's disk."""
        return self._executor.submit("read", self._usage)

    def measure_ledgers(self) -> "Deferred[list[DirectoryUsage]]":
        """Measure the space, the growth and the free inodes of each ledger directory's disk.

        Of a directory that is missing or unreadable, the result has the reason instead.
        """
        return self._measure(lambda: self._directories)

    def measure_journals(self) -> "Deferred[list[DirectoryUsage]]":
        """Measure the space, the growth and the free inodes of each journal directory's disk.

        Of a directory that is missing or unreadable, the result has the reason instead.
        """
        return self._measure(lambda: self._journals)

    def measure_indexes(self) -> "Deferred[list[DirectoryUsage]]":
        """Measure the same of the index directories on whose disks no ledger directory is.

        Of a directory that is missing or unreadable, the result has the reason instead.
        """
        return self._measure(self._own_disks)

    def _own_disks(self) -> list[str]:
        """Return the index directories on whose disks no ledger directory is; runs on a read thread."""
        disks = {self._disk(directory) for directory in self._directories} - {None}
        return [directory for directory in self._indexes if self._disk(directory) not in disks]

    def _disk(self, directory: str) -> int | None:
        try:
            return self._fs.disk(directory)
        except OSError:
            return None

    def _measure(self, find: Callable[[], Sequence[str]]) -> "Deferred[list[DirectoryUsage]]":
        def sizes() -> "list[tuple[str, _Seen]]":
            return [(each, self._seen(each)) for each in find()]

        return self._executor.submit("read", sizes).addCallback(lambda found: [self._usage_of(*each) for each in found])

    def _seen(self, directory: str) -> "_Seen":
        try:
            return self._look_at(directory)
        except OSError as error:
            return str(error), (0, 0), (0, 0)

    def _usage_of(self, directory: str, seen: "_Seen") -> DirectoryUsage:
        reason, space, inodes = seen
        if reason:
            return DirectoryUsage(directory, 0, 0, reason=reason)
        growth, recent = self._history[directory].growth, self._history[directory].recent
        return DirectoryUsage(
            directory, *space, None if growth is None else growth.speed, inodes[1] if inodes[0] else None,
            0.0 if growth is None else growth.span, None if recent is None else recent.speed,
        )  # fmt: skip

    def space(self) -> "Deferred[tuple[int, int]]":
        """Measure the total and free bytes of all disks together; a disk with several directories counts one time.

        A directory that is missing, or that the last check has found unusable, does not count, because no ledger can be
        written there.  The size of one that is not mounted would be that of another disk.
        """
        return self._executor.submit("read", self._space)

    def _space(self) -> tuple[int, int]:
        disks = set()  # directories that report equal numbers are on the same disk, which must count only one time
        for directory in [each for each in self._directories if each not in self.unusable]:
            with suppress(OSError):
                disks.add(self._fs.usage(directory))
        return sum(total for total, _ in disks), sum(free for _, free in disks)

    def _usage(self) -> list[tuple[int, int]]:
        return [self._fs.usage(directory) for directory in self._directories]

    def look(self) -> None:
        """Check the disks now, unless a check is in progress or the monitor was stopped."""
        if self._timer.running and not self._looking:
            self._looking = True
            Deferred.fromCoroutine(self.check()).addErrback(self._check_failed).addBoth(self._looked)

    def _looked(self, _: None) -> None:
        self._looking = False

    def _check_failed(self, failure: Failure) -> None:
        text = f"failed: {failure.getErrorMessage()}"
        if not self._is_new("the check of the disks", text):
            return
        if failure.check(OSError) is None:
            self._log.failure("a disk check failed", failure)
        else:
            self._log.error("the check of the disks {text}", text=text)

    def _is_new(self, subject: str, text: str) -> bool:
        """Test whether ``text`` differs from the last text about ``subject``, so that each state is logged once."""
        before, self._logged[subject] = self._logged.get(subject, ""), text
        return before != text

    async def check(self) -> None:
        """Check all disks once.

        Entries that only memory has count as used, because the next checkpoint writes them.  A full disk becomes usable
        again only when its used share has fallen to the lower threshold.
        """
        found, seen_indexes = await self._executor.submit("read", self._survey)
        indexes = self._see_indexes(seen_indexes)
        n_ledgers = len(self._directories)
        (wrong, at_present), (lost, journal_usage) = _columns(found[:n_ledgers]), _columns(found[n_ledgers:])
        usage = self._with_unwritten(at_present, wrong)
        for number, (directory, (total, free)) in enumerate(zip(self._directories, usage, strict=True)):
            used = _used(total, free)
            limit = self._thresholds.low if self._full[number] else self._thresholds.full
            self._full[number] = used > limit
            if not wrong[number]:
                self._history[directory].record(at_present[number][0] - at_present[number][1])
                self._say(directory, total, free)
        for directory, text, (total, free) in zip(self._journals, lost, journal_usage, strict=True):
            if not text:
                self._history[directory].record(total - free)
                self._used[directory] = _used(total, free)
                if (total, free) not in at_present:  # a disk with a ledger directory, too, is told of once
                    self._say(directory, total, free)
        for directory, (_, _, inodes) in zip((*self._directories, *self._journals), found, strict=True):
            self._say_inodes(directory, *inodes)
        everywhere = (*self._directories, *self._journals, *self._indexes)
        for directory, text in zip(everywhere, (*wrong, *lost, *indexes), strict=True):
            if text:
                self._used[directory] = None
            self._say_unusable(directory, text)
        self.unusable = {d: text for d, text in zip(self._directories, wrong, strict=True) if text}
        wrong_journals = {d: text for d, text in zip(self._journals, lost, strict=True) if text}
        self._stuck = {d: text for d, text in wrong_journals.items() if text in (READ_ONLY, REPLACED)}
        full = any(self._full) if self._thresholds.any_full else all(self._full)
        almost_full = any(_used(total, free) > self._thresholds.warn for total, free in usage)
        spaces = [*usage, *(space for _, space, _ in seen_indexes.values() if space[0])]
        has_reserve = all(free > self._thresholds.reserve for _, free in spaces)
        self._on_check(
            DiskState(
                full, almost_full, has_reserve and not any((*wrong, *indexes, *self._stuck)), self.unusable,
                tuple(f"{d}: {text}" for d, text in wrong_journals.items() if d not in self._stuck),
                self._described(full, [_used(total, free) for total, free in usage]),
                (*compress(self._directories, self._full if full else ()), *sorted(self._full_indexes)),
                self.unusable_indexes, self._stuck,
            )
        )
        self._logged.pop("the check of the disks", None)

    def _see_indexes(self, indexes: "Mapping[str, _Seen]") -> list[str]:
        """Record the used space of index directories on disks of their own, and which of these disks are full.

        :param indexes: what was found of each index directory.
        :returns: for each index directory, why it is not usable; empty if it is.
        """
        before, self._full_indexes = self._full_indexes, set()
        for directory, (text, (total, free), inodes) in indexes.items():
            if text or not total:
                continue
            limit = self._thresholds.low if directory in before else self._thresholds.full
            if self._thresholds.any_full and _used(total, free) > limit:
                self._full_indexes.add(directory)
            self._history[directory].record(total - free)
            self._say(directory, total, free)
            self._say_inodes(directory, *inodes)
        self.unusable_indexes = {directory: text for directory, (text, _, _) in indexes.items() if text}
        return [text for text, _, _ in indexes.values()]

    def _with_unwritten(
        self, at_present: Sequence[tuple[int, int]], wrong: Sequence[str]
    ) -> list[tuple[int, int]]:  # fmt: skip
        """Return the total and free bytes of each ledger directory's disk after the next checkpoint.

        A checkpoint in progress has written an unknown part of its entries, so these count only for a disk that is full
        already: counted twice, they must not make a disk full.

        :param at_present: total and free bytes; directories with equal numbers are on the same disk.
        :param wrong: for each directory, why it is not usable; empty if it is.
        """
        unwritten = self._unwritten()
        usage = []
        for is_full, text, (total, free) in zip(self._full, wrong, at_present, strict=True):
            on_disk = [sizes for sizes, space in zip(unwritten, at_present, strict=False) if space == (total, free)]
            n_bytes = sum([added + (in_checkpoint if is_full else 0) for added, in_checkpoint in on_disk])
            usage.append((total, free if text else max(free - n_bytes, 0)))
        return usage

    def _described(self, full: bool, used: Sequence[float]) -> str:
        """Say which disks are full or almost full, and above which threshold.

        :param full: whether the disks count as full.
        :param used: the used share of the disk of each ledger directory.
        """
        limits, disks = self._thresholds, list(zip(self._directories, used, self._full, strict=True))
        if full:
            found = [f"the disk of {path} is full: {share:.1%} used" for path, share, is_full in disks if is_full]
            limit = f"full above {limits.full:.1%} (diskUsageThreshold)"
            if limits.low < limits.full:
                limit += f" until down to {limits.low:.1%} (diskUsageLwmThreshold)"
        else:
            found = [f"the disk of {path} is almost full: {share:.1%} used" for path, share, _ in disks
                     if share > limits.warn]  # fmt: skip
            limit = f"almost full above {limits.warn:.1%} (diskUsageWarnThreshold)"
        return ", and ".join(f"{each}, {limit}" for each in found)

    def _survey(self) -> "tuple[list[_Seen], dict[str, _Seen]]":
        """Check the ledger directories, then the journal directories; runs on a read thread.

        :returns: what was found of these, and of each index directory; if an index directory is on the disk of a ledger
            directory, the size of its disk is left out.
        :raises OSError: no file descriptor is left; the result of the last check stays valid.
        """
        found = [self._look_at(directory) for directory in (*self._directories, *self._journals)]
        indexes = {directory: self._look_at(directory) for directory in self._indexes}
        own = self._own_disks() if indexes else []
        return found, {d: seen if d in own else (seen[0], (0, 0), (0, 0)) for d, seen in indexes.items()}

    def _look_at(self, directory: str) -> "_Seen":
        text = self._what_is_wrong(directory)
        if not text:
            try:
                return "", self._fs.usage(directory), self._fs.inodes(directory)
            except OSError as error:
                text = str(error)
        return text, (1, 1), (0, 0)

    def _what_is_wrong(self, directory: str) -> str:
        """Return a text that says why a directory is not usable; an empty text if it is usable.

        A directory is not usable if it cannot be read.  It is not usable either if it is empty: then its disk is
        probably not mounted.  Its disk must take writes, too; what it has is read nevertheless.  A journal directory
        whose disk took no writes is usable only if it is on that disk still, because the journal has files open there.

        :raises OSError: no file descriptor is left for the check.
        """
        try:
            names = self._fs.list(directory)
            if not names:
                return "it is empty: was its disk unmounted?"
            if directory in self._journals and directory not in self._first_disks:
                self._first_disks[directory] = self._fs.disk(directory)
            if LOCK_NAME in names and not self._fs.takes_writes(posixpath.join(directory, LOCK_NAME)):
                return READ_ONLY
            if directory in self._stuck and self._fs.disk(directory) != self._first_disks[directory]:
                return REPLACED
            return ""
        except OSError as error:
            if error.errno in NO_FILES:
                raise
            return str(error)

    def _say(self, directory: str, total: int, free: int) -> None:
        used = self._used[directory] = _used(total, free)
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

    def _say_unusable(self, directory: str, text: str) -> None:
        """Log once why a directory is not usable.

        :param text: the reason; empty if the directory is usable.
        """
        if self._is_new(f"{directory} is usable", text) and text:
            self._log.critical("{directory} cannot be used: {text}", directory=directory, text=text)

    def _say_inodes(self, directory: str, total: int, free: int) -> None:
        """Log once that a disk has few or no free inodes, and that it has enough again."""
        state = "" if not total or free >= FEW_INODES else "few" if free else "none"
        if self._is_new(f"the inodes of {directory}", state):
            text = "the disk of {directory} has {free:,} of {total:,} inodes left"
            if state:
                text += "; without inodes, no file can be made on it, whatever bytes are free"
            self._log.emit(LogLevel.warn if state else LogLevel.info, text, directory=directory, free=free, total=total)


_Seen = tuple[str, tuple[int, int], tuple[int, int]]
"""The result of the check of one directory: an error text, the total and free bytes of its disk, and its inodes.

The error text is empty if the directory is usable.  Of the inodes, there are the total and the free number.
"""


def _columns(found: Sequence[_Seen]) -> tuple[list[str], list[tuple[int, int]]]:
    return [text for text, _, _ in found], [space for _, space, _ in found]


def _used(total: int, free: int) -> float:
    return 1 - free / total if total else 1.0

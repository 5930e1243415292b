"""Runs garbage collections and compactions, at intervals or at the request of an operator."""

import math
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...errors import BookKeeperError
from ...metrics import MaintenanceMetrics
from .collection_report import MAJOR, MINOR, CollectorState, WorkDone, obstacles, report
from .compactor import CompactionOrder, Compactor
from .ledger_collector import LedgerCollector
from .log_collector import LogCollector
from .progress import Progress

T = TypeVar("T")


@attrs.frozen
class CompactionKind:
    """A kind of compaction: major or minor.

    :ivar threshold: an entry log is compacted if its live share is lower than this; 0 disables this kind.  The live
        share of a log is the share of its bytes that belong to existing ledgers.
    :ivar interval: seconds between two compactions of this kind; 0 disables this kind.
    :ivar max_time: seconds after which a running compaction begins no further log; None for no limit.
    """

    threshold: float
    interval: float
    max_time: float | None = None

    @property
    def enabled(self) -> bool:
        return self.threshold > 0 and self.interval > 0


@attrs.frozen
class CollectorOptions:
    """The settings of :class:`GarbageCollector`, with Apache's defaults.

    :ivar wait_time: seconds from the end of a garbage collection to the next.
    :ivar force_allowed: whether an operator's request may also run a kind of compaction that is disabled by the
        interval 0.
    :ivar target_size: an entry log that is smaller than this counts as if it had this size when its live share is
        computed, so that small logs are merged; 0 to use the true size of each log.
    :ivar forced_when_full: when a disk is full or almost full: True to begin a garbage collection, False to end
        compactions.
    """

    wait_time: float = 600.0
    minor: CompactionKind = CompactionKind(0.2, 3600)
    major: CompactionKind = CompactionKind(0.8, 86400)
    force_allowed: bool = False
    target_size: int = 0
    forced_when_full: bool = False


@attrs.frozen
class _Request:
    """A request for a run of the garbage collector, made by the timer or by an operator.

    :ivar timed: whether to run the compactions whose interval has passed.
    :ivar major, minor: whether to run a major or minor compaction even if its interval has not passed.
    :ivar results: Deferreds that fire at the end of the run.
    """

    timed: bool = False
    forced: bool = False
    major: bool = False
    minor: bool = False
    results: "tuple[Deferred[None], ...]" = ()

    def join(self, other: "_Request") -> "_Request":
        """Return one request that combines this request and the ``other``."""
        return _Request(
            self.timed or other.timed, self.forced or other.forced, self.major or other.major,
            self.minor or other.minor, self.results + other.results,
        )  # fmt: skip


class GarbageCollector:
    """The garbage collector of a bookie.

    Each garbage collection deletes ledgers that do not exist in the metadata store any more, then entry logs without
    live bytes, and compacts other entry logs.

    :param logs, compactors: for each ledger directory, the collector of entry logs and the compactor.
    :ivar options: the present settings.
    :ivar began: time of the start, in seconds; the interval to the first compaction of each kind begins at this time.
    :ivar troubles: returns, as texts, why ledger directories cannot be written at present, so that compactions fail.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, ledgers: LedgerCollector, logs: Sequence[LogCollector],
        compactors: Sequence[Compactor], metrics: MaintenanceMetrics, options: CollectorOptions,
    ) -> None:  # fmt: skip
        self.state = CollectorState()
        self._clock = clock
        self._ledgers = ledgers
        self._logs = logs
        self._compactors = compactors
        self._metrics = metrics
        self.options = options
        self.began = clock.seconds()
        self.troubles: Callable[[], Sequence[str]] = tuple
        self._timer: IDelayedCall | None = None
        self._end_of_pause: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._compacting: list[Deferred[None]] = []
        self._waiting: _Request | None = None
        self._disk_stops_major = self._disk_stops_minor = ""
        self._cancelled = False
        self._failures_before = 0  # the present garbage collection
        self._stopped = True
        self._reported: set[tuple[object, ...]] = set()
        metrics.watch(self._done, self._left, self._eta)

    # -- control --

    def start(self) -> None:
        """Begin a garbage collection every ``wait_time`` seconds, counted from the end of the previous one."""
        self._stopped = False
        self.began = self._clock.seconds()
        self._wait()

    async def stop(self) -> None:
        """Cancel all waiting requests and the present garbage collection; wait until this collection has ended."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, None
        for result in waiting.results if waiting is not None else ():
            result.cancel()
        running = self._running
        if running is not None:
            ended: Deferred[None] = Deferred()
            running.addBoth(ended.callback)
            running.cancel()
            await ended

    def force(self, major: bool = True, minor: bool = True) -> "Deferred[None]":
        """Begin a garbage collection now, or after the end of the running one; the result fires when it has ended.

        :param major, minor: whether the run makes a major or minor compaction even if its interval has not passed.
        """
        result: Deferred[None] = Deferred()
        self._want(_Request(forced=True, major=major, minor=minor, results=(result,)))
        return result

    def suspend_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, including a running one."""
        self.state.suspended_major |= major
        self.state.suspended_minor |= minor
        self._apply_suspension()

    def resume_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Allow suspended compactions of the kinds ``major`` and ``minor`` again."""
        self.state.suspended_major &= not major
        self.state.suspended_minor &= not minor
        self._apply_suspension()

    def cancel(self) -> None:
        """End the running compaction; entry logs that it has not finished stay unchanged."""
        for compacting in list(self._compacting):
            compacting.cancel()

    def change(self, options: CollectorOptions) -> None:
        """Set new ``options``; if ``wait_time`` changes, the wait for the next garbage collection begins again."""
        before, self.options = self.options, options
        if options.wait_time != before.wait_time and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._wait()

    @property
    def has_waiting(self) -> bool:
        """Whether a requested garbage collection waits for the end of the present one."""
        return self._waiting is not None and self._waiting.forced

    def progress(self) -> Sequence[Progress | None]:
        """Return, for each directory, the progress of its compaction; None if no compaction of it is running."""
        return [compactor.progress for compactor in self._compactors]

    def _at_work(self) -> list[Progress]:
        return [progress for progress in self.progress() if progress is not None]

    def obstacles(self) -> Mapping[str, tuple[str, ...]]:
        """Return for ``major compaction`` and ``minor compaction`` what prevents it, even if an operator requests it.

        So do the :attr:`troubles`: a compaction is tried nevertheless, because the space reserve may be enough for it.
        """
        return {kind: (*found, *self.troubles(), *self.refusals()) for kind, found in self.prevented().items()}

    def refusals(self) -> tuple[str, ...]:
        """Return, as texts, why no collection frees space of some directories: their indexes take no changes."""
        return tuple(logs.obstacle for logs in self._logs if logs.obstacle)

    def prevented(self) -> Mapping[str, tuple[str, ...]]:
        """Return those of the :meth:`obstacles` with which a compaction is not even tried."""
        state, options = self.state, self.options
        major, minor, allowed = options.major, options.minor, options.force_allowed
        return {
            MAJOR: obstacles(
                "major", major.threshold, major.interval, allowed, state.suspended_major, self._disk_stops_major
            ),
            MINOR: obstacles(
                "minor", minor.threshold, minor.interval, allowed, state.suspended_minor, self._disk_stops_minor
            ),
        }

    def disk_changed(self, almost_full: bool, full: bool, text: str = "a disk is full") -> None:
        """React to a full or almost full disk, as Apache's bookie does.

        With the option ``forced_when_full``, begin a garbage collection.  Without it, end and prevent compactions:
        major compactions while a disk is almost full, all compactions while a disk is full.

        :param almost_full: whether a disk is almost full.
        :param full: whether a disk is full.
        :param text: which disk is full or almost full, and above which threshold.
        """
        if self.options.forced_when_full:
            self._disk_stops_major = self._disk_stops_minor = ""
            if (almost_full or full) and self._waiting is None and self._running is None:
                self._want(_Request(forced=True, major=True, minor=True))
            return
        self._disk_stops_major, self._disk_stops_minor = text if almost_full or full else "", text if full else ""
        if full or (almost_full and self.state.phase == MAJOR):
            self.cancel()

    # -- runs --

    def _wait(self) -> None:
        if not self._stopped and self._timer is None:
            self._timer = self._clock.callLater(self.options.wait_time, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self._want(_Request(timed=True))

    def _want(self, request: _Request) -> None:
        self._waiting = request if self._waiting is None else self._waiting.join(request)
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        request = self._waiting
        if self._running is not None or request is None or self._stopped:
            return
        self._waiting = None
        self._running = Deferred.fromCoroutine(self._run(request))
        self._running.addBoth(lambda _: self._ended(request))

    def _ended(self, request: _Request) -> None:
        self._running = None
        self.state.phase, self.state.forced = "idle", False
        for result in request.results:
            if not result.called:
                result.callback(None)
        self._begin_waiting()
        if self._running is None:
            self._wait()

    async def _run(self, request: _Request) -> None:
        began = self._clock.seconds()
        self.state.forced = request.forced
        self.state.runs += 1
        failures, before, self._cancelled = self.state.failures, self._work_done(), False
        self._failures_before = failures
        try:
            compaction = await self._collect(request)
            if request.results:  # an operator wants to know; a full disk forces runs again and again
                self._say(request, compaction, before, failures)
        except CancelledError:
            self._log.info("a garbage collection was cancelled")
        except Exception as error:
            self._failed(error)
            self._log.failure("a garbage collection ended in a way it should not")
        for compactor in self._compactors:
            await compactor.close()
        if failures == self.state.failures:
            self._reported.clear()
        series = self._metrics.run.success if failures == self.state.failures else self._metrics.run.failure
        series.record((self._clock.seconds() - began) * 1000)

    def _work_done(self) -> WorkDone:
        return WorkDone(
            self.state.deleted_ledgers, sum(compactor.compacted for compactor in self._compactors),
            sum(logs.removed for logs in self._logs), self._freed() - int(self._metrics.compacted_bytes.value),
        )  # fmt: skip

    def _say(self, request: _Request, compaction: str, before: WorkDone, failures: int) -> None:
        """Log what a requested garbage collection did, and why it did not compact.

        :param compaction: the compaction that was begun; empty if there was none.
        :param before: the counts before it.
        :param failures: the number of failures before it.
        """
        kinds = [kind for kind, wanted in ((MAJOR, request.major), (MINOR, request.minor)) if wanted]
        prevented = self.prevented()
        failure = self.state.last_failure if self.state.failures != failures else ""
        wanted = {kind: prevented[kind] for kind in kinds}
        text = report(self._work_done().since(before), compaction, self._cancelled, wanted, failure)
        self._log.info("a forced garbage collection has ended: {text}", text=text)

    def _failed(self, error: BaseException, path: str = "") -> None:
        """Log and count a failure of a garbage collection.

        The same failure is logged only once until a garbage collection succeeds, because on a full disk each garbage
        collection fails with the same error.
        """
        text = f"{path}: {error}" if path and path not in str(error) else str(error)
        self.state.failures += 1
        self.state.last_failure = text
        kind = path, type(error), getattr(error, "errno", None)
        if kind not in self._reported:
            self._reported.add(kind)
            self._log.error("a part of a garbage collection failed: {text}", text=text)

    async def _collect(self, request: _Request) -> str:
        """Run one garbage collection: delete ledgers, then entry logs, then compact entry logs.

        If the metadata store or a directory fails, continue with the remaining directories.

        :returns: the compaction that was begun; empty if there was none.
        """
        self.state.phase = "logs"
        for logs in self._logs:
            await self._tried(logs.clean(), logs.path)
        self.state.phase = "ledgers"
        self.state.deleted_ledgers += await self._tried(self._ledgers.run()) or 0
        await self._tried(self._ledgers.confirm())
        self._metrics.reclaimed_by_deletion.value += await self._collect_logs()
        return await self._compact(request)

    async def _tried(self, work: "Coroutine[Deferred[Any], Any, T]", path: str = "") -> T | None:
        try:
            return await work
        except (BookKeeperError, OSError) as error:
            self._failed(error, path)
            return None

    async def _collect_logs(self) -> int:
        """Delete the entry logs without live entries in all directories.

        :returns: the number of freed bytes.
        """
        self.state.phase, freed = "logs", 0
        for logs in self._logs:
            freed += await self._tried(logs.run(), logs.path) or 0
        return freed

    async def _compact(self, request: _Request) -> str:
        """Run a major or minor compaction if it is due or forced.

        A compaction that ends while its kind (major or minor) is suspended does not count as done.  So a compaction of
        this kind is due again at the first garbage collection after the kind was resumed.
        """
        state, now = self.state, self._clock.seconds()
        stops_major = state.suspended_major or bool(self._disk_stops_major)
        stops_minor = state.suspended_minor or bool(self._disk_stops_minor)
        if self._is_due(self.options.major, request, request.major, state.last_major, now, stops_major):
            if await self._compact_as(MAJOR, self.options.major):
                state.majors += 1
                state.ended_major = self._clock.seconds()
                self._metrics.majors.value += 1
            if not state.suspended_major:
                state.last_major = state.last_minor = self._clock.seconds()
            return MAJOR
        if self._is_due(self.options.minor, request, request.minor, state.last_minor, now, stops_minor):
            if await self._compact_as(MINOR, self.options.minor):
                state.minors += 1
                state.ended_minor = self._clock.seconds()
                self._metrics.minors.value += 1
            if not state.suspended_minor:
                state.last_minor = self._clock.seconds()
            return MINOR
        return ""

    def _is_due(
        self, kind: CompactionKind, request: _Request, wanted: bool, last: float | None, now: float, stopped: bool
    ) -> bool:
        if stopped:
            return False
        if wanted and (kind.enabled or (self.options.force_allowed and kind.threshold > 0)):
            return True
        return request.timed and kind.enabled and now - (self.began if last is None else last) >= kind.interval

    async def _compact_as(self, phase: str, kind: CompactionKind) -> bool:
        """Compact the directories of each disk one after the other; compact different disks at the same time.

        :returns: False if it was cancelled, or if something failed in this garbage collection, such as the deletion of
            ledgers before, and no entry log was compacted.
        """
        began, copied, freed = self._clock.seconds(), self._metrics.compacted_bytes.value, self._freed()
        failures, compacted = self.state.failures, self._work_done().compacted
        self.state.phase = phase
        self.state.cancelled.pop(phase, None)
        self._apply_suspension()
        order = CompactionOrder(kind.threshold, self.options.target_size, kind.max_time)
        disks = await self._disks()
        self._compacting = [Deferred.fromCoroutine(self._compact_disk(disk, order)) for disk in disks]
        outcomes: Sequence[tuple[bool, Any]] = await DeferredList(self._compacting, consumeErrors=True)
        self._compacting = []
        self._limit_pause(False)
        if self._stopped:
            raise CancelledError
        for succeeded, outcome in outcomes:
            if not succeeded and outcome.check(CancelledError) is not None:
                self._cancelled = True
            elif not succeeded:
                self._failed(outcome.value)
        if self._cancelled:
            self.state.cancelled[phase] = self._clock.seconds()
        runtime = self._metrics.compaction
        series = runtime.success if failures == self.state.failures and not self._cancelled else runtime.failure
        series.record((self._clock.seconds() - began) * 1000)
        copied = self._metrics.compacted_bytes.value - copied
        if copied or self._cancelled:
            end = ", then it was cancelled" if self._cancelled else ""
            self._log.info("{phase}: {copied:,} bytes were copied{end}", phase=phase, copied=copied, end=end)
        await self._collect_logs()
        self._metrics.reclaimed_by_compaction.value += max(self._freed() - freed - copied, 0)
        before = self._failures_before
        return not self._cancelled and (before == self.state.failures or self._work_done().compacted > compacted)

    def _freed(self) -> int:
        return sum(logs.freed for logs in self._logs)

    async def _disks(self) -> Collection[list[int]]:
        """Return, for each disk, the numbers of the ledger directories on it (positions in the configuration).

        A directory whose disk cannot be determined is left out.
        """
        found: dict[int, list[int]] = {}
        for number, logs in enumerate(self._logs):
            disk = await self._tried(logs.disk(), logs.path)
            if disk is not None:
                found.setdefault(disk, []).append(number)
        return found.values()

    async def _compact_disk(self, numbers: Sequence[int], order: CompactionOrder) -> None:
        """Compact the directories on one disk one after the other; delete old entry logs in between to free space.

        Two compactions at the same time could fill the disk, because each may use 7/8 of the free space of the disk.
        If the compaction of one directory fails, the next directory is still compacted.
        """
        for number in numbers:
            compactor, logs = self._compactors[number], self._logs[number]
            await self._tried(compactor.run(order), logs.path)
            if number != numbers[-1]:
                await self._tried(logs.run(), logs.path)

    def _apply_suspension(self) -> None:
        phase, state = self.state.phase, self.state
        paused = (phase == MAJOR and state.suspended_major) or (
            phase == MINOR and state.suspended_minor
        )
        for compactor in self._compactors:
            if paused:
                compactor.suspension.suspend()
            else:
                compactor.suspension.resume()
        self._limit_pause(paused)

    def _limit_pause(self, paused: bool) -> None:
        """Start or stop a timer that ends a compaction if it stays suspended for ``wait_time`` seconds.

        Without the timer, a suspended compaction would prevent the next garbage collection.

        :param paused: whether a running compaction is suspended now.
        """
        if paused and self._end_of_pause is None:
            self._end_of_pause = self._clock.callLater(self.options.wait_time, self._pause_ended)
        elif not paused and self._end_of_pause is not None:
            self._end_of_pause.cancel()
            self._end_of_pause = None

    def _pause_ended(self) -> None:
        self._end_of_pause = None
        self.cancel()

    def _done(self) -> float:
        return sum(progress.done for progress in self._at_work())

    def _left(self) -> float:
        return sum(progress.left for progress in self._at_work())

    def _eta(self) -> float:
        """Return the seconds until all running compactions end; not-a-number while one of their speeds is unknown."""
        now, at_work = self._clock.seconds(), self._at_work()
        etas = [progress.eta(now, at_work) for progress in at_work]
        known = [eta for eta in etas if eta is not None]
        return max(known, default=0.0) if len(known) == len(etas) else math.nan

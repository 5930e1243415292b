"""The replication worker: locks ledgers with underreplicated marks, repairs them, and removes their marks.

Each worker of the cluster reads the underreplicated marks in random order.  It repairs a limited number of ledgers at
the same time; each of them occupies a *slot*.  When a slot is free, the worker locks the next marked ledger.  It reads
the underreplicated mark under the lock, checks and repairs the ledger, and removes the mark, unless the ledger was
marked again in the meantime (:mod:`...metadata.mark_removal`).  If the repair fails, the worker removes from the mark
the names of bookies that lack nothing.

A ledger may have to wait: for the grace period of its writer, or for the next attempt after a failure.  While a ledger
waits, it stays locked, so that no other worker attempts a repair that would fail, too.  The text of the lock has the
reason.  A waiting ledger occupies no slot.

After it has read all marks, the worker waits until a mark or a lock changes, or until a few seconds after a repair.
Then it reads all marks again.

When the session with the store ends, the locks end with it.  Then the worker cancels the repairs of the locked ledgers
before it sends another request to the store.  The danger is not a second worker: two repairs of one ledger would only
leave extra copies.  The danger is a bookie that takes the same lock, and deletes the entries of ledgers whose metadata
do not name the bookie.  It could delete a new copy just before the worker adds the bookie to the metadata.
"""

from collections.abc import Callable, Coroutine, MutableSequence
from functools import partial
from heapq import nsmallest
from itertools import islice
from typing import Any, cast

import attrs
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...client.context import ClientContext
from ...errors import (
    BookKeeperError,
    LedgerLockedError,
    NotUnderreplicatedError,
)
from ...ledger.findings import CheckReport
from ...limits.throttle import Throttle
from ...metadata.interfaces import IMetadataDriver, Versioned
from ...metadata.mark_removal import narrow_mark, remove_mark
from ...model import UnderreplicatedLedger
from ..interfaces import CopyProgress, LedgerStatus, repair_of
from ..limits import ConcurrencyLimit
from ..metrics import WorkerMetrics
from ..switch import Switch
from .failure_log import FailureLog
from .lock_reasons import text_of
from .repair import Attempt, LedgerRepair, RepairState

_FIRST_HOLD = 1 / 32
"""The wait after the first failed repair of a ledger, as a fraction of the longest wait; each failure doubles the wait.
"""

_MAX_REMEMBERED = 2000
"""Maximum number of ledgers for which the number of failed attempts is remembered."""


@attrs.frozen
class WorkerSettings:
    """The settings of a replication worker.

    :ivar holder: host name in the text of its locks, for people to read.
    :ivar ledgers: maximum number of ledgers that are repaired at the same time.
    :ivar grace: seconds that the writer of a ledger has to replace a lost bookie
        (``openLedgerRereplicationGracePeriod``).
    :ivar longest_hold: maximum number of seconds for which a ledger stays locked after a failed attempt
        (``lockReleaseOfFailedLedgerGracePeriod``).
    :ivar backoff: seconds to wait after the metadata store failed, or after another worker held the lock of a ledger
        (``rwRereplicateBackoffMs``).
    """

    holder: str
    ledgers: int = 4
    grace: float = 30.0
    longest_hold: float = 300.0
    backoff: float = 5.0


@attrs.define(eq=False)
class _Job:
    """A ledger that this worker has locked.

    :ivar in_slot: whether the ledger occupies one of the slots for concurrent repairs.
    :ivar is_ending: whether the work on the ledger has ended, and only its lock must be released.
    :ivar resume: a Deferred that ends the wait of the ledger when it fires; None if the ledger does not wait.
    """

    ledger_id: int
    since: float
    state: str = "repairing"
    reason: str = ""
    attempts: int = 0
    next_attempt: float | None = None
    in_slot: bool = True
    is_ending: bool = False
    running: "Deferred[None] | None" = None
    resume: "Deferred[None] | None" = None

    def status(self, progress: CopyProgress | None) -> LedgerStatus:
        """Return the status of the ledger, for people to read.

        :param progress: the progress of the running attempt; None between attempts.
        """
        return LedgerStatus(
            self.ledger_id, self.state, self.reason, self.attempts, self.since, self.next_attempt, progress
        )  # fmt: skip


class ReplicationWorker(Service):
    """A replication worker, which can be started again after it was stopped.

    :param metadata_limit: the speed limit of requests to the metadata store about underreplicated marks and locks.
    """

    _log = Logger()

    def __init__(
        self, context: ClientContext, driver: IMetadataDriver, repair: LedgerRepair, metadata_limit: Throttle,
        metrics: WorkerMetrics, settings: WorkerSettings,
    ) -> None:  # fmt: skip
        self._context = context
        self._clock = context.clock
        self._underreplication = driver.underreplication
        self._registration = driver.registration
        self._repair = repair
        self._limit = metadata_limit
        self._metrics = metrics
        self._settings = settings
        self._switch = Switch(self._underreplication)
        self._slots = ConcurrencyLimit(settings.ledgers)
        self._jobs: dict[int, _Job] = {}
        self._failures: dict[int, int] = {}
        self._failure_log = FailureLog(self._clock)
        self._refused: dict[int, float] = {}
        self._timer: IDelayedCall | None = None
        self._bookies: frozenset[str] = frozenset()
        self._has_news = False
        self._news: Deferred[None] | None = None
        self._ends: list[Callable[[], None]] = []
        self._working: Deferred[None] | None = None
        for state in ("repairing", *(state.value for state in _HELD)):
            metrics.watch(state, partial(self._count, state))

    def _count(self, state: str) -> int:
        return sum(job.state == state for job in self._jobs.values())

    # ---- life ----------------------------------------------------------------------------------------

    def startService(self) -> None:
        """Start the worker, which begins to work when the store has reported that autorecovery is switched on."""
        super().startService()
        self._switch.start()
        self._ends = [
            self._underreplication.watch_marks(self._marks_changed),
            self._registration.watch_bookies(self._bookies_changed),
            self._underreplication.watch_lost_locks(self._cancel_jobs),
        ]
        self._working = Deferred.fromCoroutine(self._work())
        self._working.addErrback(self._ended)

    def stopService(self) -> "Deferred[None]":
        """Cancel all repairs; the returned Deferred fires when their locks are released."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        for end in self._ends:
            end()
        self._switch.stop()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        jobs = [job.running for job in self._jobs.values() if job.running is not None]
        self._cancel_jobs()
        if self._working is not None:
            self._working.cancel()
            await self._working
        await gatherResults(jobs)  # unlike one after another: if the stop is cancelled, all are
        self._failure_log.flush()

    def _cancel_jobs(self) -> None:
        """Cancel the repairs of all locked ledgers, but not the release of their locks."""
        for job in list(self._jobs.values()):
            if job.running is not None and not job.is_ending:
                job.running.cancel()

    def _ended(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("the replication worker ended", failure)

    # ---- news ----------------------------------------------------------------------------------------

    def _marks_changed(self) -> None:
        self._has_news = True
        news, self._news = self._news, None
        if news is not None:
            news.callback(None)

    def _bookies_changed(self, writable: frozenset[str], read_only: frozenset[str]) -> None:
        """If a bookie has registered since the last call, retry the ledgers that wait after a failed attempt."""
        registered = writable | read_only
        came, self._bookies = registered - self._bookies, registered
        for job in list(self._jobs.values()) if came else ():
            resume, job.resume = job.resume, None
            if resume is not None and job.state != RepairState.GRACE.value:
                resume.callback(None)

    async def _wait_for_news(self) -> None:
        if not self._has_news:
            self._news = Deferred()
            await self._news

    # ---- walks ---------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await self._switch.wait()
            await self._wait_for_news()
            self._has_news = False
            try:
                await self._walk()
            except BookKeeperError as error:
                self._has_news = True
                self._log.warn("marked ledgers cannot be taken, again in {pause} s: {error}",
                               pause=self._settings.backoff, error=error)  # fmt: skip
                await deferLater(self._clock, self._settings.backoff)

    async def _walk(self) -> None:
        later: float | None = None
        now = self._clock.seconds()
        self._refused = {ledger_id: until for ledger_id, until in self._refused.items() if until > now}
        async for ledger_id in self._underreplication.marked_ledgers(self._shuffle):
            if ledger_id in self._jobs:
                continue
            if (until := self._refused.get(ledger_id)) is not None:
                later = until if later is None else min(later, until)
                continue
            await self._slots.enter(1)
            taken = False
            try:
                await self._switch.wait()
                taken = await self._take(ledger_id)
            finally:
                if not taken:
                    self._slots.leave(1)
        if later is not None:
            self._walk_at(later)

    def _walk_at(self, time: float) -> None:
        """Read all underreplicated marks again at the clock time ``time``, unless an earlier call has set another time.
        """
        if self._timer is None or not self._timer.active():
            self._timer = self._clock.callLater(max(time - self._clock.seconds(), 0), self._marks_changed)

    def _shuffle(self, items: MutableSequence[Any]) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = int(self._context.chance.random() * (last + 1))
            items[last], items[other] = items[other], items[last]

    async def _take(self, ledger_id: int) -> bool:
        """Lock an underreplicated ledger and begin to repair it; return False if another worker holds the lock."""
        await self._limit.acquire(user=repair_of(ledger_id))
        try:
            await self._underreplication.lock(ledger_id, self._settings.holder)
        except LedgerLockedError:
            # Do not try to lock this ledger again for some seconds.  Otherwise, each time that any ledger is marked or
            # unmarked as underreplicated, the worker would try to lock all ledgers that other workers have locked.
            self._refused[ledger_id] = self._clock.seconds() + self._settings.backoff
            return False
        except (BookKeeperError, CancelledError):  # the store may have granted the lock although the call failed
            await self._unlock(ledger_id)
            raise
        job = self._jobs[ledger_id] = _Job(ledger_id, self._clock.seconds(), attempts=self._failures.get(ledger_id, 0))
        job.running = Deferred.fromCoroutine(self._locked(job))
        job.running.addErrback(self._ended)
        return True

    # ---- one ledger ----------------------------------------------------------------------------------

    async def _locked(self, job: _Job) -> None:
        """Repair a ledger that this worker has locked, and release the lock at the end."""
        try:
            await self._repair_marked(job)
        except BookKeeperError as error:
            await self._fail(job, Attempt(RepairState.WAITING, str(error), error))
        finally:
            job.is_ending = True
            self._leave_slot(job)
            await self._unlock(job.ledger_id)
            del self._jobs[job.ledger_id]
            if self.running:
                self._walk_at(self._clock.seconds() + self._settings.backoff)

    async def _repair_marked(self, job: _Job) -> None:
        """Repair a locked ledger and remove its underreplicated mark.

        If the repair fails, return only after the wait before the next attempt, so that the ledger stays locked.
        """
        ledger_id = job.ledger_id
        await self._limit.acquire(user=repair_of(ledger_id))
        try:
            mark = await self._underreplication.read_mark(ledger_id)
        except NotUnderreplicatedError:
            return  # another worker has already repaired the ledger and removed its underreplicated mark
        replicas = mark.value.replicas
        attempt = await self._attempt(partial(self._repair.attempt, ledger_id, replicas))
        while attempt.state is RepairState.GRACE:
            report = cast(CheckReport, attempt.report)
            await self._hold(job, attempt, self._settings.grace)
            attempt = await self._attempt(partial(self._repair.attempt_after_grace, ledger_id, replicas, report))
        if attempt.state in (RepairState.WHOLE, RepairState.DELETED):
            await self._remove_mark(ledger_id, mark, attempt.report)
        else:
            await self._narrow_mark(ledger_id, mark, attempt.report)
            await self._fail(job, attempt)

    async def _attempt(self, work: Callable[[], Coroutine[Deferred[Any], Any, Attempt]]) -> Attempt:
        began = self._clock.seconds()
        try:
            attempt = await work()
        except CancelledError:
            raise
        except BookKeeperError as error:
            attempt = Attempt(RepairState.WAITING, str(error), error)
        except Exception as error:
            self._log.failure("a repair failed")
            attempt = Attempt(RepairState.WAITING, repr(error), error)
        done = attempt.state in (RepairState.WHOLE, RepairState.DELETED)
        outcome = self._metrics.rereplicate.success if done else self._metrics.rereplicate.failure
        outcome.record((self._clock.seconds() - began) * 1000)
        self._metrics.repaired.value += attempt.repaired > 0
        self._metrics.moved.value += attempt.moved > 0
        if attempt.error is not None:
            self._metrics.failed(attempt.error)
        return attempt

    async def _remove_mark(
        self, ledger_id: int, mark: Versioned[UnderreplicatedLedger], report: CheckReport | None
    ) -> None:
        self._failures.pop(ledger_id, None)
        await self._limit.acquire(user=repair_of(ledger_id))
        bookies = report.bookies if report is not None else ()
        if await remove_mark(self._underreplication, self._registration, ledger_id, mark, bookies):
            self._log.info("ledger {ledger_id} is fully replicated", ledger_id=ledger_id)

    async def _narrow_mark(
        self, ledger_id: int, mark: Versioned[UnderreplicatedLedger], report: CheckReport | None
    ) -> None:
        """Remove from the mark of a ledger that is not repaired the names of bookies that the last check found whole.
        """
        if report is None:
            return
        lacking, names = frozenset(report.lacking()), mark.value
        if lacking.issuperset(names.replicas) and not names.problem:
            return
        try:
            await self._limit.acquire(user=repair_of(ledger_id))
            await narrow_mark(self._underreplication, self._registration, ledger_id, mark, report.bookies, lacking)
        except BookKeeperError as error:  # with more names than needed, the mark leads to a longer check, nothing else
            self._log.debug("the mark of ledger {ledger_id}: {error}", ledger_id=ledger_id, error=error)

    async def _fail(self, job: _Job, attempt: Attempt) -> None:
        """Wait after a failed attempt to repair a locked ledger; the wait grows with each failure."""
        failures = self._failures.pop(job.ledger_id, 0)
        self._failures[job.ledger_id] = failures + 1
        if len(self._failures) > _MAX_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        job.attempts = failures + 1
        longest = self._settings.longest_hold
        pause = min(longest * _FIRST_HOLD * 2.0 ** min(failures, 30), longest)
        self._metrics.deferred.value += 1
        self._failure_log.failed(job.ledger_id, pause, attempt.reason)
        await self._hold(job, attempt, pause, again=False)

    async def _hold(self, job: _Job, attempt: Attempt, seconds: float, again: bool = True) -> None:
        """Release the slot of a locked ledger, and wait for the next attempt to repair it.

        :param seconds: maximum number of seconds to wait.
        :param again: whether the caller repairs the ledger after the wait; if True, also wait for a free slot.
        """
        job.state, job.reason = attempt.state.value, attempt.reason
        job.next_attempt = self._clock.seconds() + seconds
        self._leave_slot(job)
        resume = job.resume = Deferred()
        timer = self._clock.callLater(seconds, self._resume, job, resume)
        try:
            await self._describe(job)
            await resume
        finally:
            if timer.active():
                timer.cancel()
            job.resume = job.next_attempt = None
        if again:
            await self._switch.wait()
            await self._slots.enter(1)
            job.in_slot = True
            job.state, job.reason = "repairing", ""
            await self._describe(job)

    async def _describe(self, job: _Job) -> None:
        """Write into the text of a ledger's lock why the ledger is not repaired yet."""
        await self._limit.acquire(user=repair_of(job.ledger_id))
        text = text_of(self._settings.holder, job.status(None))
        try:
            await self._underreplication.describe_lock(job.ledger_id, text)
        except BookKeeperError as error:  # continue the repair, because the text of the lock is only for people to read
            self._log.debug("the lock of ledger {ledger_id}: {error}", ledger_id=job.ledger_id, error=error)

    def _leave_slot(self, job: _Job) -> None:
        if job.in_slot:
            job.in_slot = False
            self._slots.leave(1)

    def _resume(self, job: _Job, resume: "Deferred[None]") -> None:
        job.resume = None
        # The Deferred may have fired already: if the process was suspended, the timer and a change of the registered
        # bookies may both be due in one turn of the reactor.
        if not resume.called:
            resume.callback(None)

    async def _unlock(self, ledger_id: int) -> None:
        """Release a lock, with retries, because otherwise no worker could lock the ledger until this session ends."""
        while True:
            try:
                return await self._underreplication.unlock(ledger_id)
            except BookKeeperError as error:
                self._log.warn("the lock of ledger {ledger_id}: {error}", ledger_id=ledger_id, error=error)
            if not self.running:
                return  # the worker is stopping: the lock is removed at the end of the session
            await deferLater(self._clock, self._settings.backoff)

    # ---- status --------------------------------------------------------------------------------------

    def status(self, most: int | None = None) -> list[LedgerStatus]:
        """Return the status of the ledgers that this worker has locked, in ascending order of their ids.

        :param most: of the ledgers that wait, only this number with the lowest ids, and this number that were locked
            last; None for all.  A worker may hold a hundred thousand ledgers that it cannot repair.
        """
        running, chosen = self._repair.running, list(self._jobs.values())
        if most is not None:
            at_work = [job for job in chosen if job.state == "repairing"]
            first = [self._jobs[ledger_id] for ledger_id in nsmallest(most, self._jobs)]
            chosen = list({*at_work, *first, *islice(reversed(chosen), most)})
        return [job.status(running.get(job.ledger_id)) for job in sorted(chosen, key=lambda job: job.ledger_id)]


_HELD = (RepairState.GRACE, RepairState.WAITING, RepairState.IMPOSSIBLE)

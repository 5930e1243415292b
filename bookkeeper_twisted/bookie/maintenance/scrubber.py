"""Verifies all stored data of a bookie, slowly and repeatedly, to find damage before a client reads it."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import StorageError
from ...limits.throttle import Throttle
from ...metrics import ScrubMetrics
from ...storage.index.rows import live_totals
from ...storage.maintenance.scrub import NO_LEDGER, DamagedEntries, Scrub, ScrubRecord
from .known_damage import KnownDamage
from .maintained import MaintainedDirectory, MaintainedJournal, step_limits
from .progress import Progress, Suspension

_FIRST_PAUSE = 600.0
"""Seconds from the start of a bookie until its first pass may begin, because the start reads much from disk."""

_SAVED_EVERY = 60.0
"""Seconds between two saves of a pass's position.  After a restart, at most this much work is repeated."""


@attrs.define
class ScrubState:
    """The state of the scrubber, and counts of its work.

    :ivar passes: number of complete passes so far.
    :ivar last_pass: when the last complete pass ended, in seconds; None before the first.
    :ivar failures: number of failed passes.
    :ivar progress: progress of the running pass in all its directories; None while no pass is running.
    :ivar at: the directory or journal that is being verified, and which one of how many it is; empty while no pass is
        running.
    """

    passes: int = 0
    last_pass: float | None = None
    failures: int = 0
    progress: Progress | None = None
    at: str = ""


class PassTotals:
    """Counts what is left of a pass over several directories in the progress of the pass.

    All directories are measured as the pass begins.  Each is measured again when its turn comes, because a pass may
    take days.  This reads the whole index, so it is not repeated in between: what is written meanwhile counts later.

    :param directories: the directories of the pass, in the order of their turns.
    :ivar progress: the progress of the pass.
    """

    def __init__(self, progress: Progress, directories: Sequence[MaintainedDirectory]) -> None:
        self.progress = progress
        self._ahead: dict[int, tuple[int, int]] = {}
        self._measuring = {each.number: self._measure(each) for each in directories[1:]}

    def _measure(self, directory: MaintainedDirectory) -> "Deferred[None]":
        measuring = directory.in_thread(live_totals, directory.storage.index).addCallback(self._take, directory.number)
        return measuring.addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        failure.trap(StorageError, OSError, CancelledError)  # the pass tells what fails when its turn comes

    def _take(self, totals: tuple[int, int], number: int) -> None:
        self._ahead[number] = totals
        self.progress.entries_left += totals[0]
        self.progress.left += totals[1]

    async def begin(self, directory: MaintainedDirectory) -> None:
        """Measure a ``directory`` whose turn has come; what was left of the directories before it does not count."""
        measuring, totals = self._measuring.pop(directory.number, None), (0, 0)
        if measuring is not None:
            measuring.cancel()
        self._ahead.pop(directory.number, None)
        try:
            totals = await directory.in_thread(live_totals, directory.storage.index)
        finally:
            known = [totals, *self._ahead.values()]
            self.progress.entries_left = sum(entries for entries, _ in known)
            self.progress.left = sum(n_bytes for _, n_bytes in known)

    def end(self) -> None:
        """Cancel the measurements that have not ended; nothing is left of the directories."""
        for measuring in self._measuring.values():
            measuring.cancel()
        self.progress.entries_left = self.progress.left = 0


class Scrubber:
    """The scrubber, which runs one pass at a time: one directory after the other, then the journals.

    A pass that the timer starts verifies the directories whose last complete pass ended at least ``interval`` seconds
    ago.  The times of complete passes, and the position of an incomplete pass, survive a restart of the bookie.  A pass
    that an operator starts verifies all directories from the beginning.

    :param checkpoint: writes the entries in memory to the entry logs; called if a journal is damaged.
    :param interval: seconds from the end of a pass over a directory to the next pass; 0 if only an operator starts
        passes.
    :param known: stores the damage that a pass finds.
    :ivar suspension: the switch by which the present pass and later passes are suspended.
    """

    _log = Logger()

    def __init__(
        self, directories: Sequence[MaintainedDirectory], journals: Sequence[MaintainedJournal],
        checkpoint: "Callable[[], Deferred[bool]]", clock: IReactorTime, reads: Throttle, metrics: ScrubMetrics,
        interval: float, known: KnownDamage,
    ) -> None:  # fmt: skip
        self.state = ScrubState()
        self.suspension = Suspension()
        self._directories = directories
        self._journals = journals
        self._checkpoint = checkpoint
        self._clock = clock
        self._reads = reads
        self._metrics = metrics
        self._interval = interval
        self._known = known
        self._timer: IDelayedCall | None = None
        self._running: Deferred[bool] | None = None
        self._loading: Deferred[None] | None = None
        self._stopped = True

    @property
    def findings(self) -> dict[int, tuple[DamagedEntries, ...]]:
        """Return the known damage, by the number of the directory or journal."""
        return {number: record.findings for number, record in self._known.records.items()}

    def start(self) -> None:
        """Load the damage that earlier passes found, and begin the next pass when it is due."""
        self._stopped = False
        self._loading = Deferred.fromCoroutine(self._load_all())

    async def _load_all(self) -> None:
        try:
            for directory in self._directories:
                await self._known.load(directory)
            for journal in self._journals:
                await self._known.load(journal)
        except CancelledError:
            return
        ends = [record.ended_at for record in self._known.records.values() if record.ended_at]
        self.state.last_pass = max(ends, default=self.state.last_pass)
        self._wait(self._until_due())

    def change(self, interval: float) -> None:
        """Set a new interval; the next pass begins one interval after this call.

        :param interval: seconds from the end of a pass to the next pass; 0 if only an operator starts passes.
        """
        if interval == self._interval:
            return
        self._interval = interval
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is None:
            self._wait(interval)

    def _wait(self, seconds: float) -> None:
        if self._interval and not self._stopped and self._timer is None:
            self._timer = self._clock.callLater(seconds, self._timed)

    def _until_due(self) -> float:
        """Return the number of seconds until the next timed pass."""
        due = min((self._due_at(directory) for directory in self._directories), default=0.0)
        return max(due - self._clock.seconds(), min(self._interval, _FIRST_PAUSE))

    def _due_at(self, directory: MaintainedDirectory) -> float:
        record = self._known.records.get(directory.number, ScrubRecord())
        return record.ended_at + self._interval if record.after is None and record.ended_at else 0.0

    def _timed(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        self._begin([directory for directory in self._directories if self._due_at(directory) <= now])

    def _begin(self, directories: Sequence[MaintainedDirectory]) -> None:
        if self._running is None and not self._stopped:
            self._running = Deferred.fromCoroutine(self._pass(directories))
            self._running.addBoth(self._ended)

    def force(self) -> "Deferred[None]":
        """Begin a pass over all directories and journals, or wait for the present pass; the result fires at its end."""
        if self._running is None:
            records = self._known.records
            records.update({number: attrs.evolve(each, after=None) for number, each in records.items()})
        self._begin(self._directories)
        result: Deferred[None] = Deferred()
        if self._running is None:
            result.callback(None)
        else:
            self._running.addBoth(lambda _: None if result.called else result.callback(None))
        return result

    def _ended(self, result: object) -> None:
        self._running = None
        self.state.progress, self.state.at = None, ""
        if isinstance(result, Failure):
            self.state.failures += 1
            self._log.failure("a scrub ended in a way it should not", result)
        self._wait(self._until_due() if result is True else self._interval)

    def cancel(self) -> None:
        """End the present pass; the next pass that the timer starts continues where the present pass has ended."""
        if self._running is not None:
            self._running.cancel()

    async def stop(self) -> None:
        """Cancel the present pass and wait for its end."""
        self._stopped = True
        self._known.marker.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._loading is not None:
            self._loading.cancel()
        running = self._running
        if running is not None:
            ended: Deferred[None] = Deferred()
            running.addBoth(ended.callback)
            running.cancel()
            await ended

    # -- a pass --

    async def _pass(self, directories: Sequence[MaintainedDirectory]) -> bool:
        """Verify the ``directories`` and all journals once; if the disk of one fails, continue with the next.

        :returns: whether all directories and journals were verified.
        """
        whole, state = True, self.state
        state.progress = progress = Progress(self._clock.seconds(), (self._reads,))
        totals = PassTotals(progress, directories)
        try:
            for turn, directory in enumerate(directories, 1):
                state.at = f"{directory.path}, directory {turn} of {len(directories)}"
                whole &= await self._tried(self._scrub(directory, totals))
            totals.end()
            for turn, journal in enumerate(self._journals, 1):
                state.at = f"{journal.path}, journal {turn} of {len(self._journals)}"
                whole &= await self._tried(self._scrub_journal(journal))
        except CancelledError:
            self._log.info("a scrub was cancelled")
            return False
        finally:
            totals.end()
        if whole:
            self.state.passes += 1
            self.state.last_pass = self._clock.seconds()
        else:
            self.state.failures += 1
        return whole

    async def _tried(self, work: "Coroutine[Deferred[Any], Any, None]") -> bool:
        try:
            await work
        except (StorageError, OSError) as error:
            self._log.critical("DAMAGE: a scrub could not go on: {error}", error=error)
            return False
        return True

    async def _scrub(self, directory: MaintainedDirectory, totals: PassTotals) -> None:
        known, number, now = self._known, directory.number, int(self._clock.seconds())
        scrub = Scrub(directory.fs, directory.storage, now, known.records.get(number, ScrubRecord()))
        known.passes[number] = scrub
        try:
            await totals.begin(directory)
            await self._verify(directory, scrub, totals.progress)
        except (StorageError, OSError):
            # Drop the position of the failed pass, so that the next pass begins at the start of the directory.
            known.records[number] = attrs.evolve(scrub.record, after=None)
            raise
        finally:
            await directory.in_thread(scrub.close)
            del known.passes[number]
        directory.damaged.clear()
        await known.keep(directory, scrub.ended(int(self._clock.seconds())))

    async def _verify(self, directory: MaintainedDirectory, scrub: Scrub, progress: Progress) -> None:
        in_thread, saved_at, user = directory.in_thread, self._clock.seconds(), f"scrub of {directory.path}"
        while (step := await in_thread(scrub.cutter.next_step, *step_limits(self._reads))) is not None:
            size = step.n_disk_bytes, step.n_entries
            await progress.acquire(self._reads, size, user, self._clock, step.n_bytes)
            await progress.idle(self.suspension.passed(), self._clock)
            found, now = scrub.take(await in_thread(scrub.read, step)), self._clock.seconds()
            self._known.report(found)
            if found or now - saved_at >= _SAVED_EVERY:
                await self._known.keep(directory, scrub.record)
                saved_at = now
            self._known.marker.found(found)
            progress.advance(step.n_bytes, now, step.n_entries)
            self._metrics.bytes.value += step.n_bytes

    async def _scrub_journal(self, journal: MaintainedJournal) -> None:
        now = int(self._clock.seconds())
        scrub = await journal.scrub()
        try:
            while (n_bytes := await journal.in_thread(scrub.step)) is not None:
                self._metrics.bytes.value += n_bytes
                if n_bytes:
                    await self._reads.acquire(n_bytes, 0, "scrub of a journal")
                await self.suspension.passed()
        finally:
            await journal.in_thread(scrub.close)
        found = ScrubRecord(tuple(DamagedEntries(NO_LEDGER, -1, -1, now, text) for text in scrub.damages))
        self._known.records[journal.number] = found
        self._known.report(found.findings)
        if found.findings:  # the entries of the damaged records are still in memory: write them to entry logs
            await self._checkpoint()
        await self._known.keep(journal, found)

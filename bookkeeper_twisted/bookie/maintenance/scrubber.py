"""Reads everything a bookie stores, slowly and again and again, and reports damage before a client finds it."""

from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...errors import StorageError
from ...metrics import ScrubMetrics
from ...storage.maintenance.scrub import NO_LEDGER, DamagedEntries, Scrub, load_findings, save_findings
from ...throttle import Throttle
from .damage_marks import DamageMarks
from .lanes import MaintainedDirectory, MaintainedJournal, step_limits
from .progress import Progress, Suspension


@attrs.define
class ScrubState:
    """What the scrubber does and has done.

    :ivar passes: over all directories, so far; ``last_pass``: when the last one ended, None for never.
    :ivar failures: passes that could not be ended.
    :ivar progress: of the directory at work.
    """

    passes: int = 0
    last_pass: float | None = None
    failures: int = 0
    progress: Progress | None = None


class Scrubber:
    """One pass at a time, one directory after the other, journals at the end.

    :param checkpoint: writes what is in memory to the entry logs, where a journal is damaged.
    :param interval: seconds from the end of a pass to the next one; 0: only when forced.
    :param marks: gets what was found.
    :ivar findings: of the last pass over each directory, also after a restart.
    :ivar suspension: of the pass at work and of later ones.
    """

    _log = Logger()

    def __init__(
        self, directories: Sequence[MaintainedDirectory], journals: Sequence[MaintainedJournal],
        checkpoint: "Callable[[], Deferred[bool]]", clock: IReactorTime, reads: Throttle, metrics: ScrubMetrics,
        interval: float, marks: DamageMarks,
    ) -> None:  # fmt: skip
        self.state = ScrubState()
        self.findings: dict[int, list[DamagedEntries]] = {}
        self.suspension = Suspension()
        self._directories = directories
        self._journals = journals
        self._checkpoint = checkpoint
        self._clock = clock
        self._reads = reads
        self._metrics = metrics
        self._interval = interval
        self._marks = marks
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._loading: list[Deferred[None]] = []
        self._stopped = True
        metrics.watch(lambda: sum(map(len, self.findings.values())))

    def start(self) -> None:
        """Load the findings of earlier passes, and begin the next pass after ``interval`` seconds."""
        self._stopped = False
        kept = [self._load(directory, directory.storage.path) for directory in self._directories]
        kept += [self._load(journal, journal.path) for journal in self._journals]
        self._loading = [Deferred.fromCoroutine(loading) for loading in kept]
        self._wait()

    async def _load(self, directory: MaintainedDirectory | MaintainedJournal, path: str) -> None:
        try:
            found = await directory.on_lane(load_findings, directory.fs, path)
        except (CancelledError, OSError, StorageError):
            return
        self._marks.found(self.findings.setdefault(directory.number, found))

    def change(self, interval: float) -> None:
        """Set another interval; it counts from now on.

        :param interval: seconds from the end of a pass to the next, 0 for none.
        """
        if interval == self._interval:
            return
        self._interval = interval
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is None:
            self._wait()

    def _wait(self) -> None:
        if self._interval and not self._stopped and self._timer is None:
            self._timer = self._clock.callLater(self._interval, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self.force()

    def force(self) -> "Deferred[None]":
        """Begin a pass now, or join the one at work; fires at its end."""
        if self._running is None and not self._stopped:
            self._running = Deferred.fromCoroutine(self._pass())
            self._running.addBoth(self._ended)
        result: Deferred[None] = Deferred()
        if self._running is None:
            result.callback(None)
        else:
            self._running.addBoth(lambda _: None if result.called else result.callback(None))
        return result

    def _ended(self, _: object) -> None:
        self._running = None
        self.state.progress = None
        self._wait()

    def cancel(self) -> None:
        """End the pass at work; the findings of the pass before stay."""
        if self._running is not None:
            self._running.cancel()

    async def stop(self) -> None:
        """Cancel the pass at work and wait for its end."""
        self._stopped = True
        self._marks.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for loading in self._loading:
            loading.cancel()
        running = self._running
        if running is not None:
            ended: Deferred[None] = Deferred()
            running.addBoth(ended.callback)
            running.cancel()
            await ended

    # -- a pass --

    async def _pass(self) -> None:
        try:
            for directory in self._directories:
                await self._scrub(directory)
            for journal in self._journals:
                await self._scrub_journal(journal)
            self.state.passes += 1
            self.state.last_pass = self._clock.seconds()
        except CancelledError:
            self._log.info("a scrub was cancelled")
        except (StorageError, OSError) as error:
            self.state.failures += 1
            self._log.critical("DAMAGE: a scrub could not go on: {error}", error=error)

    async def _scrub(self, directory: MaintainedDirectory) -> None:
        on_lane = directory.on_lane
        scrub = Scrub(directory.fs, directory.storage, int(self._clock.seconds()))
        progress = self.state.progress = Progress(self._clock.seconds())
        progress.left = sum((await on_lane(directory.storage.index.live_bytes)).values())
        try:
            while (step := await on_lane(scrub.cutter.next_step, *step_limits(self._reads))) is not None:
                await self._reads.acquire(step.n_disk_bytes, step.n_entries)
                await self.suspension.passed()
                n_findings = len(scrub.findings)
                await on_lane(scrub.read, step)
                self._report(scrub.findings[n_findings:])
                progress.advance(step.n_bytes, self._clock.seconds())
                self._metrics.bytes.value += step.n_bytes
        finally:
            await on_lane(scrub.close)
        self.findings[directory.number] = scrub.findings
        await on_lane(save_findings, directory.fs, directory.storage.path, scrub.findings)
        self._marks.found(scrub.findings)

    async def _scrub_journal(self, journal: MaintainedJournal) -> None:
        now = int(self._clock.seconds())
        scrub = await journal.scrub()
        try:
            while (n_bytes := await journal.on_lane(scrub.step)) is not None:
                self._metrics.bytes.value += n_bytes
                if n_bytes:
                    await self._reads.acquire(n_bytes, 0)
                await self.suspension.passed()
        finally:
            await journal.on_lane(scrub.close)
        found = [DamagedEntries(NO_LEDGER, -1, -1, now, text) for text in scrub.damages]
        self.findings[journal.number] = found
        self._report(found)
        if found:  # all that a replay would need is in memory, too
            await self._checkpoint()
        await journal.on_lane(save_findings, journal.fs, journal.path, found)

    def _report(self, findings: Sequence[DamagedEntries]) -> None:
        for finding in findings:
            self._metrics.damages.value += 1
            self._log.critical("DAMAGE: {text}", text=finding.text, ledger_id=finding.ledger_id, entry_id=finding.first)

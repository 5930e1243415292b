"""Control over the background work of a bookie, for code in the bookie's process."""

from collections import Counter
from collections.abc import Mapping, Sequence

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from zope.interface import implementer

from ...errors import IncorrectParameterError
from ...limits.adaptive import LimitsStatus, SpeedLimits
from ...limits.ratelimit import Rate
from ...storage.index.rows import row_bytes
from ...storage.ledger_dirs import entry_log_name
from ..admin import (
    CollectionStatus,
    CompactionStatus,
    DirectoryWork,
    EntryLogFile,
    IBackgroundWork,
    ScrubStatus,
    SpaceForecast,
    WorkProgress,
)
from .collection_report import MAJOR, MINOR
from .forecast import SpaceForecaster
from .garbage_collector import CompactionKind
from .maintained import MaintainedDirectory
from .maintenance import Maintenance
from .progress import Progress

_ROWS = 1000


@implementer(IBackgroundWork)
class BackgroundControl:
    """The administrator's control over the background work of a bookie: garbage collection, scrub, speed limits.

    :param indexes: the path of the index file of each ledger directory.
    """

    def __init__(self, maintenance: Maintenance, clock: IReactorTime, indexes: Sequence[str]) -> None:
        self._maintenance = maintenance
        self._collector = maintenance.collector
        self._scrubber = maintenance.scrubber
        self._limits = SpeedLimits(maintenance.throttles, maintenance.adaptive)
        self._clock = clock
        self._indexes = indexes
        self._forecaster = SpaceForecaster(maintenance.directories, maintenance.ledgers, self._collector, clock)

    # -- garbage collection --

    def collection(self) -> CollectionStatus:
        """Return the status of the garbage collection."""
        state, options = self._collector.state, self._collector.options
        return CollectionStatus(
            state.phase,
            state.forced,
            self._status(MAJOR, state.suspended_major, state.majors, state.ended_major, options.major),
            self._status(MINOR, state.suspended_minor, state.minors, state.ended_minor, options.minor),
            self._directories(),
            self._collector.began,
            state.runs,
            state.failures,
            state.deleted_ledgers,
            state.last_failure,
            self._collector.has_waiting,
            self._collector.refusals(),
        )

    def _status(
        self, phase: str, suspended: bool, total: int, last: float | None, kind: CompactionKind
    ) -> CompactionStatus:  # fmt: skip
        at_work = self._collector.state.phase == phase
        obstacles, refusals = self._collector.obstacles()[phase], self._collector.prevented()[phase]
        cancelled = self._collector.state.cancelled.get(phase)
        return CompactionStatus(at_work, suspended, total, last, kind.threshold, obstacles, cancelled, refusals)

    def _directories(self) -> tuple[DirectoryWork, ...]:
        running = self._collector.progress()
        at_work = [progress for progress in running if progress is not None]
        parts = zip(self._maintenance.directories, self._indexes, running, strict=False)
        state = self._collector.state
        suspended = state.suspended_major if state.phase == MAJOR else state.suspended_minor
        return tuple(
            DirectoryWork(
                directory.storage.path,
                index,
                self._progress(progress, suspended, at_work),
                {entry_log_name(log_id): text for log_id, text in directory.damaged.items()},
            )
            for directory, index, progress in parts
        )

    def _progress(
        self, progress: Progress | None, suspended: bool, beside: Sequence[Progress] = ()
    ) -> WorkProgress | None:  # fmt: skip
        """Return the progress of work, with the seconds to its end: by its recent speed, and not before its limits.

        :param suspended: whether the work is suspended, so that its end is unknown.
        :param beside: the progress of all jobs that use the speed limits of the work now.
        """
        if progress is None:
            return None
        eta = None if suspended else progress.eta(self._clock.seconds(), beside)
        return WorkProgress(progress.done, progress.left, eta)

    def collect(self, major: bool = True, minor: bool = True) -> None:
        """Begin a garbage collection with the requested compactions: now, or after the end of the present one."""
        _unwatched(self._collector.force(major, minor))

    def suspend_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, including a running one."""
        self._collector.suspend_compaction(major, minor)

    def resume_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Allow suspended compactions of the kinds ``major`` and ``minor`` again."""
        self._collector.resume_compaction(major, minor)

    def cancel_compaction(self) -> None:
        """End the running compaction; entry logs that it has not finished stay unchanged."""
        self._collector.cancel()

    # -- space --

    def entry_logs(self, directory: str = "") -> "Deferred[Sequence[EntryLogFile]]":
        """List the entry logs of all ledger directories, or of one ``directory``."""
        return Deferred.fromCoroutine(self._entry_logs(directory))

    async def _entry_logs(self, path: str) -> Sequence[EntryLogFile]:
        found = []
        for directory in [each for each in self._maintenance.directories if path in ("", each.path)]:
            files = await directory.in_thread(directory.space.files)
            found += [EntryLogFile(directory.storage.path, log_id, n_bytes) for log_id, n_bytes in files]
        return found

    def log_space(self) -> "Deferred[SpaceForecast]":
        """Measure each complete entry log as a garbage collection that begins now would find it."""
        return Deferred.fromCoroutine(self._forecaster.measure())

    def ledgers_of(self, directory: str, log_id: int) -> "Deferred[Mapping[int, int]]":
        """Return the number of bytes of each ledger in an entry log, from its ledgers map or else from the index."""
        return Deferred.fromCoroutine(self._ledgers_of(directory, log_id))

    async def _ledgers_of(self, path: str, log_id: int) -> Mapping[int, int]:
        directory = next((each for each in self._maintenance.directories if each.storage.path == path), None)
        if directory is None:
            raise IncorrectParameterError(f"{path!r} is no ledger directory of this bookie")
        try:
            mapped = await directory.in_thread(directory.space.mapped_bytes, log_id)
        except FileNotFoundError:
            raise IncorrectParameterError(f"there is no entry log {entry_log_name(log_id)} in {path}") from None
        return await self._indexed_bytes(directory, log_id) if mapped is None else mapped

    async def _indexed_bytes(self, directory: MaintainedDirectory, log_id: int) -> Mapping[int, int]:
        """Compute from the index how many bytes each ledger has in an entry log; read the index in small steps."""
        index, found = directory.storage.index, Counter[int]()
        rows = await directory.in_thread(index.page, (-1, -1), _ROWS, [log_id])
        while rows:
            for row in rows:
                found[row.ledger_id] += row_bytes(row)
            after = rows[-1].ledger_id, rows[-1].first
            rows = await directory.in_thread(index.page, after, _ROWS, [log_id])
        return dict(found)

    # -- scrub --

    def scrub(self) -> ScrubStatus:
        """Return the status of the scrub, and the damage that it has found."""
        state = self._scrubber.state
        findings = self._scrubber.findings
        found = tuple(each for number in sorted(findings) for each in findings[number])
        suspended = self._scrubber.suspension.suspended
        return ScrubStatus(
            suspended, self._progress(state.progress, suspended), state.passes, state.failures,
            state.last_pass, found, state.at,
        )  # fmt: skip

    def start_scrub(self) -> None:
        """Begin a pass of the scrub, which verifies stored entries; no effect if a pass is in progress."""
        _unwatched(self._scrubber.force())

    def suspend_scrub(self) -> None:
        """Suspend the present pass and later passes, until :meth:`resume_scrub` or the end of the process."""
        self._scrubber.suspension.suspend()

    def cancel_scrub(self) -> None:
        """End the present pass of the scrub, but keep the damage that it found.

        The next pass that the timer starts continues where this pass has ended.
        """
        self._scrubber.cancel()

    def resume_scrub(self) -> None:
        """Allow a suspended scrub again."""
        self._scrubber.suspension.resume()

    # -- speed limits --

    def limits(self) -> LimitsStatus:
        """Return all speed limits of background work."""
        return self._limits.limits()

    def set_limits(self, rates: Mapping[str, Rate], latency_bound: float | None = None) -> None:
        """Change speed limits of background work until the process ends; an error leaves all limits unchanged."""
        self._limits.set_limits(rates, latency_bound)


def _unwatched(running: "Deferred[None]") -> None:
    """Ignore a CancelledError of ``running``: the work is cancelled when the bookie stops."""

    def ended(failure: Failure) -> None:
        failure.trap(CancelledError)

    running.addErrback(ended)

"""Implements the administration of a bookie in the bookie's own process."""

import posixpath
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ...authorization.access import AccessControl
from ...config.bookie import BookieConfig
from ...config.fields import BACKGROUND, DISKS, LOG, REQUESTS
from ...config.live import changed_parts
from ...errors import NotServingError
from ...instruments import Instruments, Ring
from ...limits.adaptive import ISpeedLimits
from ...logs.levels import LEVELS_OF_PROCESS, LogLevels
from ...metrics import JournalGroup, new_registry, pieces
from ...protocol.server.connected_peers import PeerDelay
from ...storage.file_listing import FileKind, files_of
from ...storage.index.run_index import FILE_NAME
from ...storage.interfaces import IFileSystem
from ...storage.journal.log_mark import read_log_marks
from ...storage.ledger_dirs import current
from ..admin import (
    ADMINISTRATOR,
    BookieState,
    DirectoryUsage,
    IBackgroundWork,
    IBookieAdmin,
    LastLogMark,
    Phase,
    StoredFiles,
)
from ..engine import NO_SPACE, Engine, checkpoint_reasons
from ..interfaces import IStorageExecutor
from ..maintenance.control import BackgroundControl
from ..maintenance.maintenance import Maintenance
from ..requests.loop_watch import LoopDelay
from ..requests.slow_requests import PresentWait, SlowRequest, SlowRequests
from .disk_monitor import DiskMonitor
from .registration import BookieRegistration
from .settings import CONFIGURABLE, disk_thresholds, maintenance_options
from .store import StorePaths

Check = Callable[[], Coroutine["Deferred[Any]", Any, None]]


class ServedDirectories:
    """Reads the bookie's directories for an administrator, on the read threads.

    :param check: compares the cookies for :meth:`IBookieAdmin.check_directories`.
    """

    def __init__(self, fs: IFileSystem, paths: StorePaths, executor: IStorageExecutor, check: Check) -> None:
        self._fs = fs
        self._paths = paths
        self._executor = executor
        self._check = check

    def files(self) -> "Deferred[StoredFiles]":
        """List the files of journals, entry logs and indexes."""
        return self._executor.submit("read", self._files)

    def _files(self) -> StoredFiles:
        def names(kind: FileKind, directories: Sequence[str]) -> tuple[str, ...]:
            return tuple(posixpath.basename(path) for path in files_of(kind, self._fs, directories))

        paths = self._paths
        return StoredFiles(
            names(FileKind.JOURNAL, paths.journals),
            names(FileKind.ENTRY_LOG, paths.ledgers),
            names(FileKind.INDEX, paths.indexes),
        )

    def log_marks(self) -> "Deferred[Sequence[LastLogMark]]":
        """Read the log mark of each journal, in the order of the configuration."""
        return self._executor.submit("read", self._log_marks)

    def _log_marks(self) -> Sequence[LastLogMark]:
        directories = [current(path) for path in self._paths.ledgers]
        for path in directories:
            self._fs.list(path)  # raises an error if the directory is missing, unlike read_log_marks, which returns 0
        log_marks = read_log_marks(self._fs, directories, len(self._paths.journals))
        return [LastLogMark(log_mark.file_id, log_mark.offset) for log_mark in log_marks]

    def check(self) -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration."""
        return Deferred.fromCoroutine(self._check())

    def index_files(self) -> list[str]:
        """Return the path of the index file of each ledger directory."""
        return [posixpath.join(current(path), FILE_NAME) for path in self._paths.indexes]


@attrs.frozen
class ServingParts:
    """The objects of a serving bookie that :class:`BookieAdmin` calls for an administrator.

    :ivar control: the object by which an administrator controls the background work.
    :ivar engine: what serves the requests of clients.
    """

    directories: ServedDirectories
    maintenance: Maintenance
    control: IBackgroundWork
    engine: Engine

    @classmethod
    def of(
        cls, directories: ServedDirectories, maintenance: Maintenance, clock: IReactorTime, engine: Engine
    ) -> "ServingParts":  # fmt: skip
        """Make this object from the directories and the maintenance of a bookie that begins to serve.

        :param directories: the bookie's directories.
        :param maintenance: the background work, which the administration starts, suspends and cancels.
        :param clock: the clock by which status reports estimate remaining times.
        :param engine: what serves the requests of clients.
        """
        control = BackgroundControl(maintenance, clock, directories.index_files())
        return cls(directories, maintenance, control, engine)


def _named(usage: Sequence[DirectoryUsage], directories: Sequence[str]) -> Sequence[DirectoryUsage]:
    """Return the ``usage`` of directories with the paths that the configuration has for them."""
    return [attrs.evolve(each, directory=path) for each, path in zip(usage, directories, strict=True)]


@implementer(IBookieAdmin)
class BookieAdmin:
    """The administration of a bookie in the bookie's own process.

    The bookie's service calls this object when the phase of the bookie changes, and when parts of the bookie have been
    made.

    :param config: the configuration at the start.
    :param levels: the log levels of this process.
    :param seconds: returns the time of the reactor's clock, in seconds.
    :ivar config: the present configuration: some of its values can change while the bookie runs.
    """

    _log = Logger()

    def __init__(
        self, config: BookieConfig, instruments: Instruments, levels: LogLevels = LEVELS_OF_PROCESS,
        seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self.bookie_id = ""
        self.address = ""
        self.replication_limits: ISpeedLimits | None = None
        self.access: AccessControl | None = None
        self.config = config
        self._levels = levels
        self._seconds = seconds
        self._registry = new_registry(instruments)
        self._phase = Phase.STARTING
        self._failure = ""
        self._read_only = False
        self._registration: BookieRegistration | None = None
        self._disks: DiskMonitor | None = None
        self._slow: SlowRequests | None = None
        self._journal_groups: Sequence[Ring[JournalGroup]] = ()
        self._failed_at = 0.0
        self._parts: ServingParts | None = None

    # ---- reported by the service ---------------------------------------------------------------------

    def attach(
        self, registration: BookieRegistration, disks: DiskMonitor, access: AccessControl | None = None,
        slow: SlowRequests | None = None, groups: Sequence[Ring[JournalGroup]] = (),
    ) -> None:  # fmt: skip
        """Set the registration, the disk monitor and other parts of a bookie, before the bookie serves.

        :param registration: the registration, which gets the administrator's read-only request.
        :param disks: measures the space of the disks.
        :param access: decides who may administer the bookie.
        :param slow: logs slow requests; its threshold is set now, and when the configuration changes.
        :param groups: for each journal, the sizes and times of the newest groups of records that it wrote.
        """
        self.access = access
        self._slow = slow
        self._journal_groups = groups
        self._limit_slow()
        self._registration, self._disks = registration, disks
        registration.set_read_only(ADMINISTRATOR, self._read_only)

    def serve(self, parts: "ServingParts") -> None:
        """Set the ``parts`` of the bookie, which begins to serve now.

        Before this call, methods that need these objects raise NotServingError.
        """
        self._parts = parts
        parts.maintenance.collector.troubles = self._troubles

    def _troubles(self) -> list[str]:
        """Return, as texts, why ledger or index directories cannot be written at present, for the garbage collector."""
        if self._registration is None or self._disks is None:
            return []
        failed = checkpoint_reasons(self._registration.reasons, "")
        with_reserve, without = "with the space reserve", "and probably fails there"
        ends = {each: with_reserve if each.startswith(NO_SPACE) else without for each in failed}
        return [
            *(f"{each}; a compaction writes to the same disks: it is tried, {end}" for each, end in ends.items()),
            *(f"{d}: {text}; its entry logs cannot be compacted" for d, text in self._disks.unusable.items()),
            *(
                f"{d}: {text}; the entry logs whose index it has cannot be compacted"
                for d, text in self._disks.unusable_indexes.items()
            ),
        ]

    def take(self, config: BookieConfig) -> None:
        """Apply to the running bookie the values of a ``config`` that differ from the present configuration.

        Only values that can change while a bookie runs may differ (:func:`~bookkeeper_twisted.config.live.with_live`).
        """
        parts, self.config = changed_parts(self.config, config), config
        if BACKGROUND in parts and self._parts is not None:
            self._parts.maintenance.change(maintenance_options(config))
        if DISKS in parts and self._disks is not None:
            self._disks.change(disk_thresholds(config), config.disk_check_interval / 1000)
        if REQUESTS in parts:
            self._limit_slow()
        if LOG in parts:
            self._levels.set(config.levels)

    def _limit_slow(self) -> None:
        if self._slow is not None:
            self._slow.limit(self.config.slow_request_threshold_ms)

    def limit_replication(self, limits: ISpeedLimits | None) -> None:
        """Register the speed limits of the autorecovery in this process, so that they can be changed over HTTP.

        :param limits: the limits; None when autorecovery has ended.
        """
        self.replication_limits = limits

    def enter(self, phase: Phase) -> None:
        """Enter the next ``phase``, unless the bookie has failed."""
        if self._phase is not Phase.FAILED:
            if phase is Phase.STOPPING:
                text = "bookie {bookie_id} is stopping, because its process ends"
                self._log.info(text, bookie_id=self.bookie_id, is_change=True)
            self._phase = phase

    def fail(self, reason: str) -> None:
        """Record a failure that ends the bookie; ignore further failures, and failures after the stop has begun.

        :param reason: a text for the administrator.
        """
        if self._phase is Phase.SERVING:  # Do not log a failure of the start: BookieService itself logs it.
            text = "bookie {bookie_id} is stopping: {reason}"
            self._log.critical(text, bookie_id=self.bookie_id, reason=reason, is_change=True)
        if self._phase in (Phase.STARTING, Phase.SERVING):
            self._phase, self._failure, self._failed_at = Phase.FAILED, reason, self._seconds()

    # ---- IBookieAdmin --------------------------------------------------------------------------------

    def state(self) -> BookieState:
        """Return the phase of the bookie's life, and whether and why the bookie is read-only."""
        reasons, since = ((self._failure,), (self._failed_at,)) if self._failure else ((), ())
        registration = self._registration
        if registration is None:
            return BookieState(self._phase, reasons=reasons, since=since)
        mode = registration.mode
        return BookieState(
            self._phase, mode.read_only, mode.high_priority, reasons + registration.reasons, since + registration.since,
            registration.began_before,
        )  # fmt: skip

    def set_read_only(self, read_only: bool) -> None:
        """Make the bookie read-only at the administrator's request, or withdraw this request."""
        self._read_only = read_only
        if self._registration is not None:
            self._registration.set_read_only(ADMINISTRATOR, read_only)

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in configuration order; empty unless the phase is SERVING."""
        if self._disks is None or self._phase is not Phase.SERVING:
            return succeed(())
        return self._disks.measure_ledgers().addCallback(_named, self.config.ledger_directories)

    def journal_disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the journal directories, in configuration order; empty unless the phase is SERVING."""
        if self._disks is None or self._phase is not Phase.SERVING:
            return succeed(())
        return self._disks.measure_journals().addCallback(_named, self.config.journal_directories)

    def index_disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the index directories on other disks; empty unless the phase is SERVING."""
        if self._disks is None or self._phase is not Phase.SERVING:
            return succeed(())
        paths = {current(path): path for path in self.config.index_directories}
        return self._disks.measure_indexes().addCallback(
            lambda usage: [attrs.evolve(each, directory=paths[each.directory]) for each in usage]
        )

    def files(self) -> "Deferred[StoredFiles]":
        """List the files of journals, entry logs and indexes."""
        return maybeDeferred(lambda: self._serving().directories.files())

    def log_marks(self) -> "Deferred[Sequence[LastLogMark]]":
        """Read the log mark of each journal, where replay begins after a crash, in configuration order."""
        return maybeDeferred(lambda: self._serving().directories.log_marks())

    def check_directories(self) -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration."""
        return maybeDeferred(lambda: self._serving().directories.check())

    def _serving(self) -> "ServingParts":
        if self._parts is None or self._phase is not Phase.SERVING:
            raise NotServingError(f"the bookie is {self._phase.value}")
        return self._parts

    def configuration(self) -> Mapping[str, str]:
        """Return the present configuration, with the keys of ``bk_server.conf``; secrets are masked."""
        return self.config.shown()

    def configure(self, values: Mapping[str, str]) -> None:
        """Change configuration values until the end of the process; after an error, all values are unchanged."""
        self._serving()
        self.take(self.config.changed(values, CONFIGURABLE, "changed by an administrator"))

    def journal_groups(self) -> Sequence[Ring[JournalGroup]]:
        """Return the sizes and times of each journal's newest groups of records; empty before the bookie serves."""
        return self._journal_groups

    def slow_requests(self) -> Ring[SlowRequest]:
        """Return the newest slow requests; empty if ``slowRequestThresholdMs`` is not set."""
        return self._slow.recent if self._slow is not None else Ring(1)

    def present_waits(self) -> Sequence[PresentWait]:
        """Return what requests and checkpoints wait for at present; empty before the bookie serves."""
        return self._parts.engine.present_waits() if self._parts is not None else ()

    def long_delays(self) -> Sequence[LoopDelay]:
        return self._slow.long_delays if self._slow is not None else ()

    def slowest_peer(self) -> PeerDelay | None:
        """Return the client that delays its replies most; None without clients, and before the bookie serves."""
        return self._parts.engine.factory.peers.slowest() if self._parts is not None else None

    def background(self) -> IBackgroundWork:
        """Return the object that controls garbage collection, scrub and speed limits."""
        return self._serving().control

    def metrics(self) -> Iterator[bytes]:
        """Yield the metrics one by one in Prometheus' text format (0.0.4).

        One call for all metrics could block the reactor for too long.
        """
        return pieces(self._registry)

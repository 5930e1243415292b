"""A fake of a bookie's administration interface, for tests of the HTTP server and the shell.

A test sets each answer as an attribute of the fake.
"""

from collections.abc import Iterator, Mapping, Sequence

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from zope.interface import implementer

from ..authorization.access import AccessControl
from ..bookie.admin import (
    ADMINISTRATOR,
    BookieState,
    CollectionStatus,
    CompactionStatus,
    DeletedLedgers,
    DirectoryUsage,
    DirectoryWork,
    EntryLogFile,
    EntryLogSpace,
    IBackgroundWork,
    IBookieAdmin,
    LastLogMark,
    MeasuredDirectory,
    Phase,
    ScrubStatus,
    SpaceForecast,
    StoredFiles,
    WorkProgress,
)
from ..bookie.requests.loop_watch import LoopDelay
from ..bookie.requests.slow_requests import PresentWait, SlowRequest
from ..config.log_levels import LOG_LEVELS
from ..errors import BookKeeperError, ConfigError, IncorrectParameterError, NoSuchThrottleError, NotServingError
from ..instruments import Ring
from ..limits.adaptive import AdaptiveStatus, ISpeedLimits, LimitsStatus
from ..limits.ratelimit import Rate
from ..limits.throttle import ThrottleStatus
from ..metrics import JournalGroup
from ..protocol.server.connected_peers import PeerDelay
from ..storage.maintenance.plan import LogUsage, candidates
from ..storage.maintenance.scrub import DamagedEntries

_BEGAN = 1_795_225_000.0
_DIRECTORY = "/ledgers/current"


def _levels(text: str) -> str:
    try:
        levels = LOG_LEVELS.parse(text)
        LOG_LEVELS.check(levels)
    except ValueError as error:
        raise ConfigError(f"logLevels = {text!r}: {error}") from None
    return ",".join(levels)


@implementer(IBackgroundWork)
@attrs.define
class FakeBackgroundWork:
    """A fake of a bookie's background work: it counts the requests, and does no work.

    :ivar collections: for each requested garbage collection, two values: whether major compaction was requested, and
        whether minor.
    :ivar cancelled: number of requests to cancel a compaction.
    :ivar scrubs: number of requested scrubs.
    :ivar logs: for each entry log (by its id), the number of bytes of each ledger in it (by ledger id).
    :ivar deleted: what the measurement of entry logs says of deleted ledgers.
    :ivar measured: what it says of itself.
    """

    collections: list[tuple[bool, bool]] = attrs.field(factory=list)
    cancelled: int = 0
    scrubs: int = 0
    forced: bool = False
    has_waiting: bool = False
    phase: str = "idle"
    majors: int = 0
    minors: int = 0
    last_major: float | None = None
    last_minor: float | None = None
    cancelled_major: float | None = None
    suspended_major: bool = False
    suspended_minor: bool = False
    suspended_scrub: bool = False
    obstacles: tuple[str, ...] = ()
    progress: WorkProgress | None = None
    damaged: Mapping[str, str] = attrs.field(factory=dict)
    findings: tuple[DamagedEntries, ...] = ()
    logs: Mapping[int, Mapping[int, int]] = attrs.field(factory=lambda: {0: {7: 100, 8: 50}, 10: {7: 20}})
    deleted: DeletedLedgers = attrs.field(factory=lambda: DeletedLedgers(1, _BEGAN))
    measured: MeasuredDirectory = attrs.field(factory=lambda: MeasuredDirectory(_DIRECTORY, _BEGAN))
    adaptive: AdaptiveStatus = attrs.field(factory=lambda: AdaptiveStatus(0.0, 1.0, None))
    rates: dict[str, Rate] = attrs.field(factory=lambda: {"gc-metadata": Rate(1000), "scrub": Rate(bytes=10_000_000)})

    def collection(self) -> CollectionStatus:
        """Return the status of the garbage collection."""
        directory = DirectoryWork(_DIRECTORY, "/ledgers/current/index.sqlite", self.progress, self.damaged)
        major, minor = [("an operator has suspended it",) if suspended else ()
                        for suspended in (self.suspended_major, self.suspended_minor)]  # fmt: skip
        return CollectionStatus(
            self.phase, self.forced,
            CompactionStatus(
                self.phase.startswith("major"), self.suspended_major, self.majors, self.last_major, 0.8,
                major, self.cancelled_major, major,
            ),
            CompactionStatus(
                self.phase.startswith("minor"), self.suspended_minor, self.minors, self.last_minor, 0.2,
                minor, None, minor,
            ),
            (directory,), _BEGAN, len(self.collections), has_waiting=self.has_waiting,
            obstacles=self.obstacles,
        )  # fmt: skip

    def collect(self, major: bool = True, minor: bool = True) -> None:
        """Record a request for a garbage collection with ``major`` or ``minor`` compaction, or both."""
        self.collections.append((major, minor))
        if major and not self.suspended_major:
            self.majors, self.last_major = self.majors + 1, _BEGAN
        elif minor and not self.suspended_minor:
            self.minors, self.last_minor = self.minors + 1, _BEGAN

    def suspend_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, including a running one.

        See :meth:`~bookkeeper_twisted.bookie.admin.IBackgroundWork.suspend_compaction` for parameters and errors.
        """
        self.suspended_major |= major
        self.suspended_minor |= minor

    def resume_compaction(self, major: bool = True, minor: bool = True) -> None:
        """Allow suspended compactions of the kinds ``major`` and ``minor`` again."""
        self.suspended_major &= not major
        self.suspended_minor &= not minor

    def cancel_compaction(self) -> None:
        """End the running compaction; entry logs that it has not finished stay unchanged."""
        self.cancelled += 1

    def entry_logs(self, directory: str = "") -> "Deferred[Sequence[EntryLogFile]]":
        """List the entry logs of all ledger directories, or of one ``directory``."""
        if directory not in ("", _DIRECTORY):
            return succeed([])
        sizes = {log_id: 1024 + sum(ledgers.values()) for log_id, ledgers in self.logs.items()}
        return succeed([EntryLogFile(_DIRECTORY, log_id, n_bytes) for log_id, n_bytes in sizes.items()])

    def log_space(self) -> "Deferred[SpaceForecast]":
        """Return the numbers of live and dead bytes in all entry logs, and which of the logs are to be compacted.

        As a fixed rule of this fake, ledger 8 counts as deleted, so its bytes are dead.
        """
        logs = [
            LogUsage(log_id, sum(ledgers.values()), sum(ledgers.values()) - ledgers.get(8, 0))
            for log_id, ledgers in self.logs.items()
        ]
        major, minor = [candidates(logs, kind.threshold) for kind in (self.collection().major, self.collection().minor)]
        found = [EntryLogSpace(_DIRECTORY, log.log_id, log.size, log.live, log in major, log in minor) for log in logs]
        return succeed(SpaceForecast(tuple(found), self.deleted, (self.measured,)))

    def ledgers_of(self, directory: str, log_id: int) -> "Deferred[Mapping[int, int]]":
        """Return the number of bytes of each ledger in an entry log, including deleted ledgers.

        See :meth:`~bookkeeper_twisted.bookie.admin.IBackgroundWork.ledgers_of` for parameters and errors.
        """
        if directory != _DIRECTORY or log_id not in self.logs:
            return fail(IncorrectParameterError(f"there is no entry log {log_id} in {directory}"))
        return succeed(self.logs[log_id])

    def scrub(self) -> ScrubStatus:
        """Return the status of the scrub, and the damage that it has found."""
        last_pass = _BEGAN if self.scrubs else None
        at = f"{_DIRECTORY}, directory 1 of 2" if self.progress is not None else ""
        return ScrubStatus(self.suspended_scrub, self.progress, self.scrubs, 0, last_pass, self.findings, at)

    def start_scrub(self) -> None:
        """Begin a pass of the scrub, which verifies stored entries; no effect if a pass is in progress."""
        self.scrubs += not self.suspended_scrub

    def suspend_scrub(self) -> None:
        """Suspend the present pass and later passes, until :meth:`resume_scrub` or the end of the process."""
        self.suspended_scrub = True

    def cancel_scrub(self) -> None:
        """End the present scrub pass, but keep the damage found; the next timed pass begins where this pass ended."""
        self.progress = None

    def resume_scrub(self) -> None:
        """Allow a suspended scrub again."""
        self.suspended_scrub = False

    def limits(self) -> LimitsStatus:
        """Return all speed limits of background work."""
        users = ("scrub of /ledgers",)
        throttles = [
            ThrottleStatus(name, rate, rate, 5, 70, 1.5, 2, users) for name, rate in sorted(self.rates.items())
        ]
        return LimitsStatus(self.adaptive, tuple(throttles))

    def set_limits(self, rates: Mapping[str, Rate], latency_bound: float | None = None) -> None:
        """Change speed limits of background work until the process ends; an error leaves all limits unchanged."""
        for name in rates:
            if name not in self.rates:
                raise NoSuchThrottleError(f"no limiter is named {name!r}")
        self.rates |= rates
        if latency_bound is not None:
            self.adaptive = attrs.evolve(self.adaptive, bound=latency_bound)


@implementer(IBookieAdmin)
@attrs.define
class FakeBookieAdmin:
    """A fake bookie with the administration interface; a test sets the phase of its life.

    :ivar other_reasons: reasons to be read-only, other than the administrator's request.
    :ivar peer: the client that delays its replies most.
    :ivar waits: what requests wait for at present.
    :ivar delays: times in which the event loop was held up.
    :ivar live: configuration keys that can be changed while the bookie runs.
    :ivar wrong_directories: the error that :meth:`check_directories` raises, if any.
    """

    bookie_id: str = "bookie-1:3181"
    address: str = "bookie-1:3181"
    replication_limits: ISpeedLimits | None = None
    access: AccessControl | None = None
    phase: Phase = Phase.SERVING
    high_priority_writes: bool = True
    other_reasons: tuple[str, ...] = ()
    by_administrator: bool = False
    usage: Sequence[DirectoryUsage] = (DirectoryUsage("/ledgers", 1000, 400),)
    journal_usage: Sequence[DirectoryUsage] = ()
    index_usage: Sequence[DirectoryUsage] = ()
    values: Mapping[str, str] = attrs.field(
        factory=lambda: {
            "bookiePort": "3181", "zkAuth": "", "gcWaitTime": "600000", "logLevel": "info", "logLevels": "",
        }
    )  # fmt: skip
    live: frozenset[str] = frozenset({"gcWaitTime", "logLevels"})
    stored: StoredFiles = attrs.field(
        factory=lambda: StoredFiles(("1.txn", "2.txn"), ("0.log", "a.log"), ("index.sqlite",))
    )
    stored_log_marks: Sequence[LastLogMark] = (LastLogMark(1, 512),)
    wrong_directories: BookKeeperError | None = None
    work: FakeBackgroundWork = attrs.field(factory=FakeBackgroundWork)
    groups: Sequence[Ring[JournalGroup]] = attrs.field(factory=lambda: (Ring(600),))
    slow: Ring[SlowRequest] = attrs.field(factory=lambda: Ring(500))
    peer: PeerDelay | None = None
    waits: tuple[PresentWait, ...] = ()
    delays: tuple[LoopDelay, ...] = ()
    since: float = _BEGAN
    older_reasons: tuple[str, ...] = ()
    exposition: bytes = b"# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 3\n"

    def state(self) -> BookieState:
        """Return the phase of the bookie's life, and whether and why the bookie is read-only."""
        reasons = (*self.other_reasons, *((ADMINISTRATOR,) if self.by_administrator else ()))
        since = (self.since,) * len(reasons)
        return BookieState(
            self.phase, bool(reasons), self.high_priority_writes, reasons, since, frozenset(self.older_reasons)
        )

    def set_read_only(self, read_only: bool) -> None:
        """Make the bookie read-only at the administrator's request, or withdraw this request.

        See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.set_read_only` for parameters and errors.
        """
        self.by_administrator = read_only

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in configuration order; empty unless the phase is SERVING."""
        return succeed(self.usage if self.phase is Phase.SERVING else ())

    def journal_disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the journal directories, in configuration order; empty unless the phase is SERVING."""
        return succeed(self.journal_usage if self.phase is Phase.SERVING else ())

    def index_disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the index directories on other disks; empty unless the phase is SERVING."""
        return succeed(self.index_usage if self.phase is Phase.SERVING else ())

    def files(self) -> "Deferred[StoredFiles]":
        """List the files of journals, entry logs and indexes."""
        return succeed(self.stored) if self.phase is Phase.SERVING else fail(self._not_serving())

    def log_marks(self) -> "Deferred[Sequence[LastLogMark]]":
        """Read the log mark of each journal, where replay begins after a crash, in configuration order."""
        return succeed(self.stored_log_marks) if self.phase is Phase.SERVING else fail(self._not_serving())

    def check_directories(self) -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration."""
        wrong = self.wrong_directories if self.phase is Phase.SERVING else self._not_serving()
        return succeed(None) if wrong is None else fail(wrong)

    def _not_serving(self) -> NotServingError:
        return NotServingError(f"the bookie is {self.phase.value}")

    def configure(self, values: Mapping[str, str]) -> None:
        """Change configuration values until the end of the process; after an error, all values are unchanged.

        See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.configure` for parameters and errors.
        """
        if self.phase is not Phase.SERVING:
            raise self._not_serving()
        taken: dict[str, str] = {}
        for key, value in values.items():
            if key not in self.live or not (value.isdigit() or key == "logLevels"):
                raise ConfigError(f"{key} = {value!r}")
            taken[key] = _levels(value) if key == "logLevels" else value
        self.values = {**self.values, **taken}

    def journal_groups(self) -> Sequence[Ring[JournalGroup]]:
        """Return sizes and durations of the groups that each journal wrote last, in the order of the directories.

        A group is the records that are written and synced together.
        """
        return self.groups

    def slow_requests(self) -> Ring[SlowRequest]:
        """Return the newest slow requests; there are none without ``slowRequestThresholdMs``."""
        return self.slow

    def present_waits(self) -> Sequence[PresentWait]:
        """Return what requests wait for at present."""
        return self.waits

    def long_delays(self) -> Sequence[LoopDelay]:
        """Return the newest times in which the event loop was held up for a second or more."""
        return self.delays

    def slowest_peer(self) -> PeerDelay | None:
        """Return the client that delays its replies most; None if none does."""
        return self.peer

    def background(self) -> IBackgroundWork:
        """Return the object that controls garbage collection, scrubs and speed limits."""
        if self.phase is not Phase.SERVING:
            raise self._not_serving()
        return self.work

    def configuration(self) -> Mapping[str, str]:
        """Return the present configuration, with the keys of ``bk_server.conf``; secrets are masked."""
        return self.values

    def metrics(self) -> Iterator[bytes]:
        """Yield the text that the test has set as the bookie's metrics, in Prometheus' text format."""
        yield self.exposition

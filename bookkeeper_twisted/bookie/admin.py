"""Administration of a running bookie: the requests of its HTTP server and of the shell.

:class:`IBookieAdmin` is for the bookie as a whole, :class:`IBackgroundWork` for its garbage collection, scrub and speed
limits.  Each has two implementations, which pass the same tests: one for a bookie in this process
(:mod:`.lifecycle.admin`, :mod:`.maintenance.control`), and a fake for tests (:mod:`bookkeeper_twisted.testing.admin`).
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from ..authorization.access import AccessControl
from ..instruments import Ring
from ..limits.adaptive import ISpeedLimits
from ..metrics import JournalGroup
from ..protocol.server.connected_peers import PeerDelay
from ..storage.maintenance.scrub import DamagedEntries
from .requests.loop_watch import LoopDelay
from .requests.slow_requests import PresentWait, SlowRequest

ADMINISTRATOR = "an administrator has set it read-only"
"""The reason to be read-only that a bookie's state shows after :meth:`IBookieAdmin.set_read_only`."""


class Phase(Enum):
    """The phases of a bookie's life.

    STARTING, SERVING, STOPPING and STOPPED follow in this order.  FAILED may follow STARTING or SERVING, and is final.
    """

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@attrs.frozen
class BookieState:
    """The state of a bookie, for administrators.

    :ivar read_only: whether the bookie refuses adds.
    :ivar high_priority_writes: whether the bookie accepts adds of high priority even while it is read-only.
    :ivar reasons: the reasons why the bookie is read-only or has failed, as texts; empty if it is writable and has not
        failed.
    :ivar since: for each reason, the time since which it applies, in seconds since the epoch.
    :ivar began_before: those of the reasons that applied already when the bookie started, such as a full disk; their
        time is that of the start, because nobody has recorded when they began.
    """

    phase: Phase
    read_only: bool = False
    high_priority_writes: bool = True
    reasons: tuple[str, ...] = ()
    since: tuple[float, ...] = ()
    began_before: frozenset[str] = frozenset()


@attrs.frozen
class DirectoryUsage:
    """The space on the disk of one ledger, journal or index directory.

    :ivar directory: path of the directory, as configured.
    :ivar total: size of the file system in bytes.
    :ivar free: number of bytes that can still be written to the file system.
    :ivar growth: average growth of the used space in the last days, in bytes per second; None if the bookie has not run
        long enough to measure the growth.
    :ivar free_inodes: number of files that can still be made on the file system; None if it has no fixed number of
        inodes.
    :ivar span: number of seconds over which :attr:`growth` was measured.
    :ivar recent: average growth of the used space in the last hour, in bytes per second; None if it is not known.
    :ivar reason: why the disk cannot be measured, as the operating system says; then :attr:`total` and :attr:`free` are
        0.  Empty if it was measured.
    """

    directory: str
    total: int
    free: int
    growth: float | None = None
    free_inodes: int | None = None
    span: float = 0.0
    recent: float | None = None
    reason: str = ""


@attrs.frozen
class StoredFiles:
    """The names of the files in which a bookie stores entries, sorted by directory, then by number."""

    journals: tuple[str, ...]
    entry_logs: tuple[str, ...]
    indexes: tuple[str, ...]


@attrs.frozen
class LastLogMark:
    """The log mark of one journal: the position from which the next start would replay the journal.

    :ivar file_id: id of the journal file.
    :ivar offset: offset in this file, in bytes.
    """

    file_id: int
    offset: int


class IBookieAdmin(Interface):
    """Administration of one bookie.  All methods are called on the reactor thread, in any phase."""

    bookie_id: str = Attribute("The id under which the bookie is registered; empty until it is known.")
    address: str = Attribute("Host and port that clients connect to; empty until they are known.")
    replication_limits: ISpeedLimits | None = Attribute(
        "The speed limits of autorecovery in the bookie's process; None while it does not run there."
    )
    access: AccessControl | None = Attribute(
        "Decides who may do what; None if everybody may do everything, and until the bookie has begun to serve."
    )

    def state() -> BookieState:
        """Return the phase of the bookie's life, and whether and why the bookie is read-only."""

    def set_read_only(read_only: bool) -> None:
        """Make the bookie read-only at the administrator's request, or withdraw this request.

        The bookie is read-only while there is at least one reason for it.  The administrator's request is such a
        reason.  The request is forgotten when the process ends, unless ``persistBookieStatusEnabled`` is set.

        :param read_only: True to make the request, False to withdraw it; a repeated call has no effect.
        """

    def disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in the order of the configuration.

        A directory that cannot be measured is in the result, too, with the reason.  The result is an empty sequence
        unless the phase is SERVING.
        """

    def journal_disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the journal directories, in the order of the configuration.

        A directory that cannot be measured is in the result, too, with the reason.  The result is an empty sequence
        unless the phase is SERVING.
        """

    def index_disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the index directories on whose disks no ledger directory is.

        A directory that cannot be measured is in the result, too, with the reason.  The result is an empty sequence
        unless the phase is SERVING.
        """

    def files() -> "Deferred[StoredFiles]":
        """List the files of journals, entry logs and indexes.

        :raises NotServingError: (as a failure) the phase is not SERVING.
        """

    def log_marks() -> "Deferred[Sequence[LastLogMark]]":
        """Read the log mark of each journal, in the order of the configuration.

        :raises NotServingError: (as a failure) the phase is not SERVING.
        """

    def check_directories() -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration.

        :raises InvalidCookieError: (as a failure) a cookie is missing, or belongs to another bookie.
        :raises NotServingError: (as a failure) the phase is not SERVING.
        """

    def configuration() -> Mapping[str, str]:
        """Return the present configuration, with the keys of ``bk_server.conf``; secrets are masked."""

    def configure(values: Mapping[str, str]) -> None:
        """Change configuration values until the end of the process; after an error, all values are unchanged.

        :param values: the new text of each value, by its key in ``bk_server.conf``.
        :raises ConfigError: a key is unknown or cannot be changed while the bookie runs, or a value is invalid.
        :raises NotServingError: the bookie does not serve.
        """

    def metrics() -> Iterator[bytes]:
        """Yield the metrics one by one in Prometheus' text format (0.0.4).

        One call for all metrics could block the reactor for too long.
        """

    def journal_groups() -> Sequence[Ring[JournalGroup]]:
        """Return the sizes and times of the newest groups of records that each journal wrote.

        The journals are in the order of the configuration.  The result is empty before the bookie serves.
        """

    def slow_requests() -> Ring[SlowRequest]:
        """Return the newest slow requests; empty if ``slowRequestThresholdMs`` is not set."""

    def present_waits() -> Sequence[PresentWait]:
        """Return what requests, or a checkpoint that lasts very long, wait for at present, and for how long.

        The result is empty before the bookie serves.
        """

    def long_delays() -> Sequence[LoopDelay]:
        """Return the newest times in which the event loop was held up for a second or more.

        The result is empty if ``slowRequestThresholdMs`` is not set.
        """

    def slowest_peer() -> PeerDelay | None:
        """Return the client that delays its replies most, by not reading or by the network to it.

        The result is None without clients, and before the bookie serves.
        """

    def background() -> "IBackgroundWork":
        """Return the object that controls garbage collection, scrub and speed limits.

        :raises NotServingError: the bookie does not serve.
        """


@attrs.frozen
class WorkProgress:
    """The progress of a compaction or a scrub.

    :ivar done, left: number of bytes that are processed, and number of bytes that are left.
    :ivar eta: seconds until the end at the recent speed, and not less than the present speed limits allow; None while
        neither is known, and while the work is suspended.
    """

    done: int
    left: int
    eta: float | None


@attrs.frozen
class CompactionStatus:
    """The state of one kind of compaction, minor or major.

    :ivar at_work: whether a compaction of this kind is running.
    :ivar suspended: whether an operator suspended compactions of this kind.
    :ivar total: number of compactions of this kind since the start of the bookie, without those that were cancelled,
        or failed before they had compacted an entry log.
    :ivar last: end of the last of these compactions, in seconds since the epoch; None before the first one.
    :ivar threshold: a compaction of this kind copies an entry log if the live share of its bytes, from 0 to 1, is below
        this threshold.
    :ivar obstacles: as texts, all reasons why even a requested garbage collection makes no compaction of this kind, or
        tries one that may fail.
    :ivar cancelled: when the newest compaction of this kind was cancelled, in seconds since the epoch; None if it was
        not.
    :ivar refusals: those of the obstacles with which a requested garbage collection does not even try.
    """

    at_work: bool
    suspended: bool
    total: int
    last: float | None
    threshold: float = 0.0
    obstacles: tuple[str, ...] = ()
    cancelled: float | None = None
    refusals: tuple[str, ...] = ()


@attrs.frozen
class DirectoryWork:
    """The maintenance of one ledger directory, for administrators.

    :ivar directory: path of its ``current`` directory.
    :ivar index: path of its index file, which says in which entry log each range of consecutive entries is stored.
    :ivar progress: progress of its compaction; None while no compaction is running.
    :ivar damaged: for each entry log that failed a check, by file name, a description of the damage.
    """

    directory: str
    index: str
    progress: WorkProgress | None
    damaged: Mapping[str, str]


@attrs.frozen
class CollectionStatus:
    """The status of the garbage collection.

    :ivar phase: ``idle``, ``ledgers``, ``logs``, ``major compaction`` or ``minor compaction``.
    :ivar forced: whether an operator has requested the present garbage collection.
    :ivar runs, failures, deleted_ledgers: number of runs, of failures and of deleted ledgers since the start of the
        bookie.
    :ivar last_failure: text of the last failure; empty before the first failure.
    :ivar began: when the bookie started, in seconds since the epoch.
    :ivar has_waiting: whether a requested garbage collection waits for the end of the present one.
    :ivar obstacles: as texts, why no collection, with or without a compaction, frees space of some directories now.
    """

    phase: str
    forced: bool
    major: CompactionStatus
    minor: CompactionStatus
    directories: tuple[DirectoryWork, ...]
    began: float
    runs: int = 0
    failures: int = 0
    deleted_ledgers: int = 0
    last_failure: str = ""
    has_waiting: bool = False
    obstacles: tuple[str, ...] = ()


@attrs.frozen
class EntryLogFile:
    """The directory and size of an entry log, for an administrator.

    :ivar directory: path of the ``current`` directory that contains the log.
    :ivar n_bytes: size of the file in bytes.
    """

    directory: str
    log_id: int
    n_bytes: int


@attrs.frozen
class EntryLogSpace:
    """The numbers of live and of dead bytes in an entry log, and the compactions that would copy it.

    :ivar directory: path of the ``current`` directory that contains the log.
    :ivar n_bytes: size in bytes of all entries in the log.
    :ivar live: size in bytes of the entries of existing ledgers; the other bytes are dead: a compaction or the deletion
        of the log frees them.  Entries of :class:`DeletedLedgers` are dead, too.
    :ivar major, minor: whether a major or minor compaction that begins now would copy the live entries of the log, and
        so free its dead bytes.
    """

    directory: str
    log_id: int
    n_bytes: int
    live: int
    major: bool = False
    minor: bool = False


@attrs.frozen
class DeletedLedgers:
    """The local ledgers that are deleted in metadata; the next garbage collection deletes them here.

    :ivar count: number of these ledgers, when metadata was last read.
    :ivar read_at: when metadata was last read, in seconds since the epoch; None if it was never read for this purpose.
        Then only the ledgers that garbage collections have deleted are known.
    :ivar unread_since: the time since which metadata cannot be read, in seconds since the epoch; None if it can be.
        Ledgers that were deleted later are unknown.
    :ivar reason: why metadata cannot be read; empty if it can be.
    """

    count: int = 0
    read_at: float | None = None
    unread_since: float | None = None
    reason: str = ""


@attrs.frozen
class MeasuredDirectory:
    """The state of the measurements of the entry logs in one ledger directory.

    :ivar directory: path of its ``current`` directory.
    :ivar measured_at: when its logs were last measured, in seconds since the epoch; None if they never were.
    :ivar reason: why they could not be measured now; empty if they were.
    """

    directory: str
    measured_at: float | None
    reason: str = ""


@attrs.frozen
class SpaceForecast:
    """The entry logs of a bookie as a garbage collection that begins now would find them.

    :ivar logs: the complete entry logs, to which no more entries are written.
    :ivar deleted: the ledgers that it would delete first; their entries count as dead in ``logs``.
    :ivar directories: the ledger directories, with the time of their last measurement, which is in ``logs``.
    """

    logs: tuple[EntryLogSpace, ...]
    deleted: DeletedLedgers
    directories: tuple[MeasuredDirectory, ...]


@attrs.frozen
class ScrubStatus:
    """The status of the scrub.  A pass of the scrub reads and verifies everything once.

    :ivar progress: progress of the running pass in all its ledger directories; None while no pass runs.
    :ivar passes, failures: number of complete and of failed passes since the start.
    :ivar last_pass: end of the last complete pass, in seconds since the epoch; None before the first pass.
    :ivar findings: the known damage: the damage that the last pass has found, and the damage that compactions have
        found.  A running pass replaces the older findings step by step, for the entries that it has verified.
    :ivar at: the directory or journal that is being verified, and which one of how many it is; empty while no pass
        runs.
    """

    suspended: bool
    progress: WorkProgress | None
    passes: int
    failures: int
    last_pass: float | None
    findings: tuple[DamagedEntries, ...]
    at: str = ""


class IBackgroundWork(ISpeedLimits):
    """Control over the background work of a bookie that serves.  All methods are called on the reactor thread."""

    def collection() -> CollectionStatus:
        """Return the status of the garbage collection."""

    def collect(major: bool = True, minor: bool = True) -> None:
        """Begin a garbage collection now; if one is running, begin the next one after its end.

        :param major, minor: whether to run a major or a minor compaction even if its interval has not passed.
        """

    def suspend_compaction(major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, including a running one.

        These compactions stay suspended until :meth:`resume_compaction` or the end of the process.
        """

    def resume_compaction(major: bool = True, minor: bool = True) -> None:
        """Allow suspended compactions of the kinds ``major`` and ``minor`` again."""

    def cancel_compaction() -> None:
        """End the running compaction; entry logs that it has not finished stay unchanged."""

    def entry_logs(directory: str = "") -> "Deferred[Sequence[EntryLogFile]]":
        """List the entry logs of all ledger directories, or of one.

        :param directory: the ``current`` directory whose logs are listed; empty for all directories.
        :raises OSError: (as a failure) a directory cannot be read.
        """

    def log_space() -> "Deferred[SpaceForecast]":
        """Measure each complete entry log as a garbage collection that begins now would find it.

        Ledgers that are deleted in metadata count as deleted.  If metadata or a disk cannot be read, or does not answer
        in some seconds, the result has what was last known, and says so.
        """

    def ledgers_of(directory: str, log_id: int) -> "Deferred[Mapping[int, int]]":
        """Return the number of bytes of each ledger in an entry log.

        A complete entry log contains these numbers in its ledgers map, including those of deleted ledgers.  For a log
        without such a map, for example the active log, the numbers come from the index, which has no deleted ledgers.

        :param directory: the ``current`` directory of the log, as in :class:`EntryLogFile`.
        :raises IncorrectParameterError: (as a failure) the directory has no such log.
        """

    def scrub() -> ScrubStatus:
        """Return the status of the scrub, and the damage that it has found."""

    def start_scrub() -> None:
        """Begin a pass of the scrub; no effect if a pass is in progress."""

    def suspend_scrub() -> None:
        """Suspend the present pass and later passes, until :meth:`resume_scrub` or the end of the process."""

    def cancel_scrub() -> None:
        """End the present pass of the scrub; keep the damage that it found.

        The next pass that the timer starts continues where this pass has ended.
        """

    def resume_scrub() -> None:
        """Allow suspended scrubs again."""

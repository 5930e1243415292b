"""Administration of a running bookie: the requests of its HTTP server and of the shell.

:class:`IBookieAdmin` is for the bookie as a whole, :class:`IBackgroundWork` for its garbage collection, scrub and
speed limits.  Both have two providers, one for a bookie in this process (:mod:`.lifecycle.admin`,
:mod:`.maintenance.control`) and a fake (:mod:`bookkeeper_twisted.testing.admin`), and one contract suite.  What a
bookie cannot do yet is not in them.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from ..limits.adaptive import ISpeedLimits
from ..storage.maintenance.scrub import DamagedEntries

ADMINISTRATOR = "an administrator has set it read-only"
"""The reason that :meth:`IBookieAdmin.set_read_only` adds."""


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
    """The state of a bookie at one moment.

    :ivar read_only: whether it refuses adds, except adds of high priority while ``high_priority_writes`` holds.
    :ivar reasons: why it is read-only or has failed, one text for each reason; empty if it is neither.
    """

    phase: Phase
    read_only: bool = False
    high_priority_writes: bool = True
    reasons: tuple[str, ...] = ()


@attrs.frozen
class DirectoryUsage:
    """The space on the disk of one ledger directory.

    :ivar directory: as configured.
    :ivar total: size of the file system in bytes.
    :ivar free: bytes of it that can still be written.
    """

    directory: str
    total: int
    free: int


@attrs.frozen
class StoredFiles:
    """The names of the files in which a bookie keeps entries, ordered by directory, then by number."""

    journals: tuple[str, ...]
    entry_logs: tuple[str, ...]
    indexes: tuple[str, ...]


@attrs.frozen
class JournalMark:
    """The position from which a start would replay one journal.

    :ivar file_id: id of the journal file.
    :ivar offset: offset in it, in bytes.
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

    def state() -> BookieState:
        """Return the present state."""

    def set_read_only(read_only: bool) -> None:
        """Make the bookie read-only at the administrator's request, or withdraw this request.

        The bookie is read-only while any reason holds.  This one is forgotten when the process ends, unless
        ``persistBookieStatusEnabled`` is set.

        :param read_only: True to add it, False to withdraw it; no effect if that is so already.
        """

    def disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in the order of the configuration.

        Fires with nothing outside of the phase SERVING.
        """

    def files() -> "Deferred[StoredFiles]":
        """List the files of journals, entry logs and indexes.

        :raises NotServingError: (as a failure) the bookie does not serve; likewise below.
        """

    def marks() -> "Deferred[Sequence[JournalMark]]":
        """Read the mark of each journal, in the order of the configuration."""

    def check_directories() -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration.

        :raises InvalidCookieError: (as a failure) a cookie is missing, or that of another bookie.
        """

    def configuration() -> Mapping[str, str]:
        """Return the present values by key of ``bk_server.conf``; secrets are masked."""

    def configure(values: Mapping[str, str]) -> None:
        """Change values by key until the end of the process; an error leaves all of them unchanged.

        :param values: text by key of ``bk_server.conf``.
        :raises ConfigError: a key is unknown or cannot be changed while the bookie runs, or a value cannot be used.
        :raises NotServingError: the bookie does not serve.
        """

    def metrics() -> Iterator[bytes]:
        """Yield all metrics in Prometheus' text format (0.0.4) one by one, as all at once could take too long."""

    def background() -> "IBackgroundWork":
        """Return the control over garbage collection, scrub and speed limits.

        :raises NotServingError: the bookie does not serve.
        """


@attrs.frozen
class WorkProgress:
    """The progress of a compaction or a scrub.

    :ivar done, left: bytes.
    :ivar eta: seconds until its end at its present speed, None before that is known.
    """

    done: int
    left: int
    eta: float | None


@attrs.frozen
class CompactionStatus:
    """The state of minor or of major compaction.

    :ivar at_work: whether one is under way.
    :ivar suspended: whether an operator suspended them.
    :ivar total: number of compactions since the start.
    :ivar last: when the last one ended, in seconds since the epoch; without one, when the bookie started.
    """

    at_work: bool
    suspended: bool
    total: int
    last: float


@attrs.frozen
class DirectoryWork:
    """The compaction of one ledger directory.

    :ivar directory: as configured, ``current`` included.
    :ivar index: the file of its run index.
    :ivar progress: None if no compaction is under way.
    :ivar damaged: file names of entry logs that failed a check, each with a text on the damage.
    """

    directory: str
    index: str
    progress: WorkProgress | None
    damaged: Mapping[str, str]


@attrs.frozen
class CollectionStatus:
    """The status of the garbage collection.

    :ivar phase: ``idle``, ``ledgers``, ``logs``, ``major compaction`` or ``minor compaction``.
    :ivar forced: whether the present run was forced.
    :ivar runs, failures, deleted_ledgers: counts since the start.
    :ivar last_failure: text of the last failure; empty without one.
    :ivar began: when the bookie started, in seconds since the epoch.
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


@attrs.frozen
class EntryLogFile:
    """An entry log as an administrator sees it.

    :ivar directory: its ledger directory, ``current`` included.
    :ivar n_bytes: bytes of the file.
    """

    directory: str
    log_id: int
    n_bytes: int


@attrs.frozen
class ScrubStatus:
    """The status of the scrub.

    :ivar progress: of the present directory, None without a pass.
    :ivar passes, failures: counts since the start.
    :ivar last_pass: when the last one ended, in seconds since the epoch; None without one.
    :ivar findings: the known damage: found by the present pass as far as it has come, else by the last one, and by
        compactions since.
    """

    suspended: bool
    progress: WorkProgress | None
    passes: int
    failures: int
    last_pass: float | None
    findings: tuple[DamagedEntries, ...]


class IBackgroundWork(ISpeedLimits):
    """Control over the background work of a bookie that serves.  Reactor thread."""

    def collection() -> CollectionStatus:
        """Return the status of the garbage collection."""

    def collect(major: bool = True, minor: bool = True) -> None:
        """Begin a garbage collection after the present one; no effect if a collection is waiting already.

        :param major, minor: compactions to make although their interval has not passed.
        """

    def suspend_compaction(major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, including a running one.

        They stay suspended until they are resumed or the process ends.
        """

    def resume_compaction(major: bool = True, minor: bool = True) -> None:
        """Allow compactions of the kinds ``major`` and ``minor`` again."""

    def cancel_compaction() -> None:
        """End the running compaction; entry logs that it has not finished stay unchanged."""

    def entry_logs() -> "Deferred[Sequence[EntryLogFile]]":
        """List the entry logs of all ledger directories."""

    def ledgers_of(directory: str, log_id: int) -> "Deferred[Mapping[int, int]]":
        """Return the bytes of each ledger in an entry log, including deleted ledgers.

        A log without a ledgers map, such as the active one, has the ledgers that the index refers to.

        :param directory: as in :class:`EntryLogFile`.
        :raises IncorrectParameterError: (as a failure) there is no such log.
        """

    def scrub() -> ScrubStatus:
        """Return the status and the findings of the scrub."""

    def start_scrub() -> None:
        """Begin a pass of the scrub; no effect if a pass is in progress."""

    def suspend_scrub() -> None:
        """Suspend the present pass and later passes, until :meth:`resume_scrub` or the end of the process."""

    def cancel_scrub() -> None:
        """End the present pass; its findings stay, and the next timed pass continues it."""

    def resume_scrub() -> None:
        """Allow scrubs again."""

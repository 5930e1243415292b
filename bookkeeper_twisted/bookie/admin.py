"""Administration of a running bookie: what its HTTP server and the shell may ask of it.

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
    """The phases of a bookie's life: STARTING, SERVING, STOPPING, STOPPED in this order; FAILED may follow STARTING
    and SERVING, and is final."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@attrs.frozen
class BookieState:
    """The state of a bookie at one moment.

    :ivar read_only: it refuses adds, except adds of high priority while ``high_priority_writes`` holds.
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
    """The names of the files in which a bookie keeps entries, by directory, then by number."""

    journals: tuple[str, ...]
    entry_logs: tuple[str, ...]
    indexes: tuple[str, ...]


@attrs.frozen
class JournalMark:
    """The position from which a start would replay one journal.

    :ivar file_id: of the journal file.
    :ivar offset: in it.
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
        """Return the state now."""

    def set_read_only(read_only: bool) -> None:
        """Add or withdraw the administrator's reason to refuse adds.

        The bookie is read-only while any reason holds.  This one is forgotten when the process ends, unless
        ``persistBookieStatusEnabled`` is set.

        :param read_only: True to add it, False to withdraw it; harmless if that is so already.
        """

    def disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in the order of the configuration.

        Fires with nothing outside of the phase SERVING.
        """

    def files() -> "Deferred[StoredFiles]":
        """List journals, entry logs and indexes.

        :raises NotServingError: (as a failure) the bookie does not serve; likewise below.
        """

    def marks() -> "Deferred[Sequence[JournalMark]]":
        """Read the mark of each journal, in the order of the configuration."""

    def check_directories() -> "Deferred[None]":
        """Compare the cookies in all directories and in the metadata store with the configuration.

        :raises InvalidCookieError: (as a failure) one is missing, or another one's.
        """

    def configuration() -> Mapping[str, str]:
        """Return the values in force by key of ``bk_server.conf``; secrets are masked."""

    def configure(values: Mapping[str, str]) -> None:
        """Change values by key until the end of the process: all of them, or none.

        :param values: text by key of ``bk_server.conf``.
        :raises ConfigError: a key is unknown or cannot be changed while the bookie runs, or a value cannot be used.
        :raises NotServingError: the bookie does not serve.
        """

    def metrics() -> Iterator[bytes]:
        """Yield all metrics in the text format of Prometheus (0.0.4), one by one: there may be too many for a turn."""

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
    """The compactions of one kind.

    :ivar at_work: whether one is at work now.
    :ivar suspended: by an operator.
    :ivar total: since the start.
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
    :ivar progress: None where none is at work.
    :ivar damaged: file names of entry logs that failed a check, with what was found.
    """

    directory: str
    index: str
    progress: WorkProgress | None
    damaged: Mapping[str, str]


@attrs.frozen
class CollectionStatus:
    """The status of the garbage collection.

    :ivar phase: ``idle``, ``ledgers``, ``logs``, ``major compaction`` or ``minor compaction``.
    :ivar forced: whether the run at work was forced.
    :ivar runs, failures, deleted_ledgers: since the start.
    :ivar last_failure: its text; empty without one.
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
    :ivar n_bytes: of the file.
    """

    directory: str
    log_id: int
    n_bytes: int


@attrs.frozen
class ScrubStatus:
    """The status of the scrub.

    :ivar progress: of the directory at work, None where none is.
    :ivar passes, failures: since the start.
    :ivar last_pass: when the last one ended, in seconds since the epoch; None without one.
    :ivar findings: what is known to be damaged: by the pass at work as far as it has come, else by the last one, and by
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
        """Return what the garbage collection does."""

    def collect(major: bool = True, minor: bool = True) -> None:
        """Begin a garbage collection, behind the one at work; nothing if one waits already.

        :param major, minor: which compactions are done although their interval has not passed.
        """

    def suspend_compaction(major: bool = True, minor: bool = True) -> None:
        """Suspend compactions of the kinds ``major`` and ``minor``, the one at work too.

        They stay suspended until they are resumed or the process ends.
        """

    def resume_compaction(major: bool = True, minor: bool = True) -> None:
        """Allow compactions of the kinds ``major`` and ``minor`` again."""

    def cancel_compaction() -> None:
        """End the compaction at work; what it had not finished is as if it had not begun."""

    def entry_logs() -> "Deferred[Sequence[EntryLogFile]]":
        """List the entry logs of all ledger directories."""

    def ledgers_of(directory: str, log_id: int) -> "Deferred[Mapping[int, int]]":
        """Return the bytes of each ledger in an entry log, of deleted ones too.

        Of a log without a ledgers map, as the one that is written, they are the ledgers that the index refers to.

        :param directory: as in :class:`EntryLogFile`.
        :raises IncorrectParameterError: (as a failure) there is no such log.
        """

    def scrub() -> ScrubStatus:
        """Return what the scrub does and has found."""

    def start_scrub() -> None:
        """Begin a pass; nothing if one is at work."""

    def suspend_scrub() -> None:
        """Suspend the pass at work and later ones, until they are resumed or the process ends."""

    def cancel_scrub() -> None:
        """End the pass at work; what it has found stays, and the next timed one goes on there."""

    def resume_scrub() -> None:
        """Allow scrubs again."""

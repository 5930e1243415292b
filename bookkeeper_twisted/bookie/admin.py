"""Administration of a running bookie: what its HTTP server and the shell may ask of it.

:class:`IBookieAdmin` has two providers, :class:`BookieAdmin` for a bookie in this process and a fake in
:mod:`bookkeeper_twisted.testing`, and one contract suite.  What a bookie cannot do yet is not in it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred, succeed
from zope.interface import Attribute, Interface, implementer

from ..config.bookie import BookieConfig
from ..instruments import Instruments
from ..metrics import new_registry, render
from .lifecycle.disk_monitor import DiskMonitor
from .lifecycle.registration import BookieRegistration

ADMINISTRATOR = "an administrator has set it read-only"
"""The reason that :meth:`IBookieAdmin.set_read_only` adds."""


class Phase(Enum):
    """Where a bookie is in its life: STARTING, SERVING, STOPPING, STOPPED in this order; FAILED may follow STARTING
    and SERVING, and is final."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@attrs.frozen
class BookieState:
    """The state of a bookie at one moment.

    :ivar read_only: it refuses adds, except those of high priority while ``high_priority_writes`` holds.
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


class IBookieAdmin(Interface):
    """Administration of one bookie.  All methods are called on the reactor thread, in any phase."""

    bookie_id: str = Attribute("The id under which the bookie is registered; empty until it is known.")

    def state() -> BookieState:
        """Return the state now."""

    def set_read_only(read_only: bool) -> None:
        """Add (True) or withdraw (False) the administrator's reason to refuse adds.

        The bookie is read-only while any reason holds.  This one is forgotten when the process ends.
        """

    def disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in the order of the configuration.

        Fires with nothing outside of the phase SERVING.
        """

    def configuration() -> Mapping[str, str]:
        """Return the values in force by key of ``bk_server.conf``; secrets are masked."""

    def metrics() -> bytes:
        """Return all metrics in the text format of Prometheus (0.0.4)."""


@implementer(IBookieAdmin)
class BookieAdmin:
    """Administration of a bookie in this process.

    Its service reports the phases here, and hands over the parts once they exist.
    """

    def __init__(self, config: BookieConfig, instruments: Instruments) -> None:
        self.bookie_id = ""
        self._config = config
        self._registry = new_registry(instruments)
        self._phase = Phase.STARTING
        self._failure = ""
        self._read_only = False
        self._registration: BookieRegistration | None = None
        self._disks: DiskMonitor | None = None

    # ---- reported by the service ---------------------------------------------------------------------

    def attach(self, registration: BookieRegistration, disks: DiskMonitor) -> None:
        """Take the parts of a bookie that is about to serve."""
        self._registration, self._disks = registration, disks
        registration.set_read_only(ADMINISTRATOR, self._read_only)

    def enter(self, phase: Phase) -> None:
        """Report the next phase; ignored after a failure."""
        if self._phase is not Phase.FAILED:
            self._phase = phase

    def fail(self, reason: str) -> None:
        """Report a failure that ends the bookie; the first one counts, and none after STOPPING."""
        if self._phase in (Phase.STARTING, Phase.SERVING):
            self._phase, self._failure = Phase.FAILED, reason

    # ---- IBookieAdmin --------------------------------------------------------------------------------

    def state(self) -> BookieState:
        """See :meth:`IBookieAdmin.state`."""
        if self._registration is None:
            return BookieState(self._phase, reasons=(self._failure,) if self._failure else ())
        mode, reasons = self._registration.mode, self._registration.reasons
        failure = (self._failure,) if self._failure else ()
        return BookieState(self._phase, mode.read_only, mode.high_priority, failure + reasons)

    def set_read_only(self, read_only: bool) -> None:
        """See :meth:`IBookieAdmin.set_read_only`."""
        self._read_only = read_only
        if self._registration is not None:
            self._registration.set_read_only(ADMINISTRATOR, read_only)

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """See :meth:`IBookieAdmin.disks`."""
        if self._disks is None or self._phase is not Phase.SERVING:
            return succeed(())
        return self._disks.usage().addCallback(self._by_directory)

    def _by_directory(self, usage: Sequence[tuple[int, int]]) -> Sequence[DirectoryUsage]:
        directories = self._config.ledger_directories
        return [DirectoryUsage(path, *sizes) for path, sizes in zip(directories, usage, strict=True)]

    def configuration(self) -> Mapping[str, str]:
        """See :meth:`IBookieAdmin.configuration`."""
        return self._config.shown()

    def metrics(self) -> bytes:
        """See :meth:`IBookieAdmin.metrics`."""
        return render(self._registry)

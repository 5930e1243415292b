"""The administration of a bookie in this process."""

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ...config.bookie import BookieConfig
from ...instruments import Instruments
from ...metrics import new_registry, render
from ..admin import ADMINISTRATOR, BookieState, DirectoryUsage, IBookieAdmin, Phase
from .disk_monitor import DiskMonitor
from .registration import BookieRegistration


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

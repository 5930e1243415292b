"""A bookie that is nothing but its administration, for tests of HTTP servers and shells."""

from collections.abc import Mapping, Sequence

import attrs
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ..bookie.admin import ADMINISTRATOR, BookieState, DirectoryUsage, IBookieAdmin, Phase


@implementer(IBookieAdmin)
@attrs.define
class FakeBookieAdmin:
    """Every answer is an attribute, to be set by a test.

    :ivar other_reasons: to be read-only, besides the administrator's.
    """

    bookie_id: str = "bookie-1:3181"
    phase: Phase = Phase.SERVING
    high_priority_writes: bool = True
    other_reasons: tuple[str, ...] = ()
    by_administrator: bool = False
    usage: Sequence[DirectoryUsage] = (DirectoryUsage("/ledgers", 1000, 400),)
    values: Mapping[str, str] = attrs.field(factory=lambda: {"bookiePort": "3181", "zkAuth": ""})
    exposition: bytes = b"# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 3\n"

    def state(self) -> BookieState:
        """See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.state`."""
        reasons = (*self.other_reasons, *((ADMINISTRATOR,) if self.by_administrator else ()))
        return BookieState(self.phase, bool(reasons), self.high_priority_writes, reasons)

    def set_read_only(self, read_only: bool) -> None:
        """See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.set_read_only`."""
        self.by_administrator = read_only

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        """See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.disks`."""
        return succeed(self.usage if self.phase is Phase.SERVING else ())

    def configuration(self) -> Mapping[str, str]:
        """See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.configuration`."""
        return self.values

    def metrics(self) -> bytes:
        """See :meth:`~bookkeeper_twisted.bookie.admin.IBookieAdmin.metrics`."""
        return self.exposition

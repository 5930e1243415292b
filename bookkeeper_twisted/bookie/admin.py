"""Administration of a running bookie: what its HTTP server and the shell may ask of it.

:class:`IBookieAdmin` has two providers, one for a bookie in this process (:mod:`.lifecycle.admin`) and a fake
(:mod:`bookkeeper_twisted.testing.admin`), and one contract suite.  What a bookie cannot do yet is not in it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

import attrs
from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

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

        The bookie is read-only while any reason holds.  This one is forgotten when the process ends,
        unless ``persistBookieStatusEnabled`` is set.
        """

    def disks() -> "Deferred[Sequence[DirectoryUsage]]":
        """Measure the disks of the ledger directories, in the order of the configuration.

        Fires with nothing outside of the phase SERVING.
        """

    def configuration() -> Mapping[str, str]:
        """Return the values in force by key of ``bk_server.conf``; secrets are masked."""

    def metrics() -> bytes:
        """Return all metrics in the text format of Prometheus (0.0.4)."""

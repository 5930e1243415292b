"""What everything that answers requests shares, and the limits of one connection."""

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...metrics import RequestMetrics
from ..interfaces import IBookie
from .permits import Permits
from .read_ahead import ReadAhead


@attrs.frozen
class RequestLimits:
    """:ivar max_frame_size: longest reply, its length field included.
    :ivar max_batch_read_size: most bytes in the reply to a batch read.
    :ivar max_adds: adds of one connection under way before it is no longer read.
    :ivar max_add_bytes: the same in bytes.
    :ivar max_load_bytes: what one connection may have asked the disk for.
    :ivar max_adds_in_progress: in the whole bookie, 0 = no limit.
    :ivar max_reads_in_progress: the same for reads.
    """

    max_frame_size: int = 5 * 1024 * 1024
    max_batch_read_size: int = 5 * 1024 * 1024
    max_adds: int = 10_000
    max_add_bytes: int = 16 * 1024 * 1024
    max_load_bytes: int = 8 * 1024 * 1024
    max_adds_in_progress: int = 0
    max_reads_in_progress: int = 0


@attrs.define(eq=False)
class RequestContext:
    """One of these for a bookie.

    :ivar disk_usage: total and free bytes of the ledger directories.
    """

    bookie: IBookie
    clock: IReactorTime
    metrics: RequestMetrics
    disk_usage: Callable[[], "Deferred[tuple[int, int]]"]
    limits: RequestLimits = attrs.field(factory=RequestLimits)
    read_ahead: ReadAhead = attrs.field(factory=ReadAhead)
    adds: Permits = attrs.field(init=False)
    reads: Permits = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.adds = Permits(self.limits.max_adds_in_progress)
        self.reads = Permits(self.limits.max_reads_in_progress)
        for name, permits in (("ADD_ENTRY", self.adds), ("READ_ENTRY", self.reads)):
            self.metrics.watch_permits(name, _in_progress(permits), _waiting(permits))


def _in_progress(permits: Permits) -> Callable[[], float]:
    return lambda: permits.in_progress


def _waiting(permits: Permits) -> Callable[[], float]:
    return lambda: permits.waiting

"""The objects that all request processors share, such as limits and permits, and the wire statuses of errors."""

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...errors import BadRequestError, BookieError, NoSuchLedgerError, Status, StorageError
from ...metrics import RequestMetrics
from ...model import INVALID_ENTRY_ID
from ..interfaces import IBookie
from .read_ahead import SequentialReads
from .slow_requests import SlowRequests
from .traces import RequestTraces

_log = Logger()


@attrs.frozen
class RequestLimits:
    """The limits of the requests of connections, in bytes or requests.

    :ivar max_frame_size: maximum number of bytes of a reply, its length field included.
    :ivar max_batch_read_size: maximum number of bytes in the reply to a batch read.
    :ivar max_adds: maximum number of adds in progress of one connection; at this limit, the bookie stops reading from
        the connection.
    :ivar max_add_bytes: maximum number of bytes of entries in the adds in progress of one connection.
    :ivar max_load_bytes: maximum number of bytes that are loaded from disk at one time for one connection.
    :ivar max_scarce_load_bytes: maximum number of bytes that are loaded at one time for one connection while the
        replies to all connections take too much memory.
    :ivar max_served: maximum number of requests in progress of one connection, not counting adds and waits for a LAC.
    :ivar max_others: maximum number of requests in progress in the whole bookie that are neither adds nor reads:
        requests for the LAC, for a force, for lists of entries, and for the disk space.
    :ivar max_adds_in_progress: maximum number of adds in progress in the whole bookie; 0 for no limit.
    :ivar max_reads_in_progress: maximum number of reads in progress in the whole bookie; 0 for no limit.
    :ivar max_poll_time: maximum number of seconds that a long poll waits, even if its request asks for more.
    :ivar max_polls_of_a_host: maximum number of long polls of all connections from one address, so that one host cannot
        use up the bookie's long polls.
    """

    max_frame_size: int = 5 * 1024 * 1024
    max_batch_read_size: int = 5 * 1024 * 1024
    max_adds: int = 10_000
    max_add_bytes: int = 16 * 1024 * 1024
    max_load_bytes: int = 8 * 1024 * 1024
    max_scarce_load_bytes: int = 64 * 1024
    max_served: int = 500
    max_others: int = 2_000
    max_adds_in_progress: int = 0
    max_reads_in_progress: int = 0
    max_poll_time: float = 60.0
    max_polls_of_a_host: int = 2_500


class Permits:
    """A limit on the requests in progress: each needs a permit; requests that get none wait in order.

    A run (requests received together) acquires one permit for each of its requests, all at the same time.  A run that
    has more requests than the limit waits until no other request is in progress.

    :param limit: number of permits; 0 is no limit.
    """

    __slots__ = ("in_progress", "_limit", "_waiting", "_waking", "_is_turn")

    def __init__(self, limit: int = 0) -> None:
        self.in_progress = 0
        self._limit = limit
        self._waiting: OrderedDict[Callable[[], None], int] = OrderedDict()
        self._waking = False
        self._is_turn = False

    @property
    def waiting(self) -> int:
        """Return the number of calls of :meth:`wait` whose callback was not called yet."""
        return len(self._waiting)

    def acquire(self, count: int) -> bool:
        """Acquire ``count`` permits if that many are free and no callback waits for permits.

        :returns: whether the permits were acquired.
        """
        if self._limit:
            # While callbacks wait, free permits are for the first of them.  So refuse every call but the call from the
            # callback that release() is running now.
            is_turn, self._is_turn = self._is_turn, False
            if not self._fits(count) or (self._waiting and not is_turn):
                return False
        self.in_progress += count
        return True

    def _fits(self, count: int) -> bool:
        # A run of more requests than the limit may begin when no request is in progress; otherwise it would wait
        # forever.
        return not self.in_progress or self.in_progress + count <= self._limit

    def wait(self, count: int, resume: Callable[[], None]) -> None:
        """Call ``resume`` when ``count`` permits are free, and all callbacks of earlier waits were called.

        :param resume: the callback, which also identifies the wait.
        """
        self._waiting[resume] = count

    def withdraw(self, resume: Callable[[], None]) -> None:
        """Cancel a wait, so that its callback is not called; call the callbacks of later waits if permits are free.

        :param resume: the argument of :meth:`wait`.
        """
        if self._waiting.pop(resume, None) is not None:
            self.release(0)

    def release(self, count: int) -> None:
        """Return ``count`` permits; call the waiting callbacks in order while there are permits for them."""
        self.in_progress -= count
        if self._waking:
            # A callback in the loop below has called release(): this outer call will hand out the returned permits.
            return
        self._waking = True
        try:
            while self._waiting and self._fits(next(iter(self._waiting.values()))):
                resume, _ = self._waiting.popitem(last=False)
                self._is_turn = True
                resume()
        finally:
            self._waking = self._is_turn = False


@attrs.define(eq=False)
class RequestContext:
    """The objects and limits that the request processors of one bookie share.

    :ivar disk_usage: measures the total and free bytes of the ledger directories' disks.
    :ivar polls: number of waiting long polls, by the address of the client.
    :ivar slow: logs requests that take long.
    :ivar traces: makes the spans of traced requests; None if the bookie has no tracer.
    """

    bookie: IBookie
    clock: IReactorTime
    metrics: RequestMetrics
    disk_usage: Callable[[], "Deferred[tuple[int, int]]"]
    limits: RequestLimits = attrs.field(factory=RequestLimits)
    read_ahead: SequentialReads = attrs.field(factory=SequentialReads)
    polls: Counter[str] = attrs.field(factory=Counter)
    slow: SlowRequests = attrs.field(default=attrs.Factory(lambda self: SlowRequests(self.clock), True))
    traces: RequestTraces | None = None
    adds: Permits = attrs.field(init=False)
    reads: Permits = attrs.field(init=False)
    others: Permits = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.adds = Permits(self.limits.max_adds_in_progress)
        self.reads = Permits(self.limits.max_reads_in_progress)
        self.others = Permits(self.limits.max_others)
        for name, permits in (("ADD_ENTRY", self.adds), ("READ_ENTRY", self.reads)):
            self.metrics.watch_permits(name, _in_progress(permits), _waiting(permits))


def _in_progress(permits: Permits) -> Callable[[], float]:
    return lambda: permits.in_progress


def _waiting(permits: Permits) -> Callable[[], float]:
    return lambda: permits.waiting


def check_ids(ledger_id: int, entry_id: int) -> None:
    """Check the ids in a read, before the bookie looks up or changes anything.

    Negative entry ids mark the journal's own records, which no read may request.

    :param entry_id: the requested entry id, which may be -1: the last entry.
    :raises NoSuchLedgerError: no ledger has such an id.
    :raises BadRequestError: no entry has such an id.
    """
    if ledger_id < 0:
        raise NoSuchLedgerError(ledger_id)
    if entry_id < INVALID_ENTRY_ID:
        raise BadRequestError(ledger_id, entry_id)


def status_of(error: BaseException, **fields: Any) -> Status:
    """Return the wire status of an ``error``.  An unexpected error is logged and becomes EBADREQ.

    :param fields: fields to add to the log line, as :meth:`.SlowRequests.fields_of` returns them.
    """
    if isinstance(error, BookieError):
        return error.status
    if isinstance(error, StorageError | OSError | CancelledError):
        return Status.EIO
    _log.error("unforeseen error: {error!r}", error=error, **fields)
    return Status.EBADREQ

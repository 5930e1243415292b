"""The writer of a ledger whose entries get their ids in the order of the calls."""

from collections.abc import Callable

from twisted.internet.defer import Deferred

from ...arguments import check_seconds, check_type
from ..claims.claim_log import MAX_BLOCKS, ClaimLog
from ..claims.frames import layout_of
from ..claims.producer import WhenFull
from ..claims.thread_appender import ThreadAppender, ThreadAppends
from .appends import InOrderWriter
from .base_writer import BaseWriter
from .context import OpenLedger


class LedgerWriter(InOrderWriter, BaseWriter):
    """The writer of a ledger whose entries get their ids in the order of the calls.

    To avoid TooManyRequestsError, wait for the results of earlier appends before there are too many.  Other threads
    append through :meth:`appender`.
    """

    __slots__ = ("_appends",)

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: an open ledger without another writer."""
        super().__init__(ledger)
        self._appends: ThreadAppends | None = None

    # ---- threads -------------------------------------------------------------------------------------

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """Return an appender, by which any thread can append entries without waiting for their acknowledgement.

        Call this method on the thread of the reactor or event loop; the blocking client may call it on any thread.  The
        entries of all threads and of :meth:`append` get consecutive ids.  If too many bytes are in flight, waiting
        entries of :meth:`append` are sent before entries of threads.  :meth:`close` waits until all entries of threads
        are acknowledged; once it is called, further appends of threads fail.

        :param when_full: what the appender does if a new entry would exceed the limit ``maxInFlightBytes`` of bytes
            that are not acknowledged yet: wait, drop the entry, or return a code.
        :param patience: maximum number of seconds that an append waits for room with ``WhenFull.BLOCK``; None for ever.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        check_type("when_full", when_full, WhenFull, "a WhenFull")
        check_seconds("patience", patience, "for ever")
        reason = self._end_reason()
        if reason is not None:
            raise reason
        if self._appends is None:
            context = self._ledger.context
            self._appends = ThreadAppends(
                context.clock, context.threads, self._claim_log, self._drain_appends, self._ledger.logger_context
            )
            self._quorum.watch()
        return self._appends.appender(self._largest, when_full, patience)

    def _claim_log(self, wake: Callable[[], None]) -> ClaimLog:
        context, window = self._ledger.context, self._max_in_flight
        max_blocks, layout = window // context.memory_pool.size + MAX_BLOCKS, layout_of(self._ledger.digester.size)
        window = max(window, 2 * self._largest)
        pool, threads = context.memory_pool, context.threads
        return ClaimLog(self.ledger_id, layout, pool, threads, wake, window, 0, max_blocks)

    def _drain_appends(self) -> None:
        """Send the waiting entries of :meth:`append`, then the entries that threads have appended."""
        self._resume()
        if self._at_rest:  # no entry waits or is in flight (threads may have aborted theirs): a waiting close can go on
            self._notify_drained()

    def _resume(self) -> None:
        super()._resume()
        appends = self._appends
        if appends is None or self._failure is not None:
            return
        log = appends.log
        while log.waiting and not self._held and (room := self._room()) is not None:
            frames = log.take(room)
            if frames is None:
                break
            adds, lengths = frames.seal(
                self._ledger.digester, self.ledger_id, self.last_add_pushed + 1, self._quorum.confirmed, self.length,
                self._ledger.deferred_sync,
            )  # fmt: skip
            self.last_add_pushed, self.length = adds.entry_ids[-1], lengths[-1]
            waiter = Deferred[int]()
            waiter.addCallbacks(lambda _, end=frames.end: log.acknowledge(end), lambda _: None)
            self._batcher.put(self._quorum, adds, lengths, waiter)

    @property
    def _at_rest(self) -> bool:
        return super()._at_rest and (self._appends is None or not self._appends.log.waiting)

    def _advanced(self) -> bool:
        if self._appends is None:
            return super()._advanced()
        self._resume()
        super()._advanced()
        if self._at_rest:
            self._appends.log.trim()
        return True

    def _drop_later(self, error: Exception) -> None:
        if self._appends is not None:
            log = self._appends.log
            if self._failure is not None:
                log.abandon(error)
            else:
                log.shut(error)
                log.wake()  # the sender must look for open claims, because perhaps no thread calls again

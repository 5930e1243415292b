"""The writer of a ledger: ids in call order."""

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, fail

from ...errors import IncorrectParameterError, LedgerClosedError
from .claim_buffer import MAX_TERMS
from .mixing_writer import MixingWriter
from .open_ledger import OpenLedger
from .producer import WhenFull
from .sealing_writer import as_bytes
from .shared_log import SharedLog
from .thread_appender import ThreadAppender, ThreadAppends


class LedgerWriter(MixingWriter):
    """Appends to one ledger.

    ``append`` never blocks.  Await what it returns, every now and then, and it is never refused for want
    of memory.  Threads append through :meth:`appender`.
    """

    __slots__ = ("_appends",)

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: one that nobody else writes."""
        super().__init__(ledger)
        self._appends: ThreadAppends | None = None

    def append(self, data: bytes) -> "Deferred[int]":
        """Appends one entry.

        :returns: its id, once an ack quorum has it on disk (with deferred sync: has it) and everything
            before it is acknowledged.
        """
        if type(data) is not bytes:
            data = as_bytes(data)
        size, quorum, mixing = len(data), self.quorum, self._mixing
        waiter: Deferred[int] = Deferred()
        entry_id, length = self.last_add_pushed + 1, self.length + size
        if mixing is None or size > mixing.largest or entry_id != self._lac + 1 or quorum.troubled:
            if self._refuses(size):
                return fail(self._refusal(size))
            self.leave_mixed()
            self._push(data, waiter)
            return waiter
        self.last_add_pushed, self.length = entry_id, length
        quorum.mixed = run = mixing.open_run or mixing.begin()
        run.join(self, entry_id, length, data, waiter)
        return waiter

    def append_many(self, payloads: Sequence[bytes]) -> "Deferred[tuple[int, int]]":
        """Appends entries with consecutive ids, at least one; all of them or, if refused, none.

        :returns: first and last id, once all are acknowledged.
        """
        payloads = list(payloads)
        if not payloads:
            return fail(IncorrectParameterError("nothing to append"))
        if set(map(type, payloads)) != {bytes}:
            payloads = list(map(as_bytes, payloads))
        sizes = list(map(len, payloads))
        largest = max(sizes)
        if self._refuses(largest):
            return fail(self._refusal(largest))
        waiter: Deferred[tuple[int, int]] = Deferred()
        self.leave_mixed()
        self._push_many(payloads, sum(sizes), waiter)
        return waiter

    # ---- threads -------------------------------------------------------------------------------------

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """What any thread may append with, without waiting for the reactor; to be called on the reactor's thread.

        Entries of all threads and of this handle get their ids in one sequence, what was appended here first.
        :meth:`close` waits until all that was offered is acknowledged, and offers that come later fail.

        :param when_full: what an offer does while ``maxInFlightBytes`` of offers are not acknowledged.
        :param patience: seconds it waits at most, if it waits; None for ever.
        :raises bookkeeper_twisted.errors.BookKeeperError: why the ledger takes no more.
        """
        if self._failure is not None:
            raise self._failure
        if self._closing is not None:
            raise LedgerClosedError(f"ledger {self.ledger_id} is closed")
        if self._appends is None:
            self.leave_mixed()
            self._mixing = None
            self._at_turn_end()
            context = self._ledger.context
            self._appends = ThreadAppends(context.clock, context.threads, self._shared_log, self._drain_appends)
            self._logs = (self._own, self._appends.log)
        return self._appends.appender(self._largest, when_full, patience)

    def _shared_log(self, wake: Callable[[], None]) -> SharedLog:
        context, window = self._ledger.context, self._max_in_flight
        max_terms = window // context.terms.size + MAX_TERMS
        return SharedLog(
            self._sealer.shape, context.terms, context.threads, wake, max(window, 2 * self._largest), 0, max_terms
        )

    def _drain_appends(self) -> None:
        self._drain()
        if self._at_rest:  # perhaps all that was claimed was given up
            self._notify_drained()

    def _drop_held(self, error: Exception) -> None:
        super()._drop_held(error)
        if self._appends is not None:
            self._appends.log.shut(error)

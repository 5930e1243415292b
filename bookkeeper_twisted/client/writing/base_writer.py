"""The base class of all writers: it completes entries, forces syncs and closes the ledger; see also :mod:`.appends`.

After an error has ended a writer, every later call fails with this error.  A writer that is closed or has failed closes
the ledger after its last confirmed entry.  To do so, it first makes bookies sync all completed entries; then it stores
the state CLOSED, the last entry id and the length by a compare-and-set.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import TracebackType
from typing import Self, cast

import attrs
from twisted.internet.defer import Deferred, FirstError, fail, gatherResults, succeed

from ...arguments import too_large
from ...codec.adds import largest_payload
from ...errors import (
    BookKeeperError,
    ClientClosedError,
    LedgerClosedError,
    MetadataVersionError,
    TooManyRequestsError,
)
from ...ledger.read_answers import failed_request
from ...metadata.interfaces import ILedgerManager, Versioned
from ...metadata.update_loop import update
from ...model import INVALID_ENTRY_ID, LedgerMetadata, LedgerState
from ...shared_result import SharedResult
from ..interfaces import IBookieClient
from ..logger_context import LedgerLogger, LoggerContext
from .appends import AppendingWriter
from .batch import Waiter
from .context import OpenLedger
from .ensemble_change import NoEnsembleChange, StoredEnsembleChange
from .failed_bookies import AddRules
from .lac_notices import LacNotice
from .quorum_writer import QuorumWriter

_rules = lru_cache(maxsize=64)(AddRules)
"""Return an AddRules object (what a writer does after a failed add); equal rules share one object, to save memory."""

_CLOSED = "close() was called"

_NOTHING = -1
"""The maximum payload size of a writer that accepts no more entries, so that every append is refused."""


class BaseWriter(AppendingWriter):
    """The base class of writers; a ledger has only one writer.

    At most ``max_in_flight_bytes`` are in flight, and as many more bytes may wait to be sent.  Further appends fail
    with TooManyRequestsError.  Cancelling an append only ends the wait for its result; the entry is written
    nevertheless.

    :ivar ledger_id: the id of the ledger.
    """

    ledger_id: int

    _log = LedgerLogger()
    _core = QuorumWriter  # the class of the state machine that handles the answers and failures of bookies

    __slots__ = (
        "ledger_id", "_ledger", "_stored", "_synced_length", "_drained", "_failure", "_closing", "__weakref__",
    )  # fmt: skip

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: an open ledger without another writer."""
        context, config = ledger.context, ledger.context.config
        batcher = context.batchers.batcher(
            ledger.bookies, ledger.digester, ledger.schedule, deferred_sync=ledger.deferred_sync
        )
        largest = largest_payload(config.netty_max_frame_size_bytes, ledger.digester.size) - ledger.overhead
        super().__init__(largest, config.max_in_flight_bytes, batcher.overhead, context.budget, context.traces)
        self.ledger_id = ledger.ledger_id
        self._ledger = ledger
        self._stored = StoredEnsembleChange(
            self.ledger_id, context.ledgers, ledger.metadata, context.watcher, config.max_num_ensemble_changes
        )
        self._quorum = self._quorum_writer(ledger)
        self._batcher = batcher
        self._synced_length = 0
        self._failure: Exception | None = None
        self._closing: SharedResult[None] | None = None
        self._drained: Deferred[None] | None = None

    def _quorum_writer(self, ledger: OpenLedger) -> QuorumWriter:
        context, config = ledger.context, ledger.context.config
        rules = _rules(
            confirms=not ledger.deferred_sync, delay_change=config.delay_ensemble_change,
            quorum_timeout=config.add_entry_quorum_timeout_sec if config.add_entry_quorum_timeout_sec >= 0 else None,
            patience=config.wait_for_bookies_sec,
        )  # fmt: skip
        return self._core(
            context.clock, self.ledger_id, ledger.schedule, ledger.metadata.value.segments[-1].bookies,
            NoEnsembleChange() if ledger.deferred_sync else self._stored, rules, self, self._advanced, self._ended,
            notice=LacNotice(ledger.bookies, ledger.digester, logger_context=ledger.logger_context),
            logger_context=ledger.logger_context,
        )  # fmt: skip

    @property
    def _logger_context(self) -> LoggerContext | None:
        return self._ledger.logger_context

    @property
    def last_add_confirmed(self) -> int:
        """The last entry id up to which all entries are acknowledged and synced; -1 if there is none."""
        return self._quorum.confirmed

    @property
    def metadata(self) -> LedgerMetadata:
        """The newest metadata that this writer has seen."""
        return self._stored.metadata.value

    # ---- sending -------------------------------------------------------------------------------------

    def _closed_error(self) -> LedgerClosedError:
        return LedgerClosedError(f"the writer of ledger {self.ledger_id} is closed: {_CLOSED}")

    def _end_reason(self) -> Exception | None:
        """Return the error with which every append is refused from now on; None while entries can be appended."""
        if self._failure is not None:
            return self._failure
        return None if self._quorum.state.appends else self._closed_error()

    def _refusal(self, size: int) -> Exception:
        """Return the error with which an append of ``size`` bytes is refused now."""
        reason = self._end_reason()
        if reason is not None:
            return reason
        if size > self._largest:
            return too_large(size, self._largest)
        detail = f"{self._held_size} bytes wait for {self._quorum.in_flight} in flight"
        return TooManyRequestsError(self.ledger_id, detail=detail)

    @property
    def _at_rest(self) -> bool:
        """Whether no entry waits to be sent or to be acknowledged."""
        return self._quorum.idle and not self._held

    # ---- completing ----------------------------------------------------------------------------------

    def _advanced(self) -> bool:
        """Send waiting entries as far as the limits allow; if all entries are acknowledged, continue a waiting close.

        :returns: True while entries or a close still wait.  The caller must then call this method again when more
            entries have completed.
        """
        if self._held:
            self._resume()
        if self._at_rest:
            self._notify_drained()
        return bool(self._held) or self._drained is not None

    def _ended(self, error: Exception, waiters: Sequence[Waiter]) -> None:
        """Fail the waiters of all entries, because the writer has ended and no entry completes any more."""
        self._failure, self._largest = error, _NOTHING
        for waiter in (*waiters, *self._take_held()):
            if waiter is not None:
                waiter.errback(error)
        self._drop_later(error)
        self._notify_drained()
        # ignore the error of the close here: a later call of close() returns it
        self.close().addErrback(lambda _: None)

    def _drop_later(self, error: Exception) -> None:
        """Fail entries that wait for a missing lower id.

        Only a writer whose caller chooses the ids has such entries.
        """

    def force(self) -> "Deferred[None]":
        """Make bookies sync every acknowledged entry; needed with deferred sync only.

        When it has succeeded, the last add confirmed includes every entry that was acknowledged before the call.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        reason = self._end_reason()
        if reason is not None:
            return fail(reason)
        if self._quorum.completed == INVALID_ENTRY_ID:
            return succeed(None)
        return Deferred.fromCoroutine(self._force())

    async def _force(self) -> None:
        quorum = self._quorum
        completed, length = quorum.completed, quorum.length
        await force_ensemble(self._ledger.bookies, self.ledger_id, quorum.ensemble)
        if self._failure is not None:
            raise self._failure  # the writer has failed meanwhile, so the synced entries may not be in the ledger
        if completed > quorum.confirmed:
            quorum.confirm(completed)
            self._synced_length = length
            self._ledger.context.notices.sent((quorum,))

    @property
    def _confirmed_length(self) -> int:
        """Return the total size in bytes of all payloads up to the last add confirmed."""
        return self._synced_length if self._ledger.deferred_sync else self._quorum.length

    # ---- closing -------------------------------------------------------------------------------------

    def close(self) -> "Deferred[None]":
        """Close the ledger after its last confirmed entry; if this is called again, return the same result.

        Earlier appends are completed (and synced) first; later appends raise LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append has failed, or the metadata could not be written.
            After a failed append, the ledger is closed at the last confirmed entry nevertheless, unless the client was
            closed or the ledger is being recovered.  If the close succeeds, every appended entry is in the ledger.
        """
        if self._closing is None:
            self._quorum.drain()
            self._closing, self._largest = SharedResult(), _NOTHING
            self._drop_later(self._closed_error())
            self._drained = Deferred()
            if self._failure is not None or self._at_rest:
                self._notify_drained()
            self._closing.run(self._close(self._drained))
            self._closing.wait().addBoth(lambda _: self._ledger.bookies.retire())
        return self._closing.wait()

    def _notify_drained(self) -> None:
        if self._drained is not None and not self._drained.called:
            self._drained.callback(None)

    async def _close(self, drained: "Deferred[None]") -> None:
        await drained
        self._quorum.close()
        del self._batcher  # the batcher is freed when no writer refers to it
        await self._sync_all()
        if self._may_store_end():
            end = self._quorum.confirmed, self._confirmed_length
            self.last_add_pushed, self.length = end
            try:
                ledgers, known = self._ledger.context.ledgers, self._stored.metadata
                self._stored.closed(await close_ledger(ledgers, self.ledger_id, known, *end))
            except Exception as error:
                if self._failure is None:
                    self._failure = error
                self._log.warn("ledger {ledger_id} was not closed: {error}", ledger_id=self.ledger_id, error=error)
        if self._failure is not None:
            raise self._failure

    async def _sync_all(self) -> None:
        """Sync all completed entries before the ledger is closed, because only synced entries stay in the ledger.

        Without deferred sync, every completed entry is synced already.
        """
        if self._failure is None and self._quorum.completed > self._quorum.confirmed:
            try:
                await self._force()
            except BookKeeperError as error:
                self._failure = error

    def _may_store_end(self) -> bool:
        """Test whether this writer may close the ledger: it must not be in recovery, and the client must be open."""
        recovered = self.metadata.state is LedgerState.IN_RECOVERY
        return not recovered and not isinstance(self._failure, ClientClosedError)

    def __repr__(self) -> str:
        state, why = self.metadata.state.name.lower(), ""
        if self._failure is not None:
            state, why = "failed", f", ended: {type(self._failure).__name__}: {self._failure}"
        elif self._closing is not None:
            why = f", ended: {_CLOSED}"
        return f"<{type(self).__name__} ledger {self.ledger_id} {state}, LAC {self.last_add_confirmed}{why}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the writer; if the body of the ``with`` statement failed, raise its error and not that of the close."""
        closed = self.close()
        if error is not None:
            closed.addErrback(lambda _: None)
        await closed


async def force_ensemble(bookies: IBookieClient, ledger_id: int, ensemble: Sequence[str]) -> None:
    """Make all bookies of an ensemble sync their entries of a ledger; wait for all of them, not only for an ack quorum.

    :param ensemble: ids of the bookies.
    :raises bookkeeper_twisted.errors.BookKeeperError: the error of the first bookie that did not sync.
    """
    synced = [bookies.force(bookie_id, ledger_id) for bookie_id in ensemble]
    try:
        await gatherResults(synced, consumeErrors=True)
    except FirstError as error:
        failed = {ensemble[error.index]: cast(Exception, error.subFailure.value)}
        raise failed_request(failed, ledger_id) from None


async def close_ledger(
    ledgers: ILedgerManager, ledger_id: int, known: Versioned[LedgerMetadata], last_entry_id: int, length: int
) -> Versioned[LedgerMetadata]:
    """Close a ledger at the last entry of its writer.

    The ledger is also closed if another client is recovering it.  This is safe, because no acknowledged entry follows
    ``last_entry_id``, and the recovery accepts that the ledger is closed.

    :param known: the newest known metadata; they may be out of date.
    :param last_entry_id: id of the last entry, -1 if the ledger is empty.
    :param length: total size of all payloads in bytes.
    :returns: the stored metadata.
    :raises bookkeeper_twisted.errors.MetadataVersionError: the ledger is closed with another last entry or length.
    """

    def is_not_closed(stored: LedgerMetadata) -> bool:
        if stored.closed and (stored.last_entry_id, stored.length) != (last_entry_id, length):
            raise MetadataVersionError(
                f"ledger {ledger_id} was closed by another client after entry {stored.last_entry_id}, "
                f"{stored.length} bytes; here it ends after entry {last_entry_id}, {length} bytes"
            )
        return not stored.closed

    def closed(stored: LedgerMetadata) -> LedgerMetadata:
        return attrs.evolve(stored, state=LedgerState.CLOSED, last_entry_id=last_entry_id, length=length)

    return await update(ledgers, ledger_id, known, is_not_closed, closed)

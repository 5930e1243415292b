"""What the writers of a ledger share: payloads in id order become sealed runs, adds complete, the ledger ends.

A payload is laid out in a claim log at once, as part of the frame that will be sent (:mod:`.claim_buffer`).  At
the end of a reactor turn the logs are drained: what lies there is sealed in runs (header, LAC, length and
digest of each entry), and the run is the unit of everything that follows (:mod:`.quorum_writer`).  The log
keeps the frames until they are completed, so what is sent again are the same bytes.  A writer that ended says
why to every later call, and closes the ledger after its last confirmed entry (S12-S16).
"""

from collections.abc import Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from ...errors import (
    BookKeeperError,
    ClientClosedError,
    IncorrectParameterError,
    LedgerClosedError,
    TooManyRequestsError,
)
from ...model import INVALID_ENTRY_ID, LedgerMetadata, LedgerState
from ..shared_result import SharedResult
from .claim_buffer import ClaimLog
from .closing import close_ledger
from .ensemble_change import NoEnsembleChange, StoredEnsembleChange
from .exclusive_log import ExclusiveLog
from .explicit_lac import ExplicitLac
from .forced_sync import force_ensemble
from .frame_shape import largest_payload
from .open_ledger import OpenLedger
from .pending_run import RunSealer
from .quorum_writer import AddRules, QuorumWriter

_rules = lru_cache(maxsize=64)(AddRules)
"""Writers of one client share theirs."""

_NOTHING = -1
"""Bytes of the largest payload that is taken by a writer that takes none."""


class SealingWriter:
    """The only writer of one ledger.

    It keeps a bounded amount of memory: ``max_in_flight_bytes`` of frames are on their way, the same
    again may wait for their turn (in order, with their ids given), and beyond that more fail with
    TooManyRequestsError.  Cancelling a Deferred stops the notification only; the entry is written.

    :ivar ledger_id: of the ledger.
    :ivar last_add_pushed: the last id given out, -1 if none; of entries that the caller numbers, the last
        one before the first gap.
    :ivar length: bytes of all payloads up to there; once closed, of the confirmed ones.
    :ivar quorum: brings runs to the bookies.
    """

    _log = Logger()

    __slots__ = (
        "quorum", "last_add_pushed", "length", "_lac", "_confirmed_length", "_put_off", "_explicit_lac", "_drained",
        "ledger_id", "_ledger", "_largest", "_max_in_flight", "_most_held", "_stored", "_sealer", "_own", "_logs",
        "_share", "_waiters", "_failure", "_closing", "__weakref__",
    )  # fmt: skip
    # thousands of open ledgers: what each append of theirs needs lies together

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: one that nobody else writes."""
        self.ledger_id = ledger.ledger_id
        self.last_add_pushed = INVALID_ENTRY_ID
        self.length = 0
        context, config = ledger.context, ledger.context.config
        self._ledger = ledger
        self._largest = largest_payload(config.netty_max_frame_size_bytes, ledger.digester.size)
        self._max_in_flight = config.max_in_flight_bytes
        self._most_held = 2 * self._max_in_flight
        self._stored = StoredEnsembleChange(
            self.ledger_id, context.ledgers, ledger.metadata, context.watcher, config.max_num_ensemble_changes
        )
        self.quorum = self._quorum_writer(ledger)
        shape = ledger.bookies.add_shape(
            self.ledger_id, ledger.digester.size, ledger.digester.master_key, deferred_sync=ledger.deferred_sync
        )
        self._sealer = RunSealer(self.ledger_id, shape, ledger.digester, ledger.schedule)
        self._own = ExclusiveLog.unbounded(shape, context.terms)
        self._logs: tuple[ClaimLog, ...] = (self._own,)  # in this order each is drained before the next
        self._share = context.budget.share(self._at_turn_end)
        self._waiters: list[tuple[int, Deferred[Any], object]] = []
        self._lac = INVALID_ENTRY_ID
        self._confirmed_length = 0
        self._explicit_lac: ExplicitLac | None = None
        if config.explicit_lac_interval > 0:
            self._explicit_lac = ExplicitLac(ledger, lambda: self._lac, lambda: self.quorum.ensemble)
        self._put_off = False
        self._failure: Exception | None = None
        self._closing: SharedResult[None] | None = None
        self._drained: Deferred[None] | None = None

    def _quorum_writer(self, ledger: OpenLedger) -> QuorumWriter:
        context, config = ledger.context, ledger.context.config
        rules = _rules(
            delay_change=config.delay_ensemble_change,
            quorum_timeout=config.add_entry_quorum_timeout_sec if config.add_entry_quorum_timeout_sec >= 0 else None,
        )  # fmt: skip
        return ledger.quorum_writer(
            context.clock, ledger.bookies, ledger.schedule, ledger.metadata.value.segments[-1].bookies,
            NoEnsembleChange() if ledger.deferred_sync else self._stored, rules, self._advanced, self._ended,
        )  # fmt: skip

    @property
    def last_add_confirmed(self) -> int:
        """The highest id up to which every entry is acknowledged and synced, -1 if none."""
        return self._lac

    @property
    def metadata(self) -> LedgerMetadata:
        """The metadata as last seen by this writer."""
        return self._stored.metadata.value

    # ---- sending -------------------------------------------------------------------------------------

    def _refuses(self, size: int) -> bool:
        """Whether a payload of ``size`` bytes cannot be taken now, for the reason :meth:`_refusal` gives."""
        log = self._own
        return size > self._largest or log.tail - log.acknowledged > self._most_held

    def _refusal(self, size: int) -> Exception:
        """Why a payload of ``size`` bytes cannot be taken now."""
        if self._failure is not None:
            return self._failure
        if self._closing is not None:
            return LedgerClosedError(f"ledger {self.ledger_id} is closed")
        if size > self._largest:
            return IncorrectParameterError(f"an entry of {size} bytes; at most {self._largest} fit a frame")
        sent = self.quorum.in_flight
        detail = f"{self._own.in_flight - sent} bytes wait for {sent} in flight"
        return TooManyRequestsError(self.ledger_id, detail=detail)

    def _push(self, payload: bytes, waiter: "Deferred[int]") -> None:
        """Gives a payload the next id; the waiter gets it once the entry is acknowledged."""
        self._own.offer(payload)
        self.last_add_pushed = entry_id = self.last_add_pushed + 1
        self.length += len(payload)
        self._waiters.append((entry_id, waiter, entry_id))
        if not self._put_off:
            self._at_turn_end()

    def _push_many(self, payloads: Sequence[bytes], size: int, waiter: "Deferred[tuple[int, int]]") -> None:
        """Gives payloads of ``size`` bytes together the next ids; the waiter gets the first and the last."""
        self._own.offer_many(payloads)
        first = self.last_add_pushed + 1
        self.last_add_pushed = last = self.last_add_pushed + len(payloads)
        self.length += size
        self._waiters.append((last, waiter, (first, last)))
        self._at_turn_end()

    def _at_turn_end(self) -> None:
        if not self._put_off:
            self._put_off = True
            self._ledger.context.turn_end.call(self._drain)

    def _drain(self) -> None:
        """Sends what is in the logs, while there is room."""
        self._put_off = False
        if self.quorum.idle:  # mixed runs are not the sealer's
            self._sealer.go_on(self.quorum.completed, self.quorum.length)
        while (log := self._waiting) is not None:
            room = self._room()
            if room is None or (run := self._sealer.take(log, room, self._lac)) is None:
                return
            if log is not self._own:  # whose entries got their ids when they were pushed; all of them are sent
                self.last_add_pushed, self.length = self._sealer.last, self._sealer.length
            self.quorum.send(run)
            self._share.update(self.quorum.in_flight)

    @property
    def _waiting(self) -> ClaimLog | None:
        """The log that is to be drained next, None if nothing is to be sent."""
        for log in self._logs:
            if log.waiting:
                return log
        return None

    @property
    def _at_rest(self) -> bool:
        """Whether nothing is to be sent or to complete."""
        return self.quorum.idle and self._waiting is None

    def _room(self) -> int | None:
        """Bytes that may be sent, at least one entry; None while neither this writer nor its client has room."""
        room = min(self._max_in_flight - self.quorum.in_flight, self._share.room())
        return room if room > 0 or self.quorum.idle else None

    # ---- completing ----------------------------------------------------------------------------------

    def _advanced(self) -> None:
        """Tells those who wait for entries that have completed, in order (S13)."""
        quorum = self.quorum
        self._share.update(quorum.in_flight)
        if self._explicit_lac is not None:
            self._explicit_lac.piggybacked = self._lac
        if not self._ledger.deferred_sync:
            self._confirm(quorum.completed, quorum.length)
        if self._at_rest:
            for log in self._logs:
                log.trim()
        waiters = self._take_waiters(quorum.completed)
        while waiters:  # each is gone before the next: what it appends takes its place, and no garbage is collected
            _, waiter, result = waiters.pop()
            waiter.callback(result)
        if self._at_rest:
            self._notify_drained()
        elif self._waiting is not None:
            self._at_turn_end()

    def _take_waiters(self, completed: int) -> "list[tuple[int, Deferred[Any], object]]":
        """Those who wait for entries up to ``completed``, the first one last."""
        waiters, count = self._waiters, 0
        while count < len(waiters) and waiters[count][0] <= completed:
            count += 1
        taken = waiters[:count]
        del waiters[:count]
        taken.reverse()
        return taken

    def _confirm(self, entry_id: int, length: int) -> None:
        """Moves the LAC, only ever forward."""
        if entry_id > self._lac:
            self._lac, self._confirmed_length = entry_id, length
            if self._explicit_lac is not None:
                self._explicit_lac.moved()

    def _ended(self, error: Exception) -> None:
        """Nothing succeeds after this."""
        self._failure, self._largest = error, _NOTHING
        self._leave_others()
        self._share.update(0)
        for log in self._logs:
            log.abandon(error)
        waiters, self._waiters = self._waiters, []
        for _, waiter, _ in waiters:
            waiter.errback(error)
        self._drop_held(error)
        self._notify_drained()
        self.close().addErrback(lambda _: None)  # whoever calls close() gets this result

    def _leave_others(self) -> None:
        """Sees to it that every entry on its way is one of those that :attr:`_waiters` are for."""

    def _drop_held(self, error: Exception) -> None:
        """Takes nothing more, and fails what is held back, for writers that have other entries than those pushed."""

    def force(self) -> "Deferred[None]":
        """Syncs every entry that is acknowledged; needed with deferred sync only.

        The last add confirmed is at least the last entry that was acknowledged when this was called.

        :raises bookkeeper_twisted.errors.BookKeeperError: a bookie of the ensemble did not sync.
        """
        if self._failure is not None:
            return fail(self._failure)
        if self._closing is not None:
            return fail(LedgerClosedError(f"ledger {self.ledger_id} is closed"))
        if self.quorum.completed == INVALID_ENTRY_ID:
            return succeed(None)
        return Deferred.fromCoroutine(self._force())

    async def _force(self) -> None:
        completed, length = self.quorum.completed, self.quorum.length
        await force_ensemble(self._ledger.bookies, self.ledger_id, self.quorum.ensemble)
        if self._failure is not None:
            raise self._failure  # the ledger may be closed before these entries
        self._confirm(completed, length)

    # ---- closing -------------------------------------------------------------------------------------

    def close(self) -> "Deferred[None]":
        """Closes the ledger after its last confirmed entry; later calls share the result.

        Appends made before are completed (and synced) first, later ones fail with LedgerClosedError.

        :raises bookkeeper_twisted.errors.BookKeeperError: an append failed (the ledger is closed at the
            last confirmed entry all the same, unless the client was closed or somebody recovers it), or
            the metadata could not be written.  So a close that succeeds means that every append is in
            the ledger.
        """
        if self._closing is None:
            if self._explicit_lac is not None:
                self._explicit_lac.stop()
            self._closing, self._largest = SharedResult(), _NOTHING
            self._drop_held(LedgerClosedError(f"ledger {self.ledger_id} is closed"))
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
        self.quorum.close()
        await self._sync_all()
        if self._may_store_end():
            self.last_add_pushed, self.length = self._lac, self._confirmed_length
            try:
                ledgers, known = self._ledger.context.ledgers, self._stored.metadata
                closed = await close_ledger(ledgers, self.ledger_id, known, self._lac, self._confirmed_length)
                self._stored.metadata = closed
            except Exception as error:
                if self._failure is None:
                    self._failure = error
                self._log.warn("ledger {ledger_id} was not closed: {error}", ledger_id=self.ledger_id, error=error)
        if self._failure is not None:
            raise self._failure

    async def _sync_all(self) -> None:
        """With deferred sync the ledger ends at the last synced entry, which is to be the last one."""
        if self._failure is None and self.quorum.completed > self._lac:
            try:
                await self._force()
            except BookKeeperError as error:
                self._failure = error

    def _may_store_end(self) -> bool:
        """A closed client writes nothing, and who knows of a recovery leaves the end to it."""
        recovered = self.metadata.state is LedgerState.IN_RECOVERY
        return not recovered and not isinstance(self._failure, ClientClosedError)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes; an error of the body is not hidden by one of the close."""
        closed = self.close()
        if error is not None:
            closed.addErrback(lambda _: None)
        await closed


def as_bytes(data: object) -> bytes:
    """A payload that its caller may change afterwards.

    :raises TypeError: it is not made of bytes.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"an entry is bytes, not {type(data).__name__}")

"""The state machine of one ledger's writer: it completes entries and replaces bookies that fail.

Its state is one of :mod:`.states`.  All entries that have not completed belong to the current ensemble.  An ensemble
change applies to all of them, and acknowledgements of a replaced bookie no longer count.  During a change no entry
completes, even if it reaches its ack quorum.  Once the change is stored, the entries are sent to the new bookies.
From then on, entries with an ack quorum complete again.

An :class:`~bookkeeper_twisted.client.interfaces.IEnsembleChange` replaces failed bookies.  If no other bookie can
replace a failed bookie, the failed bookie stays in the ensemble, and the writer continues as long as each entry can
reach its ack quorum.  Otherwise the writer ends, and all entries that have not completed fail.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import LogLevel
from twisted.python.failure import Failure

from ...errors import (
    BookieHandleNotAvailableError,
    BookKeeperError,
    ClientClosedError,
    IllegalOperationError,
    LedgerFencedError,
    NotEnoughBookiesError,
    RequestTimeoutError,
    UnauthorizedAccessError,
    WriteError,
    WriteOnReadOnlyBookieError,
)
from ...ledger.schedule import Schedule
from ...ledger.tally import indexes_of, items_at
from ..interfaces import IEnsembleChange
from ..logger_context import LedgerLogger, LoggerContext
from .batch import Batch, Waiter
from .failed_bookies import AddRules, FailedBookies, missed_quorum, of_ledger, quorum_timed_out
from .lac_notices import LacNotice
from .quorum_timeout import QuorumTimeout
from .states import OPEN, Event, following

_FATAL = (LedgerFencedError, UnauthorizedAccessError, IllegalOperationError, ClientClosedError)
"""Errors that end a writer if any bookie answers with them, because other bookies will answer the same."""

_OF_CONNECTIONS = (BookieHandleNotAvailableError, RequestTimeoutError)


class JoinedBytes(Protocol):
    """A counter of the bytes that a ledger has added to batches so far; it shows how many bytes are in flight."""

    joined_bytes: int


@lru_cache(maxsize=1024)
def _shared(ensemble: tuple[str, ...]) -> tuple[str, ...]:
    """Return one shared object for equal ensembles, so that comparing two ensembles is fast."""
    return ensemble


class QuorumWriter:
    """The state machine of one ledger's writer.  Only its own methods assign its fields.

    :ivar completed: the id of the last completed entry: it and all entries before it have their ack quorum.
    :ivar length: length of the ledger in bytes up to and including the entry ``completed``.
    :ivar confirmed: the last add confirmed.
    :ivar source: the counter of the bytes in all entries of the ledger that were added to batches.
    :ivar ended_bytes: total size in bytes of the add requests of all entries that have completed or failed.
    :ivar batches: batches with entries in flight, in order.
    :ivar ensemble: the current ensemble.
    :ivar state: the present state, one of :mod:`.states`.
    :ivar alert: whether to call the callback ``advanced`` the next time entries complete.
    :ivar failures: the record of failed bookies, None as long as no bookie has failed.
    :ivar failure: the error that ended the writer, else None.
    :ivar notice: the state of the explicit LACs that this writer sends; None if it sends none.
    """

    _log = LedgerLogger()

    __slots__ = (
        "ledger_id", "schedule", "completed", "length", "confirmed", "source", "ended_bytes", "batches", "ensemble",
        "state", "alert", "failures", "failure", "notice", "_ahead", "_clock", "_changes", "_rules", "_advanced",
        "_ended", "_timeout", "_pause", "_logger_context",
    )  # fmt: skip

    def __init__(
        self, clock: IReactorTime, ledger_id: int, schedule: Schedule, ensemble: Iterable[str],
        changes: IEnsembleChange, rules: AddRules, source: JoinedBytes, advanced: Callable[[], bool],
        ended: Callable[[Exception, Sequence[Waiter]], None], completed: int = -1, notice: LacNotice | None = None,
        logger_context: LoggerContext | None = None,
    ) -> None:  # fmt: skip
        """
        :param source: counts the bytes in all entries that were added to batches; none may be in flight yet.
        :param advanced: called when entries have completed and :attr:`alert` is True; returns the new :attr:`alert`.
        :param ended: called once if an error ends the writer: with the error and, in id order, the waiters of all
            entries that will not complete.
        :param completed: the id of the entry before the first one to send.
        :param logger_context: names and values that the program wants in log lines about this ledger; None for none.
        """
        self.ledger_id = ledger_id
        self.schedule = schedule
        self.completed = self.confirmed = completed
        self.length = 0
        self.source = source
        self.ended_bytes = source.joined_bytes
        self.batches: list[Batch[QuorumWriter]] = []  # an empty list takes less memory than a deque
        self.ensemble = _shared(tuple(ensemble))
        self.state = OPEN
        self.alert = False
        self.failures: FailedBookies | None = None
        self.failure: Exception | None = None
        self.notice = notice
        self._logger_context = logger_context
        self._ahead = False  # whether an entry has its ack quorum although an earlier entry lacks its own
        self._clock, self._changes, self._rules = clock, changes, rules
        self._advanced, self._ended = advanced, ended
        self._pause: Deferred[None] | None = None
        self._timeout: QuorumTimeout[Batch[QuorumWriter]] | None = None
        if rules.quorum_timeout is not None:
            self._timeout = QuorumTimeout(clock, rules.quorum_timeout, self._waits_for, self._timed_out)

    # ---- sending -------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Total size in bytes of the add requests of entries in batches that have neither completed nor failed."""
        return self.source.joined_bytes - self.ended_bytes

    @property
    def idle(self) -> bool:
        """Whether no entry is in flight."""
        return self.source.joined_bytes == self.ended_bytes

    def follow(self, batch: "Batch[QuorumWriter]") -> None:
        """Add ``batch`` to the batches in flight, because this writer has added entries to it.

        Remove the oldest batches if all their entries have completed or failed.
        """
        batches = self.batches
        while batches and batches[0].sent and not batches[0].left:
            del batches[0]
        batches.append(batch)

    def watch_time(self, batch: "Batch[QuorumWriter]") -> None:
        """Start the time limit for the ack quorum of a ``batch``, if there is one."""
        if self._timeout is not None:
            self._timeout.watch(batch)

    def replace_late(self) -> None:
        """Replace bookies that failed only for entries which already had their ack quorum, before entries are sent."""
        if self.failures is not None and self.failures.late:
            self._replace(self.failures, ())

    # ---- answers -------------------------------------------------------------------------------------

    def failed(self, batch: "Batch[QuorumWriter]", bookie_id: str, index_set: int, error: Exception) -> None:
        """Handle a bookie's failure to store entries: replace the bookie now or later, or end the writer.

        :param bookie_id: the bookie; ignored if it is not in the ensemble any more.
        :param index_set: the failed entries of ``batch``.
        :param error: the error; some errors, for example that the ledger is fenced, end the writer.
        """
        if not self.state.listens or bookie_id not in self.ensemble:
            return
        if isinstance(error, _FATAL):
            self.stop(error)
            return
        self._warn(bookie_id, error)
        failures = self._account()
        if not batch.lacks_quorum(index_set):
            if not (self._rules.delay_change or self._stays(failures, bookie_id)):
                failures.late[bookie_id] = None
        elif batch.unreachable(self) is not None or not self._may_wait(failures, bookie_id, error):
            failed = batch.failed_bookies(self)
            self._replace(failures, [member for member in self.ensemble if member in failed])

    def _account(self) -> FailedBookies:
        if self.failures is None:
            self.failures = FailedBookies()
        return self.failures

    def _may_wait(self, failures: FailedBookies, bookie_id: str, error: Exception) -> bool:
        """Test whether a failed bookie need not be replaced yet, provided that no entry needs it for its ack quorum."""
        delayed = self._rules.delay_change and not isinstance(error, WriteOnReadOnlyBookieError)
        return delayed or self._stays(failures, bookie_id)

    def _stays(self, failures: FailedBookies, bookie_id: str) -> bool:
        """Test whether a failed bookie must not be replaced yet, because a recent attempt to replace it has failed."""
        until = failures.stays_until(bookie_id)
        return until is not None and (self._clock.seconds() < until or not self._changes.has_spare(self.ensemble))

    def _warn(self, bookie_id: str, error: Exception) -> None:
        self.alert = True
        if self._account().note(bookie_id, error):
            # a lost connection has logged a warning already, once for all ledgers, so here the debug level is enough
            level = LogLevel.debug if isinstance(error, _OF_CONNECTIONS) else LogLevel.warn
            line = "{bookie_id} does not take entries of ledger {ledger_id}: {error}"
            self._log.emit(level, line, bookie_id=bookie_id, ledger_id=self.ledger_id, error=error)

    # ---- completing ----------------------------------------------------------------------------------

    def watch(self) -> None:
        """Set :attr:`alert`, so that the callback ``advanced`` is called when the next entries complete."""
        self.alert = True

    def confirm(self, entry_id: int) -> None:
        """Move the last add confirmed to ``entry_id``, because all entries up to this one are synced."""
        self.confirmed = entry_id

    def advance(self) -> None:
        """Complete the next entries, in id order, that have their ack quorum."""
        if not self.state.completes:
            return
        batches, completed = self.batches, list[tuple[Sequence[int], list[Waiter]]]()
        while batches:
            batch = batches[0]
            indexes = batch.acked_next(self)
            if indexes:
                completed.append(self._take(batch, indexes))
            if self.idle:
                batches.clear()
            # _take() may have sent entries that waited for room; then follow() has removed completed batches
            elif batches[0] is batch:
                if not batch.sent or batch.has_open(self):
                    break
                del batches[0]
        if completed:
            if self._rules.confirms:
                self.confirmed = self.completed
            for ids, waiters in completed:
                _call_back(ids, waiters)
            if self.alert:
                self._look_around()

    def _take(self, batch: "Batch[QuorumWriter]", indexes: Sequence[int]) -> tuple[Sequence[int], list[Waiter]]:
        """Mark entries of a batch as completed; return their ids, and their Deferreds, the last one first."""
        self.ended_bytes += batch.size_of(indexes)
        ids, waiters = batch.take(indexes)
        self.completed, self.length = ids[-1], batch.lengths[indexes[-1]]
        batch.ended(len(indexes))
        return ids, waiters

    def _look_around(self) -> None:
        """Complete entries that had to wait for an earlier entry's ack quorum; then call the callback ``advanced``."""
        if self._ahead:  # keep it True while entries are in flight, because more may be acknowledged out of order
            self.advance()
            self._ahead = not self.idle
        if self.failures is not None:
            self.failures.completed()
        self.alert = self._advanced() or self._ahead

    @staticmethod
    def reached(batch: "Batch[QuorumWriter]", index_set: int) -> None:
        """Complete entries that have just reached their ack quorum, unless an earlier entry of the ledger lacks it.

        :param index_set: the entries.
        """
        only = batch.only
        if only is None:
            _complete(batch, index_set)
            return
        only.advance()
        if batch.has_acked_later:
            only._ahead = only.alert = True

    @staticmethod
    def failed_at(batch: "Batch[QuorumWriter]", bookie_id: str, index_set: int, error: Exception) -> None:
        """Report the failure of a bookie to the writers of the failed entries.

        :param index_set: the failed entries of ``batch``.
        """
        if batch.only is not None:
            batch.only.failed(batch, bookie_id, index_set, error)
            return
        by_writer: dict[QuorumWriter, int] = {}
        for index in indexes_of(index_set):
            writer = batch.owners[index]
            by_writer[writer] = by_writer.get(writer, 0) | 1 << index
        for writer, some in by_writer.items():
            writer.failed(batch, bookie_id, some, error)

    # ---- ensemble changes ----------------------------------------------------------------------------

    def _replace(self, failures: FailedBookies, failed: Iterable[str]) -> None:
        """Let the running ensemble change, or a new one, replace bookies: ``failed`` and those in ``failures.late``."""
        failures.add(failed)
        if self._enter(Event.BOOKIES_FAILED):
            Deferred.fromCoroutine(self._change(failures)).addErrback(self._change_failed)

    def _enter(self, event: Event) -> bool:
        """Change the state by an ``event``; return whether the state has changed."""
        before, self.state = self.state, following(self.state, event)
        return self.state is not before

    async def _change(self, failures: FailedBookies) -> None:
        while self.state.listens:
            error = await self._replace_failed(failures)
            if error is None or not await self._may_try_again(failures):
                self._end_change(error)
                return
            self._send_again(failures)
            if not failures.waiting:  # if more bookies have failed meanwhile, repeat the loop to replace them, too
                self._end_change(None)
                return

    async def _replace_failed(self, failures: FailedBookies) -> Exception | None:
        """Try to replace all failed bookies; return an error if an entry cannot reach its ack quorum afterwards."""
        tried: set[tuple[int, str]] = set()
        shortage: NotEnoughBookiesError | None = None
        staying: dict[int, str] = {}
        while failed := failures.take(self.ensemble, tried):
            tried |= failed.items()
            try:
                ensemble = await self._changes.replace(failed, self._change_start(), list(failures.useless))
            except NotEnoughBookiesError as error:
                shortage = error
                staying |= failed
            else:
                if not self.state.listens:
                    return None
                self._adopt(failures, ensemble)
        out_of_reach = self._out_of_reach(failures, shortage)
        if shortage is not None and out_of_reach is None and self.state.listens:
            self._go_on_without(failures, staying.values(), shortage)
        return out_of_reach

    def _go_on_without(self, failures: FailedBookies, staying: Collection[str], why: NotEnoughBookiesError) -> None:
        """Record that failed bookies stay in the ensemble; the other bookies are enough for all ack quorums."""
        failures.stay(staying, self._clock.seconds())
        self._changes.stay(staying, failures.explained(why, self.ensemble, staying))

    async def _may_try_again(self, failures: FailedBookies) -> bool:
        """Wait some time before entries are sent again to failed bookies; return False if the writer must end."""
        seconds = failures.pause(self._clock.seconds(), self._rules.patience)
        if seconds is None or not self.state.listens:
            return False
        self._pause = deferLater(self._clock, seconds, lambda: None)
        try:
            await self._pause
        except CancelledError:
            pass  # the writer was closed during the pause
        self._pause = None
        return True

    def _send_again(self, failures: FailedBookies) -> None:
        """Send entries again to the bookies that failed to store them and that no other bookie can replace."""
        failures.forget()
        failed = self._failed_bookies()
        self._resend([(position, member, member) for position, member in enumerate(self.ensemble) if member in failed])

    def _failed_bookies(self) -> Collection[str]:
        """Return the ids of the bookies that failed to store an entry which has not completed."""
        return {bookie_id for batch in self.batches for bookie_id in batch.failed_bookies(self)}

    def _resend(self, changes: Sequence[tuple[int, str, str]]) -> None:
        """Send all entries in flight again, to substitute bookies or to the same bookies.

        :param changes: for each bookie to send to: its position in the ensemble, the bookie that it replaces, its id.
        """
        for batch in list(self.batches):
            if self.failure is None and batch.sent and batch.left:
                moves = [(old, new, self._kept_at(batch, position)) for position, old, new in changes]
                for request in batch.replace(moves):
                    if self.failure is None:  # an answer that came during this loop may have ended this writer
                        batch.ask_again(request)

    def _kept_at(self, batch: "Batch[QuorumWriter]", position: int) -> Sequence[int]:
        """Return the indexes of a batch's entries in flight that the bookie at ``position`` in the ensemble stores."""
        indexes, schedule = batch.open_indexes(self), self.schedule
        if not schedule.striped:
            return indexes
        return [index for index in indexes if position in schedule.write_set(batch.entry_ids[index])]

    def _change_start(self) -> int:
        """Return the first entry id of the new ensemble: the first id that has not completed."""
        return self.completed + 1

    def _adopt(self, failures: FailedBookies, ensemble: Sequence[str]) -> None:
        """Use a new ensemble for all entries that have not completed; send these entries to its new bookies."""
        before, self.ensemble = self.ensemble, _shared(tuple(ensemble))
        changes = [(n, *pair) for n, pair in enumerate(zip(before, ensemble, strict=True)) if pair[0] != pair[1]]
        failures.changed(ensemble)
        self._log.debug("entries from {first} on go to {ensemble}", first=self._change_start(), ensemble=ensemble)
        self._resend(changes)

    def _out_of_reach(self, failures: FailedBookies, shortage: NotEnoughBookiesError | None) -> Exception | None:
        """Return an error if an entry cannot reach its ack quorum after an ensemble change, else None.

        :param shortage: the error that says why failed bookies were not replaced; None if all were replaced.
        """
        for batch in self.batches:
            entry_id = batch.unreachable(self)
            if entry_id is not None:
                missed = missed_quorum(self.ledger_id, entry_id, self.schedule.ack_quorum, shortage)
                return failures.explained(missed, self.ensemble, self._failed_bookies())
        return None

    def _end_change(self, error: Exception | None) -> None:
        """End an ensemble change: complete entries that have their ack quorum, then end the writer on an ``error``."""
        if self.state.listens:
            self._enter(Event.CHANGED)
            self.advance()
            if error is not None:
                self.stop(error)

    def _change_failed(self, failure: Failure) -> None:
        error = cast(Exception, failure.value)
        if not isinstance(error, BookKeeperError):
            self._log.failure("an ensemble change failed", failure=failure)
            error = WriteError(f"an ensemble change failed: {error!r}")
        self.stop(self._account().explained(of_ledger(error, self.ledger_id), self.ensemble, self._failed_bookies()))

    # ---- the end -------------------------------------------------------------------------------------

    def _waits_for(self, batch: "Batch[QuorumWriter]") -> bool:
        return batch in self.batches and batch.has_open(self)

    def _timed_out(self) -> None:
        entry_id, seconds = self.completed + 1, self._rules.quorum_timeout or 0.0
        late = quorum_timed_out(self.ledger_id, entry_id, self.schedule, self.ensemble, seconds)
        self.stop(self._account().explained(late, self.ensemble, self.ensemble))

    def drain(self) -> None:
        """Begin to close: accept no more entries, and send no more explicit LACs, because the close stores the LAC."""
        self._enter(Event.CLOSE)
        self.notice, self.alert = None, True

    def stop(self, error: Exception) -> None:
        """End the writer: entries that have not completed fail with ``error``, and no further entry completes."""
        if not self.state.listens:
            return
        self.failure = error
        self.close()
        batches, self.batches = self.batches, []
        waiters = [waiter for batch in batches for waiter in batch.abandon(self)]
        self.ended_bytes = self.source.joined_bytes
        self._ended(error, waiters)

    def close(self) -> None:
        """Ignore all later answers of bookies, and stop the timers."""
        self._enter(Event.END)
        if self._pause is not None:
            self._pause.cancel()
        if self._timeout is not None:
            self._timeout.stop()


def _complete(batch: Batch[QuorumWriter], index_set: int) -> None:
    """Complete entries (bit n: index n in the batch), unless an earlier entry of the ledger lacks its ack quorum."""
    if batch.adds is None:
        return  # all entries of the batch have completed or failed already
    late, alerted = set[int](), list[QuorumWriter]()
    columns: Sequence[Sequence[Any]] = batch.owners, batch.entry_ids, batch.lengths
    indexes: Sequence[int] = range(len(batch.owners))
    if index_set != batch.everything:
        indexes = indexes_of(index_set)
        owners, ids, lengths = columns
        columns = items_at(owners, indexes), items_at(ids, indexes), items_at(lengths, indexes)
    for index, writer, entry_id, length, size in zip(indexes, *columns, batch.sizes(indexes), strict=True):
        if writer.completed + 1 != entry_id or not writer.state.completes:
            writer._ahead = writer.alert = True
            late.add(index)
            continue
        writer.completed = entry_id
        writer.length = length
        if writer._rules.confirms:
            writer.confirmed = entry_id
        writer.ended_bytes = ended = writer.ended_bytes + size
        if ended == writer.source.joined_bytes:
            writer.batches.clear()
        if writer.alert:
            alerted.append(writer)
    if late:
        indexes = [index for index in indexes if index not in late]
    if indexes:
        ids, waiters = batch.take(indexes)
        batch.ended(len(indexes))
        _call_back(ids, waiters)
        for writer in alerted:
            writer._look_around()


def _call_back(entry_ids: Sequence[int], waiters: list[Waiter]) -> None:
    """Call the callbacks of completed entries.

    :param waiters: the waiters in reverse order; each is removed from the list before it is called, to free its memory.
    """
    # the entries of one append_many() have one waiter, that of the last entry (first here): call it without a loop
    if (last := waiters[0]) and waiters.count(None) == len(waiters) - 1:
        del waiters[:]
        last.callback(entry_ids[-1])
        return
    for entry_id in entry_ids:
        waiter = waiters.pop()
        if waiter is not None:
            waiter.callback(entry_id)

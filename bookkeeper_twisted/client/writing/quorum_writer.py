"""The entries of one ledger in flight: what completes, and what is done about bookies that fail.

The core of every writer.  All entries that have not completed are of the same ensemble, the current one: a
change of bookies is adopted for all of them in one step, and the acknowledgements of a bookie that was replaced are
taken back.  While a change is under way nothing completes (S16): entries that have their ack quorum then
wait, and complete, or are sent again, once the change is known to be in force.

What a failed bookie leads to is up to an :class:`~bookkeeper_twisted.client.interfaces.IEnsembleChange`.  Where no
bookie can take its place it stays in the ensemble: entries go on as long as each can reach its ack quorum, which is
what makes them durable.  Otherwise the writer ends: the callbacks of what completed before come first, then nothing
ever completes again.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from ...attended_time import AttendedTime
from ...errors import (
    AddEntryQuorumTimeoutError,
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
from ..interfaces import IEnsembleChange
from .batch import Batch, Waiter, call_back
from .lac_notices import LacNotice

_FATAL = (LedgerFencedError, UnauthorizedAccessError, IllegalOperationError, ClientClosedError)
"""Answers that end a writer: another bookie would say the same, or ought to."""

_OF_CONNECTIONS = (BookieHandleNotAvailableError, RequestTimeoutError)

RETRY_SECONDS = 0.5
"""Between two tries of bookies that none can take the place of."""

SPARE_SECONDS = 10.0
"""Before a bookie that none could take the place of is to be replaced again, where a spare one was seen meanwhile."""

_MOST_LOOKS = 4
"""At one entry that waits for its ack quorum: each notices whether the process was held up since the one before."""

_NONE: dict[Any, Any] = {}
"""No bookies, or no batches: shared by all writers without any, and never changed."""


@attrs.frozen
class AddRules:
    """The rules of one writer for adds that fail, or take long.

    :ivar confirms: whether an entry that completes is confirmed by that (not with deferred sync, not in a recovery).
    :ivar delay_change: replace bookies only where entries cannot reach their ack quorum without.
    :ivar quorum_timeout: seconds until the ack quorum of an entry, None to wait for ever.
    :ivar patience: seconds in which bookies that failed, and that none can take the place of, are tried again.
    """

    confirms: bool = True
    delay_change: bool = False
    quorum_timeout: float | None = None
    patience: float = 0.0


@lru_cache(maxsize=1024)
def _shared(ensemble: tuple[str, ...]) -> tuple[str, ...]:
    """Return one object for equal ensembles, so that comparing them is quick."""
    return ensemble


class QuorumTimeout:
    """Watches the oldest entry that waits.

    The clock must be monotonic: no wall clock, which may jump.

    :param oldest: what :meth:`start` returned for it, None if nothing waits.
    :param expired: called when it waited ``seconds``, without the time in which the process was held up.
    """

    def __init__(
        self, clock: IReactorTime, seconds: float, oldest: Callable[[], float | None], expired: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._oldest = oldest
        self._expired = expired
        self._call: IDelayedCall | None = None
        self._time = AttendedTime(clock.seconds)

    def start(self) -> float:
        """Begins to watch, if it does not.

        :returns: the time at which an entry begins to wait now.
        """
        if self._call is None:
            self._look_after(self._seconds / _MOST_LOOKS)
        return self._time.seconds()

    def _look_after(self, delay: float) -> None:
        self._time.scheduled(delay)
        self._call = self._clock.callLater(delay, self._look)

    def _look(self) -> None:
        self._call = None
        self._time.arrived()
        sent_at = self._oldest()
        if sent_at is None:
            return
        left = sent_at + self._seconds - self._time.seconds()
        if left <= 0:
            self._expired()
        else:
            self._look_after(min(left, self._seconds / _MOST_LOOKS))

    def stop(self) -> None:
        """Watches no more."""
        if self._call is not None:
            self._call.cancel()
            self._call = None


class QuorumWriter:
    """The state of one ledger's replication; see :class:`~.batch.BatchWriter` for what is not named here.

    :ivar failure: why it ended, None while it lives.
    :ivar notice: of its last add confirmed, None if bookies are not told of it beside entries.
    """

    _log = Logger()

    __slots__ = (
        "ledger_id", "schedule", "striped", "completed", "length", "confirmed", "confirms", "in_flight", "batches",
        "ensemble", "held", "ahead", "alert", "failed_late", "failure", "notice", "_clock", "_changes", "_rules",
        "_advanced", "_ended", "_deaf", "_changing", "_failed", "_useless", "_staying", "_warned", "_timeout", "_times",
        "_deadline", "_pause",
    )  # fmt: skip

    def __init__(
        self, clock: IReactorTime, ledger_id: int, schedule: Schedule, ensemble: Iterable[str],
        changes: IEnsembleChange, rules: AddRules, advanced: Callable[[], bool],
        ended: Callable[[Exception, Sequence[Waiter]], None], completed: int = -1,
    ) -> None:  # fmt: skip
        """
        :param advanced: called when entries have completed while the writer is alert; returns whether it stays so.
        :param ended: called once, with why and the waiters of all entries that will not complete, in order.
        :param completed: the entry before the first that will be sent.
        """
        self.ledger_id = ledger_id
        self.schedule = schedule
        self.striped = schedule.striped
        self.completed = self.confirmed = completed
        self.length = 0
        self.confirms = rules.confirms
        self.in_flight = 0
        self.batches: list[Batch] = []  # smaller than a deque for all the writers that are idle
        self.ensemble = _shared(tuple(ensemble))
        self.held = self.ahead = self.alert = False
        self.failed_late: dict[str, None] = _NONE
        self.failure: Exception | None = None
        self.notice: LacNotice | None = None
        self._clock = clock
        self._changes = changes
        self._rules = rules
        self._advanced = advanced
        self._ended = ended
        self._deaf = False
        self._changing = False
        self._failed: dict[str, None] = _NONE
        self._useless: dict[str, None] = _NONE  # failed since an entry completed: not to be chosen again and again
        self._staying: dict[str, float] = _NONE  # failed, and none can take their place before this time
        self._warned: dict[str, Exception] = _NONE  # what each failed with first
        self._deadline: float | None = None  # of the tries of bookies that none can take the place of
        self._pause: Deferred[None] | None = None
        self._times: dict[Batch, float] = _NONE  # type: ignore[assignment]
        self._timeout: QuorumTimeout | None = None
        if rules.quorum_timeout is not None:
            self._times = {}
            self._timeout = QuorumTimeout(clock, rules.quorum_timeout, self._oldest, self._timed_out)

    @property
    def idle(self) -> bool:
        """Whether everything that joined a batch has completed."""
        return not self.in_flight

    # ---- sending -------------------------------------------------------------------------------------

    def follow(self, batch: Batch) -> None:
        """Record that entries join another ``batch`` than the entries before.

        Batches whose entries have ended are forgotten.
        """
        batches = self.batches
        while batches and batches[0].sent and not batches[0].left:
            del batches[0]
        batches.append(batch)

    def watch_time(self, batch: Batch) -> None:
        """Watch how long the entries of a ``batch`` are in flight, if there is a time limit for the ack quorum."""
        if self._timeout is not None:
            self._times = {each: time for each, time in self._times.items() if each in self.batches}
            self._times[batch] = self._timeout.start()

    def replace_late(self) -> None:
        """Replace the bookies that failed entries after these had their ack quorum."""
        self._replace(())

    # ---- answers -------------------------------------------------------------------------------------

    def failed(self, batch: Batch, bookie_id: str, places: int, error: Exception) -> None:
        """Handle the failure of a bookie at some entries: replace it, now or with the next batch, or end the writer.

        :param bookie_id: ignored if it is not in the ensemble any more.
        :param places: a set of places in ``batch``.
        :param error: a refusal such as that of a fenced ledger ends the writer.
        """
        if self._deaf or bookie_id not in self.ensemble:
            return
        if isinstance(error, _FATAL):
            self.stop(error)
            return
        self._warn(bookie_id, error)
        if not batch.lacks_quorum(places):
            if not (self._rules.delay_change or self._stays(bookie_id)):
                self.failed_late = {**self.failed_late, bookie_id: None}
        elif batch.unreachable(self) is not None or not self._may_wait(bookie_id, error):
            failed = batch.failed_bookies(self)
            self._replace([member for member in self.ensemble if member in failed])

    def _may_wait(self, bookie_id: str, error: Exception) -> bool:
        """Whether a bookie that failed need not be replaced as long as entries can reach their ack quorums."""
        delayed = self._rules.delay_change and not isinstance(error, WriteOnReadOnlyBookieError)
        return delayed or self._stays(bookie_id)

    def _stays(self, bookie_id: str) -> bool:
        """Whether no bookie can take the place of this one: an attempt to replace it, which holds all entries up, was
        made lately, or would find no other bookie than before."""
        if bookie_id not in self._staying:
            return False
        return self._clock.seconds() < self._staying[bookie_id] or not self._changes.has_spare(self.ensemble)

    def _warn(self, bookie_id: str, error: Exception) -> None:
        self.alert = True
        if bookie_id not in self._warned:  # once in its time as a member
            self._warned = {**self._warned, bookie_id: error}
            # A lost or late bookie is logged by its connections, once for all ledgers.
            level = LogLevel.debug if isinstance(error, _OF_CONNECTIONS) else LogLevel.warn
            self._log.emit(
                level, "{bookie_id} does not take entries of ledger {ledger_id}: {error}",
                bookie_id=bookie_id, ledger_id=self.ledger_id, error=error,
            )  # fmt: skip

    # ---- completing ----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Completes what is acknowledged without a gap (S13)."""
        if self.held:
            return
        batches, completed = self.batches, list[tuple[Sequence[int], list[Waiter]]]()
        while batches:
            batch = batches[0]
            ids, waiters = batch.complete(self)
            if ids:
                completed.append((ids, waiters))
            if not self.in_flight:
                batches.clear()
            elif batches[0] is batch:  # else it was left behind when others joined the room it gave
                if not batch.sent or batch.has_open(self):
                    break
                del batches[0]
        if completed:
            if self.confirms:
                self.confirmed = self.completed
            for ids, waiters in completed:
                call_back(ids, waiters)
            if self.alert:
                self.advanced()

    def advanced(self) -> None:
        """Looks at what waits for the completion of entries."""
        if self.ahead:  # until nothing is in flight: others may be acknowledged before their turn, too
            self.advance()
            self.ahead = bool(self.in_flight)
        self._useless, self._deadline = _NONE, None
        self.alert = self._advanced() or self.ahead

    # ---- ensemble changes ----------------------------------------------------------------------------

    def _replace(self, failed: Iterable[str]) -> None:
        """Replace bookies, also the ones that failed late; now, or with the next round of a change in progress."""
        self._failed = {**self._failed, **dict.fromkeys(failed)}
        if not self._changing:
            self._changing = True
            self._hold(True)
            change = Deferred.fromCoroutine(self._change())
            change.addErrback(self._change_failed)

    def _hold(self, held: bool) -> None:
        """Lets nothing complete while an ensemble change is under way (S16)."""
        self.held = held

    async def _change(self) -> None:
        while not self._deaf:
            error = await self._replace_failed()
            if error is None or not await self._may_try_again():
                self._end_change(error)
                return
            self._send_again()
            if not self._failed:  # else some have failed already
                self._end_change(None)
                return

    async def _replace_failed(self) -> Exception | None:
        """Replaces bookies, round by round, until none has failed any more.

        :returns: why some entries can have no ack quorum all the same.
        """
        tried: set[tuple[int, str]] = set()
        shortage: NotEnoughBookiesError | None = None
        staying: dict[int, str] = {}
        while failed := self._take_failed(tried):
            tried |= failed.items()
            self._useless = {**self._useless, **dict.fromkeys(failed.values())}
            try:
                ensemble = await self._changes.replace(failed, self._change_start(), list(self._useless))
            except NotEnoughBookiesError as error:
                shortage = error
                staying |= failed
            else:
                if self._deaf:
                    return None
                self._adopt(ensemble)
        out_of_reach = self._out_of_reach(shortage)
        if shortage is not None and out_of_reach is None and not self._deaf:
            self._go_on_without(staying.values(), shortage)
        return out_of_reach

    def _go_on_without(self, staying: Collection[str], shortage: NotEnoughBookiesError) -> None:
        """Leaves bookies that failed in the ensemble: what is acknowledged without them has its ack quorum (S16)."""
        until = self._clock.seconds() + SPARE_SECONDS
        self._staying = {**self._staying, **dict.fromkeys(staying, until)}
        self._changes.stay(staying, self._explained(shortage, staying))

    def _explained(self, shortage: NotEnoughBookiesError, failed: Collection[str]) -> NotEnoughBookiesError:
        """The shortage with what bookies failed with; the first of these is its cause."""
        failures = {name: self._warned[name] for name in self.ensemble if name in self._warned and name in failed}
        said = "".join(f"; {bookie_id}: {error}" for bookie_id, error in failures.items())
        explained = NotEnoughBookiesError(f"{shortage}{said}")
        explained.__cause__ = next(iter(failures.values()), shortage.__cause__)
        return explained

    async def _may_try_again(self) -> bool:
        """Waits a little, within the time since an entry completed in which that is wanted."""
        now = self._clock.seconds()
        if self._deadline is None:
            self._deadline = now + self._rules.patience
        if self._deaf or now >= self._deadline:
            return False
        self._pause = deferLater(self._clock, min(RETRY_SECONDS, self._deadline - now), lambda: None)
        try:
            await self._pause
        except CancelledError:
            pass  # it is closed
        self._pause = None
        return True

    def _send_again(self) -> None:
        """Sends what bookies of the ensemble failed to them once more: they may be back, with all they had."""
        self._failed = self._useless = _NONE
        failed = self._failed_bookies()
        self._resend([(position, member, member) for position, member in enumerate(self.ensemble) if member in failed])

    def _failed_bookies(self) -> Collection[str]:
        """The bookies that failed an entry that has not completed."""
        return {bookie_id for batch in self.batches for bookie_id in batch.failed_bookies(self)}

    def _resend(self, changes: Sequence[tuple[int, str, str]]) -> None:
        """Sends what has not completed to other bookies, or once more to the same.

        :param changes: position in the ensemble, old bookie, new bookie.
        """
        for batch in list(self.batches):
            if self.failure is None:
                batch.replace(self, changes)

    def _take_failed(self, tried: set[tuple[int, str]]) -> dict[int, str]:
        """Positions and bookies to be replaced in the next round."""
        failed = {**self._failed, **self.failed_late}
        self._failed = self.failed_late = _NONE
        return {n: member for n, member in enumerate(self.ensemble) if member in failed and (n, member) not in tried}

    def _change_start(self) -> int:
        """The first entry the new ensemble keeps; the same when the change applies, as nothing completes."""
        return self.completed + 1

    def _adopt(self, ensemble: Sequence[str]) -> None:
        """Makes an ensemble the current one of all that has not completed, and sends that to its new bookies."""
        before, self.ensemble = self.ensemble, _shared(tuple(ensemble))
        changes = [(n, *pair) for n, pair in enumerate(zip(before, ensemble, strict=True)) if pair[0] != pair[1]]
        self._warned = {bookie_id: error for bookie_id, error in self._warned.items() if bookie_id in ensemble}
        self._staying = {bookie_id: until for bookie_id, until in self._staying.items() if bookie_id in ensemble}
        self._log.debug("entries from {first} on go to {ensemble}", first=self._change_start(), ensemble=ensemble)
        self._resend(changes)

    def _out_of_reach(self, shortage: NotEnoughBookiesError | None) -> Exception | None:
        """Return why an entry can have no ack quorum although the change is over: bookies that failed it stay.

        :param shortage: why they were not replaced.
        """
        for batch in self.batches:
            entry_id = batch.unreachable(self)
            if entry_id is not None:
                missed = NotEnoughBookiesError(f"entry {entry_id} cannot reach its ack quorum")
                return self._explained(shortage or missed, self._failed_bookies())
        return None

    def _end_change(self, error: Exception | None) -> None:
        """Nothing is changed any more: completes what waited for this, or ends after it."""
        if not self._deaf:
            self._changing = False
            self._hold(False)
            self.advance()
            if error is not None:
                self.stop(error)

    def _change_failed(self, failure: Failure) -> None:
        error = failure.value
        if isinstance(error, BookKeeperError):
            self.stop(error)
        else:
            self._log.failure("an ensemble change failed", failure=failure)
            self.stop(WriteError(f"an ensemble change failed: {error!r}"))

    # ---- the end -------------------------------------------------------------------------------------

    def _oldest(self) -> float | None:
        """Return when the first entry was sent that has not completed."""
        return next((time for each, time in self._times.items() if each.has_open(self)), None)

    def _timed_out(self) -> None:
        entry_id = self.completed + 1
        self.stop(AddEntryQuorumTimeoutError(f"entry {entry_id} had no ack quorum in {self._rules.quorum_timeout} s"))

    def stop(self, error: Exception) -> None:
        """End the writer for good: open entries fail with ``error``, and nothing completes after this."""
        if self._deaf:
            return
        self.failure = error
        self.close()
        batches, self.batches = self.batches, []
        waiters = [waiter for batch in batches for waiter in batch.abandon(self)]
        self.in_flight = 0
        self._ended(error, waiters)

    def close(self) -> None:
        """Ignores answers from now on; nothing more will be sent."""
        self._deaf = self.held = True
        if self._pause is not None:
            self._pause.cancel()
        if self._timeout is not None:
            self._timeout.stop()

"""Brings runs of entries to their write quorums, and completes them in id order.

The core of every writer.  All runs that are not completed are of the same ensemble, the current one: a
change of bookies is adopted for all of them in one step, and the acks of a bookie that was replaced are
taken back.  While a change is under way nothing completes (S16): entries that have their ack quorum then
wait, and complete, or are sent again, once the change is known to be in force.

What a failed bookie leads to is up to an :class:`~bookkeeper_twisted.client.interfaces.IEnsembleChange`.  If it cannot
help, the writer ends: what was completed before it is told first, then nothing ever completes again.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import (
    AddEntryQuorumTimeoutError,
    BookKeeperError,
    ClientClosedError,
    IllegalOperationError,
    LedgerFencedError,
    NotEnoughBookiesError,
    UnauthorizedAccessError,
    WriteError,
    WriteOnReadOnlyBookieError,
)
from ...ledger.schedule import Schedule
from ..interfaces import IBookieClient, IEnsembleChange
from .pending_run import PendingRun
from .quorum_timeout import QuorumTimeout

_FATAL = (LedgerFencedError, UnauthorizedAccessError, IllegalOperationError, ClientClosedError)
"""Answers that end a writer: another bookie would say the same, or ought to."""


@attrs.frozen
class AddRules:
    """What one writer does about adds that fail, or take long.

    :ivar delay_change: replace bookies only where entries cannot reach their ack quorum without.
    :ivar quorum_timeout: seconds until the ack quorum of an entry, None to wait for ever.
    """

    delay_change: bool = False
    quorum_timeout: float | None = None


@attrs.frozen(eq=False)
class Member:
    """A bookie's time at one position of the ensemble; if it comes back, that is another member."""

    position: int
    bookie_id: str


@lru_cache(maxsize=1024)
def _first_members(schedule: Schedule, ensemble: tuple[str, ...]) -> tuple[Member, ...]:
    """Those that a writer begins with.  Writers of the same schedule and ensemble share them: a member stands for a
    time only among those of one writer, and who comes later is never one of these."""
    return tuple(Member(*item) for item in enumerate(ensemble))


class Asked:
    """A run at one member: what takes the answers of its bookie."""

    __slots__ = ("_writer", "_pending", "_member")

    def __init__(self, writer: "QuorumWriter", pending: PendingRun, member: Member) -> None:
        self._writer = writer
        self._pending = pending
        self._member = member

    def __call__(self, bookie_id: str, first: int, count: int, error: Exception | None) -> None:
        self._writer.answered(self._pending, self._member, first, count, error)


class QuorumWriter:
    """Sends sealed runs with ascending, gapless ids.

    :ivar completed: the last entry that has its ack quorum as all before it have.
    :ivar length: of the ledger up to that entry.
    :ivar in_flight: bytes of the runs that are not completed.
    :ivar failure: why it ended, None while it lives.
    :ivar schedule: which member keeps which entry.
    :ivar members: who gets entries now.
    :ivar pending: the runs that are not completed.
    :ivar mixed: the mixed run that has the only entry on its way; None if there is no such entry.
    :ivar troubled: whether some bookie is not well, or entries have to be watched: they need runs of their own then.
    """

    _log = Logger()

    __slots__ = (
        "mixed", "in_flight", "troubled", "completed", "length", "members", "pending", "failure", "schedule", "_deaf",
        "_clock", "_bookies", "_striped", "_changes", "_rules", "_advanced", "_ended", "_changing", "_failed",
        "_failed_late", "_useless", "_warned", "_timeout",
    )  # fmt: skip

    def __init__(
        self, clock: IReactorTime, bookies: IBookieClient, schedule: Schedule, ensemble: Iterable[str],
        changes: IEnsembleChange, rules: AddRules, advanced: Callable[[], None], ended: Callable[[Exception], None],
        completed: int = -1, length: int = 0,
    ) -> None:  # fmt: skip
        """
        :param advanced: called when :attr:`completed` has grown.
        :param ended: called once, when :attr:`failure` is set.
        :param completed: the entry before the first that will be sent.
        :param length: of the ledger up to that entry.
        """
        self.completed = completed
        self.length = length
        self.in_flight = 0
        self.failure: Exception | None = None
        self.mixed: object | None = None
        self._deaf = False
        self._clock = clock
        self._bookies = bookies
        self.schedule = schedule
        self._striped = schedule.striped
        self.members = _first_members(schedule, tuple(ensemble))
        self._changes = changes
        self._rules = rules
        self._advanced = advanced
        self._ended = ended
        self.pending: list[PendingRun] = []  # smaller than a deque for all the writers that are idle
        self._changing = False
        self._failed: dict[Member, None] = {}
        self._failed_late: dict[Member, None] = {}
        self._useless: dict[str, None] = {}  # failed since an entry completed: not to be chosen again and again
        self._warned: dict[str, None] = {}
        self._timeout: QuorumTimeout | None = None
        self.troubled = rules.quorum_timeout is not None
        if rules.quorum_timeout is not None:
            self._timeout = QuorumTimeout(clock, rules.quorum_timeout, self._oldest, self._timed_out)

    @property
    def idle(self) -> bool:
        """Whether everything sent is completed."""
        return not self.pending and self.mixed is None

    @property
    def ensemble(self) -> tuple[str, ...]:
        """The bookies that get entries now."""
        return tuple(member.bookie_id for member in self.members)

    # ---- sending -------------------------------------------------------------------------------------

    def send(self, pending: PendingRun) -> None:
        """Sends a run; it completes after all that were sent before."""
        if self._failed_late:
            self._replace(())
        if self.failure is not None:
            return
        self.pending.append(pending)
        self.in_flight += pending.size
        if self._timeout is not None:
            pending.sent_at = self._timeout.start()
        self._send_to(self.members, pending, pending.first)

    def resume(self, pending: PendingRun) -> None:
        """The entry that was part of a mixed run is a run of its own, which was sent."""
        self.pending.append(pending)
        self.in_flight += pending.size

    def _send_to(self, members: Sequence[Member], pending: PendingRun, first: int) -> None:
        """Sends the entries from ``first`` on to members that keep them; always the same bytes."""
        last = pending.last
        if self._striped:  # cut before anything is sent: an answer might complete the run, and its memory serve again
            stretches = self.schedule.stretches
            cut = [(m, pending.adds(*part)) for m in members for part in stretches(m.position, first, last)]
        else:
            adds = pending.adds(first, last - first + 1)
            cut = [(member, adds) for member in members]
        for member, adds in cut:
            # an answer within the call before may have ended this or replaced it, and its successor got the run
            if self.failure is None and self._is_member(member):
                self._bookies.add(member.bookie_id, adds, Asked(self, pending, member))

    # ---- answers -------------------------------------------------------------------------------------

    def answered(
        self, pending: PendingRun, member: Member, first: int, count: int, error: Exception | None
    ) -> None:  # fmt: skip
        """What became of entries of a run at a member."""
        if self._deaf or not self._is_member(member):
            return
        if error is None:
            pending.acks.add(member.position, first, count)
            if self._warned:
                self._warned.pop(member.bookie_id, None)
        elif isinstance(error, _FATAL):
            self.stop(error)
            return
        else:
            self._bookie_failed(pending, member, first, count, error)
        if self.pending and self.pending[0] is pending:
            self._advance()

    def failed_late(self, member: Member, entry_id: int, error: Exception) -> None:
        """A member failed an entry of a mixed run that is completed."""
        if self._deaf or not self._is_member(member):
            return
        if isinstance(error, _FATAL):
            self.stop(error)
            return
        self._warn(member.bookie_id, entry_id, error)
        self._replace_later(member)

    def _replace_later(self, member: Member) -> None:
        """The member is to be replaced when there is something to send."""
        if not self._rules.delay_change:
            self._failed_late[member] = None

    def _is_member(self, member: Member) -> bool:
        """Whether answers of a member count: those of a bookie that was replaced never do (S16)."""
        return self.members[member.position] is member

    def _bookie_failed(self, pending: PendingRun, member: Member, first: int, count: int, error: Exception) -> None:
        self._warn(member.bookie_id, first, error)
        pending.error = error
        pending.acks.fail(member.position, first, count)
        if pending.acks.has_quorum(first, count):
            self._replace_later(member)
        elif self._calls_for_change(pending, error):
            self._replace([self.members[position] for position in pending.acks.failed_positions])

    def _calls_for_change(self, pending: PendingRun, error: Exception) -> bool:
        """Whether a failure is a reason to replace bookies now."""
        return (
            not self._rules.delay_change
            or isinstance(error, WriteOnReadOnlyBookieError)
            or pending.acks.first_unreachable is not None
        )

    def _warn(self, bookie_id: str, entry_id: int, error: Exception) -> None:
        self.troubled = True
        if bookie_id not in self._warned:  # once for each bookie until it takes entries again
            self._warned[bookie_id] = None
            self._log.warn(
                "{bookie_id} does not take entry {entry_id}: {error}",
                bookie_id=bookie_id, entry_id=entry_id, error=error,
            )  # fmt: skip

    # ---- completing ----------------------------------------------------------------------------------

    def _may_complete(self) -> bool:
        """Not while an ensemble change is under way (S16)."""
        return not self._changing

    def _advance(self) -> None:
        """Completes what is acknowledged without a gap (S13)."""
        if not self._may_complete():
            return
        before = self.completed
        while self.pending:
            head = self.pending[0]
            acked = head.acks.acked
            if acked:
                self.completed = head.first + acked - 1
                self.length = head.length_with(acked)
            if acked == head.count:
                del self.pending[0]
                self.in_flight -= head.size
            head.complete(acked)
            if acked < head.count:
                break
        if self.completed != before:
            if self.troubled:
                self._useless.clear()
                self.troubled = bool(self._failed_late or self._warned or self._timeout)
            self._advanced()

    # ---- ensemble changes ----------------------------------------------------------------------------

    def _replace(self, failed: Iterable[Member]) -> None:
        """Replaces members, and those that failed late; now, or with the next round of a change under way."""
        self._failed.update(dict.fromkeys(failed))
        if not self._changing:
            self._changing = True
            change = Deferred.fromCoroutine(self._change())
            change.addErrback(self._change_failed)

    async def _change(self) -> None:
        tried: dict[Member, None] = {}
        try:
            while failed := self._take_failed(tried):
                tried.update(dict.fromkeys(failed))
                self._useless.update(dict.fromkeys([member.bookie_id for member in failed]))
                ensemble = await self._changes.replace(
                    {member.position: member.bookie_id for member in failed},
                    self._change_start(),
                    list(self._useless),
                )
                if self._deaf:
                    return
                self._adopt(ensemble)
        except NotEnoughBookiesError as error:
            self._end_change(error)
        else:
            self._end_change(self._out_of_reach())

    def _take_failed(self, tried: dict[Member, None]) -> list[Member]:
        """Members to be replaced in the next round."""
        failed = {**self._failed, **self._failed_late}
        self._failed.clear()
        self._failed_late.clear()
        return [member for member in failed if self._is_member(member) and member not in tried]

    def _change_start(self) -> int:
        """The first entry the new ensemble keeps; the same when the change applies, as nothing completes."""
        return self.completed + 1

    def _adopt(self, ensemble: tuple[str, ...]) -> None:
        """Makes an ensemble the current one of all that is not completed, and sends it to the new members."""
        before = self.members
        self._warned = {bookie_id: None for bookie_id in self._warned if bookie_id in ensemble}
        self.members = tuple(
            member if member.bookie_id == bookie_id else Member(member.position, bookie_id)
            for member, bookie_id in zip(before, ensemble, strict=True)
        )
        new = [member for member, old in zip(self.members, before, strict=True) if member is not old]
        self._log.info("entries from {first} on go to {ensemble}", first=self._change_start(), ensemble=ensemble)
        for pending in list(self.pending):
            first = max(pending.first, self._change_start())
            self._take_back_acks(pending, new, first)
            if self.failure is None:
                self._send_to(new, pending, first)

    def _take_back_acks(self, pending: PendingRun, new: Iterable[Member], first: int) -> None:
        """What a replaced bookie holds does not count from the first entry of the new ensemble on (S16)."""
        for member in new:
            pending.acks.forget(member.position, first)

    def _out_of_reach(self) -> Exception | None:
        """Why some entry can have no ack quorum although the change is over: nobody replaced who failed it."""
        for pending in self.pending:
            index = pending.acks.first_unreachable
            if index is not None:
                entry_id = pending.first + index
                return NotEnoughBookiesError(f"entry {entry_id} cannot reach its ack quorum: {pending.error}")
        return None

    def _end_change(self, error: Exception | None) -> None:
        """Nothing is changed any more: completes what waited for this, or ends after it."""
        if not self._deaf:
            self._changing = False
            self._advance()
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
        """When the first run was sent that is still incomplete."""
        return self.pending[0].sent_at if self.pending else None

    def _timed_out(self) -> None:
        entry_id = self.completed + 1
        self.stop(AddEntryQuorumTimeoutError(f"entry {entry_id} had no ack quorum in {self._rules.quorum_timeout} s"))

    def stop(self, error: Exception) -> None:
        """Ends it for good; nothing completes after this."""
        if self._deaf:
            return
        self.failure = error
        self.pending.clear()
        self.in_flight = 0
        self.close()
        self._ended(error)

    def close(self) -> None:
        """Hears no more answers; nothing more will be sent."""
        self._deaf = True
        if self._timeout is not None:
            self._timeout.stop()

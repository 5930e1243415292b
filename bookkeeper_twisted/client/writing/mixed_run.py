"""Appends of one reactor turn to many ledgers, one entry of each, that share their way to the bookies.

Theory of operation.  Where thousands of ledgers are written, a ledger has one entry in a turn as a rule, and what a
run costs is paid for every entry.  So the append of a writer that waits for nothing joins a *mixed run*: its entries
are sealed together (:mod:`.mixed_frames`), sent in one piece to each bookie, and counted and completed together.
There is no object for an entry but the Deferred of its caller.

This is for the good case alone.  Whatever is not "enough bookies have it" - an error, another append to the same
ledger before it completed, the end of the writer - makes the entry a run of its own (:mod:`.pending_run`), with the
acknowledgements it has, and the writer goes on as with any other run.  It is sealed again then, into the same bytes:
LAC and length of a writer stay as they are while its only entry is on its way.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from ...codec.digest import Digester
from ..interfaces import IBookieClient
from .mixed_frames import MixedFrames, seal_mixed
from .pending_run import PendingRun
from .quorum_writer import Member, QuorumWriter
from .turn_end import TurnEnd

MAX_ENTRIES = 500
MAX_BYTES = 64 << 10
"""What a mixed run has at most: a turn of a flow (:mod:`~bookkeeper_twisted.protocol.client.write_queue`)."""

MIN_ENTRIES = 2
"""Fewer are no mixed run."""


class MixedWriter(Protocol):
    """Whose entry it is."""

    ledger_id: int
    quorum: QuorumWriter

    def leave_mixed(self) -> None:
        """Makes the entry a run of its own, of the writer."""

    def send_alone(self) -> None:
        """The same of an entry that was not sent; sends it."""

    @staticmethod
    def complete_mixed(
        writers: Sequence[Any], entry_ids: Sequence[int], lengths: Sequence[int], waiters: "list[Deferred[int]]"
    ) -> None:
        """The entries of some writers have their ack quorums: completes them, then tells the waiters.

        :param lengths: of the ledgers, with these entries.
        """


class MixedWay(Protocol):
    """What the mixed runs of some writers have in common.

    :ivar bookies: the flow that they are sent over.
    """

    digester: Digester
    bookies: IBookieClient
    turn_end: TurnEnd

    def ended(self, run: "MixedRun") -> None:
        """Nothing joins a run any more."""

    def in_flight(self, size: int) -> None:
        """So many bytes more are on their way, or fewer."""


_COLUMNS = 5
_NEVER = 1 << 30


class MixedRun:
    """One mixed run.  Entries have places in it.

    :ivar sent: whether it was; before that entries can join.
    """

    __slots__ = (
        "sent", "_mixing", "_size", "_joined", "_writers", "_payloads", "_waiters", "_entry_ids", "_lengths",
        "_members", "_missing", "_acked", "_alone", "_open",
    )  # fmt: skip

    def __init__(self, mixing: MixedWay) -> None:
        self.sent = False
        self._mixing = mixing
        self._size = 0
        self._joined: list[Any] = []  # of each: writer, entry id, length, payload, waiter
        self._writers: list[MixedWriter] = []
        self._payloads: list[bytes] = []
        self._waiters: list[Deferred[int] | None] = []  # None: told, or the entry was taken out
        self._entry_ids: list[int] = []
        self._lengths: list[int] = []
        self._members: Sequence[tuple[Member, ...]] = ()
        self._missing: list[int] = []  # acknowledgements
        self._acked: dict[str, list[Sequence[int]]] = {}
        self._alone: dict[int, PendingRun] = {}
        self._open = 0

    # ---- entries come and go -------------------------------------------------------------------------

    def join(
        self, writer: MixedWriter, entry_id: int, length: int, payload: bytes, waiter: "Deferred[int]"
    ) -> None:  # fmt: skip
        """Takes the entry of a writer that has no other one.

        :param length: of the ledger with it.
        """
        joined = self._joined
        joined += (writer, entry_id, length, payload, waiter)
        self._size = size = self._size + len(payload)
        if size >= MAX_BYTES or len(joined) == _COLUMNS * MAX_ENTRIES:
            self._mixing.ended(self)

    def take_out(self, writer: MixedWriter) -> tuple[int, bytes, "Deferred[int]"]:
        """The entry of a writer is none of this run any more: its place, payload and waiter."""
        if not self.sent:
            at = self._joined.index(writer) if self._joined[-_COLUMNS] is not writer else len(self._joined) - _COLUMNS
            payload, waiter = self._joined[at + 3 : at + _COLUMNS]
            self._joined[at : at + _COLUMNS] = ()
            return at // _COLUMNS, payload, waiter
        place = self._writers.index(writer)
        payload, waiter = self._payloads[place], self._waiters[place]
        assert waiter is not None
        self._waiters[place], self._missing[place] = None, _NEVER
        self._closed(1)
        return place, payload, waiter

    def stands_alone(self, place: int, pending: PendingRun) -> None:
        """The entry that was taken out after it was sent is this run now."""
        self._alone[place] = pending
        for member in self._members[place]:
            if any(place in places for places in self._acked.get(member.bookie_id, ())):
                pending.acks.add(member.position, pending.first, 1)

    # ---- sending -------------------------------------------------------------------------------------

    def send(self) -> None:
        """Sends what has joined; what cannot be sent together is sent alone."""
        self._mixing.ended(self)
        while len(self._joined) >= _COLUMNS * MIN_ENTRIES:
            frames = self._seal()
            asked = self._asked(frames)
            refused = [places for bookie_id, (places, adds) in asked.items() if not self._can_add(bookie_id, adds)]
            if not refused:
                self._send(asked, len(frames.frames))
                return
            self._send_alone([self._writers[place] for place in sorted(set[int]().union(*refused))])
        self._send_alone(self._joined[::_COLUMNS])

    def _send_alone(self, writers: Sequence[MixedWriter]) -> None:
        for writer in writers:
            if writer.quorum.mixed is self:
                self._mixing.turn_end.now(writer.send_alone)

    def _seal(self) -> MixedFrames:
        self._writers, self._entry_ids, self._lengths, self._payloads, self._waiters = (
            self._joined[column::_COLUMNS] for column in range(_COLUMNS)
        )
        ledger_ids = [writer.ledger_id for writer in self._writers]
        confirmed = [entry_id - 1 for entry_id in self._entry_ids]  # its writer had nothing else on its way
        return seal_mixed(self._mixing.digester, ledger_ids, self._entry_ids, confirmed, self._lengths, self._payloads)

    def _can_add(self, bookie_id: str, adds: MixedFrames) -> bool:
        return self._mixing.bookies.can_add_mixed(bookie_id, adds)

    def _send(self, asked: "Asked", size: int) -> None:
        self._open, self._size, self._joined, self.sent = len(self._writers), size, [], True
        self._mixing.in_flight(size)
        for bookie_id, (places, adds) in asked.items():
            self._mixing.bookies.add_mixed(bookie_id, adds, Answers(self, places))

    def _asked(self, frames: MixedFrames) -> "Asked":
        """What each bookie gets: places, and the adds there."""
        first, count = self._writers[0].quorum, len(self._writers)
        self._members = members = [writer.quorum.members for writer in self._writers]
        if not first.schedule.striped and members.count(first.members) == count:  # schedules are the same, too
            self._members, self._missing = (first.members,) * count, [first.schedule.ack_quorum] * count
            return {member.bookie_id: (range(count), frames) for member in first.members}
        self._missing = [writer.quorum.schedule.ack_quorum for writer in self._writers]
        places: dict[str, list[int]] = {}
        for place, (writer, entry_id) in enumerate(zip(self._writers, self._entry_ids, strict=True)):
            for position in writer.quorum.schedule.write_set(entry_id):
                places.setdefault(writer.quorum.members[position].bookie_id, []).append(place)
        return {bookie_id: (some, frames.some(some)) for bookie_id, some in places.items()}

    # ---- answers -------------------------------------------------------------------------------------

    def acknowledged(self, bookie_id: str, places: Sequence[int]) -> None:
        """A bookie has the entries at some places."""
        self._acked.setdefault(bookie_id, []).append(places)
        completed = self._count(places)
        if completed:
            self._complete(completed)
        if self._alone:
            self._pass_on(bookie_id, [place for place in places if place in self._alone], None)

    def _count(self, places: Sequence[int]) -> Sequence[int]:
        """Counts acknowledgements.

        :returns: the places that have all they need by that.
        """
        missing, completed = self._missing, list[int]()
        for place in places:
            missing[place] = left = missing[place] - 1
            if not left:
                completed.append(place)
        return completed

    def _complete(self, places: Sequence[int]) -> None:
        columns: tuple[list[Any], ...] = (self._writers, self._entry_ids, self._lengths, self._waiters)
        if len(places) == len(self._writers):
            self._waiters = [None] * len(places)
        else:
            columns = tuple([[items[place] for place in places] for items in columns])
            for place in places:
                self._waiters[place] = None
        self._closed(len(places))
        columns[0][0].complete_mixed(*columns)

    def failed(self, bookie_id: str, places: Sequence[int], error: Exception) -> None:
        """A bookie failed the entries at some places."""
        for place in places:
            writer = self._writers[place]
            if self._waiters[place] is not None:
                writer.leave_mixed()
            if place in self._alone:
                self._pass_on(bookie_id, (place,), error)
            else:
                writer.quorum.failed_late(self._member(place, bookie_id), self._entry_ids[place], error)

    def _pass_on(self, bookie_id: str, places: Sequence[int], error: Exception | None) -> None:
        for place in places:
            quorum, member = self._writers[place].quorum, self._member(place, bookie_id)
            quorum.answered(self._alone[place], member, self._entry_ids[place], 1, error)

    def _member(self, place: int, bookie_id: str) -> Member:
        return next(member for member in self._members[place] if member.bookie_id == bookie_id)

    def _closed(self, count: int) -> None:
        """So many entries are on their way no more, or have a run of their own."""
        if count:
            self._open -= count
            if not self._open:
                self._payloads, self._lengths = [], []  # bookies that are slow to answer hold the rest
                self._mixing.in_flight(-self._size)


Asked = dict[str, tuple[Sequence[int], MixedFrames]]


class Answers:
    """Some entries of a mixed run at a bookie: what takes its answers."""

    __slots__ = ("_run", "_places")

    def __init__(self, run: MixedRun, places: Sequence[int]) -> None:
        self._run = run
        self._places = places

    def __call__(self, bookie_id: str, places: Sequence[int], error: Exception | None) -> None:
        if not isinstance(self._places, range):
            places = [self._places[place] for place in places]
        if error is None:
            self._run.acknowledged(bookie_id, places)
        else:
            self._run.failed(bookie_id, places, error)

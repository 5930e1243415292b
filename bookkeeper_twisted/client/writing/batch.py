"""A batch: what one turn of the reactor appends, to one ledger or to thousands, on its way to bookies.

Theory of operation.  Appends *join* the open batch of their batcher (:mod:`.batchers`).  At the end of the turn the
batch is sealed a column at a time (:mod:`~bookkeeper_twisted.codec.adds`) and each bookie gets the entries that it is
to keep in one piece.  An entry has a *place* in its batch; acknowledgements are counted by sets of places
(:mod:`~bookkeeper_twisted.ledger.tally`), and there is no object for an entry but the Deferred of its caller.

A batch completes the entries that are next in their ledgers.  Failures are the business of the writers of the
entries (:mod:`.quorum_writer`); the batch keeps the sealed frames until all of its entries have ended, so that
another bookie gets the same bytes (S14).
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ...codec.adds import FRAME_OVERHEAD, Adds, mix_headers, seal_adds
from ...codec.digest import Digester, pack_headers
from ...ledger.tally import AckTally, items_at, leading, places_of, set_of
from ..interfaces import IBookieClient
from .budget import ByteBudget
from .lac_notices import LacNotices, NoticedWriter

COLUMNS = 5
"""Of what has joined: writer, entry id, length of the ledger with the entry, payload, waiter."""

Waiter = Deferred[int] | None
"""Gets the entry id."""

_HEADER = struct.Struct(">qqqq")


@attrs.frozen(eq=False)
class BatchSettings:
    """The settings that all writers of a batch share.

    :ivar bookies: the flow that batches are sent over.
    :ivar budget: bytes that all writers of the client may have in flight.
    :ivar notices: of the last add confirmed, are told which writers send.
    :ivar flags: of the adds on the wire.
    :ivar deferred_sync: whether bookies acknowledge before they sync.
    :ivar watches_time: whether entries have a time limit for their ack quorum.
    """

    clock: IReactorTime
    bookies: IBookieClient
    budget: ByteBudget
    notices: LacNotices
    digester: Digester
    write_quorum: int
    ack_quorum: int
    flags: int = 0
    deferred_sync: bool = False
    watches_time: bool = False


class BatchWriter(NoticedWriter, Protocol):
    """The writer of one ledger, as its batches see it (:class:`~.quorum_writer.QuorumWriter`).

    :ivar completed: the last entry that has its ack quorum as all before it have.
    :ivar length: of the ledger up to that entry.
    :ivar confirmed: the last add confirmed.
    :ivar confirms: whether an entry that completes is confirmed by that.
    :ivar in_flight: bytes of the frames of entries that have joined a batch and not ended.
    :ivar batches: batches with entries in flight, in order.
    :ivar ensemble: the current ensemble.
    :ivar held: whether nothing may complete: an ensemble change is under way (S16), or the writer has ended.
    :ivar ahead: whether entries are acknowledged before their turn.
    :ivar alert: whether :meth:`advanced` is to be called when an entry completes.
    :ivar failed_late: bookies of the ensemble that failed entries after these had their ack quorum.
    :ivar failure: why the writer ended, None while it lives.
    """

    striped: bool
    completed: int
    length: int
    confirms: bool
    batches: "list[Batch]"
    held: bool
    ahead: bool
    alert: bool
    failed_late: dict[str, None]
    failure: Exception | None

    def advance(self) -> None:
        """Completes what is acknowledged without a gap."""

    def advanced(self) -> None:
        """Entries have completed."""

    def failed(self, batch: "Batch", bookie_id: str, places: int, error: Exception) -> None:
        """Handle that ``bookie_id`` failed the writer's entries at ``places`` of a ``batch`` with an ``error``."""

    def replace_late(self) -> None:
        """Replaces the bookies that failed late: another entry is to be sent."""

    def watch_time(self, batch: "Batch") -> None:
        """Watch how long the writer's entries of ``batch`` are in flight."""


class BatchRequest:
    """Some entries of a batch at one bookie: takes its answers.

    :ivar number: of the request in its batch, by which answers are counted.
    :ivar places: of the entries in the batch.
    :ivar bits: the set of these places.
    """

    __slots__ = ("number", "bookie_id", "places", "bits", "_batch")

    def __init__(self, batch: "Batch", number: int, bookie_id: str, places: Sequence[int], bits: int) -> None:
        self.number = number
        self.bookie_id = bookie_id
        self.places = places
        self.bits = bits
        self._batch = batch

    def __call__(self, bookie_id: str, places: Sequence[int], error: Exception | None) -> None:
        kept = self.places
        bits = self.bits if len(places) == len(kept) else set_of(items_at(kept, places))
        if error is None:
            self._batch.acknowledged(self, bits)
        else:
            self._batch.failed(self, bits, error)


class Batch:
    """The appends of one turn, on their way to bookies.

    :ivar joined: what has joined, see :data:`COLUMNS`; empty once it is sent.
    :ivar size: bytes of the frames.
    :ivar sent: whether it was handed to connections.
    :ivar left: entries that have not ended.
    :ivar error: the last failure of a bookie.
    """

    __slots__ = (
        "joined", "size", "sent", "left", "error", "_settings", "_only", "_writers", "_entry_ids", "_lengths",
        "_waiters", "_adds", "_tally", "_requests", "_next", "_ended",
    )  # fmt: skip

    def __init__(self, settings: BatchSettings) -> None:
        self.joined: list[Any] = []
        self.size = 0
        self.sent = False
        self.left = 0
        self.error: Exception | None = None
        self._settings = settings
        self._only: BatchWriter | None = None  # the writer of all entries, where there are several
        self._adds: Adds | None = None
        self._requests: list[BatchRequest] = []
        self._next = 0  # where all are of one writer: the place of the first that has not completed
        self._ended = 0  # else: the places of entries that have ended

    # ---- joining -------------------------------------------------------------------------------------

    def fill(self, writer: BatchWriter, adds: Adds, lengths: Sequence[int], waiter: Waiter) -> None:
        """Takes entries of one writer that are sealed already; nothing else joins.

        :param lengths: of the ledger with each of them.
        :param waiter: of the last one.
        """
        count = len(adds)
        self._adds = adds
        self.size = adds.offsets[count]
        self.joined = _rows(writer, adds.entry_ids, lengths, [b""] * count, waiter)

    def join_many(
        self, writer: BatchWriter, first: int, lengths: Sequence[int], payloads: Sequence[bytes], waiter: Waiter
    ) -> None:  # fmt: skip
        """Takes entries of one writer with consecutive ids.

        :param waiter: of the last one.
        """
        self.joined += _rows(writer, range(first, first + len(payloads)), lengths, payloads, waiter)

    def drop(self, writer: BatchWriter) -> list[Waiter]:
        """Takes out what a writer has joined.

        :returns: the waiters, in order.
        """
        joined, waiters, kept, size = self.joined, list[Waiter](), list[Any](), 0
        overhead = FRAME_OVERHEAD + self._settings.digester.size
        for at in range(0, len(joined), COLUMNS):
            row = joined[at : at + COLUMNS]
            if row[0] is writer:
                waiters.append(row[-1])
                size += overhead + len(row[3])
            else:
                kept += row
        self.joined = kept
        size = size if self._adds is None else self.size
        self.size -= size
        self._settings.budget.changed(-size)
        return waiters

    # ---- sending -------------------------------------------------------------------------------------

    def send(self) -> None:
        """Seals what has joined and hands it to the connections."""
        for writer in self.joined[::COLUMNS]:
            if writer.failed_late:
                writer.replace_late()
        if not self.joined:
            return
        joined, settings = self.joined, self._settings
        writers, self._entry_ids, self._lengths, payloads, self._waiters = (
            joined[::COLUMNS], joined[1::COLUMNS], joined[2::COLUMNS], joined[3::COLUMNS], joined[4::COLUMNS]
        )  # fmt: skip
        self._writers, self.joined, self.sent = writers, [], True
        self.left = count = len(writers)
        first = writers[0]
        if count > 1 and writers.count(first) == count:
            self._only = first
        if self._adds is None:
            self._adds = self._seal(payloads)
        self._tally = AckTally(settings.write_quorum, settings.ack_quorum)
        if settings.watches_time:
            for writer in dict.fromkeys(writers):
                writer.watch_time(self)
        settings.notices.sent(writers if self._only is None else (first,))
        self._send_to_bookies(self._adds)

    def _seal(self, payloads: Sequence[bytes]) -> Adds:
        settings, first, entry_ids, lengths = self._settings, self._writers[0], self._entry_ids, self._lengths
        digester, traits = settings.digester, (settings.flags, settings.deferred_sync)
        ids: Sequence[int]
        if len(payloads) == 1:
            ledger_ids: Sequence[int] = (first.ledger_id,)
            header = _HEADER.pack(first.ledger_id, entry_ids[0], first.confirmed, lengths[0])
            return seal_adds(digester, ledger_ids, entry_ids, header, payloads, *traits)
        if self._only is not None:
            ledger_ids, ids = (first.ledger_id,) * len(payloads), range(entry_ids[0], entry_ids[-1] + 1)
            sizes = list(map(len, payloads))
            header = pack_headers(first.ledger_id, ids[0], first.confirmed, lengths[0] - sizes[0], sizes)
        else:
            ledger_ids, ids = tuple([writer.ledger_id for writer in self._writers]), tuple(entry_ids)
            header = mix_headers(ledger_ids, ids, [writer.confirmed for writer in self._writers], lengths)
        return seal_adds(digester, ledger_ids, ids, header, payloads, *traits)

    def _send_to_bookies(self, adds: Adds) -> None:
        """Send each bookie what it is to keep; a bookie that answers within the call finds all requests made."""
        writers, first = self._writers, self._writers[0]
        places, ensemble = range(len(writers)), first.ensemble
        bits = (1 << len(writers)) - 1
        if first.striped or not (
            len(writers) == 1 or self._only is not None or [w.ensemble for w in writers].count(ensemble) == len(writers)
        ):
            requests = [
                BatchRequest(self, number, bookie_id, some, set_of(some))
                for number, (bookie_id, some) in enumerate(self._places_by_bookie().items())
            ]
        else:
            requests = [BatchRequest(self, n, bookie_id, places, bits) for n, bookie_id in enumerate(ensemble)]
        self._requests, tally, bookies = requests, self._tally, self._settings.bookies
        fresh = not self._settings.flags  # what a recovery sends, a writer of this client may have sent before
        for request in requests[:]:  # a bookie that is replaced meanwhile adds more of them
            if tally.replaced is None or not tally.is_replaced(request.number, request.bits):
                some = adds if request.bits == bits else adds.some(request.places)
                bookies.add(request.bookie_id, some, request, fresh)

    def _places_by_bookie(self) -> Mapping[str, Sequence[int]]:
        """The places of the entries that each bookie is to keep."""
        places: dict[str, list[int]] = {}
        for place, (writer, entry_id) in enumerate(zip(self._writers, self._entry_ids, strict=True)):
            kept: Sequence[str] = writer.ensemble
            if writer.striped:
                kept = [kept[position] for position in writer.schedule.write_set(entry_id)]
            for bookie_id in kept:
                places.setdefault(bookie_id, []).append(place)
        return places

    # ---- answers -------------------------------------------------------------------------------------

    def acknowledged(self, request: BatchRequest, places: int) -> None:
        """Count the acknowledgements of a ``request`` for a set of ``places``, and complete entries."""
        reached = self._tally.acknowledge(request.number, places)
        if reached:
            only = self._only
            if only is not None:
                only.advance()
                if self._tally.reached >> self._next:  # not in their turn
                    only.ahead = only.alert = True
            else:
                self._complete(request.places if reached == request.bits else places_of(reached))

    def failed(self, request: BatchRequest, places: int, error: Exception) -> None:
        """Count the failures of a ``request`` for a set of ``places``, and pass the ``error`` to the writers."""
        places = self._tally.fail(request.number, places)
        if not places:
            return
        self.error = error
        if self._only is not None:
            self._only.failed(self, request.bookie_id, places, error)
            return
        by_writer: dict[BatchWriter, int] = {}
        for place in places_of(places):
            writer = self._writers[place]
            by_writer[writer] = by_writer.get(writer, 0) | 1 << place
        for writer, some in by_writer.items():
            writer.failed(self, request.bookie_id, some, error)

    # ---- completing ----------------------------------------------------------------------------------

    def _complete(self, places: Sequence[int]) -> None:
        """Completes the entries at some places that are next in their ledgers; the others wait for theirs (S13)."""
        adds, late, alerted = self._adds, set[int](), list[BatchWriter]()
        if adds is None:
            return  # all have ended
        columns = items_at(self._writers, places), items_at(self._entry_ids, places), items_at(self._lengths, places)
        for place, writer, entry_id, length, size in zip(places, *columns, adds.sizes(places), strict=True):
            if writer.held or writer.completed + 1 != entry_id:
                writer.ahead = writer.alert = True
                late.add(place)
                continue
            writer.completed = entry_id
            writer.length = length
            if writer.confirms:
                writer.confirmed = entry_id
            writer.in_flight = in_flight = writer.in_flight - size
            if not in_flight:
                writer.batches.clear()
            if writer.alert:
                alerted.append(writer)
        if late:
            places = [place for place in places if place not in late]
        if places:
            call_back(items_at(self._entry_ids, places), self._take_waiters(places))
            for writer in alerted:
                writer.advanced()

    def _take_waiters(self, places: Sequence[int]) -> list[Waiter]:
        """The waiters of entries that end now, the first one last."""
        waiters = self._waiters
        if len(places) == len(waiters):
            self._waiters = []
            waiters.reverse()
        else:
            self._ended |= set_of(places)
            taken = list(items_at(waiters, places))
            taken.reverse()
            for place in places:
                waiters[place] = None
            waiters = taken
        self._end(len(places))
        return waiters

    def _end(self, count: int) -> None:
        """So many entries have ended."""
        self.left -= count
        if not self.left:
            self._adds, self._requests = None, []  # bookies that are slow to answer hold the rest
            self._settings.budget.changed(-self.size)

    def complete(self, writer: BatchWriter) -> tuple[Sequence[int], list[Waiter]]:
        """Completes the entries of a writer that are acknowledged and next in its ledger.

        :returns: their ids, and the waiters, the first one last.
        """
        if self._adds is None or not self.sent:
            return (), []
        places = self._acked_next(writer)
        if not places:
            return (), []
        first, last, offsets = places[0], places[-1], self._adds.offsets
        writer.completed = self._entry_ids[last]
        writer.length = self._lengths[last]
        if self._only is not None:
            self._next = last + 1
            writer.in_flight -= offsets[last + 1] - offsets[first]
            waiters = self._waiters[first : last + 1]
            waiters.reverse()
            self._end(len(places))
            return self._entry_ids[first : last + 1], waiters
        writer.in_flight -= sum(self._adds.sizes(places))
        return [self._entry_ids[place] for place in places], self._take_waiters(places)

    def _acked_next(self, writer: BatchWriter) -> Sequence[int]:
        """The places of a writer's entries that are acknowledged, from its first one on that has not ended."""
        acked = self._tally.reached
        if self._only is not None:
            return range(self._next, self._next + leading(acked, self._next))
        places = list[int]()
        for place in self.open_places(writer):
            if not acked >> place & 1:
                break
            places.append(place)
        return places

    # ---- what a writer asks --------------------------------------------------------------------------

    def open_places(self, writer: BatchWriter) -> Sequence[int]:
        """Return the places of a ``writer``'s entries that have not ended, in ascending order."""
        if self._only is not None:
            return range(self._next, len(self._writers))
        ended = self._ended
        return [place for place, each in enumerate(self._writers) if each is writer and not ended >> place & 1]

    def has_open(self, writer: BatchWriter) -> bool:
        """Test whether some entry of a ``writer`` has not ended."""
        return bool(self.left) and bool(self.open_places(writer))

    def lacks_quorum(self, places: int) -> bool:
        """Test whether an entry of this set of ``places`` lacks its ack quorum."""
        return bool(places & ~self._tally.reached)

    def unreachable(self, writer: BatchWriter) -> int | None:
        """Return the first entry id of a ``writer`` for which too few bookies did not fail, None if there is none."""
        lost = self._tally.unreachable if self.sent else 0
        return next((self._entry_ids[p] for p in self.open_places(writer) if lost >> p & 1), None) if lost else None

    def failed_bookies(self, writer: BatchWriter) -> set[str]:
        """Return the ids of the bookies that failed an open entry of a ``writer``."""
        open_places = self.open_places(writer) if self.sent else ()
        places = set_of(open_places) if open_places else 0
        return {request.bookie_id for request in self._requests if self._tally.failed(request.number, places)}

    def replace(self, writer: BatchWriter, changes: Iterable[tuple[int, str, str]]) -> None:
        """Sends the entries of a writer that have not ended to other bookies; what the replaced ones acknowledge, or
        have acknowledged, does not count (S16).

        :param changes: position in the ensemble, old bookie, new bookie.
        """
        if not self.sent or self._adds is None:
            return
        adds, new = self._adds, list[BatchRequest]()
        for position, old, bookie_id in changes:
            kept = self._kept_at(writer, position)
            if not kept:
                continue
            self._take_back(old, set_of(kept))
            number = len(self._requests) + len(new)
            new.append(BatchRequest(self, number, bookie_id, kept, set_of(kept)))
        self._requests += new
        for request in new:
            if writer.failure is None and not self._tally.is_replaced(request.number, request.bits):
                self._settings.bookies.add(request.bookie_id, adds.some(request.places), request, False)

    def _kept_at(self, writer: BatchWriter, position: int) -> Sequence[int]:
        """The places of a writer's entries that have not ended and are kept at a position."""
        places = self.open_places(writer)
        if not writer.striped:
            return places
        return [p for p in places if position in writer.schedule.write_set(self._entry_ids[p])]

    def _take_back(self, bookie_id: str, places: int) -> None:
        for request in self._requests:
            if request.bookie_id == bookie_id:
                self._tally.replace(request.number, places)

    def abandon(self, writer: BatchWriter) -> list[Waiter]:
        """Ends all entries of a writer.

        :returns: their waiters, in order.
        """
        if not self.sent:
            return self.drop(writer)
        places = self.open_places(writer) if self.left else ()
        if not places:
            return []
        if self._only is not None:
            self._end(len(places))
            return self._waiters[self._next :]
        waiters = self._take_waiters(places)
        waiters.reverse()
        return waiters


def call_back(entry_ids: Sequence[int], waiters: list[Waiter]) -> None:
    """Invokes the callbacks of completed entries.

    :param waiters: the first one last; emptied, so that what a callback appends takes the place of its own in memory.
    """
    if (last := waiters[0]) and waiters.count(None) == len(waiters) - 1:  # those of one ``append_many``
        del waiters[:]
        last.callback(entry_ids[-1])
        return
    for entry_id in entry_ids:
        waiter = waiters.pop()
        if waiter is not None:
            waiter.callback(entry_id)


def _rows(
    writer: BatchWriter, entry_ids: Sequence[int], lengths: Sequence[int], payloads: Sequence[bytes], waiter: Waiter
) -> list[Any]:
    rows: list[Any] = [writer, 0, 0, b"", None] * len(entry_ids)
    rows[1::COLUMNS] = entry_ids
    rows[2::COLUMNS] = lengths
    rows[3::COLUMNS] = payloads
    rows[-1] = waiter
    return rows

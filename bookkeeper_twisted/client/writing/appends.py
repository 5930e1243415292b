"""Appends: gives entries their ids, and adds them to a batch that is sent at the end of this turn of the reactor.

The bytes in flight are limited for each writer, and by a budget for all writers of a client together.  While a limit is
reached, entries wait in the writer, in order, until bookies have acknowledged earlier entries.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail

from ...arguments import as_bytes, refusal
from ...codec.adds import Adds
from ...errors import IncorrectParameterError
from ...model import INVALID_ENTRY_ID
from ..traces import APPEND, AppendTraces
from .batch import COLUMNS, Batch, BatchSettings, Waiter
from .quorum_writer import QuorumWriter

MAX_ENTRIES = 1000
MAX_BYTES = 256 << 10
"""Maximum number of bytes of a batch, unless a single entry is larger; larger batches would not be faster."""

FULL = COLUMNS * MAX_ENTRIES
"""Length of the list :attr:`.Batch.joined` of a full batch; the list has :data:`COLUMNS` items for each entry."""


@attrs.define
class ByteBudget:
    """A limit on the number of bytes that all writers of a client together have in flight.

    :ivar limit: maximum number of bytes.  A writer without an entry in flight may exceed it by one entry, so that no
        writer waits for ever.
    :ivar used: bytes in flight.
    """

    limit: int
    used: int = 0
    _waiting: dict[Callable[[], None], None] = attrs.field(factory=dict)

    def room(self, resume: Callable[[], None]) -> int:
        """Return the number of bytes left in the budget; 0 or less if the budget is used up.

        :param resume: if no bytes are left now, this function is called once when bytes are left again.  Several calls
            with the same function register it only once.
        """
        left = self.limit - self.used
        if left <= 0:
            self._waiting[resume] = None
        return left

    def give_back(self, size: int) -> None:
        """Subtract ``size`` from the bytes in flight, because entries have completed or failed; wake waiting writers.
        """
        self.used -= size
        if size and self._waiting and self.used < self.limit:
            waiting, self._waiting = self._waiting, {}
            for resume in waiting:  # writers resume in the order in which they ran out of room
                resume()


class Source:
    """Counts the bytes that one ledger has added to batches so far.

    :ivar joined_bytes: total size in bytes of the add requests of all entries that were added; it never decreases.
    """

    __slots__ = ("joined_bytes",)

    def __init__(self) -> None:
        self.joined_bytes = 0


class Gatherer:
    """The entries that writers append in one turn of the reactor, collected in one or more batches.

    :ivar overhead: size of an add request in bytes without the payload.
    :ivar open: the batch to which the next entry is added if it fits; None if the next entry begins another batch.
    :ivar size: total size in bytes of the add requests in the newest batch.
    """

    __slots__ = ("overhead", "open", "size", "_batches", "_budget", "_settings")

    def __init__(self, settings: BatchSettings[QuorumWriter], budget: ByteBudget) -> None:
        self.overhead = settings.overhead
        self.open: Batch[QuorumWriter] | None = None
        self.size = 0
        self._batches: list[Batch[QuorumWriter]] = []
        self._budget = budget
        self._settings = settings

    def begin(self) -> Batch[QuorumWriter]:
        """Begin another batch; the next entries are added to it."""
        if not self._batches:
            self._turn_begins()
        self.open = batch = Batch(self._settings)
        self.size = 0
        self._batches.append(batch)
        return batch

    def _turn_begins(self) -> None:
        """Prepare for the first batch of a reactor turn; subclasses override this method."""

    def _take(self) -> list[Batch[QuorumWriter]]:
        """Remove all batches of this reactor turn and return them; the caller sends them."""
        batches, self._batches, self.open = self._batches, [], None
        return batches

    def join_many(
        self, writer: QuorumWriter, first: int, length: int, payloads: Sequence[bytes], waiter: Waiter
    ) -> None:  # fmt: skip
        """Add entries of a ``writer`` with consecutive ids to the batches of this reactor turn.

        :param first: id of the first entry.
        :param length: length of the ledger in bytes before the first entry.
        :param payloads: the payload of each entry, at least one.
        :param waiter: a Deferred that fires once the last entry has completed; None if nobody waits.
        """
        sizes, total, done = list(map(len, payloads)), len(payloads), 0
        overhead = self.overhead
        lengths = list(accumulate(sizes, initial=length))[1:]
        ids = range(first, first + total)
        batch = self.open or self.begin()
        size = lengths[-1] - length + total * overhead
        if self.size + size <= MAX_BYTES and len(batch.joined) + total * COLUMNS <= FULL:
            batch.join_many(writer, ids, lengths, payloads, waiter)
            self._joined(writer, batch, size)
            return
        ends = list(accumulate([size + overhead for size in sizes], initial=0))
        while done < total:
            batch = self.open or self.begin()
            fitting = bisect_right(ends, ends[done] + MAX_BYTES - self.size) - 1
            end = min(max(fitting, done + (not self.size)), done + MAX_ENTRIES - len(batch.joined) // COLUMNS)
            if end > done:
                last = waiter if end == total else None
                batch.join_many(writer, ids[done:end], lengths[done:end], payloads[done:end], last)
                self._joined(writer, batch, ends[end] - ends[done])
                done = end
            if done < total:
                self.open = None

    def cut(self) -> None:
        """Let the next entry begin another batch.

        All ledger lengths in a batch must follow from each other: the length in an entry's header is the length in the
        header before it plus the size of the entry's payload.  Call this method if the next entry breaks this rule.
        """
        self.open = None

    def put(self, writer: QuorumWriter, adds: Adds, lengths: Sequence[int], waiter: Waiter) -> None:
        """Add a batch of entries whose headers and digests are computed already; it is sent after the earlier batches.

        :param writer: the writer of all these entries.
        :param adds: the add requests of these entries.
        :param lengths: for each entry, the length of the ledger in bytes up to and including this entry.
        :param waiter: a Deferred that fires once the last entry has completed; None if nobody waits.
        """
        batch, self.open = self.begin(), None
        batch.fill(writer, adds, lengths, waiter)
        self._joined(writer, batch, adds.offsets[-1])

    def _joined(self, writer: QuorumWriter, batch: Batch[QuorumWriter], size: int) -> None:
        self.size += size
        self._budget.used += size
        writer.source.joined_bytes += size
        if not writer.batches or writer.batches[-1] is not batch:
            writer.follow(batch)


@attrs.define(eq=False)
class _HeldBack:
    """Entries of one writer that have their ids, but wait to be sent because too many bytes are in flight.

    :ivar first: id of the first entry.
    :ivar length: length of the ledger in bytes before the first entry.
    :ivar payloads: the payload of each entry.
    :ivar waiter: a Deferred that fires once the last entry has completed; None if nobody waits.
    """

    first: int
    length: int
    payloads: Sequence[bytes]
    waiter: Waiter


class AppendingWriter(Source):
    """The base class of writers that gives entries their ids, and delays them while too many bytes are in flight.

    :ivar last_add_pushed: the id of the last accepted entry, -1 if there is none.  If the caller chooses the ids,
        entries that wait for a missing id do not count.
    :ivar length: total size in bytes of all payloads up to :attr:`last_add_pushed`; after the close, up to the last
        confirmed entry.
    """

    last_add_pushed: int
    length: int

    __slots__ = (
        "_quorum", "_batcher", "last_add_pushed", "length", "_largest", "_held_size", "_held", "_max_in_flight",
        "_overhead", "_budget", "_most_held", "_traces",
    )  # fmt: skip
    # The slots are in the order in which an append uses them, so that it touches few cache lines.

    def __init__(
        self, largest: int, max_in_flight: int, overhead: int, budget: ByteBudget, traces: AppendTraces | None
    ) -> None:
        """
        :param largest: maximum number of bytes of a payload that the writer accepts.
        :param max_in_flight: maximum number of bytes of add requests in flight.  Appends are refused while
            more than twice as many bytes are in flight or wait to be sent.
        :param overhead: size of an add request in bytes without the payload.
        :param traces: the traces of the client's appends; None if it has no tracer.
        """
        super().__init__()
        self._quorum: QuorumWriter  # the subclass BaseWriter makes this object and the batcher
        self._batcher: Gatherer
        self.last_add_pushed = INVALID_ENTRY_ID
        self.length = 0
        self._largest = largest
        self._max_in_flight = max_in_flight
        self._most_held = 2 * max_in_flight
        self._held: list[_HeldBack] = []
        self._held_size = 0  # size in bytes of the add requests of the waiting entries
        self._overhead = overhead
        self._budget = budget
        self._traces = traces

    def _refused(self, size: int) -> "Deferred[Any]":
        """Return the failed result of an append of ``size`` bytes that is refused."""
        error = self._refusal(size)
        if self._traces is not None:
            self._traces.refused(self._quorum.ledger_id, error)
        return fail(error)

    def _refusal(self, size: int) -> Exception:
        """Return the error with which an append of ``size`` bytes is refused now."""
        raise NotImplementedError

    def _push(self, payload: bytes, waiter: Waiter) -> None:
        """Make an entry with the next id, and add it to the batch of this reactor turn.

        If earlier entries wait to be sent, or too many bytes are in flight, the entry waits instead.

        :param waiter: a Deferred that fires with the entry id once the entry is acknowledged; None if nobody waits.
        """
        quorum, budget, size = self._quorum, self._budget, len(payload)
        frame = size + self._overhead
        self.last_add_pushed = entry_id = self.last_add_pushed + 1
        self.length = length = self.length + size
        if self._held or (
            (in_flight := self.joined_bytes - quorum.ended_bytes)
            and (in_flight >= self._max_in_flight or budget.used >= budget.limit)
        ):
            self._hold(_HeldBack(entry_id, length - size, (payload,), waiter), frame)
            return
        # the rest of this method is join_many() for one entry, inlined to save a call
        batcher = self._batcher
        batch = batcher.open or batcher.begin()
        joined = batch.joined
        joined += (quorum, entry_id, length, payload, waiter)
        budget.used += frame
        self.joined_bytes += frame
        batches = quorum.batches
        if not batches:
            batches.append(batch)
        elif batches[-1] is not batch:
            quorum.follow(batch)
        batcher.size = batch_size = batcher.size + frame
        if batch_size >= MAX_BYTES or len(joined) >= FULL:
            batcher.open = None

    def _push_many(self, payloads: Sequence[bytes], size: int, waiter: Waiter) -> None:
        """Make entries with the next ids, and add them to the batch of this reactor turn.

        If earlier entries wait to be sent, or too many bytes are in flight, the new entries wait instead.

        :param size: total size of all payloads in bytes.
        :param waiter: a Deferred that fires with the last of these ids once all entries are acknowledged; None if
            nobody waits.
        """
        quorum, budget, first, length = self._quorum, self._budget, self.last_add_pushed + 1, self.length
        self.last_add_pushed += len(payloads)
        self.length += size
        size += len(payloads) * self._overhead
        if self._held or quorum.in_flight + size > self._max_in_flight or budget.used + size > budget.limit:
            self._hold(_HeldBack(first, length, payloads, waiter), size)
        else:
            self._batcher.join_many(quorum, first, length, payloads, waiter)

    def _hold(self, held: _HeldBack, size: int) -> None:
        """Append entries to the queue of waiting entries; then move entries from its front to the batch.

        As many entries are moved as the limits on bytes in flight allow.

        :param held: the entries to append.
        :param size: total size in bytes of the add requests of these entries.
        """
        self._held.append(held)
        self._held_size += size
        self._resume()

    def _resume(self) -> None:
        """Add waiting entries to the batch, in order, as many as the limits on bytes in flight allow."""
        held = self._held
        while held and (room := self._room()) is not None:
            head, payloads = held[0], held[0].payloads
            overhead = self._overhead
            # Look only at as many payloads as could fit if all were empty: each takes at least ``overhead`` bytes.
            some = payloads[: max(room // overhead, 1)]
            ends = list(accumulate([len(payload) + overhead for payload in some], initial=0))
            count = max(bisect_right(ends, room) - 1, 1)
            self._held_size -= ends[count]
            if count == len(payloads):
                del held[0]
                self._batcher.join_many(self._quorum, head.first, head.length, payloads, head.waiter)
            else:
                self._batcher.join_many(self._quorum, head.first, head.length, payloads[:count], None)
                head.first, head.length = head.first + count, head.length + ends[count] - count * overhead
                head.payloads = payloads[count:]
        if held:
            self._quorum.watch()

    def _room(self) -> int | None:
        """Return how many bytes may be sent before a limit is reached.

        :returns: None if a limit is reached, so that no entry may be sent.  But if this writer has no entry in flight,
            0 or less instead of None; then exactly one entry may be sent, so that no writer waits for ever.
        """
        room = min(self._max_in_flight - self._quorum.in_flight, self._budget.room(self._resume))
        return room if room > 0 or self._quorum.idle else None

    def _take_held(self) -> list[Waiter]:
        """Remove the entries that wait to be sent, because they will not be sent; return their Deferreds in order."""
        held, self._held, self._held_size = self._held, [], 0
        return [each.waiter for each in held]


class InOrderWriter(AppendingWriter):
    """A writer whose entries get their ids in the order of the calls."""

    __slots__ = ()

    def append(self, data: bytes | bytearray | memoryview) -> "Deferred[int]":
        """Append one entry.

        :param data: bytes, a bytearray or a memoryview; the caller may change it after this call.
        :returns: the id of the entry, once this entry and all entries before it have their ack quorum.  The bookies
            then have the entries on disk; with deferred sync, perhaps only in memory.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the data are not bytes, or too large for an entry.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: the appends that are not acknowledged yet have too many
            bytes.
        :raises bookkeeper_twisted.errors.LedgerClosedError: the writer is closed.
        :raises bookkeeper_twisted.errors.LedgerFencedError: another client has opened the ledger with recovery.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie can replace a failed bookie.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries, for another reason.
        """
        if type(data) is not bytes:
            try:
                data = as_bytes("data", data)
            except IncorrectParameterError as error:
                return fail(error)
        size = len(data)
        if size > self._largest or self.joined_bytes - self._quorum.ended_bytes + self._held_size > self._most_held:
            return self._refused(size)
        waiter: Deferred[int] = Deferred()
        if self._traces is not None:  # same as AppendTraces.begin(), inlined because a call costs more
            tracer = self._traces.tracer
            is_turn = tracer.turn()
            if (is_turn or tracer.caller()) and (begun := self._traces.decide(APPEND, is_turn)) is not None:
                self._traces.follow(begun, self._quorum.ledger_id, self.last_add_pushed + 1, 1, waiter)
        self._push(data, waiter)
        return waiter

    def append_many(self, payloads: Sequence[bytes | bytearray | memoryview]) -> "Deferred[tuple[int, int]]":
        """Append entries with consecutive ids: all of them, or none if one of them is refused.

        This is many times faster than appending them one by one.

        :param payloads: the payload of each entry, at least one; the caller may change them after this call.
        :returns: the first and the last id, once all entries have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: there is no payload, a payload is not bytes, or a
            payload is too large.
        :raises bookkeeper_twisted.errors.BookKeeperError: any of the other errors of :meth:`append`.
        """
        try:
            entries = _all_bytes(payloads)
        except IncorrectParameterError as error:
            return fail(error)
        sizes = list(map(len, entries))
        largest = max(sizes)
        if largest > self._largest or self.joined_bytes - self._quorum.ended_bytes + self._held_size > self._most_held:
            return self._refused(largest)
        first, waiter, traces = self.last_add_pushed + 1, Deferred[int](), self._traces
        if traces is not None and (begun := traces.begin(APPEND)) is not None:
            count = len(entries)
            traces.follow(begun, self._quorum.ledger_id, first + count - 1, count, waiter)
        self._push_many(entries, sum(sizes), waiter)
        return waiter.addCallback(lambda last: (first, last))


def _all_bytes(payloads: Iterable[object]) -> list[bytes]:
    """Return payloads as bytes.

    :raises IncorrectParameterError: there is no payload, or one is not made of bytes.
    """
    if isinstance(payloads, bytes | bytearray | memoryview | str) or not isinstance(payloads, Iterable):
        raise refusal("payloads", payloads, "a sequence of bytes")
    entries: list[Any] = list(payloads)
    if not entries:
        raise IncorrectParameterError("payloads: an empty sequence was given, at least one entry is wanted")
    if set(map(type, entries)) != {bytes}:
        return [as_bytes(f"payloads[{index}]", entry) for index, entry in enumerate(entries)]
    return entries

"""The outstanding requests of one connection, their bytes, and the flows that sent them.

A flow is the requests of one ledger handle; a connection has many flows.  Adds are stored in the order in which they
were sent, because a bookie with one journal acknowledges them in this order.  Reads are stored by key, other requests
by number.  Only this module changes the number of unacknowledged bytes, and the number of requests for which a flow
waits.

A V2 reply has no request number; it has a ledger id and an entry id.  These two are the key of an add or a read.  A key
is *in use* while its request is outstanding.  If the request is given up (because it timed out, was cancelled, or its
flow left the connection), its key stays in use until the late reply arrives: otherwise this reply could be matched with
a newer request.  The connection refuses a request whose key is in use; the client then sends it in a protocol with
request numbers.

A *fresh* add sends its entry for the first time.  Two fresh adds never have the same key.  So while all outstanding
adds are fresh, a new fresh add is sent without the test whether its key is in use.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter, ne
from typing import Any

from twisted.internet.defer import Deferred

from ...codec.adds import Adds
from ...codec.runs import AddReplies, ReadReply
from .request_ids import CONNECTION_FLOW, FLOW_SHIFT, FlowIds, RequestIds
from .sent_adds import AddsDone, AddsPart, Answered, EntrySet, Key, NamedEntries, SentAdds
from .sent_reads import NUMBERED, ReadsById, SentCall, SentReads

SentRequest = Answered | SentReads | SentCall
EndedRequest = AddsPart | SentReads | SentCall
"""A request that has ended without a reply."""

_LEDGER_ID, _ENTRY_ID = itemgetter(1), itemgetter(2)
"""Functions that return a field of a ReadReply in half the time that access to the attribute takes."""


class SendingFlow:
    """The outstanding requests of one ledger handle (a flow) on one connection.

    :ivar waiting: number of entries and requests that wait for replies.
    :ivar expected_replies: number of replies with request numbers that can still arrive for this flow, including late
        replies to requests that were given up.
    :ivar closed: whether the ledger handle has left the connection, so that no request waits for the late replies.
    :ivar quiet: called when an add was answered and no request of the flow is outstanding any more; set by a ledger
        handle that waits for this moment to leave the connection.
    """

    __slots__ = ("ids", "waiting", "expected_replies", "closed", "quiet")

    def __init__(self, ids: RequestIds) -> None:
        self.ids = ids
        self.waiting = 0
        self.expected_replies = 0
        self.closed = False
        self.quiet: Callable[[], None] | None = None


class InFlight:
    """The outstanding requests of a connection, and the flows (ledger handles) that sent them.

    :ivar own: allocates the numbers of requests that the connection itself makes.
    :ivar unacknowledged: total size in bytes of the outstanding requests; 0 if no request is outstanding.
    :ivar abandoned: number of adds and reads that were given up, but whose keys (ledger and entry) must not be used
        again yet, because a late reply may come.
    """

    def __init__(self, numbered: bool, flow_ids: FlowIds) -> None:
        """:param numbered: whether the protocol numbers its requests.  If not, replies to adds and reads are matched by
            ledger and entry.
        :param flow_ids: allocates the ids of the client's flows (ledger handles); a request number begins with the id
            of its flow.  While a flow uses the connection, or a reply to it may still arrive, no other flow gets its
            id.
        """
        self.own = RequestIds(CONNECTION_FLOW)
        self.unacknowledged = 0
        self.abandoned = 0
        self._by_key = not numbered
        self._flow_ids = flow_ids
        self._flows: dict[int, SendingFlow] = {CONNECTION_FLOW: SendingFlow(self.own)}
        self._n_sent = 0
        self._adds: deque[SentAdds] = deque()
        # In a protocol without request numbers, the entries of those outstanding adds that are not fresh.
        self._resent = EntrySet()
        self._n_resent = 0  # number of SentAdds whose entries are in _resent
        self._reads = ReadsById()
        self._calls: dict[int, SentCall] = {}
        self._emptied: Callable[[], object] | None = None

    def __bool__(self) -> bool:
        return self.unacknowledged > 0

    def when_empty(self, emptied: Callable[[], object]) -> None:
        """Register a callback for the moment when no request is outstanding.

        :param emptied: called once, before the callbacks of the last request.
        """
        self._emptied = emptied

    def _release(self, *ended: SentRequest) -> None:
        for sent in ended:
            sent.flow.waiting -= sent.count
            self.unacknowledged -= sent.size
        if self._emptied is not None:
            self._call_if_empty()

    def _call_if_empty(self) -> None:
        if self._emptied is not None and not self.unacknowledged:
            emptied, self._emptied = self._emptied, None
            emptied()

    def is_pending(self, first: int, count: int) -> bool:
        """Test whether a reply to one of ``count`` requests, with ids from ``first`` on, is still expected."""
        ids = range(first, first + count)
        if self._reads.are_in_use(NUMBERED, ids) or not self._calls.keys().isdisjoint(ids):
            return True
        keys: set[Key] = set(ids)
        return not self._by_key and any(sent.holds(keys) for sent in self._adds)

    # ---- adds ------------------------------------------------------------------------------------------

    def are_in_use(self, adds: Adds, fresh: bool) -> bool:
        """Test whether replies to ``adds`` could be mistaken for replies to other requests.

        :param fresh: whether the entries are sent for the first time, so that no earlier add of them can be answered.
        :returns: always False if the protocol numbers its requests.
        """
        if not self._adds or (fresh and not self._n_resent) or not self._by_key:
            return False
        if self._resent.have_any(adds.ledger_ids, adds.entry_ids):
            return True
        if fresh or self._n_resent == len(self._adds):
            return False
        keys = set(zip(adds.ledger_ids, adds.entry_ids, strict=True))
        return any(sent.holds(keys) for sent in self._adds if not sent.again)

    def add(
        self, ids: RequestIds, adds: Adds, size: int, replies: bytes, numbers: range | None, deadline: float,
        done: AddsDone, fresh: bool,
    ) -> bool:  # fmt: skip
        """Record adds that are about to be sent; refuse them if their replies could be mistaken for other replies.

        They are refused in a protocol without request numbers (V2), if another add of the same entry is outstanding, or
        was given up but may still be answered.

        :param ids: allocates the request numbers of the ledger handle that sends the adds.
        :param size: total size in bytes of their frames.
        :param replies: the bytes of the replies if all adds succeed; empty if they are not known in advance.
        :param numbers: the request numbers of the adds, one for each; None in a protocol without request numbers.
        :param done: the callback for the outcomes of the adds.
        :param fresh: whether the entries are sent for the first time.
        :returns: whether the adds were recorded; if not, they must not be sent on this connection.
        :raises ValueError: another ledger handle uses the same range of request numbers.
        """
        if (self._n_resent or not fresh) and self.are_in_use(adds, fresh):
            return False
        ledger_ids, entry_ids, count = adds.ledger_ids, adds.entry_ids, len(adds.entry_ids)
        flow = self._count(ids, count, size, 0 if self._by_key else count)
        again = self._by_key and not fresh
        sent = SentAdds(
            flow, self._n_sent, deadline, size, count, range(count), ledger_ids, entry_ids, replies, numbers, again,
            done,
        )  # fmt: skip
        self._adds.append(sent)
        if again:
            self._n_resent += 1
            self._resent.put(ledger_ids, entry_ids)
        return True

    def confirmed(self, data: bytes, at: int) -> tuple[Answered | None, int]:
        """Compare the received bytes with the replies of the oldest adds in case of success; if equal, remove the adds.

        This is faster than to decode the replies.

        :param data: the received bytes.
        :param at: offset of a reply in ``data``.
        :returns: the acknowledged adds, or None if they were given up; and the offset of the first byte after their
            replies.  If the bytes differ, the offset is ``at``, and the bytes must be decoded.
        """
        if not self._adds:
            return None, at
        sent = self._adds[0]
        if sent.n_answered or sent.done is None or not data.startswith(sent.replies, at):
            return self._confirmed_in_part(data, at)
        self._adds.popleft()  # the usual case: all adds of the oldest SentAdds are acknowledged
        if sent.again:
            self._n_resent -= 1
            self._resent.remove(*sent.ids_at(sent.indexes))
        sent.flow.waiting -= sent.count
        self.unacknowledged -= sent.size
        if self._emptied is not None:
            self._call_if_empty()
        return sent, at + len(sent.replies)

    def _confirmed_in_part(self, data: bytes, at: int) -> tuple[Answered | None, int]:
        first = self._adds[0]
        if len(data) - at >= len(first.replies) // first.count:
            for sent in self._adds:
                indexes = sent.confirmed(data, at)
                if indexes:
                    part = self._answered(sent, indexes)
                    return part, at + len(indexes) * len(sent.replies) // sent.count
        return None, at

    def answered_adds(self, keys: Sequence[Key], replies: AddReplies | None = None) -> Iterator[AddsPart]:
        """Remove and yield the adds that decoded replies answer.

        :param keys: keys of the replies, in the order of arrival; unknown keys are ignored.
        :param replies: in a protocol with request numbers, the decoded replies, whose ids are compared with the adds;
            None in other protocols.
        :returns: an :class:`.AddsPart` for each call of :meth:`add` with answered adds, with these adds.  Its
            ``is_mistaken`` is True if a reply has another ledger or entry id than the add with its request number.
        """
        named = None if replies is None else NamedEntries(replies)
        for sent in list(self._adds):
            if keys and sent in self._adds:  # the code that uses the yielded value may have removed these adds
                indexes, keys = sent.take(keys)
                if indexes:
                    is_mistaken = named is not None and not named.are_those(sent, indexes)
                    part = self._answered(sent, indexes, is_mistaken)
                    if part is not None:
                        yield part

    def _answered(self, sent: SentAdds, indexes: Sequence[int], is_mistaken: bool = False) -> AddsPart | None:
        """Record that some of the adds in ``sent`` are answered, so that their keys (ledger and entry) are free again.

        :param indexes: the indexes of the answered adds in ``sent``.
        :param is_mistaken: whether a reply has another ledger or entry id than the add with its request number.
        :returns: the answered adds; None if they had been given up (by a timeout, for example).
        """
        if not sent.left:
            self._adds.remove(sent)
            self._n_resent -= sent.again
        if sent.again:
            self._resent.remove(*sent.ids_at(indexes))
        if sent.done is None:
            self.abandoned -= len(indexes)
            return None
        part = sent.part(indexes, is_mistaken)
        self._release(part)
        return part

    # ---- reads and other calls -------------------------------------------------------------------------

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Test whether replies to some reads can be distinguished from replies to other outstanding requests.

        :param entry_ids: entries of ``ledger_id``, -1 for the last one; the result is False if an id occurs twice.
        """
        return not (self._by_key and self._reads.are_in_use(ledger_id, entry_ids))

    def read(
        self, ids: RequestIds, scope: int | None, read_ids: Sequence[int], size: int, deadline: float,
        deferred: "Deferred[list[ReadReply]]", entries: tuple[int, Sequence[int]] | None = None,
    ) -> SentReads:  # fmt: skip
        """Record reads that are about to be sent.

        :param ids: allocates the request numbers of the ledger handle that sends the reads.
        :param scope: NUMBERED if the reads have request numbers (V3); the id of their ledger if they have none (V2).
        :param read_ids: the request number of each read; its entry id if the reads have no request numbers.  No
            outstanding read with the same ``scope`` may have one of these ids (:meth:`can_read`).
        :param size: total size in bytes of their frames.
        :param deferred: fires with the replies to the reads.
        :param entries: ledger id and entry ids of reads with request numbers; else None.
        :raises ValueError: another ledger handle uses the same range of request numbers.
        """
        flow = self._count(ids, len(read_ids), size, 0 if self._by_key else len(read_ids))
        reads = SentReads(flow, self._n_sent, deadline, size, scope, read_ids, deferred, entries)
        self._reads.put(reads)
        return reads

    def call(
        self, ids: RequestIds, number: int, size: int, deadline: float, ledger_id: int, entry_id: int, expected: type,
        result: Callable[[Any], Any], deferred: "Deferred[Any]", what: str = "a request", patience: float = 0.0,
    ) -> None:  # fmt: skip
        """Record a request, neither an add nor a read, that is about to be sent.

        :param ids: allocates the request numbers of the ledger handle that sends it.
        :param number: its request number, by which the reply is matched.
        :param size: size in bytes of its frame.
        :param ledger_id, entry_id, expected, result, deferred, what, patience: the fields of :class:`.SentCall`.
        :raises ValueError: another ledger handle uses the same range of request numbers.
        """
        flow = self._count(ids, 1, size, 1)
        self._calls[number] = SentCall(
            flow, self._n_sent, deadline, size, ledger_id, entry_id, expected, result, deferred, what, patience
        )  # fmt: skip

    def _count(self, ids: RequestIds, count: int, size: int, expected_replies: int) -> SendingFlow:
        flow = self._flows.get(ids.flow_id)
        if flow is None or flow.ids is not ids:
            flow = self._join(ids)
        self._n_sent += 1
        flow.waiting += count
        flow.expected_replies += expected_replies
        self.unacknowledged += size
        return flow

    def answered_read(self, number: int, reply: ReadReply) -> SentReads | None:
        """Store the ``reply`` to the read with the request ``number``.

        When all reads that were sent together with it are answered, remove them.

        :returns: the removed reads; None if replies are missing, or if the read was given up.
        """
        return self._file(NUMBERED, (number,), (reply,), 0)[1]

    def answered_reads(self, replies: Sequence[ReadReply]) -> Iterator[SentReads]:
        """Store ``replies`` to reads without request numbers.

        When all reads that were sent together are answered, remove and yield them.  Each reply is stored only when the
        iteration reaches it.  So if the iteration is stopped early, the remaining replies are not stored.
        """
        ledger_ids, entry_ids = list(map(_LEDGER_ID, replies)), list(map(_ENTRY_ID, replies))
        changes = [i for i, differs in enumerate(map(ne, ledger_ids, ledger_ids[1:]), 1) if differs]
        for start, end in pairwise((0, *changes, len(replies))):
            at, of_ledger, ids = 0, replies[start:end], entry_ids[start:end]
            while at < len(ids):
                n, reads = self._file(ledger_ids[start], ids, of_ledger, at)
                at += n
                if reads is not None:
                    yield reads

    def _file(
        self, scope: int | None, ids: Sequence[int], replies: Sequence[ReadReply], at: int
    ) -> tuple[int, SentReads | None]:
        """Store the reply with index ``at``, and the replies after it, as long as their reads were sent together.

        :param scope: NUMBERED if replies have request numbers; otherwise the ledger id of the replies.
        :param ids: the request number of each reply; its entry id if replies have no request numbers.
        :returns: the number of stored or dropped replies; and the reads that were sent together, if all of them are
            answered now, else None.
        """
        reads, is_in_use = self._reads.find(scope, ids[at])
        if reads is None:
            if is_in_use:
                self._reads.remove(scope, (ids[at],))
                self.abandoned -= self._by_key
            return 1, None
        answered = ids[at : at + reads.n_missing]
        n = self._reads.of(reads, answered) if len(answered) > 1 else 1
        answered = answered[:n]
        self._reads.remove(scope, answered)
        reads.file(answered, replies[at : at + n])
        if reads.n_missing:
            return n, None
        self._release(reads)
        return n, reads

    def take_call(self, number: int) -> SentCall | None:
        """Remove and return the request ``number``, which is neither an add nor a read; None if it does not exist.

        If it was not answered, its late reply will be dropped.
        """
        call = self._calls.pop(number, None)
        if call is not None:
            self._release(call)
        return call

    def give_up(self, reads: SentReads) -> None:
        """Remove ``reads`` that are not completely answered.

        In a protocol without request numbers, no other read of the unanswered entries may be sent until their late
        replies arrive: such a reply would be taken for the reply to the other read.
        """
        missing = self._reads.give_up(reads, self._by_key)
        if missing:
            self.abandoned += missing * self._by_key
            self._release(reads)

    # ---- requests that end without a reply -------------------------------------------------------------

    def expire(self, now: float) -> Sequence[EndedRequest]:
        """Remove the requests whose deadlines have passed.

        :param now: the time in seconds, of the same clock as the deadlines.
        :returns: these requests, in the order in which they were made.
        """
        return self._end(lambda sent: sent.deadline <= now)

    def abandon(self, ids: RequestIds) -> Sequence[EndedRequest]:
        """Remove the requests of a ledger handle (flow) that leaves the connection; late replies will be dropped.

        The id of the flow is not used again while a reply to one of its requests can still arrive.

        :param ids: allocates the request numbers of the flow.  If the flow has sent nothing here, do nothing.
        :returns: these requests, in the order in which they were made.
        """
        flow = self._flows.get(ids.flow_id)
        if flow is None:
            return ()
        ended = self._end(lambda sent: sent.flow is flow) if flow.waiting else ()
        flow.closed = True
        self._release_if_over(flow)
        return ended

    def clear(self) -> Sequence[EndedRequest]:
        """Remove all requests, in order, because the connection is lost and no reply will come."""
        ended = self._end(lambda sent: True)
        self._adds.clear()
        self._resent.clear()
        self._reads.clear()
        self._n_resent = self.abandoned = 0
        del self._flows[CONNECTION_FLOW]
        for flow_id in self._flows:
            self._flow_ids.release(flow_id)
        self._flows = {CONNECTION_FLOW: SendingFlow(self.own)}
        return ended

    def _end(self, whether: Callable[[SentAdds | SentReads | SentCall], bool]) -> Sequence[EndedRequest]:
        adds = [sent for sent in self._adds if sent.done is not None and whether(sent)]
        parts = [sent.give_up() for sent in adds]
        if self._by_key:
            self.abandoned += sum([part.count for part in parts])
        else:
            for sent in adds:
                self._adds.remove(sent)
        reads = self._reads.some(whether)
        for each in reads:
            self.abandoned += self._reads.give_up(each, self._by_key) * self._by_key
        calls = {number: call for number, call in self._calls.items() if whether(call)}
        for number in calls:
            del self._calls[number]
        ended: list[EndedRequest] = [*parts, *reads, *calls.values()]
        self._release(*ended)
        return sorted(ended, key=attrgetter("order"))

    # ---- flows -----------------------------------------------------------------------------------------

    def _join(self, ids: RequestIds) -> SendingFlow:
        """Register a flow (ledger handle) that sends its first request on this connection.

        :raises ValueError: another flow uses the same flow id.
        """
        if ids.flow_id in self._flows:
            raise ValueError(f"flow id {ids.flow_id} is taken")
        flow = self._flows[ids.flow_id] = SendingFlow(ids)
        self._flow_ids.retain(ids.flow_id)
        return flow

    def waits(self, ids: RequestIds, quiet: Callable[[], None]) -> bool:
        """Test whether a flow (ledger handle) has outstanding requests; if so, register the callback ``quiet``.

        :param ids: allocates the request numbers of the flow.
        :param quiet: called each time that an add is answered and no request of the flow is outstanding.  It is not
            called after the answer to a read.
        """
        flow = self._flows.get(ids.flow_id)
        if flow is None or not flow.waiting:
            return False
        flow.quiet = quiet
        return True

    def replied(self, request_id: int, count: int = 1) -> None:
        """Record that replies with request numbers have arrived for one flow (ledger handle).

        :param request_id: the request number in one of these replies.  It begins with the id of the flow; if there is
            no such flow, do nothing.
        :param count: number of these replies.
        """
        flow = self._flows.get(request_id >> FLOW_SHIFT)
        if flow is not None:
            flow.expected_replies -= count
            self._release_if_over(flow)

    def _release_if_over(self, flow: SendingFlow) -> None:
        if flow.closed and flow.expected_replies <= 0:
            del self._flows[flow.ids.flow_id]
            self._flow_ids.release(flow.ids.flow_id)

    @property
    def orphans(self) -> int:
        """The number of replies that can still arrive although no request waits for them any more."""
        return self.abandoned + sum([flow.expected_replies for flow in self._flows.values() if flow.closed])

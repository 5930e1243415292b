"""A record of one connection: the requests in flight, their bytes, and the flows that sent them.

Adds are kept in the order in which they were sent, since a bookie with one journal confirms them in this order; reads
are found by key, other calls by number.  Every request belongs to a flow, and a connection has many.  No other module
changes a count: each request that a method here adds is counted, and each that it removes is released, once: its bytes
are then not unacknowledged any more, and its flow does not wait for it.

A V2 reply has no number, it names ledger and entry.  This key of an add or a read is *taken* while the request is
outstanding, and also after it was given up (timed out, cancelled, its flow left): a late reply must meet the request
that caused it, never a newer one.  The connection refuses a taken key, and the caller uses a protocol with numbers.  An
entry that is sent for the first time (*fresh*) can only meet adds that are not.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from twisted.internet.defer import Deferred

from ...codec.adds import Adds
from ...codec.runs import ReadReply
from .request_ids import CONNECTION_FLOW, FLOW_SHIFT, FlowIds, RequestIds
from .sent_adds import AddsDone, Answered, Key, SentAdds, TakenEntries
from .sent_reads import ReadKey, ReadsByKey, SentCall, SentReads

SentRequest = Answered | SentReads | SentCall


class SendingFlow:
    """The requests of one flow on one connection.

    :ivar waiting: number of entries and requests that wait for replies.
    :ivar expected_replies: number of replies to come with a request id of this flow, also to requests given up.
    :ivar closed: whether the flow has left, so that replies to come are orphans.
    :ivar quiet: called when no request waits any more, for a flow that leaves then.
    """

    __slots__ = ("ids", "waiting", "expected_replies", "closed", "quiet")

    def __init__(self, ids: RequestIds) -> None:
        self.ids = ids
        self.waiting = 0
        self.expected_replies = 0
        self.closed = False
        self.quiet: Callable[[], None] | None = None


class InFlight:
    """The requests of one connection until they are answered or given up, and the flows that made them.

    :ivar own: request ids of the connection's own flow.
    :ivar unacknowledged: bytes of requests that wait for their replies; 0 if no request does.
    :ivar abandoned: number of keys that stay taken by replies to requests that were given up.
    """

    def __init__(self, numbered: bool, flow_ids: FlowIds) -> None:
        """:param numbered: whether requests have numbers of their own; else adds and reads are matched by ledger and
            entry, which stay taken once they are given up.
        :param flow_ids: those of the client; an id is held here while its flow is here, or replies to it are to come.
        """
        self.own = RequestIds(CONNECTION_FLOW)
        self.unacknowledged = 0
        self.abandoned = 0
        self._by_key = not numbered
        self._flow_ids = flow_ids
        self._flows: dict[int, SendingFlow] = {CONNECTION_FLOW: SendingFlow(self.own)}
        self._n_sent = 0
        self._adds: deque[SentAdds] = deque()
        self._taken = TakenEntries()  # entries without request ids that may have been sent before
        self._n_again = 0  # the number of adds in flight with entries in _taken
        self._reads = ReadsByKey()
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
        """Test whether a reply to one of the requests ``first .. first + count - 1`` is still expected."""
        ids = range(first, first + count)
        if self._reads.are_taken(ids) or not self._calls.keys().isdisjoint(ids):
            return True
        keys: set[Key] = set(ids)
        return not self._by_key and any(sent.holds(keys) for sent in self._adds)

    # ---- adds ------------------------------------------------------------------------------------------

    def is_taken(self, adds: Adds, fresh: bool) -> bool:
        """Test whether replies to these adds, without request ids, could be mistaken for replies to other requests.

        :param fresh: whether the entries are sent for the first time.
        """
        if not self._adds or (fresh and not self._n_again) or not self._by_key:
            return False
        if self._taken.have_any(adds.ledger_ids, adds.entry_ids):
            return True
        if fresh or self._n_again == len(self._adds):
            return False
        keys = set(zip(adds.ledger_ids, adds.entry_ids, strict=True))
        return any(sent.holds(keys) for sent in self._adds if not sent.again)

    def add(
        self, ids: RequestIds, adds: Adds, size: int, replies: bytes, numbers: range | None, deadline: float,
        done: AddsDone, fresh: bool,
    ) -> bool:  # fmt: skip
        """Count adds that are about to be sent.

        :param ids: those of the flow that sends the adds.
        :param size: bytes of their frames.
        :param replies: the bytes that confirm all of them; empty if they are not known in advance.
        :param numbers: numbers of the requests, None if they have none.
        :param done: kept for the caller.
        :param fresh: whether the entries are sent for the first time.
        :returns: False if a key is taken: nothing was counted.
        :raises ValueError: another flow has the id.
        """
        if (self._n_again or not fresh) and self.is_taken(adds, fresh):
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
            self._n_again += 1
            self._taken.put(ledger_ids, entry_ids)
        return True

    def confirmed(self, data: bytes, at: int) -> tuple[Answered | None, int]:
        """Remove the adds that are confirmed, if the received bytes are the expected replies to the oldest adds.

        :param data: the received bytes.
        :param at: offset in them of a reply.
        :returns: the adds, None if they were given up, and the end of the replies to them: ``at`` if the bytes are
            anything else, and have to be decoded.
        """
        if not self._adds:
            return None, at
        sent = self._adds[0]
        if sent.n_answered or sent.done is None or not data.startswith(sent.replies, at):
            return self._confirmed_in_part(data, at)
        self._adds.popleft()  # usual case: the replies confirm all the adds that were sent first
        if sent.again:
            self._n_again -= 1
            self._taken.take(*sent.ids_at(sent.places))
        sent.flow.waiting -= sent.count
        self.unacknowledged -= sent.size
        if self._emptied is not None:
            self._call_if_empty()
        return sent, at + len(sent.replies)

    def _confirmed_in_part(self, data: bytes, at: int) -> tuple[Answered | None, int]:
        first = self._adds[0]
        if len(data) - at >= len(first.replies) // first.count:
            for sent in self._adds:
                places = sent.confirmed(data, at)
                if places:
                    part = self._answered(sent, places)
                    return part, at + len(places) * len(sent.replies) // sent.count
        return None, at

    def answered_adds(self, keys: Sequence[Key]) -> Iterator[Answered]:
        """Remove the adds that some replies answer, and yield them request by request.

        :param keys: keys of the replies, in the order of arrival; unknown keys are ignored.
        """
        for sent in list(self._adds):
            if keys and sent in self._adds:  # an answer that this loop has handled may have removed them
                places, keys = sent.take(keys)
                part = self._answered(sent, places) if places else None
                if part is not None:
                    yield part

    def _answered(self, sent: SentAdds, places: Sequence[int]) -> Answered | None:
        """Count the answers to adds, and release their request ids.

        :returns: the answered adds at the places, None if they were given up.
        """
        if not sent.left:
            self._adds.remove(sent)
            self._n_again -= sent.again
        if sent.again:
            self._taken.take(*sent.ids_at(places))
        if sent.done is None:
            self.abandoned -= len(places)
            return None
        part = sent.part(places)
        self._release(part)
        return part

    # ---- reads and other calls -------------------------------------------------------------------------

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Test whether replies to these reads can be told apart from other replies.

        :param entry_ids: of ``ledger_id``, -1 for the last entry; a repeated id cannot be distinguished.
        """
        return not (self._by_key and self._reads.are_taken([(ledger_id, entry_id) for entry_id in entry_ids]))

    def read(
        self, ids: RequestIds, keys: Sequence[ReadKey], size: int, deadline: float,
        deferred: "Deferred[list[ReadReply]]",
    ) -> SentReads:  # fmt: skip
        """Count reads that are about to be sent.

        :param ids: those of the flow that sends the reads.
        :param keys: of each read; none of them is taken.
        :param size: bytes of their frames.
        :param deferred: kept for the caller.
        :raises ValueError: another flow has the id.
        """
        flow = self._count(ids, len(keys), size, 0 if self._by_key else len(keys))
        reads = SentReads(flow, self._n_sent, deadline, size, keys, [None] * len(keys), deferred)
        self._reads.put(reads)
        return reads

    def call(
        self, ids: RequestIds, number: int, size: int, deadline: float, ledger_id: int, entry_id: int, expected: type,
        result: Callable[[Any], Any], deferred: "Deferred[Any]",
    ) -> None:  # fmt: skip
        """Count a request, neither an add nor a read, that is about to be sent.

        :param ids: those of the flow that sends it.
        :param number: its request id, by which the reply is matched.
        :param size: bytes of its frame.
        :param ledger_id, entry_id, expected, result, deferred: kept for the caller.
        :raises ValueError: another flow has the id.
        """
        flow = self._count(ids, 1, size, 1)
        self._calls[number] = SentCall(
            flow, self._n_sent, deadline, size, ledger_id, entry_id, expected, result, deferred
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

    def answered_read(self, key: ReadKey, reply: ReadReply) -> SentReads | None:
        """Store the reply to one read; remove the reads sent together with it once all are complete.

        :param key: the number of the read, or without numbers ledger and entry.
        :returns: the reads if this reply completes them, else None; None, too, for a reply to reads that were given up.
        """
        if key not in self._reads:
            return None
        slot = self._reads.pop(key)
        if slot is None:
            self.abandoned -= 1
            return None
        reads, index = slot
        if not reads.file(index, reply):
            return None
        self._release(reads)
        return reads

    def take_call(self, number: int) -> SentCall | None:
        """Remove and return the request ``number``, which is neither an add nor a read; None if it does not exist.

        If it was not answered yet, its late reply will be dropped.
        """
        call = self._calls.pop(number, None)
        if call is not None:
            self._release(call)
        return call

    def give_up(self, reads: SentReads) -> None:
        """Remove incomplete ``reads``; without request ids, their keys stay taken because replies may still come."""
        missing = self._reads.give_up(reads, self._by_key)
        if missing:
            self.abandoned += missing * self._by_key
            self._release(reads)

    # ---- requests that end without a reply -------------------------------------------------------------

    def expire(self, now: float) -> Sequence[SentRequest]:
        """Remove the requests whose deadlines have passed.

        :param now: seconds, by the clock of the deadlines.
        :returns: these requests, in the order in which they were made.
        """
        return self._end(lambda sent: sent.deadline <= now)

    def leave(self, ids: RequestIds) -> Sequence[SentRequest]:
        """End a flow: remove its requests.  Its late replies will be dropped.

        Its id stays held while a reply to one of its requests is expected.

        :param ids: those of the flow; an unknown flow has no effect.
        :returns: these requests, in the order in which they were made.
        """
        flow = self._flows.get(ids.flow_id)
        if flow is None:
            return ()
        ended = self._end(lambda sent: sent.flow is flow) if flow.waiting else ()
        flow.closed = True
        self._release_if_over(flow)
        return ended

    def clear(self) -> Sequence[SentRequest]:
        """Remove all requests, in order, because the connection is lost and no reply will come."""
        ended = self._end(lambda sent: True)
        self._adds.clear()
        self._taken.clear()
        self._reads.clear()
        self._n_again = self.abandoned = 0
        del self._flows[CONNECTION_FLOW]
        for flow_id in self._flows:
            self._flow_ids.release(flow_id)
        self._flows = {CONNECTION_FLOW: SendingFlow(self.own)}
        return ended

    def _end(self, whether: Callable[[SentAdds | SentReads | SentCall], bool]) -> Sequence[SentRequest]:
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
        ended: list[SentRequest] = [*parts, *reads, *calls.values()]
        self._release(*ended)
        return sorted(ended, key=attrgetter("order"))

    # ---- flows -----------------------------------------------------------------------------------------

    def _join(self, ids: RequestIds) -> SendingFlow:
        """Register a flow when it makes its first request.

        :raises ValueError: another flow has the id.
        """
        if ids.flow_id in self._flows:
            raise ValueError(f"flow id {ids.flow_id} is taken")
        flow = self._flows[ids.flow_id] = SendingFlow(ids)
        self._flow_ids.hold(ids.flow_id)
        return flow

    def waits(self, ids: RequestIds, quiet: Callable[[], None]) -> bool:
        """Test whether requests of a flow are outstanding; if there are any, register a callback for their end.

        :param ids: those of the flow.
        :param quiet: called when an add of the flow is answered and no request of it is outstanding then; the answer to
            a read does not call it.
        """
        flow = self._flows.get(ids.flow_id)
        if flow is None or not flow.waiting:
            return False
        flow.quiet = quiet
        return True

    def replied(self, request_id: int, count: int = 1) -> None:
        """Count replies that arrived for the flow of a request.

        :param request_id: the id of one of the requests; an unknown flow has no effect.
        :param count: number of replies to requests of this flow.
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
        """The number of expected replies for which no request waits: of closed flows, and of requests given up."""
        return self.abandoned + sum([flow.expected_replies for flow in self._flows.values() if flow.closed])

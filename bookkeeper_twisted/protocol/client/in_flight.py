"""Everything outstanding on one connection, with its bytes and its flows in account."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from ...codec.runs import ReadReply
from .flow_table import FlowTable
from .outstanding import OutstandingReads, SentCall, SentReads
from .outstanding_adds import Answered, OutstandingAdds
from .request_ids import FlowIds, RequestIds
from .traffic import Traffic

SentRequest = Answered | SentReads | SentCall


class InFlight:
    """Requests between being made and being answered or given up.

    What a method takes out is settled: its bytes are no load any more, and its flow does not wait for it.

    :param numbered: whether requests have numbers of their own; else adds and reads are matched by ledger and entry.
    :ivar flows: the flows with requests here.
    :ivar adds: the adds among the requests, which is where they are inserted and answered.
    """

    def __init__(self, numbered: bool, flow_ids: FlowIds, traffic: Traffic) -> None:
        self.flows = FlowTable(flow_ids)
        self._by_key = not numbered  # a reply names ledger and entry: the key of what is given up stays taken
        self._traffic = traffic
        self.adds = OutstandingAdds(self._by_key, traffic)
        self._reads = OutstandingReads()
        self._calls: dict[int, SentCall] = {}
        self._emptied: Callable[[], object] | None = None

    def __bool__(self) -> bool:
        return bool(self.adds or self._reads or self._calls)

    def when_empty(self, emptied: Callable[[], object]) -> None:
        """Register a callback for the moment at which no request is outstanding.

        :param emptied: called once, before the callbacks of the last request.
        """
        self._emptied = emptied
        self.adds.emptied = self._call_if_empty

    def _call_if_empty(self) -> None:
        if self._emptied is not None and not self:
            emptied, self._emptied = self._emptied, None
            emptied()

    # ---- in ------------------------------------------------------------------------------------------

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Test whether replies to these reads could be distinguished from others.

        :param entry_ids: all of ``ledger_id``, -1 for the last entry; an id that is here twice cannot.
        """
        return not (self._by_key and self._reads.is_taken([(ledger_id, e) for e in entry_ids]))

    def is_pending(self, first: int, count: int) -> bool:
        """Test whether a reply to one of the requests ``first .. first + count - 1`` is to come."""
        ids = range(first, first + count)
        return self.adds.is_pending(first, count) or self._reads.is_taken(ids) or not self._calls.keys().isdisjoint(ids)

    def read(self, sent: SentReads) -> None:
        """Remember reads that were ``sent``; their keys are not taken."""
        self._reads.insert(sent)
        if not isinstance(sent.keys[0], tuple):
            sent.flow.expected_replies += sent.count
        self._sent(sent)

    def call(self, number: int, sent: SentCall) -> None:
        """Remember a request that is neither add nor read.

        :param number: its request id, by which the reply is matched.
        """
        self._calls[number] = sent
        sent.flow.expected_replies += 1
        self._sent(sent)

    def _sent(self, sent: SentReads | SentCall) -> None:
        sent.flow.waiting += sent.count
        self._traffic.unacknowledged += sent.size

    # ---- out -----------------------------------------------------------------------------------------

    def _settle(self, *ended: SentReads | SentCall) -> None:
        for sent in ended:
            sent.flow.waiting -= sent.count
            self._traffic.unacknowledged -= sent.size
        self._call_if_empty()

    def answered_read(self, key: int | tuple[int, int], reply: ReadReply) -> SentReads | None:
        """File the reply to one read; take out the reads it was sent with once they are complete.

        :param key: the number of the read, or without numbers ledger and entry.
        :returns: the reads if this reply completes them, else None; None, too, for a reply to reads that were given up.
        """
        reads = self._reads.answered(key, reply)
        if reads is not None:
            self._settle(reads)
        return reads

    def take_call(self, number: int) -> SentCall | None:
        """Take out the request with this ``number`` that is neither add nor read; None if there is none.

        If it was not answered yet, its late reply is dropped.
        """
        call = self._calls.pop(number, None)
        if call is not None:
            self._settle(call)
        return call

    def give_up(self, reads: SentReads) -> None:
        """Take out ``reads`` that are not complete; without numbers the keys of the replies to come stay taken."""
        if self._reads.give_up(reads, self._by_key):
            self._settle(reads)

    def expire(self, now: float) -> Sequence[SentRequest]:
        """Take out the requests whose deadlines have passed.

        :param now: seconds of the clock that the deadlines are of.
        :returns: these requests, in the order in which they were made.
        """
        calls = {number: call for number, call in self._calls.items() if call.deadline <= now}
        adds, reads = self.adds.expire(now), self._reads.expire(now, self._by_key)
        return self._ended(adds, reads, calls)

    def leave(self, ids: RequestIds) -> Sequence[SentRequest]:
        """End a flow: take out its requests.  Its late replies will be dropped.

        :param ids: of the flow; one that is not here has no effect.
        :returns: these requests, in the order in which they were made.
        """
        flow = self.flows.known(ids)
        if flow is None:
            return ()
        ended: Sequence[SentRequest] = ()
        if flow.waiting:
            calls = {number: call for number, call in self._calls.items() if call.flow is flow}
            adds, reads = self.adds.leave(flow), self._reads.leave(flow, self._by_key)
            ended = self._ended(adds, reads, calls)
        self.flows.leave(flow)
        return ended

    def clear(self) -> Sequence[SentRequest]:
        """The connection ends: takes out everything, in order."""
        ended = self._ended(self.adds.clear(), self._reads.clear(), dict(self._calls))
        self.flows.clear()
        return ended

    def _ended(
        self, adds: Sequence[Answered], reads: Sequence[SentReads], calls: dict[int, SentCall]
    ) -> Sequence[SentRequest]:  # fmt: skip
        for number in calls:
            del self._calls[number]
        self._settle(*reads, *calls.values())
        everything: list[SentRequest] = [*adds, *reads, *calls.values()]
        return sorted(everything, key=attrgetter("order"))

    def waits(self, ids: RequestIds, quiet: Callable[[], None]) -> bool:
        """Test whether requests of a flow are outstanding; if so, remember what to call when there are none any more.

        :param ids: of the flow.
        :param quiet: called when an add of the flow is answered and no request of it is outstanding then; the answer to
            a read does not call it.
        """
        flow = self.flows.known(ids)
        if flow is None or not flow.waiting:
            return False
        flow.quiet = quiet
        return True

    # ---- replies to requests that were given up ---------------------------------------------------------------

    @property
    def abandoned(self) -> int:
        """Keys that stay taken by replies to requests that were given up."""
        return self.adds.abandoned + self._reads.abandoned

    @property
    def orphans(self) -> int:
        """Replies to come that no request waits for: of flows that left, and of keys that were given up."""
        return self.flows.orphans + self.abandoned

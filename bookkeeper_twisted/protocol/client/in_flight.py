"""Everything outstanding on one connection, with its bytes and its flows in account."""

from collections.abc import Callable, Sequence

from ...codec.runs import ReadReply
from .flow_table import FlowTable
from .outstanding import OutstandingAdds, OutstandingReads, SentAdds, SentCall, SentReads, in_order
from .outstanding_mixed import MixedPart, OutstandingMixed, SentMixed
from .request_ids import FLOW_SHIFT, FlowIds, RequestIds
from .traffic import Traffic

SentRequest = SentAdds | SentReads | SentCall | MixedPart


class InFlight:
    """Requests between being made and being answered or given up.

    What a method takes out is settled: its bytes are no load any more, and its flow does not wait for it.

    :ivar flows: who asked.
    """

    def __init__(self, wire: int, flow_ids: FlowIds, traffic: Traffic) -> None:
        self.flows = FlowTable(flow_ids)
        self._by_key = wire == 2  # a V2 reply names ledger and entry: the key of what is given up stays taken
        self._traffic = traffic
        self._adds = OutstandingAdds()
        self._mixed = OutstandingMixed()
        self._reads = OutstandingReads()
        self._calls: dict[int, SentCall] = {}
        self._emptied: Callable[[], object] | None = None

    def __bool__(self) -> bool:
        return bool(self._adds or self._mixed or self._reads or self._calls)

    def when_empty(self, emptied: Callable[[], object]) -> None:
        """Calls back as soon as nobody waits for anything, before those who waited last hear of it."""
        self._emptied = emptied

    # ---- in ------------------------------------------------------------------------------------------

    def can_add(self, ledger_id: int, first: int, count: int) -> bool:
        """Whether replies to these adds could be told from others."""
        if not self._by_key:
            return True
        highest = self._mixed.highest
        if ledger_id in highest and highest[ledger_id] >= first:
            return False
        return not self._adds.is_taken(ledger_id, first, count)

    def can_add_mixed(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
        """The same for adds of one entry each."""
        return not (self._mixed.is_any_taken(ledger_ids, entry_ids) or self._adds.is_any_taken(ledger_ids, entry_ids))

    def can_read(self, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """Whether replies to these reads could be told from others."""
        return not (self._by_key and self._reads.is_taken([(ledger_id, e) for e in entry_ids]))

    def is_pending(self, first: int, count: int) -> bool:
        """Whether one of these request ids is waited for."""
        ids = range(first, first + count)
        adds_taken = not self._by_key and self._adds.is_taken(first >> FLOW_SHIFT, first, count)
        return adds_taken or self._reads.is_taken(ids) or not self._calls.keys().isdisjoint(ids)

    def add(self, sent: SentAdds) -> None:
        """Adds were sent."""
        if self._by_key:
            self._adds.insert(sent.ledger_id, sent)
        else:
            self._adds.insert(sent.flow.ids.flow_id, sent)
            sent.flow.owed += sent.count
        self._sent(sent)

    def add_mixed(self, sent: SentMixed) -> None:
        """Mixed adds were sent."""
        self._mixed.insert(sent)
        self._sent(sent)

    def read(self, sent: SentReads) -> None:
        """Reads were sent."""
        self._reads.insert(sent)
        if not isinstance(sent.keys[0], tuple):
            sent.flow.owed += sent.count
        self._sent(sent)

    def call(self, number: int, sent: SentCall) -> None:
        """Another request was sent."""
        self._calls[number] = sent
        sent.flow.owed += 1
        self._sent(sent)

    def _sent(self, sent: SentRequest | SentMixed) -> None:
        sent.flow.waiting += sent.count
        self._traffic.unacknowledged += sent.size

    # ---- out -----------------------------------------------------------------------------------------

    def _settle(self, ended: Sequence[SentRequest]) -> None:
        for sent in ended:
            sent.flow.waiting -= sent.count
            self._traffic.unacknowledged -= sent.size
        if self._emptied is not None and not self:
            emptied, self._emptied = self._emptied, None
            emptied()

    def answered_adds(self, lane: int, key: int, count: int) -> Sequence[SentAdds]:
        """Takes out the adds that a reply answers.

        :param lane: V2: the ledger; V3: the flow.
        :param key: V2: the first entry; V3: its request id.
        """
        finished = self._adds.answered(lane, key, count)
        self._settle(finished)
        return finished

    def answered_mixed(
        self, ledger_ids: tuple[int, ...], entry_ids: tuple[int, ...]
    ) -> tuple[Sequence[MixedPart], Sequence[tuple[int, int]]]:
        """Takes out the mixed adds that V2 replies answer.

        :returns: them, and ledger and entry of replies that answer other adds, if any.
        """
        if not self._mixed.highest:
            return (), list(zip(ledger_ids, entry_ids, strict=True))
        parts, others = self._mixed.answered(ledger_ids, entry_ids)
        self._settle(parts)
        return parts, others

    def may_be_mixed(self, ledger_id: int) -> bool:
        """Whether a reply to an add of a ledger may answer mixed ones."""
        return ledger_id in self._mixed.highest

    def answered_read(self, key: int | tuple[int, int], reply: ReadReply) -> SentReads | None:
        """Files the reply to a read; takes out the reads that it completes."""
        reads = self._reads.answered(key, reply)
        if reads is not None:
            self._settle((reads,))
        return reads

    def take_call(self, number: int) -> SentCall | None:
        """Takes out another request."""
        call = self._calls.pop(number, None)
        if call is not None:
            self._settle((call,))
        return call

    def give_up(self, reads: SentReads) -> None:
        """Nobody waits for these reads any more, if anybody still did."""
        if self._reads.give_up(reads, self._by_key):
            self._settle((reads,))

    def give_up_call(self, number: int) -> None:
        """Nobody waits for this request any more."""
        self.take_call(number)

    def expire(self, now: float) -> Sequence[SentRequest]:
        """Takes out what is overdue, in order."""
        calls = {number: call for number, call in self._calls.items() if call.deadline <= now}
        adds, reads = self._adds.expire(now, self._by_key), self._reads.expire(now, self._by_key)
        return self._ended(adds, self._mixed.expire(now), reads, calls)

    def leave(self, ids: RequestIds) -> Sequence[SentRequest]:
        """A flow ends: takes out what it asked, in order.  Its late replies will meet nobody."""
        flow = self.flows.known(ids)
        if flow is None:
            return ()
        ended: Sequence[SentRequest] = ()
        if flow.waiting:
            calls = {number: call for number, call in self._calls.items() if call.flow is flow}
            adds, reads = self._adds.leave(flow, self._by_key), self._reads.leave(flow, self._by_key)
            ended = self._ended(adds, self._mixed.leave(flow), reads, calls)
        self.flows.leave(flow)
        return ended

    def clear(self) -> Sequence[SentRequest]:
        """The connection ends: takes out everything, in order."""
        ended = self._ended(self._adds.clear(), self._mixed.clear(), self._reads.clear(), dict(self._calls))
        self.flows.clear()
        return ended

    def _ended(
        self, adds: Sequence[SentAdds], mixed: Sequence[MixedPart], reads: Sequence[SentReads],
        calls: dict[int, SentCall],
    ) -> Sequence[SentRequest]:  # fmt: skip
        for number in calls:
            del self._calls[number]
        everything: list[SentRequest] = [*adds, *mixed, *reads, *calls.values()]
        ended = in_order(everything)
        self._settle(ended)
        return ended

    def waits(self, ids: RequestIds, quiet: Callable[[], None]) -> bool:
        """Whether somebody waits for what a flow asked; if so, ``quiet`` is called when the last of its adds has
        been answered for and nobody does."""
        flow = self.flows.known(ids)
        if flow is None or not flow.waiting:
            return False
        flow.quiet = quiet
        return True

    # ---- what nobody waits for -----------------------------------------------------------------------

    @property
    def abandoned(self) -> int:
        """V2 keys that stay taken by replies nobody waits for."""
        return self._adds.abandoned + self._mixed.abandoned + self._reads.abandoned

    @property
    def orphans(self) -> int:
        """Replies to come that nobody waits for: of flows that left, and of V2 requests that were given up."""
        return self.flows.orphans + self.abandoned

"""What one connection of a client waits for: adds by range, reads by key, other calls by number.

Nothing here is an object for each entry of an add: a sent run is one :class:`SentAdds`, and a reply
that covers ``n`` of its entries moves its lower end by ``n``.  Everything sent knows its
:class:`SendingFlow` and how many bytes it was.

A V2 reply names ledger and entry only.  While a request is outstanding, and also after it was given up
(timed out, cancelled), its key is *taken*: a late reply must meet the request that caused it, never a
newer one.  The connection refuses a taken key, and the caller uses a V3 connection for that request,
where every request has a number of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply
from .request_ids import RequestIds


class Adds(Protocol):
    """Adds of consecutive entries of one ledger, ready to be sent.

    :ivar first: id of the first entry.
    :ivar count: how many.
    """

    ledger_id: int
    first: int
    count: int

    def requests(self, wire: int, first_request_id: int) -> bytes:
        """Their frames.

        :param first_request_id: V3: the ids count up from there.
        """


AddsDone = Callable[[str, int, int, Exception | None], None]
"""``done(bookie_id, first, count, error)`` for each range of a run's entries; together exactly once for all."""

ReadKey = int | tuple[int, int]
"""The number of a V3 read, or ledger and entry of a V2 read."""


class SendingFlow:
    """What one connection has to do for one flow.

    :ivar waiting: entries and requests that somebody waits for.
    :ivar owed: replies to come that carry a request id of this flow, waited for or not.
    :ivar closed: whether the flow left, so that what is owed are orphans.
    :ivar quiet: called when nobody waits any more, for flows that are to leave then.
    """

    __slots__ = ("ids", "waiting", "owed", "closed", "quiet")

    def __init__(self, ids: RequestIds) -> None:
        self.ids = ids
        self.waiting = 0
        self.owed = 0
        self.closed = False
        self.quiet: Callable[[], None] | None = None


class SentAdds:
    """Consecutive entries sent and not answered yet.

    :ivar order: number of the request on its connection.
    :ivar key: what a reply names the first entry by: its V3 number, or its entry id.
    :ivar size: bytes of its frames.
    :ivar done: None once the request was given up.
    """

    __slots__ = ("flow", "order", "deadline", "ledger_id", "first", "key", "count", "size", "done")

    def __init__(
        self, flow: SendingFlow, order: int, deadline: float, ledger_id: int, first: int, key: int, count: int,
        size: int, done: AddsDone | None,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.order = order
        self.deadline = deadline
        self.ledger_id = ledger_id
        self.first = first
        self.key = key
        self.count = count
        self.size = size
        self.done = done

    def __str__(self) -> str:
        return f"adds of ledger {self.ledger_id}"

    def finish(self, bookie_id: str, error: Exception | None) -> None:
        """Tells who waits what became of all of them."""
        assert self.done is not None
        self.done(bookie_id, self.first, self.count, error)

    def part(self, low: int, high: int) -> "SentAdds":
        """The entries with keys ``low .. high - 1``; the sizes of all parts add up to that of the whole."""
        start, end = low - self.key, high - self.key
        size = self.size * end // self.count - self.size * start // self.count
        return SentAdds(
            self.flow, self.order, self.deadline, self.ledger_id, self.first + start, low, high - low, size, self.done
        )


class OutstandingAdds:
    """Sent runs in lanes; keys are unique within a lane (V2: the ledger; V3: the flow).

    Most lanes of a busy connection have one run, and are gone with its reply.
    """

    __slots__ = ("_lanes", "_tops", "abandoned")

    def __init__(self) -> None:
        self._lanes: dict[int, list[SentAdds]] = {}
        self._tops: dict[int, int] = {}  # end of the highest keys of a lane of several: a writer always adds above
        self.abandoned = 0

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __iter__(self) -> Iterator[SentAdds]:
        """Runs that somebody waits for."""
        return (sent for lane in self._lanes.values() for sent in lane if sent.done is not None)

    def is_taken(self, lane: int, first: int, count: int) -> bool:
        """Whether a reply to one of these keys could be mistaken for another request's."""
        runs = self._lanes.get(lane)
        if runs is None or first >= self._tops.get(lane, first + 1):
            return False
        return any(s.key < first + count and first < s.key + s.count for s in runs)

    def is_any_taken(self, lanes: Sequence[int], keys: Sequence[int]) -> bool:
        """The same for one key in each of these lanes."""
        if self._lanes.keys().isdisjoint(lanes):
            return False
        return any(self.is_taken(lane, key, 1) for lane, key in zip(lanes, keys, strict=True))

    def insert(self, lane: int, sent: SentAdds) -> None:
        """Remembers a run whose keys are not taken."""
        runs = self._lanes.get(lane)
        if runs is None:
            self._lanes[lane] = [sent]
            return
        top = self._tops.get(lane) or max([s.key + s.count for s in runs])
        runs.append(sent)
        self._tops[lane] = max(top, sent.key + sent.count)

    def answered(self, lane: int, key: int, count: int) -> Sequence[SentAdds]:
        """Takes out what a reply to ``count`` keys answers, in order; unknown keys are ignored."""
        runs = self._lanes.get(lane)
        if runs is None:
            return ()
        head = runs[0]
        if head.key == key and head.count == count:  # a whole run answered in its turn: the usual case
            del runs[0]
            taken = [head]
        else:
            taken = self._take(runs, key, key + count)
        if not runs:
            self._drop(lane)
        if not self.abandoned:
            return taken
        self.abandoned -= sum([s.count for s in taken if s.done is None])
        return [s for s in taken if s.done is not None]

    @staticmethod
    def _take(runs: list[SentAdds], low: int, high: int) -> list[SentAdds]:
        whole = 0
        while whole < len(runs) and runs[whole].key == low and runs[whole].count <= high - low:
            low += runs[whole].count
            whole += 1
        taken = runs[:whole]
        del runs[:whole]
        if low == high or not runs:
            return taken
        kept = list(runs)
        runs.clear()
        for sent in kept:
            start, end = max(low, sent.key), min(high, sent.key + sent.count)
            if start >= end:
                runs.append(sent)
                continue
            taken.append(sent.part(start, end))
            if sent.key < start:
                runs.append(sent.part(sent.key, start))
            if end < sent.key + sent.count:
                runs.append(sent.part(end, sent.key + sent.count))
        return taken

    def expire(self, now: float, keep_taken: bool) -> list[SentAdds]:
        """Gives up what is overdue; ``keep_taken``: their keys stay taken (V2)."""
        return self._give_up(lambda sent: sent.deadline <= now, keep_taken)

    def leave(self, flow: SendingFlow, keep_taken: bool) -> list[SentAdds]:
        """Gives up what a flow asked."""
        return self._give_up(lambda sent: sent.flow is flow, keep_taken)

    def _give_up(self, whether: Callable[[SentAdds], bool], keep_taken: bool) -> list[SentAdds]:
        given_up = []
        for lane, runs in list(self._lanes.items()):
            ended = [s for s in runs if s.done is not None and whether(s)]
            if not ended:
                continue
            given_up += [s.part(s.key, s.key + s.count) for s in ended]
            if keep_taken:
                self.abandoned += sum([s.count for s in ended])
                for sent in ended:
                    sent.done = None
                continue
            runs[:] = [s for s in runs if not whether(s)]
            if not runs:
                self._drop(lane)
        return in_order(given_up)

    def clear(self) -> list[SentAdds]:
        """Takes out everything somebody waits for."""
        rest = list(self)
        self._lanes.clear()
        self._tops.clear()
        return rest

    def _drop(self, lane: int) -> None:
        del self._lanes[lane]
        self._tops.pop(lane, None)


class SentReads:
    """Reads sent in one write, answered together.

    :ivar replies: one for each key once it is there.
    :ivar missing: how many are not there yet.
    """

    __slots__ = ("flow", "order", "deadline", "keys", "size", "replies", "missing", "deferred")

    def __init__(
        self, flow: SendingFlow, order: int, deadline: float, keys: Sequence[ReadKey], size: int,
        deferred: "Deferred[list[ReadReply]]",
    ) -> None:  # fmt: skip
        self.flow = flow
        self.order = order
        self.deadline = deadline
        self.keys = keys
        self.size = size
        self.replies: list[ReadReply | None] = [None] * len(keys)
        self.missing = len(keys)
        self.deferred = deferred

    @property
    def count(self) -> int:
        """How many requests it is."""
        return len(self.keys)


class OutstandingReads:
    """Reads by key, oldest first; a key that was given up maps to None."""

    __slots__ = ("_slots", "abandoned")

    def __init__(self) -> None:
        self._slots: dict[ReadKey, tuple[SentReads, int] | None] = {}
        self.abandoned = 0

    def is_taken(self, keys: Sequence[ReadKey]) -> bool:
        """Whether a reply to one of these keys could be mistaken for another request's."""
        if len(keys) == 1:
            return keys[0] in self._slots
        return not self._slots.keys().isdisjoint(keys) or len(set(keys)) != len(keys)

    def insert(self, reads: SentReads) -> None:
        """Remembers reads whose keys are not taken."""
        for index, key in enumerate(reads.keys):
            self._slots[key] = (reads, index)

    def answered(self, key: ReadKey, reply: ReadReply) -> SentReads | None:
        """Files a reply.

        :returns: the reads it completes, if it does.
        """
        if key not in self._slots:
            return None
        slot = self._slots.pop(key)
        if slot is None:
            self.abandoned -= 1
            return None
        reads, index = slot
        reads.replies[index] = reply
        reads.missing -= 1
        return None if reads.missing else reads

    def give_up(self, reads: SentReads, keep_taken: bool) -> bool:
        """Nobody waits for these any more; ``keep_taken``: their keys stay taken (V2).

        :returns: whether they were outstanding.
        """
        found = False
        for key in reads.keys:
            slot = self._slots.get(key)
            if slot is None or slot[0] is not reads:
                continue
            found = True
            if keep_taken:
                self._slots[key] = None
                self.abandoned += 1
            else:
                del self._slots[key]
        return found

    def expire(self, now: float, keep_taken: bool) -> list[SentReads]:
        """Gives up what is overdue."""
        overdue: dict[SentReads, None] = {}
        for slot in self._slots.values():
            if slot is None:
                continue
            if slot[0].deadline > now:
                break
            overdue[slot[0]] = None
        for reads in overdue:
            self.give_up(reads, keep_taken)
        return list(overdue)

    def leave(self, flow: SendingFlow, keep_taken: bool) -> list[SentReads]:
        """Gives up what a flow asked."""
        asked = dict.fromkeys(slot[0] for slot in self._slots.values() if slot is not None and slot[0].flow is flow)
        for reads in asked:
            self.give_up(reads, keep_taken)
        return list(asked)

    def clear(self) -> list[SentReads]:
        """Takes out everything somebody waits for."""
        rest = dict.fromkeys(slot[0] for slot in self._slots.values() if slot is not None)
        self._slots.clear()
        return list(rest)

    def __bool__(self) -> bool:
        return len(self._slots) > self.abandoned


class SentCall:
    """Any other request: one number, one reply.

    :ivar expected: the class of its reply.
    :ivar result: makes the result of the reply.
    """

    __slots__ = ("flow", "order", "deadline", "ledger_id", "entry_id", "size", "expected", "result", "deferred")

    count = 1

    def __init__(
        self, flow: SendingFlow, order: int, deadline: float, ledger_id: int, entry_id: int, size: int,
        expected: type, result: Callable[[Any], Any], deferred: "Deferred[Any]",
    ) -> None:  # fmt: skip
        self.flow = flow
        self.order = order
        self.deadline = deadline
        self.ledger_id = ledger_id
        self.entry_id = entry_id
        self.size = size
        self.expected = expected
        self.result = result
        self.deferred = deferred


class Ordered(Protocol):
    """What was sent on a connection.

    :ivar order: number of the request.
    """

    order: int


AnyOrdered = TypeVar("AnyOrdered", bound=Ordered)


def in_order(sent: Sequence[AnyOrdered]) -> list[AnyOrdered]:
    """In the order in which the requests were made."""
    return sorted(sent, key=attrgetter("order"))

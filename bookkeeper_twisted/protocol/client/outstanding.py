"""The requests in flight on one connection of a client, but adds: reads by key, other calls by number.

Everything sent knows its :class:`SendingFlow` and how many bytes it was.  A V2 reply names ledger and entry only.
While a request is outstanding, and also after it was given up (timed out, cancelled), its key is *taken*, as the keys
of adds are (:mod:`.outstanding_adds`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply
from .request_ids import RequestIds

ReadKey = int | tuple[int, int]
"""The number of a V3 read, or ledger and entry of a V2 read."""


class SendingFlow:
    """The requests of one flow on one connection.

    :ivar waiting: entries and requests that wait for replies.
    :ivar expected_replies: replies to come that carry a request id of this flow, given up or not.
    :ivar closed: whether the flow left, so that replies to come are orphans.
    :ivar quiet: called when no request waits any more, for flows that are to leave then.
    """

    __slots__ = ("ids", "waiting", "expected_replies", "closed", "quiet")

    def __init__(self, ids: RequestIds) -> None:
        self.ids = ids
        self.waiting = 0
        self.expected_replies = 0
        self.closed = False
        self.quiet: Callable[[], None] | None = None


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
        """The number of requests."""
        return len(self.keys)


class OutstandingReads:
    """Reads by key, oldest first; a key that was given up maps to None."""

    __slots__ = ("_slots", "abandoned")

    def __init__(self) -> None:
        self._slots: dict[ReadKey, tuple[SentReads, int] | None] = {}
        self.abandoned = 0

    def is_taken(self, keys: Sequence[ReadKey]) -> bool:
        """Test whether a reply to one of these ``keys`` could be mistaken for another request's; equal keys are."""
        if len(keys) == 1:
            return keys[0] in self._slots
        return not self._slots.keys().isdisjoint(keys) or len(set(keys)) != len(keys)

    def insert(self, reads: SentReads) -> None:
        """Remember ``reads``; none of their keys is taken."""
        for index, key in enumerate(reads.keys):
            self._slots[key] = (reads, index)

    def answered(self, key: ReadKey, reply: ReadReply) -> SentReads | None:
        """File a reply.

        :param key: of the read that it answers; one that is not here is ignored.
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
        """Give these up; ``keep_taken``: their keys stay taken (V2).

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
        """Give up the reads whose deadlines have passed.

        :param now: seconds of the clock that the deadlines are of.
        :param keep_taken: whether their keys stay taken until a late reply comes.
        :returns: these reads, in the order in which they were made.
        """
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
        """Give up the reads of a ``flow``.

        :param keep_taken: whether their keys stay taken until a late reply comes.
        :returns: these reads, in the order in which they were made.
        """
        asked = dict.fromkeys(slot[0] for slot in self._slots.values() if slot is not None and slot[0].flow is flow)
        for reads in asked:
            self.give_up(reads, keep_taken)
        return list(asked)

    def clear(self) -> list[SentReads]:
        """Take out everything that waits for a reply."""
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

"""The adds that one connection has sent and that are not answered: of one ledger or of many.

What was sent together is one :class:`SentAdds`, and there is no object for an entry of it.  A bookie with one journal
confirms adds in their order, so the replies that are next are compared with what was sent, byte by byte where the
protocol foretells them (V2), before anything of them is decoded.  What comes in another order is looked up by key: the
number of the request, in protocols without numbers (V2) ledger and entry.

The key of a request without a number is *taken* while the add is outstanding, and also after it was given up (timed
out, its flow left): a late reply must meet the request that caused it, never a newer one.  The connection refuses a
taken key, and the caller uses a protocol with numbers.  An entry that is sent for the first time (*fresh*) can only
meet adds that are not.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...codec.adds import Adds
from .outstanding import SendingFlow
from .traffic import Traffic

AddsDone = Callable[[str, Sequence[int], Exception | None], None]
"""``done(bookie_id, places, error)``: the outcome of the adds at some places; together exactly once for each."""

Key = Any
"""Ledger and entry, or a number."""

_FEW = 4


class SentAdds:
    """Adds that were sent together.

    :ivar order: number of the request on its connection.
    :ivar size: bytes of the frames.
    :ivar left: how many are not answered.
    :ivar places: of all of them.
    :ivar done: None once they were given up.
    :ivar replies: the bytes that confirm all of them; none if they are not foretold.
    :ivar again: whether entries were perhaps sent before, and have no numbers.
    """

    __slots__ = (
        "flow", "order", "deadline", "size", "count", "left", "places", "done", "replies", "again", "numbers",
        "_ledger_ids", "_entry_ids", "_places",
    )  # fmt: skip

    def __init__(
        self, flow: SendingFlow, order: int, deadline: float, size: int, adds: Adds, replies: bytes,
        numbers: range | None, done: AddsDone,
    ) -> None:  # fmt: skip
        """:param numbers: of the requests, None where they have none."""
        self.flow = flow
        self.order = order
        self.deadline = deadline
        self.size = size
        self.count = self.left = count = len(adds.entry_ids)
        self.places = range(count)
        self.done: AddsDone | None = done
        self.replies = replies  # the frames are for the connection to hold, not for this
        self.again = False
        self._ledger_ids = adds.ledger_ids
        self._entry_ids = adds.entry_ids
        self.numbers = numbers
        self._places: dict[Key, int] | None = None  # of what is not answered, once that is not the rest

    def keys(self) -> Sequence[Key]:
        """The keys of all that was not answered in turn, in order."""
        at = self.count - self.left
        if self.numbers is not None:
            return self.numbers[at:]
        if not at and self.count == 1:
            return ((self._ledger_ids[0], self._entry_ids[0]),)
        return list(zip(self._ledger_ids[at:], self._entry_ids[at:], strict=True))

    def holds(self, keys: "set[Key]") -> bool:
        """Test whether one of these ``keys`` is of an add that is not answered."""
        return not keys.isdisjoint(self.keys() if self._places is None else self._places)

    def ids_at(self, places: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return ledger ids and entry ids of the adds at some ``places``, indexes from 0."""
        if isinstance(places, range):
            part = slice(places.start, places.stop)
            return self._ledger_ids[part], self._entry_ids[part]
        return [self._ledger_ids[place] for place in places], [self._entry_ids[place] for place in places]

    def confirmed(self, data: bytes, at: int) -> range:
        """Take out the places that foretold replies confirm, if these answer what is next.

        :param data: what was received.
        :param at: where in it the first reply begins.
        :returns: the places; empty if the bytes are anything else, and have to be decoded.
        """
        if self._places is not None:
            return range(0)
        first, count, size = self.count - self.left, self.left, len(self.replies) // self.count
        start = first * size
        if not data.startswith(self.replies[start:] if start else self.replies, at):
            count = (len(data) - at) // size
            if not 0 < count < self.left:
                return range(0)
            end = at + count * size
            if data[at:end] != self.replies[start : start + end - at]:
                return range(0)
        self.left -= count
        return range(first, first + count)

    def take(self, keys: Sequence[Key]) -> tuple[Sequence[int], Sequence[Key]]:
        """Take out the places of ``keys``.

        :returns: the places, and the keys that are not here or were answered before.
        """
        if self._places is None:
            at, wanted = self.count - self.left, self.keys()
            count = min(self.left, len(keys))
            if list(wanted[:count]) == list(keys[:count]):
                self.left -= count
                return range(at, at + count), keys[count:]
            if len(keys) < _FEW and not any(key in wanted for key in keys):
                return (), keys  # an odd reply does not end the comparing
            self._places = dict(zip(wanted, range(at, self.count), strict=True))
        found, others, take = list[int](), list[Key](), self._places.pop
        for key in keys:
            place = take(key, None)
            if place is None:
                others.append(key)
            else:
                found.append(place)
        self.left -= len(found)
        return found, others

    def part(self, places: Sequence[int]) -> "AddsPart":
        """Make the record of ``places`` that were just taken out; the sizes of all parts add up to what was sent."""
        size = self.size * (self.left + len(places)) // self.count - self.size * self.left // self.count
        return AddsPart(self, places, size)

    def give_up(self) -> "AddsPart":
        """All that was not answered: it is waited for no more, and keys stay taken."""
        places = range(self.count - self.left, self.count) if self._places is None else list(self._places.values())
        part = AddsPart(self, places, self.size * self.left // self.count)
        self.done = None
        return part


class AddsPart:
    """Adds at some places that are outstanding no more.

    :ivar count: how many.
    :ivar size: bytes of their frames.
    """

    __slots__ = ("flow", "order", "places", "count", "size", "done")

    def __init__(self, sent: SentAdds, places: Sequence[int], size: int) -> None:
        self.flow = sent.flow
        self.order = sent.order
        self.places = places
        self.count = len(places)
        self.size = size
        self.done = sent.done


Answered = SentAdds | AddsPart
"""The adds that were answered at once, or a part of them."""


class _TakenEntries:
    """Ids of entries, by their ledgers, so that those of a run are put in, found and taken out by one call."""

    __slots__ = ("_by_ledger",)

    def __init__(self) -> None:
        self._by_ledger: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_ledger)

    def put(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            self._by_ledger.setdefault(ledger_id, set()).update(ids)

    def have_any(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
        by_ledger = self._by_ledger
        return any(
            ledger_id in by_ledger and not by_ledger[ledger_id].isdisjoint(ids)
            for ledger_id, ids in _by_ledger(ledger_ids, entry_ids)
        )

    def take(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            left = self._by_ledger[ledger_id]
            left.difference_update(ids)
            if not left:
                del self._by_ledger[ledger_id]

    def clear(self) -> None:
        self._by_ledger.clear()


def _by_ledger(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> Iterable[tuple[int, Sequence[int]]]:
    """The entry ids of each ledger."""
    first = ledger_ids[0]
    if ledger_ids[-1] == first and ledger_ids.count(first) == len(ledger_ids):
        return ((first, entry_ids),)
    found: dict[int, list[int]] = {}
    for ledger_id, entry_id in zip(ledger_ids, entry_ids, strict=True):
        found.setdefault(ledger_id, []).append(entry_id)
    return found.items()


class OutstandingAdds:
    """Sent adds, oldest first.

    What is taken out is settled: its bytes are no load any more, and its flow does not wait for it.

    :ivar abandoned: how many were given up and hold their keys.
    :ivar n_confirmed: bytes of what :meth:`confirmed` was given that were replies as foretold.
    :ivar emptied: called when adds were taken out, if given.
    """

    __slots__ = ("abandoned", "n_confirmed", "emptied", "_sent", "_taken", "_n_again", "_by_key", "_traffic")

    def __init__(self, by_key: bool, traffic: Traffic) -> None:
        """:param by_key: whether adds are known by ledger and entry, which stay taken once they are given up; else by
        numbers."""
        self.abandoned = 0
        self.n_confirmed = 0
        self.emptied: Callable[[], object] | None = None
        self._sent: deque[SentAdds] = deque()
        self._taken = _TakenEntries()  # those that were perhaps sent before, and have no numbers
        self._n_again = 0  # requests that have such entries
        self._by_key = by_key
        self._traffic = traffic

    def __bool__(self) -> bool:
        return any(sent.done is not None for sent in self._sent)

    def is_taken(self, adds: Adds, fresh: bool) -> bool:
        """Whether a reply without a number to one of these could be mistaken for another request's.

        :param fresh: whether the entries are sent for the first time.
        """
        if not self._sent or (fresh and not self._taken) or not self._by_key:
            return False
        if self._taken.have_any(adds.ledger_ids, adds.entry_ids):
            return True
        if fresh or self._n_again == len(self._sent):
            return False
        keys = set(zip(adds.ledger_ids, adds.entry_ids, strict=True))
        return any(sent.holds(keys) for sent in self._sent if not sent.again)

    def is_pending(self, first: int, count: int) -> bool:
        """Test whether a reply to one of the numbers ``first .. first + count - 1`` is to come."""
        keys = set(range(first, first + count))
        return not self._by_key and any(sent.holds(keys) for sent in self._sent)

    def insert(self, sent: SentAdds, fresh: bool) -> None:
        """Remember adds that were ``sent``; none of their keys is taken.

        :param fresh: whether their entries are sent for the first time.
        """
        self._sent.append(sent)
        flow, count = sent.flow, sent.count
        flow.waiting += count
        self._traffic.unacknowledged += sent.size
        if not self._by_key:
            flow.expected_replies += count
        elif not fresh:
            sent.again = True
            self._n_again += 1
            self._taken.put(*sent.ids_at(sent.places))

    def confirmed(self, data: bytes) -> Iterator[Answered]:
        """Take out what received bytes confirm, one request after the other, as long as replies are as foretold.

        :param data: begins with a reply; how many bytes of it were such replies is :attr:`n_confirmed` at the end.
        """
        sent, traffic, at, end = self._sent, self._traffic, 0, len(data)
        while sent and at < end:
            part: Answered | None
            head = part = sent[0]
            if head.left == head.count and head.done is not None and data.startswith(head.replies, at):
                sent.popleft()  # all of what was sent first: the usual case
                at += len(head.replies)
                if head.again:
                    self._n_again -= 1
                    self._taken.take(*head.ids_at(head.places))
            else:
                part, size = self._confirmed_in_part(data, at)
                if not size:
                    break
                at += size
                if part is None:
                    continue
            part.flow.waiting -= part.count
            traffic.unacknowledged -= part.size
            if self.emptied is not None:
                self.emptied()
            yield part
        self.n_confirmed = at

    def _confirmed_in_part(self, data: bytes, at: int) -> tuple[Answered | None, int]:
        """Take out what the bytes from ``at`` on confirm next of any request.

        :returns: it, None if it was given up, and how many bytes that was, 0 if they confirm nothing.
        """
        if len(data) - at >= len(self._sent[0].replies) // self._sent[0].count:
            for sent in self._sent:
                places = sent.confirmed(data, at)
                if places:
                    return self._answered(sent, places), len(places) * len(sent.replies) // sent.count
        return None, 0

    def answered(self, keys: Sequence[Key]) -> Iterator[Answered]:
        """Take out what replies answer, one request after the other.

        :param keys: of the replies, in the order in which they came; such that are not here are ignored.
        """
        for sent in list(self._sent):
            if keys and sent in self._sent:  # else what was answered before has ended it
                places, keys = sent.take(keys)
                part = self._answered(sent, places) if places else None
                if part is not None:
                    self._settle(part)
                    yield part

    def _answered(self, sent: SentAdds, places: Sequence[int]) -> Answered | None:
        if not sent.left:
            self._sent.remove(sent)
            self._n_again -= sent.again
        if sent.again:
            self._taken.take(*sent.ids_at(places))
        if sent.done is None:
            self.abandoned -= len(places)
            return None
        return sent.part(places)

    def _settle(self, *parts: Answered) -> None:
        for part in parts:
            part.flow.waiting -= part.count
            self._traffic.unacknowledged -= part.size
        if self.emptied is not None:
            self.emptied()

    def expire(self, now: float) -> list[Answered]:
        """Give up the adds whose deadlines have passed; without numbers their keys stay taken until a late reply comes.

        :param now: seconds of the clock that the deadlines are of.
        """
        return self._give_up(lambda sent: sent.deadline <= now)

    def leave(self, flow: SendingFlow) -> list[Answered]:
        """Give up the adds of a ``flow``, as :meth:`expire` does."""
        return self._give_up(lambda sent: sent.flow is flow)

    def _give_up(self, whether: Callable[[SentAdds], bool]) -> list[Answered]:
        ended = [sent for sent in self._sent if sent.done is not None and whether(sent)]
        parts: list[Answered] = [sent.give_up() for sent in ended]
        if self._by_key:
            self.abandoned += sum([part.count for part in parts])
        else:
            for sent in ended:
                self._sent.remove(sent)
        self._settle(*parts)
        return parts

    def clear(self) -> list[Answered]:
        """Takes out everything that is waited for."""
        parts = self._give_up(lambda sent: True)
        self._sent.clear()
        self._taken.clear()
        self._n_again = 0
        self.abandoned = 0
        return parts

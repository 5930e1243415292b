"""Adds that one connection has sent together: their keys, the expected replies, and the adds still unanswered.

Adds that were sent together are one :class:`SentAdds`, of one ledger or of many, without an object for each entry.
Received bytes are compared with the replies where the protocol makes these known in advance (V2), before any of
them is decoded.  Replies in another order are looked up by key: the number of the request, or in protocols without
numbers (V2) ledger and entry.  Nothing is counted here: the account is :mod:`.in_flight`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

AddsDone = Callable[[str, Sequence[int], Exception | None], None]
"""``done(bookie_id, places, error)``: the outcome of the adds at some places; together exactly once for each."""

Key = Any
"""Ledger and entry, or a number."""

_FEW = 4


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentAdds:
    """Adds that were sent together.

    :ivar flow: the flow that sent them, as the account keeps it.
    :ivar order: number of the request on its connection.
    :ivar size: bytes of the frames, which the connection holds, not this object.
    :ivar places: the places of all adds.
    :ivar replies: the bytes that confirm all of them; empty if they are not known in advance.
    :ivar numbers: numbers of the requests, None if they have none.
    :ivar again: whether entries without numbers were perhaps sent before.
    :ivar done: None once the adds were given up.
    :ivar n_answered: number of answered adds.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    count: int
    places: range
    _ledger_ids: Sequence[int]
    _entry_ids: Sequence[int]
    replies: bytes
    numbers: range | None
    again: bool
    done: AddsDone | None
    n_answered: int = attrs.field(default=0, init=False)
    # The index of each unanswered add, by key; set once replies come out of order.
    _places: dict[Key, int] | None = attrs.field(default=None, init=False)

    @property
    def left(self) -> int:
        """The number of unanswered adds."""
        return self.count - self.n_answered

    def keys(self) -> Sequence[Key]:
        """Return the keys of all unanswered adds, in the order of the requests."""
        at = self.n_answered
        if self.numbers is not None:
            return self.numbers[at:]
        if not at and self.count == 1:
            return ((self._ledger_ids[0], self._entry_ids[0]),)
        return list(zip(self._ledger_ids[at:], self._entry_ids[at:], strict=True))

    def holds(self, keys: "set[Key]") -> bool:
        """Test whether one of these ``keys`` belongs to an unanswered add."""
        return not keys.isdisjoint(self.keys() if self._places is None else self._places)

    def ids_at(self, places: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return ledger ids and entry ids of the adds at ``places``, counted from 0."""
        if isinstance(places, range):
            part = slice(places.start, places.stop)
            return self._ledger_ids[part], self._entry_ids[part]
        return [self._ledger_ids[place] for place in places], [self._entry_ids[place] for place in places]

    def confirmed(self, data: bytes, at: int) -> range:
        """Remove the adds that are confirmed, if the received bytes are the expected replies to these adds.

        :param data: the received bytes.
        :param at: offset in them of the first reply.
        :returns: the places; empty if the bytes are anything else, and have to be decoded.
        """
        if self._places is not None:
            return range(0)
        first, count, size = self.n_answered, self.left, len(self.replies) // self.count
        start = first * size
        if not data.startswith(self.replies[start:] if start else self.replies, at):
            count = (len(data) - at) // size
            if not 0 < count < self.left:
                return range(0)
            end = at + count * size
            if data[at:end] != self.replies[start : start + end - at]:
                return range(0)
        self.n_answered += count
        return range(first, first + count)

    def take(self, keys: Sequence[Key]) -> tuple[Sequence[int], Sequence[Key]]:
        """Remove the adds with the given ``keys``.

        :returns: the places, and the keys that are unknown or were answered before.
        """
        if self._places is None:
            at, wanted = self.n_answered, self.keys()
            count = min(self.left, len(keys))
            if list(wanted[:count]) == list(keys[:count]):
                self.n_answered += count
                return range(at, at + count), keys[count:]
            if len(keys) < _FEW and not any(key in wanted for key in keys):
                return (), keys  # these replies belong to other requests: keep comparing keys in order
            self._places = dict(zip(wanted, range(at, self.count), strict=True))
        found, others, take = list[int](), list[Key](), self._places.pop
        for key in keys:
            place = take(key, None)
            if place is None:
                others.append(key)
            else:
                found.append(place)
        self.n_answered += len(found)
        return found, others

    def part(self, places: Sequence[int]) -> "AddsPart":
        """Return the record of ``places`` that were just removed.

        Each record has a share of the bytes sent, and the shares add up to the total.
        """
        size = self.size * (self.left + len(places)) // self.count - self.size * self.left // self.count
        return AddsPart(self, places, size)

    def give_up(self) -> "AddsPart":
        """Return all unanswered adds, because nobody waits for them any more.

        Their keys stay taken, as replies may still come.
        """
        places = range(self.n_answered, self.count) if self._places is None else list(self._places.values())
        part = AddsPart(self, places, self.size * self.left // self.count)
        self.done = None
        return part


class AddsPart:
    """A part of the adds sent together, whose adds are no longer outstanding.

    :ivar count: number of the adds.
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


class TakenEntries:
    """A set of entries by ledger; one call adds, finds or removes all entries of a run."""

    __slots__ = ("_by_ledger",)

    def __init__(self) -> None:
        self._by_ledger: dict[int, set[int]] = {}

    def put(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Add one or more entries.

        :param ledger_ids: one for each of ``entry_ids``.
        """
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            self._by_ledger.setdefault(ledger_id, set()).update(ids)

    def have_any(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
        """Test whether the set has any of the given entries.

        :param ledger_ids: one for each of ``entry_ids``, at least one.
        """
        by_ledger = self._by_ledger
        return any(
            ledger_id in by_ledger and not by_ledger[ledger_id].isdisjoint(ids)
            for ledger_id, ids in _by_ledger(ledger_ids, entry_ids)
        )

    def take(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Remove one or more entries, all of which are in the set.

        :param ledger_ids: one for each of ``entry_ids``.
        """
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            left = self._by_ledger[ledger_id]
            left.difference_update(ids)
            if not left:
                del self._by_ledger[ledger_id]

    def clear(self) -> None:
        """Remove all entries."""
        self._by_ledger.clear()


def _by_ledger(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> Iterable[tuple[int, Sequence[int]]]:
    """Map each ledger id to its entry ids."""
    first = ledger_ids[0]
    if ledger_ids[-1] == first and ledger_ids.count(first) == len(ledger_ids):
        return ((first, entry_ids),)
    found: dict[int, list[int]] = {}
    for ledger_id, entry_id in zip(ledger_ids, entry_ids, strict=True):
        found.setdefault(ledger_id, []).append(entry_id)
    return found.items()

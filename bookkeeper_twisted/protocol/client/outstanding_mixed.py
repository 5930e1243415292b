"""Adds of one entry each of many ledgers that one connection waits for, V2.

They are sent together (:class:`SentMixed`), and a bookie with one journal confirms them in their order: a row of
replies is then compared with what was sent, by comparing slices.  Once replies come in another order, all that is left
is looked up by key.

Keys are taken as those of other adds are (:mod:`.outstanding`).  A writer only ever adds above what it added
before, so that it suffices to know, of each ledger, the highest entry that was sent.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import ge
from typing import Protocol

from .outstanding import SendingFlow

MixedDone = Callable[[str, Sequence[int], Exception | None], None]
"""``done(bookie_id, places, error)``: what became of the adds at some places; together exactly once for each."""

Key = tuple[int, int]
"""Ledger and entry."""


_FEW = 4


class MixedAdds(Protocol):
    """Adds of different ledgers, ready to be sent.

    :ivar ledger_ids: no two are alike.
    :ivar entry_ids: one for each.
    :ivar frames: of all of them, in order.
    """

    ledger_ids: tuple[int, ...]
    entry_ids: tuple[int, ...]
    frames: bytes


class SentMixed:
    """Mixed adds that were sent.

    :ivar order: number of the request on its connection.
    :ivar size: bytes of the frames.
    :ivar count: how many.
    :ivar left: how many of them are not answered.
    :ivar done: None once nobody waits.
    """

    __slots__ = ("flow", "order", "deadline", "ledger_ids", "entry_ids", "size", "count", "left", "done", "_places")

    def __init__(self, flow: SendingFlow, order: int, deadline: float, adds: MixedAdds, done: MixedDone) -> None:
        self.flow = flow
        self.order = order
        self.deadline = deadline
        self.ledger_ids = adds.ledger_ids
        self.entry_ids = adds.entry_ids
        self.size = len(adds.frames)
        self.count = self.left = len(adds.ledger_ids)
        self.done: MixedDone | None = done
        self._places: dict[Key, int] | None = None  # of what is not answered, once that is not the rest

    def in_turn(self, ledger_ids: tuple[int, ...], entry_ids: tuple[int, ...]) -> range:
        """Takes out the places that the first replies answer, if they answer what is next."""
        at = self.count - self.left
        if self._places is not None or self.ledger_ids[at] != ledger_ids[0]:
            return range(0)
        count = min(self.left, len(ledger_ids))
        end = at + count
        if self.ledger_ids[at:end] != ledger_ids[:count] or self.entry_ids[at:end] != entry_ids[:count]:
            return range(0)
        self.left -= count
        return range(at, end)

    def look_up(self, keys: Sequence[Key]) -> tuple[list[int], list[Key]]:
        """Takes out the places of keys, and says which keys are not here, or were answered before."""
        if self._places is None:
            if len(keys) < _FEW and not any(ledger_id in self.ledger_ids for ledger_id, _ in keys):
                return [], list(keys)  # an odd reply does not end the comparing
            at = self.count - self.left
            unanswered = zip(self.ledger_ids[at:], self.entry_ids[at:], strict=True)
            self._places = dict(zip(unanswered, range(at, self.count), strict=True))
        found, others, take = list[int](), list[Key](), self._places.pop
        for key in keys:
            place = take(key, None)
            if place is None:
                others.append(key)
            else:
                found.append(place)
        self.left -= len(found)
        return found, others

    def part(self, places: Sequence[int]) -> "MixedPart":
        """Places that were just taken out."""
        size = self.size * (self.left + len(places)) // self.count - self.size * self.left // self.count
        return MixedPart(self, places, size)

    def give_up(self) -> "MixedPart":
        """All that was not answered.  Nobody waits any more, and the keys stay taken."""
        places = range(self.count - self.left, self.count) if self._places is None else list(self._places.values())
        size = self.size * self.left // self.count
        part, self.done = MixedPart(self, places, size), None
        return part


class MixedPart:
    """Mixed adds at some places that are outstanding no more.

    :ivar count: how many.
    :ivar size: bytes of their frames; those of all parts add up to what was sent.
    """

    __slots__ = ("flow", "order", "places", "count", "size", "done")

    def __init__(self, sent: SentMixed, places: Sequence[int], size: int) -> None:
        assert sent.done is not None
        self.flow = sent.flow
        self.order = sent.order
        self.places = places
        self.count = len(places)
        self.size = size
        self.done = sent.done

    def __str__(self) -> str:
        return "mixed adds"

    def finish(self, bookie_id: str, error: Exception | None) -> None:
        """Tells who waits what became of them."""
        self.done(bookie_id, self.places, error)


class OutstandingMixed:
    """Mixed adds in the order in which they were sent.

    :ivar highest: of each ledger that has something here, the highest entry that was sent.
    :ivar abandoned: how many were given up and hold their keys.
    """

    __slots__ = ("_sent", "highest", "abandoned")

    def __init__(self) -> None:
        self._sent: list[SentMixed] = []
        self.highest: dict[int, int] = {}
        self.abandoned = 0

    def __bool__(self) -> bool:
        return any(sent.done is not None for sent in self._sent)

    def is_any_taken(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
        """Whether a reply to one of these could be mistaken for another request's: ledgers, and an entry of each."""
        highest = self.highest
        if highest.keys().isdisjoint(ledger_ids):
            return False
        return any(map(ge, map(highest.get, ledger_ids, repeat(-1)), entry_ids))

    def insert(self, sent: SentMixed) -> None:
        """Remembers adds whose keys are not taken."""
        self._sent.append(sent)
        self.highest.update(zip(sent.ledger_ids, sent.entry_ids, strict=True))

    def answered(
        self, ledger_ids: tuple[int, ...], entry_ids: tuple[int, ...]
    ) -> tuple[list[MixedPart], Sequence[Key]]:  # fmt: skip
        """Takes out what replies answer.

        :returns: it, and the keys of those that answer nothing here.
        """
        parts = list[MixedPart]()
        while ledger_ids and (count := self._answered_in_turn(ledger_ids, entry_ids, parts)):
            ledger_ids, entry_ids = ledger_ids[count:], entry_ids[count:]
        keys = list(zip(ledger_ids, entry_ids, strict=True))
        for sent in list(self._sent) if keys else ():
            places, keys = sent.look_up(keys)
            self._answered(sent, places, parts)
        return parts, keys

    def _answered_in_turn(
        self, ledger_ids: tuple[int, ...], entry_ids: tuple[int, ...], parts: list[MixedPart]
    ) -> int:  # fmt: skip
        for sent in self._sent:
            places = sent.in_turn(ledger_ids, entry_ids)
            if places:
                self._answered(sent, places, parts)
                return len(places)
        return 0

    def _answered(self, sent: SentMixed, places: Sequence[int], parts: list[MixedPart]) -> None:
        if not places:
            return
        if sent.done is None:
            self.abandoned -= len(places)
        else:
            parts.append(sent.part(places))
        if not sent.left:
            at = self._sent.index(sent)
            del self._sent[at]
            self._free(sent, self._sent[:at])

    def _free(self, sent: SentMixed, overtaken: Sequence[SentMixed]) -> None:
        highest = self.highest
        freed = tuple(map(highest.pop, sent.ledger_ids, repeat(-1)))
        if freed != sent.entry_ids:  # some ledgers have more
            kept = zip(sent.ledger_ids, freed, sent.entry_ids, strict=True)
            highest.update([(ledger_id, found) for ledger_id, found, entry_id in kept if found > entry_id])
        for older in reversed(overtaken):  # what they have of these ledgers is the highest again
            for ledger_id, entry_id in zip(older.ledger_ids, older.entry_ids, strict=True):
                highest.setdefault(ledger_id, entry_id)

    def expire(self, now: float) -> list[MixedPart]:
        """Gives up what is overdue."""
        return self._give_up(lambda sent: sent.deadline <= now)

    def leave(self, flow: SendingFlow) -> list[MixedPart]:
        """Gives up what a flow asked."""
        return self._give_up(lambda sent: sent.flow is flow)

    def _give_up(self, whether: Callable[[SentMixed], bool]) -> list[MixedPart]:
        parts = [sent.give_up() for sent in self._sent if sent.done is not None and whether(sent)]
        self.abandoned += sum([part.count for part in parts])
        return parts

    def clear(self) -> list[MixedPart]:
        """Takes out everything somebody waits for."""
        parts = self._give_up(lambda sent: True)
        self._sent.clear()
        self.highest.clear()
        self.abandoned = 0
        return parts

"""The adds that a connection has sent in one write: their keys, their expected replies, and which are unanswered.

All adds of one write, of one ledger or of many, are one :class:`SentAdds`; no object is made for each entry.  In V2 the
bytes of the replies are known in advance, so received bytes are first compared with them.  If they differ, for example
because the replies arrive in another order, they are decoded, and matched with the adds by key: by request number, or
by ledger and entry in a protocol without request numbers (V2).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from ...codec.runs import AddReplies
from .request_errors import entries_text

AddsDone = Callable[[str, Sequence[int], Exception | None], None]
"""``done(bookie_id, indexes, error)``: reports the outcome of one or more adds by their indexes in the sent batch.

Each add is reported once.
"""

Key = Any
"""The key that matches a reply with an add: ledger and entry, or the number of the request."""

_FEW = 4
_MOST_COMPARED = 100


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentAdds:
    """Add requests that were sent together in one write; the bookie answers each of them separately.

    :ivar flow: the flow (ledger handle) that sent them.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: total size in bytes of their frames.
    :ivar indexes: the indexes of the adds: 0 up to, but not including, ``count``.
    :ivar replies: the bytes of the replies if all adds succeed; empty if they are not known in advance.
    :ivar numbers: the request ids of the adds; None in a protocol without request ids (V2).
    :ivar again: whether late replies to earlier adds of the same entries could be mistaken for the replies to these
        adds.  True if the replies have no request numbers (V2), and the entries may have been sent before.
    :ivar done: callback for the outcomes; None after the client has stopped waiting for the replies.
    :ivar n_answered: number of answered adds.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    count: int
    indexes: range
    _ledger_ids: Sequence[int]
    _entry_ids: Sequence[int]
    replies: bytes
    numbers: range | None
    again: bool
    done: AddsDone | None
    n_answered: int = attrs.field(default=0, init=False)
    # The index of each unanswered add, by key; None until a reply comes out of order.
    _index_by_key: dict[Key, int] | None = attrs.field(default=None, init=False)

    @property
    def left(self) -> int:
        """The number of unanswered adds."""
        return self.count - self.n_answered

    def keys(self) -> Sequence[Key]:
        """Return the keys of all unanswered adds, in the order of the requests.

        A key is the request number; in a protocol without request numbers, it is the pair of ledger id and entry id.
        """
        at = self.n_answered
        if self.numbers is not None:
            return self.numbers[at:]
        if not at and self.count == 1:
            return ((self._ledger_ids[0], self._entry_ids[0]),)
        return list(zip(self._ledger_ids[at:], self._entry_ids[at:], strict=True))

    def holds(self, keys: "set[Key]") -> bool:
        """Test whether one of the ``keys`` (:data:`Key`) is the key of an unanswered add."""
        return not keys.isdisjoint(self.keys() if self._index_by_key is None else self._index_by_key)

    def ids_at(self, indexes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the ledger ids and the entry ids of the adds with the given ``indexes``."""
        if isinstance(indexes, range):
            part = slice(indexes.start, indexes.stop)
            return self._ledger_ids[part], self._entry_ids[part]
        return [self._ledger_ids[index] for index in indexes], [self._entry_ids[index] for index in indexes]

    def is_entry(self, index: int, ledger_id: int, entry_id: int) -> bool:
        """Test whether the add with the given ``index`` adds the entry ``entry_id`` of the ledger ``ledger_id``.
        """
        return self._entry_ids[index] == entry_id and self._ledger_ids[index] == ledger_id

    def confirmed(self, data: bytes, at: int) -> range:
        """Mark adds as answered if the received bytes are their expected replies.

        :param data: the received bytes.
        :param at: offset of the first reply in ``data``.
        :returns: the indexes of the answered adds; empty if the bytes are not the expected ones and must be decoded.
        """
        if self._index_by_key is not None:
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
        """Mark the adds with the given ``keys`` (:data:`Key`) as answered.

        :returns: the indexes of these adds, and the keys that belong to none of the unanswered adds.
        """
        if self._index_by_key is None:
            at, wanted = self.n_answered, self.keys()
            count = min(self.left, len(keys))
            if list(wanted[:count]) == list(keys[:count]):
                self.n_answered += count
                return range(at, at + count), keys[count:]
            if len(keys) < _FEW and not any(key in wanted for key in keys):
                return (), keys  # no reply belongs to these adds: do not build the dictionary of their keys
            self._index_by_key = dict(zip(wanted, range(at, self.count), strict=True))
        found, others, take = list[int](), list[Key](), self._index_by_key.pop
        for key in keys:
            index = take(key, None)
            if index is None:
                others.append(key)
            else:
                found.append(index)
        self.n_answered += len(found)
        return found, others

    def part(self, indexes: Sequence[int], is_mistaken: bool = False) -> "AddsPart":
        """Return an AddsPart for the adds with the given ``indexes``, which were answered just now.

        Its ``size`` is the part of :attr:`size` that belongs to these adds: the sizes of all parts add up to the whole.

        :param is_mistaken: whether the replies have other ledger or entry ids than the adds.
        """
        size = self.size * (self.left + len(indexes)) // self.count - self.size * self.left // self.count
        return AddsPart(self, indexes, size, is_mistaken)

    def give_up(self) -> "AddsPart":
        """Stop waiting for the replies to all unanswered adds; return an AddsPart with these adds.

        Other requests must not use their keys (ledger and entry) yet, because replies may still come.
        """
        unanswered = self._index_by_key
        indexes = range(self.n_answered, self.count) if unanswered is None else list(unanswered.values())
        part = AddsPart(self, indexes, self.size * self.left // self.count)
        self.done = None
        return part


class NamedEntries:
    """Checks that replies with request numbers are about the entries of their requests.

    A reply is matched with its add by the request number.  It also contains a ledger id and an entry id; a correct
    bookie copies both from the request.

    :param replies: the replies, in the order of arrival.
    """

    __slots__ = ("_replies", "_at", "_by_number")

    def __init__(self, replies: AddReplies) -> None:
        self._replies = replies
        self._at = 0
        self._by_number: dict[int, tuple[int, int]] | None = None

    def are_those(self, sent: SentAdds, indexes: Sequence[int]) -> bool:
        """Test whether the replies have the ledger and entry ids of the adds that they answer.

        If many replies are in the order of the adds, only the first and the last are compared.  To compare all of them
        would cost a client 3 % of the time of large appends.

        This object stores its position in the replies.  So this method must be called after every call of
        :meth:`SentAdds.take` that returned indexes, in the same order.

        :param sent: the adds that were sent in one write.
        :param indexes: the indexes of the answered adds in ``sent``.
        """
        replies = self._replies
        if self._by_number is None and isinstance(indexes, range):  # usual case: replies in the order of the adds
            start = self._at
            self._at = end = start + len(indexes)
            if not 1 < end - start <= _MOST_COMPARED:
                ledger_ids, entry_ids = replies.ledger_ids, replies.entry_ids
                return sent.is_entry(indexes[0], ledger_ids[start], entry_ids[start]) and (
                    end == start + 1 or sent.is_entry(indexes[-1], ledger_ids[end - 1], entry_ids[end - 1])
                )
            named: tuple[list[int], list[int]] = replies.ledger_ids[start:end], replies.entry_ids[start:end]
        else:
            if self._by_number is None:
                ids = zip(replies.ledger_ids, replies.entry_ids, strict=True)
                self._by_number = dict(zip(replies.txn_ids, ids, strict=True))
            assert sent.numbers is not None
            found = [self._by_number[sent.numbers[index]] for index in indexes]
            named = [ledger_id for ledger_id, _ in found], [entry_id for _, entry_id in found]
        sent_ids = sent.ids_at(indexes)
        return named == ([*sent_ids[0]], [*sent_ids[1]])


class AddsPart:
    """Some of the adds that were sent together: all that were answered, or that timed out, at the same time.

    :ivar count: number of the adds in this part.
    :ivar size: total size in bytes of their frames.
    :ivar is_mistaken: whether the replies to these adds have other ledger or entry ids than the adds.
    """

    __slots__ = ("flow", "order", "indexes", "count", "size", "done", "is_mistaken", "_sent")

    def __init__(self, sent: SentAdds, indexes: Sequence[int], size: int, is_mistaken: bool = False) -> None:
        self.flow = sent.flow
        self.order = sent.order
        self.indexes = indexes
        self.count = len(indexes)
        self.size = size
        self.done = sent.done
        self.is_mistaken = is_mistaken
        self._sent = sent

    @property
    def asked(self) -> str:
        """The name of the request in the text of an error, such as ``a read of ledger 5 entry 3``."""
        ledger_ids, entry_ids = self._sent.ids_at(self.indexes)
        if len(ledgers := set(ledger_ids)) > 1:
            return f"adds of {self.count} entries of {len(ledgers)} ledgers"
        return f"{'an add' if self.count == 1 else 'adds'} of {entries_text(ledger_ids[0], entry_ids)}"


Answered = SentAdds | AddsPart
"""Adds that received replies answer: all adds that were sent together, or a part of them."""


class EntrySet:
    """A set of entries of many ledgers; a connection stores in it the entries of adds whose replies may still come.

    Each method processes many entries by one call, because a call for each entry would take longer.
    """

    __slots__ = ("_by_ledger",)

    def __init__(self) -> None:
        self._by_ledger: dict[int, set[int]] = {}

    def put(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Add one or more entries to the set.

        :param ledger_ids: the ledger id of each of ``entry_ids``.
        """
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            self._by_ledger.setdefault(ledger_id, set()).update(ids)

    def have_any(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
        """Test whether the set has any of the given entries.

        :param ledger_ids: the ledger id of each of ``entry_ids``, at least one.
        """
        by_ledger = self._by_ledger
        return any(
            ledger_id in by_ledger and not by_ledger[ledger_id].isdisjoint(ids)
            for ledger_id, ids in _by_ledger(ledger_ids, entry_ids)
        )

    def remove(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Remove one or more entries, all of which are in the set.

        :param ledger_ids: the ledger id of each of ``entry_ids``.
        """
        for ledger_id, ids in _by_ledger(ledger_ids, entry_ids):
            left = self._by_ledger[ledger_id]
            left.difference_update(ids)
            if not left:
                del self._by_ledger[ledger_id]

    def clear(self) -> None:
        """Remove all entries from the set."""
        self._by_ledger.clear()


def _by_ledger(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> Iterable[tuple[int, Sequence[int]]]:
    """Group entry ids by their ledger ids."""
    first = ledger_ids[0]
    if ledger_ids[-1] == first and ledger_ids.count(first) == len(ledger_ids):
        return ((first, entry_ids),)
    found: dict[int, list[int]] = {}
    for ledger_id, entry_id in zip(ledger_ids, entry_ids, strict=True):
        found.setdefault(ledger_id, []).append(entry_id)
    return found.items()

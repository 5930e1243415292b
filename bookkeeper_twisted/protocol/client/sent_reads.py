"""Reads that one connection has sent together, reads by key, and requests that are neither adds nor reads.

A V2 reply to a read names ledger and entry only.  While a read is outstanding, and also after it was given up (timed
out, cancelled), its key is *taken*, as the keys of adds are (:mod:`.in_flight`).  Nothing is counted here.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply

ReadKey = int | tuple[int, int]
"""The number of a V3 read, or ledger and entry of a V2 read."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentReads:
    """Reads that were sent in one write and are answered together.

    :ivar flow: the flow that sent them, as the account keeps it.
    :ivar order: number of the request on its connection.
    :ivar size: bytes of the frames.
    :ivar replies: one for each key, None until it is received.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    keys: Sequence[ReadKey]
    replies: list[ReadReply | None]
    deferred: "Deferred[list[ReadReply]]"
    _n_answered: int = attrs.field(default=0, init=False)

    @property
    def count(self) -> int:
        """The number of requests."""
        return len(self.keys)

    def file(self, index: int, reply: ReadReply) -> bool:
        """Store a ``reply``.

        :param index: index of the key that it answers.
        :returns: whether all replies are there.
        """
        self.replies[index] = reply
        self._n_answered += 1
        return self._n_answered == len(self.keys)


class ReadsByKey(dict[ReadKey, tuple[SentReads, int] | None]):
    """A map from keys to the reads in flight, oldest first, with the index of the key among reads sent together.

    The value is None for a read that was given up but may still be answered.
    """

    __slots__ = ()

    def are_taken(self, keys: Sequence[ReadKey]) -> bool:
        """Test whether replies to reads of these ``keys`` would be ambiguous: two have one key, or a key is taken."""
        if len(keys) == 1:
            return keys[0] in self
        return not self.keys().isdisjoint(keys) or len(set(keys)) != len(keys)

    def put(self, reads: SentReads) -> None:
        """Add ``reads``; none of their keys may be taken."""
        for index, key in enumerate(reads.keys):
            self[key] = (reads, index)

    def give_up(self, reads: SentReads, keep_taken: bool) -> int:
        """Remove incomplete ``reads``.

        :param keep_taken: whether their keys stay taken until a late reply comes.
        :returns: the number of those without a reply.
        """
        keys = [key for key in reads.keys if (slot := self.get(key)) is not None and slot[0] is reads]
        for key in keys:
            if keep_taken:
                self[key] = None
            else:
                del self[key]
        return len(keys)

    def some(self, whether: Callable[[SentReads], bool]) -> list[SentReads]:
        """Return some of the incomplete reads.

        :param whether: tests one of them.
        :returns: those that pass the test, in the order in which they were made.
        """
        waiting = dict.fromkeys([slot[0] for slot in self.values() if slot is not None])
        return [reads for reads in waiting if whether(reads)]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentCall:
    """A request that is neither add nor read, with one number and one reply.

    :ivar flow, order, size: as of :class:`SentReads`.
    :ivar expected: the class of its reply.
    :ivar result: returns the result of the reply.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    ledger_id: int
    entry_id: int
    expected: type
    result: Callable[[Any], Any]
    deferred: "Deferred[Any]"
    count: ClassVar[int] = 1

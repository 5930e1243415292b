"""The reads that one connection has sent together, an index of them by key, and other requests than adds and reads.

A V2 reply to a read has no number, so ledger and entry are the key that matches it with the read.  The key is *taken*
while the read is outstanding, and after it was given up (timed out, cancelled) until a late reply comes: a request with
the same key must not be sent then (:mod:`.in_flight`).
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply

ReadKey = int | tuple[int, int]
"""The key that matches a reply with a read: the number of a V3 read, or ledger and entry of a V2 read."""


def keys_of(ledger_id: int, entry_ids: Sequence[int]) -> Sequence[ReadKey]:
    """Return the keys of V2 reads of ``entry_ids``, entries of the ledger ``ledger_id``."""
    return list(zip(repeat(ledger_id), entry_ids, strict=False))


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentReads:
    """Reads that were sent in one write; their replies are returned together.

    :ivar flow: the flow (ledger handle) that sent them.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: bytes of their frames.
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
        """The number of reads."""
        return len(self.keys)

    def file(self, index: int, reply: ReadReply) -> bool:
        """Store the reply to one of the reads.

        :param index: index of the key that it answers.
        :returns: whether all replies have arrived.
        """
        self.replies[index] = reply
        self._n_answered += 1
        return self._n_answered == len(self.keys)


class ReadsByKey(dict[ReadKey, tuple[SentReads, int] | None]):
    """A map from the key of each read to the reads that were sent with it, oldest first, and to its index among them.

    The value is None for a read that was given up but may still be answered.
    """

    __slots__ = ()

    def are_taken(self, keys: Sequence[ReadKey]) -> bool:
        """Test whether a key occurs twice in ``keys`` or is taken, so that a reply could belong to two reads."""
        if len(keys) == 1:
            return keys[0] in self
        return not self.keys().isdisjoint(keys) or len(set(keys)) != len(keys)

    def put(self, reads: SentReads) -> None:
        """Add ``reads``; none of their keys may be taken."""
        self.update(zip(reads.keys, zip(repeat(reads), range(reads.count), strict=False), strict=True))

    def give_up(self, reads: SentReads, keep_taken: bool) -> int:
        """Remove ``reads`` of which at least one has no reply yet.

        :param keep_taken: whether their keys stay taken until a late reply comes.
        :returns: the number of reads among them that had no reply yet.
        """
        keys = [key for key in reads.keys if (slot := self.get(key)) is not None and slot[0] is reads]
        for key in keys:
            if keep_taken:
                self[key] = None
            else:
                del self[key]
        return len(keys)

    def some(self, whether: Callable[[SentReads], bool]) -> list[SentReads]:
        """Return the reads that still wait for replies and pass a test.

        :param whether: the test of some reads that were sent together.
        :returns: these reads, in the order in which they were sent.
        """
        waiting = dict.fromkeys([slot[0] for slot in self.values() if slot is not None])
        return [reads for reads in waiting if whether(reads)]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentCall:
    """A request that is neither add nor read, with one number and one reply.

    :ivar flow, order, size: as of :class:`SentReads`.
    :ivar expected: the class of its reply.
    :ivar result: extracts the caller's result from the reply.
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

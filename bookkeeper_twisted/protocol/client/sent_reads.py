"""The reads that a connection has sent together, an index of outstanding reads, and requests other than adds and reads.

A V2 reply to a read has no number, so ledger and entry match it with the read.  A V3 reply has the number of its read.
A ledger with its entry ids, and NUMBERED with the request numbers, are the *spaces* of ids in the index.  An id is
*taken* while its read is outstanding, and after the read was given up (timed out, cancelled) until a late reply comes:
a request with the same id must not be sent then (:mod:`.in_flight`).

The replies to a ledger that is read entry by entry arrive by the hundred.  All steps for them are single calls of C
functions: one for each reply would cost the client more than the bookie needs for the read.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply

NUMBERED = None
"""The space of reads that have request numbers; the space of other reads is the id of their ledger."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentReads:
    """Reads that were sent in one write; their replies are returned together.

    :ivar flow: the flow (ledger handle) that sent them.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: bytes of their frames.
    :ivar space: the space of their ids: the id of their ledger, or NUMBERED.
    :ivar ids: their entry ids, or their request numbers if they have numbers.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    space: int | None
    ids: Sequence[int]
    deferred: "Deferred[list[ReadReply]]"
    _replies: dict[int, ReadReply] = attrs.field(factory=dict, init=False)

    @property
    def count(self) -> int:
        """The number of reads that were sent and are not answered yet."""
        return len(self.ids)

    @property
    def n_missing(self) -> int:
        """The number of reads whose reply has not arrived."""
        return len(self.ids) - len(self._replies)

    def file(self, ids: Sequence[int], replies: Sequence[ReadReply]) -> None:
        """Store replies to some of the reads.

        :param ids: the id of the read that each reply answers.
        """
        self._replies.update(zip(ids, replies, strict=True))

    def replies(self) -> list[ReadReply]:
        """Return the replies to all reads, in the order of their ids.  All of them must have arrived."""
        return list(map(self._replies.__getitem__, self.ids))


class ReadsById:
    """An index of outstanding reads: by space and id, the reads that were sent together with the read of that id.

    Of a read that was given up but may still be answered, the index has None instead of its reads.
    """

    __slots__ = ("_spaces",)

    def __init__(self) -> None:
        self._spaces: dict[int | None, dict[int, SentReads | None]] = {}

    def are_taken(self, space: int | None, ids: Sequence[int]) -> bool:
        """Test whether an id occurs twice in ``ids`` or is taken, so that a reply could belong to two reads.

        :param space: the id of the ledger whose entries are to be read, or NUMBERED if ``ids`` are request numbers.
        """
        known = self._spaces.get(space, {})
        if len(ids) == 1:
            return ids[0] in known
        return not known.keys().isdisjoint(ids) or not (isinstance(ids, range) or len(set(ids)) == len(ids))

    def put(self, reads: SentReads) -> None:
        """Add ``reads``; none of their ids may be taken."""
        self._spaces.setdefault(reads.space, {}).update(zip(reads.ids, repeat(reads)))

    def find(self, space: int | None, read_id: int) -> tuple[SentReads | None, bool]:
        """Return the reads that one id belongs to, and whether the id is taken.

        The reads are None if the id is not taken, and also if its read was given up.

        :param space: the space of the id: the id of a ledger, or NUMBERED.
        """
        known = self._spaces.get(space, {})
        return known.get(read_id), read_id in known

    def of(self, reads: SentReads, ids: Sequence[int]) -> int:
        """Return how many of the first of ``ids``, which are ids in the space of ``reads``, belong to ``reads``."""
        found = list(map(self._spaces[reads.space].get, ids))
        if found.count(reads) == len(found):
            return len(found)
        return next(i for i, each in enumerate(found) if each is not reads)

    def remove(self, space: int | None, ids: Iterable[int]) -> None:
        """Free ``ids``, so that other reads may use them.

        :param space: the space of the ids: the id of a ledger, or NUMBERED.
        :param ids: taken ids; one may occur twice, as a broken bookie may send a reply twice.
        """
        known = self._spaces[space]
        deque(map(known.pop, ids, repeat(None)), maxlen=0)
        if not known:
            del self._spaces[space]

    def clear(self) -> None:
        """Forget all reads."""
        self._spaces.clear()

    def give_up(self, reads: SentReads, keep_taken: bool) -> int:
        """Remove ``reads`` of which at least one has no reply yet.

        :param keep_taken: whether their ids stay taken until a late reply comes.
        :returns: the number of reads among them that had no reply yet.
        """
        known = self._spaces.get(reads.space, {})
        ids = [each for each in reads.ids if known.get(each) is reads]
        if keep_taken:
            known.update(zip(ids, repeat(None)))
        elif ids:
            self.remove(reads.space, ids)
        return len(ids)

    def some(self, whether: Callable[[SentReads], bool]) -> list[SentReads]:
        """Return all reads that still wait for replies and for which ``whether`` returns True.

        :param whether: the test of some reads that were sent together.
        """
        waiting = dict.fromkeys([reads for known in self._spaces.values() for reads in known.values() if reads])
        return [reads for reads in waiting if whether(reads)]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentCall:
    """A request that is neither add nor read, with one number and one reply.

    :ivar flow: the flow (ledger handle) that sent it.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: bytes of its frame.
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

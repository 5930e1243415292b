"""The reads that a connection has sent in one write, an index of outstanding reads, and requests of other kinds.

A reply to a V3 read has the request number of the read.  A reply to a V2 read has none, so the client finds the read by
ledger and entry id.  Therefore the id of a read is its request number, or its entry id.  Entry ids of different ledgers
are in different *scopes*: the scope of an entry id is its ledger id, and the scope of all request numbers is NUMBERED.

An id is *in use* while its read is outstanding.  If the read is given up (timed out or cancelled), its id stays in use
until the late reply arrives.  No read with an id in use may be sent (:mod:`.in_flight`).

A client that reads a ledger entry by entry receives hundreds of replies at a time.  Each step processes all of them by
one call of a C function, because a call for each reply would take longer than the bookie needs for the read.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.runs import ReadReply
from .request_errors import entries_text

NUMBERED = None
"""The *scope* of request numbers: outstanding V3 reads are found by the pair (NUMBERED, request number).

Outstanding V2 reads are found by the pair (ledger id, entry id).
"""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentReads:
    """Reads that were sent in one write; their replies are returned together.

    :ivar flow: the flow (ledger handle) that sent them.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: total size in bytes of their frames.
    :ivar scope: NUMBERED if the reads have request numbers, else the id of their ledger.
    :ivar ids: their request numbers, or else their entry ids.
    :ivar entries: ledger id and entry ids of reads with request numbers; else None.
    :cvar patience: seconds that the bookie may wait on purpose.
    """

    flow: Any
    order: int
    deadline: float
    size: int
    scope: int | None
    ids: Sequence[int]
    deferred: "Deferred[list[ReadReply]]"
    entries: tuple[int, Sequence[int]] | None = None
    _replies: dict[int, ReadReply] = attrs.field(factory=dict, init=False)
    patience: ClassVar[float] = 0.0

    @property
    def asked(self) -> str:
        """The name of the request in the text of an error, such as ``a read of ledger 5 entry 3``."""
        ledger_id, entry_ids = self.entries or (self.scope or 0, self.ids)
        return f"{'a read' if len(entry_ids) == 1 else 'reads'} of {entries_text(ledger_id, entry_ids)}"

    @property
    def count(self) -> int:
        """The number of reads.  All of them count as outstanding until the last reply has arrived."""
        return len(self.ids)

    @property
    def n_missing(self) -> int:
        """The number of reads whose reply has not arrived."""
        return len(self.ids) - len(self._replies)

    def file(self, ids: Sequence[int], replies: Sequence[ReadReply]) -> None:
        """Store replies to some of the reads.

        :param ids: for each reply, the id of the read that it answers.
        """
        self._replies.update(zip(ids, replies, strict=True))

    def replies(self) -> list[ReadReply]:
        """Return the replies to all reads, in the order of :attr:`ids`.  All replies must have arrived."""
        return list(map(self._replies.__getitem__, self.ids))


class ReadsById:
    """An index of outstanding reads.

    It maps the pair (ledger id, entry id) of a V2 read, or (NUMBERED, request number) of a V3 read, to its SentReads:
    the reads that were sent together with it.  If the client no longer waits for a read but its reply may still come,
    the index maps the pair to None, so that no other read gets the late reply.
    """

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        self._scopes: dict[int | None, dict[int, SentReads | None]] = {}

    def are_in_use(self, scope: int | None, ids: Sequence[int]) -> bool:
        """Test whether an id occurs twice in ``ids`` or another read has it, so that a reply could belong to two reads.

        :param scope: the id of the ledger whose entries are to be read, or NUMBERED if ``ids`` are request numbers.
        """
        known = self._scopes.get(scope, {})
        if len(ids) == 1:
            return ids[0] in known
        return not known.keys().isdisjoint(ids) or not (isinstance(ids, range) or len(set(ids)) == len(ids))

    def put(self, reads: SentReads) -> None:
        """Add ``reads``; no other read in the index may have one of their ids."""
        self._scopes.setdefault(reads.scope, {}).update(zip(reads.ids, repeat(reads)))

    def find(self, scope: int | None, read_id: int) -> tuple[SentReads | None, bool]:
        """Return the SentReads that contains the read ``read_id``, and whether the id is known.

        :param scope: the ledger id if ``read_id`` is an entry id; NUMBERED if it is a request number.
        :returns: (None, False) if no outstanding read has this id; (None, True) if the client no longer waits for the
            reply to this read.
        """
        known = self._scopes.get(scope, {})
        return known.get(read_id), read_id in known

    def of(self, reads: SentReads, ids: Sequence[int]) -> int:
        """Return how many ids at the beginning of ``ids`` belong to ``reads``.

        :param ids: ids from replies: request numbers if ``reads`` have request numbers, else entry ids of their ledger.
        """
        found = list(map(self._scopes[reads.scope].get, ids))
        if found.count(reads) == len(found):
            return len(found)
        return next(i for i, each in enumerate(found) if each is not reads)

    def remove(self, scope: int | None, ids: Iterable[int]) -> None:
        """Free ``ids``, so that other reads may use them.

        :param scope: the ledger id if ``ids`` are entry ids; NUMBERED if they are request numbers.
        :param ids: ids that are in the index; an id may occur twice, because a broken bookie may send a reply twice.
        """
        known = self._scopes[scope]
        deque(map(known.pop, ids, repeat(None)), maxlen=0)
        if not known:
            del self._scopes[scope]

    def clear(self) -> None:
        """Remove all reads."""
        self._scopes.clear()

    def give_up(self, reads: SentReads, keep_in_use: bool) -> int:
        """Stop waiting for the unanswered reads of ``reads``.

        :param keep_in_use: whether no other read may use their ids until their late replies arrive.
        :returns: the number of these reads.
        """
        known = self._scopes.get(reads.scope, {})
        ids = [each for each in reads.ids if known.get(each) is reads]
        if keep_in_use:
            known.update(zip(ids, repeat(None)))
        elif ids:
            self.remove(reads.scope, ids)
        return len(ids)

    def some(self, whether: Callable[[SentReads], bool]) -> list[SentReads]:
        """Return all SentReads that wait for replies and for which ``whether`` returns True.
        """
        waiting = dict.fromkeys([reads for known in self._scopes.values() for reads in known.values() if reads])
        return [reads for reads in waiting if whether(reads)]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class SentCall:
    """A sent request that is neither an add nor a read; it has one request number and one reply.

    :ivar flow: the flow (ledger handle) that sent it.
    :ivar order: number of this object in the order in which the connection has sent requests.
    :ivar size: size in bytes of its frame.
    :ivar expected: the class of its reply.
    :ivar result: called with the reply; returns the result of the request.
    :ivar what: what the request is, for the text of an error.
    :ivar patience: seconds that the bookie may wait on purpose.
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
    what: str = "a request"
    patience: float = 0.0
    count: ClassVar[int] = 1

    @property
    def asked(self) -> str:
        """The name of the request in the text of an error, such as ``a read of ledger 5 entry 3``."""
        ledger = f" of ledger {self.ledger_id}" if self.ledger_id >= 0 else ""
        return f"{self.what}{ledger}" + (f" entry {self.entry_id}" if self.entry_id >= 0 else "")

"""Read-ahead: returns batches in order, and requests later batches while the application processes earlier ones."""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from ...ledger.entry_batch import EntryBatch

Fetch = Callable[[int, int, int], Coroutine[Deferred[Any], Any, EntryBatch]]
"""``fetch(first, max_count, max_size)``: a function that reads entries, at least one, from ``first`` upwards."""

_SHARES = 4


@attrs.define(eq=False)
class _Piece:
    """A range of entries that one request reads, and the result of the request.

    :ivar work: fires when the request has ended; None before the request is made.
    :ivar cost: number of bytes that are expected in the reply; they count against the limit of :class:`ReadAhead`.
    :ivar wanted: False after the reader has given up this range, so that the result is ignored.
    """

    first: int
    last: int
    work: Deferred[None] | None = None
    cost: int = 0
    batch: EntryBatch | None = None
    failure: Failure | None = None
    wanted: bool = True


class ReadAhead:
    """An asynchronous iterator over the entries from ``first`` to ``last``, which reads batches of entries ahead.

    The number of entries to request is estimated from earlier replies, so that a request can be sent before the
    previous one is answered.  If a reply has fewer entries than requested, the missing entries are requested next.

    Cancelling a step of the iteration, or calling :meth:`aclose`, cancels outstanding requests and drops received
    batches.

    :param budget: maximum number of bytes in batches that the application has not read yet, plus the expected bytes of
        the replies to outstanding requests.  A request counts as a quarter of it, or more if a single entry is larger.
        Room for one request is left free, for entries that are missing in a reply.
    """

    def __init__(self, fetch: Fetch, first: int, last: int, budget: int) -> None:
        self._fetch = fetch
        self._next = first
        self._last = last
        self._budget = budget
        self._share = max(1, budget // _SHARES)
        self._cost = self._share  # expected bytes of a reply: a quarter of the budget, or more if entries are large
        self._pieces: deque[_Piece] = deque()
        self._count: int | None = None  # number of entries to request at a time; None until the first reply
        self._used = 0  # number of bytes in received batches, and expected number in outstanding replies
        self._advancing = False
        self._consumer: Deferred[None] | None = None

    def __aiter__(self) -> "ReadAhead":
        return self

    async def __anext__(self) -> EntryBatch:
        self._advance()
        while self._pieces:
            head = self._pieces[0]
            if head.failure is not None:
                head.failure.raiseException()
            if head.batch is not None:
                self._pieces.popleft()
                self._used -= head.batch.size
                self._advance()
                return head.batch
            await self._something()
        raise StopAsyncIteration

    def __repr__(self) -> str:
        return f"<ReadAhead asked up to entry {self._next - 1} of {self._last}, {self._used} bytes>"

    async def aclose(self) -> None:
        """End the iteration, even if a caller waits for its next step."""
        self.close()

    def close(self) -> None:
        """End the iteration, even if a caller waits for its next step; cancel requests, and drop received batches."""
        self._next = self._last + 1
        pieces, self._pieces = self._pieces, deque()
        _drop(pieces)
        self._wake()

    async def _something(self) -> None:
        """Wait until one of the running requests has ended."""
        self._consumer = Deferred()
        try:
            await self._consumer
        except CancelledError:
            self.close()
            raise

    def _wake(self) -> None:
        if self._consumer is not None and not self._consumer.called:
            self._consumer.callback(None)

    # ---- requests ------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Send requests in the order of the entries, as long as the budget has room for their replies."""
        if self._advancing:
            # This call comes from the loop below, because a request was answered immediately; the loop sends the next
            # request.
            return
        self._advancing = True
        while (piece := self._to_ask()) is not None:
            piece.cost = self._cost
            self._used += piece.cost
            piece.work = Deferred.fromCoroutine(self._ask(piece))
            piece.work.addErrback(self._failed, piece)
        self._advancing = False

    def _to_ask(self) -> _Piece | None:
        """Return the next range of entries to request, or None.

        None means that all entries are requested, that the read-ahead limit is reached, or that the first reply must
        come first, because it shows how many entries to request at a time.
        """
        piece = next((piece for piece in self._pieces if piece.work is None), None)
        if piece is not None and piece is self._pieces[0]:
            return piece
        if self._pieces and (self._count is None or self._used + 2 * self._cost > self._budget):
            return None
        if piece is None and self._next <= self._last:
            count = self._count or self._last - self._next + 1
            piece = _Piece(self._next, min(self._next + count - 1, self._last))
            self._next = piece.last + 1
            self._pieces.append(piece)
        return piece

    async def _ask(self, piece: _Piece) -> None:
        batch = await self._fetch(piece.first, piece.last - piece.first + 1, self._share)
        self._used += batch.size - piece.cost
        piece.batch = batch
        self._learn(piece, batch)
        if batch.last < piece.last:
            self._queue_rest(piece, batch.last + 1)
        self._advance()
        self._wake()

    def _learn(self, piece: _Piece, batch: EntryBatch) -> None:
        """Choose how many entries the next requests ask for, by the number of entries in a reply."""
        self._cost = max(self._share, batch.size // len(batch))
        if self._count is None:
            self._count = len(batch)
        elif batch.last < piece.last:
            # The bookie returned fewer entries than requested.  Request a little fewer than it returned from now on,
            # because each incomplete reply costs one more request for the rest.
            self._count = max(1, len(batch) * 7 // 8)
        elif 2 * batch.size < self._share:
            self._count = max(self._count, 2 * len(batch))

    def _queue_rest(self, piece: _Piece, first: int) -> None:
        """Queue a request for the entries from ``first`` to the end of a range, because a reply ended before them."""
        if piece.last + 1 == self._next:
            self._next = first
        else:
            self._pieces.insert(self._pieces.index(piece) + 1, _Piece(first, piece.last))

    def _failed(self, failure: Failure, piece: _Piece) -> None:
        """Cancel the requests for all ranges after a range whose request has failed.

        The iteration still returns the batches before the failed range; then it raises the error.
        """
        if not piece.wanted:
            return
        self._used -= piece.cost
        piece.failure = failure
        self._next = self._last + 1
        behind = list(self._pieces)[self._pieces.index(piece) + 1 :]
        for _ in behind:
            self._pieces.pop()
        _drop(behind)
        self._wake()


def _drop(pieces: "deque[_Piece] | list[_Piece]") -> None:
    """Cancel the requests for some ranges of entries, and ignore their results."""
    for piece in pieces:
        piece.wanted = False
        if piece.work is not None:
            piece.work.cancel()

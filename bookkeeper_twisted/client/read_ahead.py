"""Batches in order, fetched while the consumer works on the one before, within a number of bytes."""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from .entry_batch import EntryBatch

Fetch = Callable[[int, int, int], Coroutine[Deferred[Any], Any, EntryBatch]]
"""``fetch(first, max_count, max_size)``."""


class ReadAhead:
    """An asynchronous iterator over the batches from ``first`` to ``last``.

    One fetch is under way at a time.  It asks for a quarter of the budget and begins only if that still
    fits beside what waits for the consumer, so that no more than ``budget`` bytes wait (or one entry,
    if it is greater).  An iterator that is dropped stops by itself.
    """

    def __init__(self, fetch: Fetch, first: int, last: int, budget: int) -> None:
        self._fetch = fetch
        self._next = first
        self._last = last
        self._budget = budget
        self._share = max(1, budget // 4)
        self._ready: deque[EntryBatch] = deque()
        self._held = 0
        self._work: Deferred[None] | None = None
        self._failure: Failure | None = None
        self._done = first > last
        self._consumer: Deferred[None] | None = None
        self._room: Deferred[None] | None = None

    def __aiter__(self) -> "ReadAhead":
        return self

    async def __anext__(self) -> EntryBatch:
        if self._work is None and not self._done:
            self._work = Deferred.fromCoroutine(self._read())
            self._work.addErrback(self._failed)
        while not self._ready:
            if self._failure is not None:
                self._failure.raiseException()
            if self._done:
                raise StopAsyncIteration
            self._consumer = Deferred()
            await self._consumer
        batch = self._ready.popleft()
        self._held -= batch.size
        _fire(self._room)
        return batch

    async def _read(self) -> None:
        while self._next <= self._last:
            while self._held and self._held + self._share > self._budget:
                self._room = Deferred()
                await self._room
            batch = await self._fetch(self._next, self._last - self._next + 1, self._share)
            self._next = batch.last + 1
            self._held += batch.size
            self._ready.append(batch)
            _fire(self._consumer)
        self._done = True
        _fire(self._consumer)

    def _failed(self, failure: Failure) -> None:
        self._failure = failure
        _fire(self._consumer)


def _fire(waiter: "Deferred[None] | None") -> None:
    if waiter is not None and not waiter.called:
        waiter.callback(None)

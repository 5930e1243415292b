"""A limit of what is under way."""

from collections import deque

from twisted.internet.defer import Deferred, succeed


class ConcurrencyLimit:
    """A limit of things under way, some of them taken at a time; first come, first served.

    :param limit: 0 or less for none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[tuple[int, Deferred[None]]] = deque()

    @property
    def limit(self) -> int:
        """The number of things that may be under way, 0 for any number."""
        return max(self._limit, 0)

    def enter(self, count: int) -> "Deferred[None]":
        """Wait until there is room, and take it.

        :param count: how many begin, at most the limit.
        """
        if not self._waiting and self._fits(count):
            self._used += count
            return succeed(None)
        waiter = (count, Deferred[None](lambda _: self._give_up(waiter)))
        self._waiting.append(waiter)
        return waiter[1]

    def leave(self, count: int) -> None:
        """Give room back, and admit callers that wait.

        :param count: how many have ended.
        """
        self._used -= count
        self._admit()

    def _fits(self, count: int) -> bool:
        return self._limit <= 0 or self._used + count <= self._limit

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            count, admitted = self._waiting.popleft()
            self._used += count
            admitted.callback(None)

    def _give_up(self, waiter: tuple[int, Deferred[None]]) -> None:
        self._waiting.remove(waiter)
        self._admit()

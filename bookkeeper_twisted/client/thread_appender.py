"""Appending from any thread: handles over a shared log, and futures for those who want to know."""

from collections import deque
from concurrent.futures import Future

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from .claim_log import ClaimResult
from .producer import Producer
from .shared_log import SharedLog


class Flushes:
    """Futures that threads wait for, on their way to the reactor's thread."""

    def __init__(self, log: SharedLog) -> None:
        self._log = log
        self._asked: deque[tuple[int, Future[int]]] = deque()

    def ask(self, position: int) -> "Future[int]":
        """Completes with the position once everything below it is acknowledged; called on any thread."""
        future: Future[int] = Future()
        self._asked.append((position, future))
        self._log.wake()
        return future

    def answer(self) -> None:
        """Takes up what was asked for; to be called where the sender looks, after it was disarmed."""
        while self._asked:
            position, future = self._asked.popleft()
            if future.set_running_or_notify_cancel():
                done: Deferred[int] = self._log.when_acknowledged(position)
                done.addCallbacks(future.set_result, _failed, errbackArgs=(future,))


def _failed(failure: Failure, future: "Future[int]") -> None:
    future.set_exception(failure.value)


class ThreadAppender:
    """Appends to one ledger, from the thread that made it; others make their own.

    What one appender offers keeps its order; what several offer is in the order of their calls.
    """

    def __init__(self, log: SharedLog, flushes: Flushes) -> None:
        self._log = log
        self._flushes = flushes
        self._producer: Producer = log.producer()

    def offer(self, data: bytes) -> int:
        """Appends an entry, without waiting for anything but, if that is the log's policy, room.

        :returns: the position behind it, or BACK_PRESSURED.
        :raises bookkeeper_twisted.errors.BookKeeperError: why the ledger takes no more.
        """
        position = self._producer.offer(data)
        if position == ClaimResult.CLOSED and self._log.failure is not None:
            raise self._log.failure
        return position

    def flush(self) -> "Future[int]":
        """Completes once everything this appender has offered is acknowledged; fails with why it never will be."""
        return self._flushes.ask(self._producer.end)

"""Appending from any thread: a log that threads fill, futures for the outcome, and the drain of both.

Theory of operation.  A thread lays out its entry in the ledger's claim log (:mod:`.claim_log`) and, if
no other thread has yet, wakes the reactor: one call from a thread for all that is offered until the reactor looks.  The
drain turns the log into runs, gives their entries the next ids, and takes up the futures.  While a
claim that is neither committed nor given up holds up others, the look is repeated.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ...errors import IncorrectParameterError
from .base_writer import as_bytes
from .claim_log import ClaimLog
from .producer import ClaimResult, Producer, WhenFull
from .threads import Threads

_LOOK_AGAIN_SECONDS = 1.0


def _failed(failure: Failure, future: "Future[int]") -> None:
    future.set_exception(failure.value)


class ThreadAppender:
    """Appends to one ledger, from any thread and from many at once.

    What one thread offers keeps its order; what several offer is in the order of their calls.
    """

    __slots__ = ("_log", "_flush", "_local", "_largest", "_when_full", "_patience")

    def __init__(
        self, log: ClaimLog, flush: "Callable[[], Future[int]]", threads: Threads, largest: int, when_full: WhenFull,
        patience: float | None = None,
    ) -> None:  # fmt: skip
        """
        :param flush: see :meth:`ThreadAppends.flush`.
        :param largest: bytes of a payload at most.
        """
        self._log = log
        self._flush = flush
        self._local = threads.local()
        self._largest = largest
        self._when_full = when_full
        self._patience = patience

    def offer(self, data: bytes) -> int:
        """Appends an entry, without waiting for anything but, if that is wanted, room.

        :returns: the position behind it in the order of all offers, or BACK_PRESSURED: there was no room.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: it is larger than an entry may be.
        :raises bookkeeper_twisted.errors.IllegalOperationError: the reactor's thread would have to wait for room.
        :raises bookkeeper_twisted.errors.BookKeeperError: why the ledger takes no more.
        """
        if type(data) is not bytes:
            data = as_bytes(data)
        if len(data) > self._largest:
            raise IncorrectParameterError(f"an entry of {len(data)} bytes; at most {self._largest} fit a frame")
        try:
            producer: Producer = self._local.producer
        except AttributeError:
            producer = self._local.producer = self._log.producer(self._when_full, self._patience)
        position = producer.offer(data)
        # the sign first: members of an enumeration are slow to look up
        if position < 0 and position == ClaimResult.CLOSED and self._log.failure is not None:
            raise self._log.failure
        return position

    def flush(self) -> "Future[int]":
        """Completes once all that threads have offered up to now is acknowledged; fails with why it never will be.

        Not to be waited for on the reactor's thread, which has to see to it.
        """
        return self._flush()


class ThreadAppends:
    """The side of the reactor's thread.

    :ivar log: what threads fill.
    """

    def __init__(
        self, clock: IReactorTime, threads: Threads, new_log: Callable[[Callable[[], None]], ClaimLog],
        drain: Callable[[], None],
    ) -> None:  # fmt: skip
        """
        :param new_log: makes the log, of what wakes its sender.
        :param drain: sends what is in it.
        """
        self._clock = clock
        self._threads = threads
        self._drain = drain
        self._repeated = False
        self.log = new_log(lambda: threads.call(self.look))
        self._asked: deque[tuple[int, Future[int]]] = deque()  # of flushes

    def appender(self, largest: int, when_full: WhenFull, patience: float | None) -> ThreadAppender:
        """Make a handle by which threads append to the ledger; see :class:`ThreadAppender`.

        :param largest: bytes of the largest payload that is taken.
        :param when_full: what an offer does that finds no room.
        :param patience: seconds that an offer waits with ``WhenFull.BLOCK``, None for any time.
        """
        return ThreadAppender(self.log, self.flush, self._threads, largest, when_full, patience)

    def flush(self) -> "Future[int]":
        """Return a future that completes once all that was offered up to now is acknowledged; any thread.

        :returns: it fails with the error that ended the log, if that comes first.
        """
        position, future = self.log.tail, Future[int]()
        self._asked.append((position, future))
        self.log.wake()
        return future

    def _take_up_flushes(self) -> None:
        while self._asked:
            position, future = self._asked.popleft()
            if future.set_running_or_notify_cancel():
                done: Deferred[int] = self.log.when_acknowledged(position)
                done.addCallbacks(future.set_result, _failed, errbackArgs=(future,))

    def look(self) -> None:
        """Sends what was committed and takes up the futures."""
        log = self.log
        log.disarm()  # first: what is committed from now on leads to another look
        self._take_up_flushes()
        if log.lost_from is not None and log.failure is not None:
            log.abandon(log.failure)
            return
        self._drain()
        if log.unblock(self._clock.seconds()) and not self._repeated:
            self._repeated = True
            self._clock.callLater(_LOOK_AGAIN_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._repeated = False
        self.look()

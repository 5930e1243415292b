"""Appends from any thread: threads store entries in a claim log; the reactor's thread sends them.

Theory of operation.  The ledger has a *claim log* (:mod:`.claim_log`), a queue of entries in memory.  A thread reserves
memory there (a *claim*), stores its entry in this memory, and commits the claim, which is open until then.  The thread
wakes the reactor's thread, unless that thread was woken already and is still to look at the log.  The reactor's thread
gives the committed entries the next ids and sends them, in the order of the claims.  A flush returns a future, which
completes once the entries are acknowledged.  An open claim delays all later entries, so while there is one, the
reactor's thread looks at the log each second.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ...arguments import as_bytes, check_integer, too_large
from ..logger_context import LedgerLogger, LoggerContext
from .claim_log import STUCK_SECONDS, ClaimLog
from .producer import ClaimResult, Producer, WhenFull
from .threads import Threads

_LOOK_AGAIN_SECONDS = 1.0


def _failed(failure: Failure, future: "Future[int]") -> None:
    future.set_exception(failure.value)


class ThreadAppender:
    """An appender to one ledger, which any number of threads may use concurrently.

    The entries of one thread keep their order.  The entries of several threads are in the order of their calls.  A
    thread that has its entry as bytes calls :meth:`offer`.  A thread that still has to encode it can call :meth:`claim`
    and encode it in the claimed memory, which saves a copy.

    The results of offers, claims and flushes are *positions*.  A position is not an entry id, but a byte offset in the
    claim log; positions only grow.  An offered entry is durable once a later :meth:`flush` has completed.
    """

    __slots__ = ("_log", "_flush", "_local", "_largest", "_when_full", "_patience")

    def __init__(
        self, log: ClaimLog, flush: "Callable[[], Future[int]]", threads: Threads, largest: int, when_full: WhenFull,
        patience: float | None = None,
    ) -> None:  # fmt: skip
        """:param flush: the method :meth:`ThreadAppends.flush`, which :meth:`flush` calls.
        :param largest: maximum number of bytes of a payload.
        """
        self._log = log
        self._flush = flush
        self._local = threads.local()
        self._largest = largest
        self._when_full = when_full
        self._patience = patience

    def offer(self, data: bytes | bytearray | memoryview) -> int:
        """Append an entry without waiting for its acknowledgement; with ``WhenFull.BLOCK`` wait for room if necessary.

        :param data: bytes, a bytearray or a memoryview; copied before this returns.
        :returns: the position after the entry, or a negative ``ClaimResult``; then nothing is appended.  The result
            BACK_PRESSURED means that there is no room, with ``WhenFull.BLOCK`` not even after waiting.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the data are not bytes, or are too large for an
            entry.
        :raises bookkeeper_twisted.errors.IllegalOperationError: this thread has an open claim; or it would have to wait
            for room by ``WhenFull.BLOCK``, but is the reactor's thread, which must not wait.
        :raises bookkeeper_twisted.errors.BookKeeperError: the ledger takes no more entries; the error says why.
        """
        if type(data) is not bytes:
            data = as_bytes("data", data)
        if len(data) > self._largest:
            raise too_large(len(data), self._largest)
        try:
            producer: Producer = self._local.producer
        except AttributeError:
            producer = self._new_producer()
        position = producer.offer(data)
        # Only a negative position can be a ClaimResult.  Test the sign first, because looking up a member of an
        # enumeration is slow.
        if position < 0:
            self._check_open(position)
        return position

    def claim(self, size: int) -> int:
        """Reserve (claim) memory for the next entry, so that this thread can encode the entry there without a copy.

        Fill the memory through :attr:`payload`, then end the claim by :meth:`commit` or :meth:`abort`.  A thread can
        have one claim at a time.  An open claim delays all entries that were claimed later, and the close of the
        ledger.  So the log may revoke a claim that is open for more than 15 seconds, or whose thread has ended; a close
        revokes all claims that are still open after 15 seconds.

        :param size: size of the entry in bytes, at least 1; all bytes of the memory are 0 at first.
        :returns: the position after the entry, or a negative ``ClaimResult``.  The result BACK_PRESSURED means that
            there is no room, with ``WhenFull.BLOCK`` not even after waiting.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an entry cannot have this size.
        :raises bookkeeper_twisted.errors.IllegalOperationError: this thread has an open claim; or it would have to wait
            for room by ``WhenFull.BLOCK``, but is the reactor's thread, which must not wait.
        :raises bookkeeper_twisted.errors.BookKeeperError: the ledger takes no more entries; the error says why.
        """
        check_integer("size", size, 1, self._largest)
        position = self._producer().claim(size)
        if position < 0:
            self._check_open(position)
        return position

    @property
    def payload(self) -> memoryview:
        """The writable memory that this thread has reserved and neither committed nor aborted.

        :raises bookkeeper_twisted.errors.IllegalOperationError: the thread has reserved no memory.
        """
        return self._producer().payload

    def commit(self) -> int:
        """Append the entry that this thread has encoded in its reserved memory.

        :returns: the position after the entry, the same that :meth:`claim` returned.
        :raises bookkeeper_twisted.errors.IllegalOperationError: the thread has reserved no memory, or has not committed
            it in time, so that the memory was taken back.  In both cases nothing is appended.
        """
        return self._producer().commit()

    def abort(self) -> None:
        """Return the memory that this thread has reserved, without appending an entry; no entry id is used.

        If the memory was taken back from the thread before, this is not an error.

        :raises bookkeeper_twisted.errors.IllegalOperationError: the thread has reserved no memory.
        """
        self._producer().abort()

    def _producer(self) -> Producer:
        """Return the object with which the calling thread reserves memory for entries; create it at the first call."""
        producer: Producer | None = getattr(self._local, "producer", None)
        return self._new_producer() if producer is None else producer

    def _new_producer(self) -> Producer:
        producer: Producer = self._log.producer(self._when_full, self._patience)
        self._local.producer = producer
        return producer

    def _check_open(self, position: int) -> None:
        """Raise the error that has closed the ledger for appends, if ``position`` is the claim result CLOSED."""
        if position == ClaimResult.CLOSED and self._log.failure is not None:
            raise self._log.failure

    def flush(self) -> "Future[int]":
        """Return a future that completes when all entries are acknowledged that were appended before this call.

        An entry is appended by :meth:`offer` or :meth:`commit`, on any thread.

        The thread of the reactor or event loop sends the entries, so it must not block on this future.  On that
        thread, use ``await asyncio.wrap_future(appender.flush())``.

        :returns: a future, which completes with the position up to which all entries are acknowledged, or fails with
            the reason why they never will be.
        """
        return self._flush()

    def __repr__(self) -> str:
        log = self._log
        state = "open" if log.failure is None else f"closed: {type(log.failure).__name__}: {log.failure}"
        return (
            f"<ThreadAppender ledger {log.ledger_id}, when full: {self._when_full.value}, "
            f"{log.in_flight} bytes not acknowledged, {state}>"
        )


class ThreadAppends:
    """Sends the entries that threads append, on the reactor's thread; also completes the futures of flushes.

    :ivar log: the claim log, a queue of entries in memory that threads fill.
    """

    _log = LedgerLogger()

    def __init__(
        self, clock: IReactorTime, threads: Threads, new_log: Callable[[Callable[[], None]], ClaimLog],
        drain: Callable[[], None], logger_context: LoggerContext | None = None,
    ) -> None:  # fmt: skip
        """:param new_log: a function that makes the claim log; its argument is the function that the log calls to wake
            the sender.
        :param drain: a function that sends the entries in the log that threads have written completely.
        :param logger_context: names and values that the program wants in log lines about the ledger; None for none.
        """
        self._clock = clock
        self._threads = threads
        self._drain = drain
        self._logger_context = logger_context
        self._repeated = False
        self.log = new_log(lambda: threads.call(self.look))
        # new flushes: the position up to which entries must be acknowledged, and the future to complete then
        self._asked: deque[tuple[int, Future[int]]] = deque()

    def appender(self, largest: int, when_full: WhenFull, patience: float | None) -> ThreadAppender:
        """Make an appender by which threads append to the ledger.

        :param largest: maximum number of bytes of a payload.
        :param when_full: what an offer does if there is no room.
        :param patience: maximum number of seconds that an offer waits for room with ``WhenFull.BLOCK``; None for ever.
        """
        return ThreadAppender(self.log, self.flush, self._threads, largest, when_full, patience)

    def flush(self) -> "Future[int]":
        """Return a future that completes when all entries that were appended before this call are acknowledged.

        Any thread may call it.

        :returns: a future, which fails with the error that ended the log if the log ends first.
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
        """Send the entries that threads have written completely.

        Also begin to wait for the acknowledgements that new calls of :meth:`flush` need.  Take memory back from a
        thread that has ended, or that reserved the memory too long ago and so delays the entries of other threads.
        """
        log = self.log
        # Do this before reading the log: a thread that commits an entry from now on calls this method again, so no
        # entry is overlooked.
        log.disarm()
        self._take_up_flushes()
        if log.lost_from is not None and log.failure is not None:
            log.abandon(log.failure)
            return
        self._drain()
        before = log.revoked
        is_open = log.unblock(self._clock.seconds())
        if log.revoked > before:
            self._log.warn(
                "ledger {ledger_id}: claims of appenders were given up: {claims}; "
                "they were open for {seconds:.0f} s, or their threads have ended",
                ledger_id=log.ledger_id, claims=log.revoked - before, seconds=STUCK_SECONDS,
            )  # fmt: skip
        if is_open and not self._repeated:
            self._repeated = True
            self._clock.callLater(_LOOK_AGAIN_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._repeated = False
        self.look()

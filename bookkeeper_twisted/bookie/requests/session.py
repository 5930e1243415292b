"""The requests of one connection.  They begin in order of arrival; while a limit is reached, they wait in a queue.

The limits bound the memory that clients can use in the bookie.  After the loss of a connection, only its adds are
completed; its other requests are cancelled.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.runs import HIGH_PRIORITY, RECOVERY_ADD, AddRun
from ...entries.interfaces import Entries
from ...errors import Status, TooManyRequestsError
from ...protocol.interfaces import IRequestSession, IServerConnection
from .context import Permits, RequestContext, status_of

Start = Callable[["RequestSession", Any], bool]
"""A function that begins a request; returns False if the request must wait."""


@implementer(IRequestSession)
class RequestSession:
    """The requests of one connection to the bookie: waiting requests in a queue, and requests in progress.

    A session begins the requests in their order, as far as the limits of the connection and of the bookie allow, and
    sends the replies over the connection.

    :param starts: for each type of request, the function that begins a request of this type.
    :ivar loading: the number of bytes that are being loaded from disk, or wait in memory for a reply.
    """

    _log = Logger()

    def __init__(
        self, connection: IServerConnection, context: RequestContext, starts: "dict[type[Any], Start]"
    ) -> None:
        self.connection = connection
        self.context = context
        self.loading = 0
        self._starts = starts
        self._backlog: deque[Any] = deque()
        self._adds = 0
        self._add_bytes = 0
        self._reads = 0
        self._polls = 0
        self._serving: dict[Deferred[None], None] = {}
        self._for_room: deque[Deferred[None]] = deque()
        self._for_turn: deque[Deferred[None]] = deque()
        self._awaited: Permits | None = None
        self._pumping = False
        self._reading_paused = False

    # -- the connection's side --

    @property
    def busy(self) -> bool:
        return bool(self._backlog or self._adds or self.loading) or self._n_served > 0

    @property
    def reading_paused(self) -> bool:
        """Return whether the connection is paused because requests are queued."""
        return self._reading_paused

    def received(self, items: Sequence[Any]) -> None:
        self._backlog.extend(items)
        self.pump()

    def writable(self) -> None:
        self.pump()

    def lost(self) -> None:
        """Drop the requests that have not begun; cancel the requests in progress, except adds."""
        self._backlog.clear()
        self._for_room.clear()
        self._for_turn.clear()
        if self._awaited is not None:
            self._awaited.withdraw(self._permitted)
            self._awaited = None
        self.context.reads.release(self._reads)
        self._reads = 0
        for serving in list(self._serving):
            serving.cancel()

    # -- starting --

    @property
    def has_room(self) -> bool:
        """Test whether the limits of the connection allow more unsent replies, and more bytes loaded from disk."""
        if not self.loading:
            return self.connection.has_room
        limits = self.context.limits
        most = limits.max_scarce_load_bytes if self.connection.is_scarce else limits.max_load_bytes
        return self.connection.has_room and self.loading < most

    @property
    def may_begin(self) -> bool:
        """Test whether the limits of the connection allow more unsent replies and one more request."""
        return self.has_room and self._n_served < self.context.limits.max_served

    def pump(self) -> None:
        """Begin queued requests until one of them must wait, or this connection's share of the reactor turn is used up.

        Pause the connection while requests are queued.
        """
        if self._pumping:
            return
        self._pumping = True
        turns, turn_is_over = self.connection.turns, self.connection.turn_is_over
        counts = turns.begin()
        try:
            while self._for_turn and not turn_is_over():
                self._for_turn.popleft().callback(None)
            while self._for_room and self.has_room and not turn_is_over():
                self._for_room.popleft().callback(None)
            while self._backlog and self._may_start() and not turn_is_over():
                item = self._backlog.popleft()
                if not self._starts[type(item)](self, item):
                    self._backlog.appendleft(item)
                    break
        finally:
            self._pumping = False
            if counts:
                turns.end()
        if self._reading_paused or self._backlog or self._for_room:
            self._pause_while_waiting()

    def _pause_while_waiting(self) -> None:
        if bool(self._backlog or self._for_room) is not self._reading_paused and not self.connection.closed:
            self._reading_paused = not self._reading_paused
            self.connection.set_reading_paused(self._reading_paused)

    def _may_start(self) -> bool:
        limits = self.context.limits
        return (
            self.may_begin
            and self._awaited is None
            and self._adds < limits.max_adds
            and self._add_bytes < limits.max_add_bytes
        )

    def again(self, item: Any) -> None:
        """Put ``item``, the unanswered rest of a request, at the front of the queue.

        The request continues when the limits of the connection allow it.
        """
        if not self.connection.closed:
            self._backlog.appendleft(item)

    # -- waits: for room, turns, permits and LACs --

    @property
    def _n_served(self) -> int:
        """Return the number of requests in progress, not counting adds and waits for a LAC."""
        return len(self._serving) - self._polls

    def serve(self, answering: "Coroutine[Any, Any, None]") -> None:
        """Begin the coroutine ``answering``, which answers a request; the loss of the connection cancels it.

        If the coroutine fails, the connection is closed: the request will never be answered, and its permits would be
        lost.
        """
        serving: Deferred[None] = Deferred.fromCoroutine(answering)
        serving.addErrback(self._failed)
        if not serving.called:
            self._serving[serving] = None
            serving.addBoth(self._served, serving)

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("a request of {peer} could not be answered", failure, peer=self.connection.peer)
            self.connection.end()

    def _served(self, _: None, serving: "Deferred[None]") -> None:
        del self._serving[serving]
        self.pump()

    async def room(self) -> None:
        """Wait until the limits of the connection allow more unsent replies."""
        if not self.has_room:
            waiter: Deferred[None] = Deferred()
            self._for_room.append(waiter)
            self._pause_while_waiting()
            await waiter

    async def turn(self) -> None:
        """Wait for a later reactor turn if the connections have used up their time in this turn."""
        if self.connection.turns.is_spent and self.connection.turn_is_over():
            waiter: Deferred[None] = Deferred()
            self._for_turn.append(waiter)
            await waiter

    def admit(self, permits: Permits) -> bool:
        """Acquire one of the ``permits`` for a request; the caller must release it.

        :returns: False if no permit is free; the session calls :meth:`pump` when one becomes free.
        """
        if not permits.acquire(1):
            self._wait(permits, 1)
            return False
        return True

    # -- adds --

    def add(self, run: AddRun) -> bool:
        """Begin to process a ``run`` of adds, which were received together.

        :returns: False if the run must wait for permits and has not begun.
        """
        context, entries = self.context, run.entries
        if not context.adds.acquire(entries.count):
            self._wait(context.adds, entries.count)
            return False
        self._adds += entries.count
        self._add_bytes += entries.size
        context.bookie.add(
            entries, run.master_key, bool(run.flags & RECOVERY_ADD), run.deferred_sync,
            bool(run.flags & HIGH_PRIORITY), partial(self._added, run, context.clock.seconds()),
        )  # fmt: skip
        return True

    def _added(self, run: AddRun, began: float, part: Entries, error: Exception | None) -> None:
        context, count = self.context, part.count
        self._adds -= count
        self._add_bytes -= part.size
        pairs = None if run.contexts is None else next(iter(run.contexts.values()))
        status = Status.EOK if error is None else status_of(error, **context.slow.fields_of(pairs))
        series = context.metrics.add.success if error is None else context.metrics.add.failure
        took = (context.clock.seconds() - began) * 1000
        series.record(took, count)
        if took >= context.slow.threshold:
            context.slow.say_add(self.connection.peer, *next(iter(part.ids())), count, took, pairs)
        if pairs is not None and context.traces is not None:
            context.traces.added(run, part, self.connection.peer, began, error)
        self.connection.reply(run.replies(status, part), count)
        context.adds.release(count)
        if self._backlog:
            self.pump()

    # -- reads --

    def admit_reads(self, count: int) -> bool:
        """Acquire ``count`` of the permits that limit the reads in progress.

        :returns: False if too few permits are free.  Then no permit was acquired, and the session calls :meth:`pump`
            when enough permits are free.
        """
        if not self.context.reads.acquire(count):
            self._wait(self.context.reads, count)
            return False
        self._reads += count
        return True

    def answered(self, count: int) -> None:
        """Release the permits of ``count`` answered reads; permits limit the reads in progress."""
        if self._reads:
            self._reads -= count
            self.context.reads.release(count)

    def expect(self, n_bytes: int) -> None:
        """Count bytes that are being loaded from disk, or wait in memory for a reply.

        :param n_bytes: number of bytes; negative to subtract bytes that were sent or dropped.
        """
        self.loading += n_bytes
        self.connection.expect(n_bytes)

    async def wait_lac(self, ledger_id: int, previous_lac: int, timeout_ms: int) -> int | None:
        """Wait until the LAC is above ``previous_lac`` or the connection is lost.

        :returns: the wall-clock time in ms at which the LAC advanced; None if the wait ended for another reason.
        :raises TooManyRequestsError: too many long polls wait from the peer's address, or from all peers together.
        """
        context, host = self.context, self.connection.host
        seconds = min(max(0, timeout_ms) / 1000, context.limits.max_poll_time)
        if context.polls[host] >= context.limits.max_polls_of_a_host:
            raise TooManyRequestsError(ledger_id)
        self._polls += 1
        context.polls[host] += 1
        try:
            updated = await context.bookie.wait_lac(ledger_id, previous_lac, seconds)
        finally:
            self._polls -= 1
            context.polls[host] -= 1
            if not context.polls[host]:
                del context.polls[host]
        return None if updated is None else int(updated)

    def _wait(self, permits: Permits, count: int) -> None:
        self._awaited = permits
        permits.wait(count, self._permitted)

    def _permitted(self) -> None:
        self._awaited = None
        self.pump()

"""A claim log: a queue of frames that any thread fills, and that the reactor's thread sends.

Theory of operation.  Frames are laid out in *terms* of preallocated memory.  A frame is *claimed* (its place is taken;
claim order is send order), *committed* or *aborted* (then it is a hole), *taken* by the sender in runs of consecutive
frames, sealed (:mod:`.frames`) and *acknowledged* by position: everything below it.  A position is the number of
bytes claimed before it.  The memory of a term serves again once everything in it is acknowledged, so what has to be
sent again is still there, the same bytes.

:attr:`ClaimLog.limit` is the gate: a claim that would end above it goes the slow way, which rotates terms and
finds out why there is no room.  A gate of 0 lets no claim pass, so code that works behind it, under the lock, needs no
further care.
"""

import sys
from bisect import insort
from collections import deque
from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred, fail, succeed

from ...errors import IllegalOperationError, IncorrectParameterError
from .frames import FrameLayout, Frames, FrameShape, cut_frames
from .producer import IDLE, ClaimResult, Producer, WhenFull
from .terms import NO_TERM, Term, TermPool
from .threads import Signal, Threads

MAX_POSITION = (1 << 63) - 1
MAX_TERMS = 3
"""Terms a log holds at most, if nothing else is said; with the window this bounds its memory."""

STUCK_SECONDS = 15.0
"""Seconds for which a claim may hold up the claims behind it."""


@attrs.define(eq=False)
class _Blocked:
    producer: Producer
    signal: Signal
    result: int = ClaimResult.BACK_PRESSURED


class ClaimLog:
    """Producers claim through handles, one for each thread; the rest belongs to the reactor's thread.

    :ivar tail: position behind the last claim.
    :ivar limit: position up to which claims need no care.
    :ivar term: the one that is being filled.
    :ivar taken: position up to which frames were given to the sender.
    :ivar acknowledged: position up to which everything is acknowledged.
    :ivar failure: why it takes nothing more, None while it does.
    :ivar lost_from: position from which on nothing will be acknowledged; None while all may be.
    :ivar shapes: see :class:`~.log_frames.FrameLayout`; where there is none, :meth:`shape` is asked.
    :ivar armed: whether the sender has been woken and has not looked yet.
    :ivar dropped: offers that found no room and were dropped.
    """

    __slots__ = (
        "tail", "limit", "term", "taken", "acknowledged", "failure", "lost_from", "shapes", "armed", "dropped",
        "_layout", "_pool", "_threads", "_wake", "_window", "_max_terms", "_terms", "_skipped", "_waiters", "_asked",
        "_lock", "_blocked", "_producers", "_locked", "_stuck",
    )  # fmt: skip

    def __init__(
        self, layout: FrameLayout, pool: TermPool, threads: Threads, wake: Callable[[], None],
        window: int | None = None, start: int = 0, max_terms: int = MAX_TERMS,
    ) -> None:  # fmt: skip
        """
        :param wake: has the sender look for frames; called on any thread, once until it has looked.
        :param window: bytes that may be claimed and not acknowledged, by default the size of three terms.
        :param start: the first position.
        :param max_terms: how many it may hold.
        """
        self.tail = self.taken = self.acknowledged = start
        self.limit = 0
        self.term = NO_TERM
        self.failure: Exception | None = None
        self.lost_from: int | None = None
        self.shapes = layout.shapes
        self.armed = False
        self.dropped = 0
        self._layout = layout
        self._pool = pool
        self._threads = threads
        self._wake = wake
        self._window = MAX_TERMS * pool.size if window is None else window
        self._max_terms = max_terms
        self._terms: list[Term] = []  # lists are short, and smaller than deques where there is nothing in them
        self._skipped: list[tuple[int, int]] = []
        self._waiters: list[tuple[int, int, Deferred[int]]] = []
        self._asked = 0
        self._lock = threads.lock()  # of code that works behind the gate
        self._blocked: deque[_Blocked] = deque()
        self._producers: tuple[Producer, ...] = ()
        self._locked = not getattr(sys, "_is_gil_enabled", lambda: True)()
        self._stuck: tuple[Producer, int, float] | None = None

    # ---- any thread ----------------------------------------------------------------------------------

    def producer(self, when_full: WhenFull = WhenFull.CODE, patience: float | None = None) -> Producer:
        """A handle for the calling thread.

        :param when_full: what its offers and claims do that find no room.
        :param patience: seconds they wait at most, if they wait; None for ever.
        """
        if sys.gettrace() is not None:
            self.use_lock()
        producer = Producer(self, self._threads.is_alive(), when_full, patience)
        with self._lock:
            kept = [other for other in self._producers if other.start != IDLE or other.alive()]
            self._producers = (*kept, producer)
        return producer

    def use_lock(self) -> None:
        """Has every claim use the lock from now on."""
        if not self._locked:
            with self._lock:
                self.limit = 0
                self._locked = True

    def wake(self) -> None:
        """Has the sender look, unless it is going to."""
        if not self.armed:
            self.armed = True
            self._wake()

    def shape(self, size: int) -> FrameShape:
        """Return the shape that frames with payloads of ``size`` bytes share."""
        return self.shapes.get(size) or self._layout.shape(size)

    def claim_slowly(self, producer: Producer) -> int:
        """A claim behind the gate, of the handle's size.

        :returns: the position behind it, or a :class:`~.producer.ClaimResult`.
        :raises IncorrectParameterError: there can never be room for so much.
        :raises IllegalOperationError: the reactor's thread would have to wait.
        """
        if producer.size > self._window:
            raise IncorrectParameterError(f"a frame of {producer.size} bytes; the log holds {self._window}")
        with self._lock:
            self.limit = 0
            try:
                result = ClaimResult.BACK_PRESSURED if self._blocked else self._claim(producer)
                if result != ClaimResult.BACK_PRESSURED:
                    return result
                if producer.when_full is not WhenFull.BLOCK:
                    self.dropped += producer.when_full is WhenFull.DROP
                    return result
                if self._threads.on_reactor():
                    raise IllegalOperationError("the log is full, and the reactor's thread may not wait")
                blocked = _Blocked(producer, self._threads.signal())
                self._blocked.append(blocked)
            finally:
                self._open_gate()
        return self._wait(blocked)

    def _wait(self, blocked: _Blocked) -> int:
        self.wake()
        try:
            blocked.signal.wait(blocked.producer.patience)
        except BaseException:
            self._withdraw(blocked)
            blocked.producer.give_up(blocked.producer.term)
            raise
        self._withdraw(blocked)
        return blocked.result

    def _withdraw(self, blocked: _Blocked) -> None:
        """Waits no more, if it has not been served."""
        with self._lock:
            if blocked in self._blocked:
                self._blocked.remove(blocked)
                self._serve()
                self._open_gate()

    # ---- room, behind the gate -----------------------------------------------------------------------

    def _claim(self, producer: Producer) -> int:
        """Takes the place for a producer."""
        result = self._make_room(producer.size)
        if result:
            return result
        producer.term = self.term
        producer.start = self.tail
        self.tail += producer.size
        return self.tail

    def _make_room(self, size: int) -> int:
        """Sees to it that the active term has room for a frame.

        :returns: 0, or a :class:`~.producer.ClaimResult`.
        """
        if self.failure is not None:
            return ClaimResult.CLOSED
        end, terms = self.tail + size, self._terms
        if end > MAX_POSITION:
            return ClaimResult.MAX_POSITION_EXCEEDED
        if end - self.acknowledged > self._window:
            return ClaimResult.BACK_PRESSURED
        if not terms or end > self.term.end:
            if len(terms) == self._max_terms:
                return ClaimResult.BACK_PRESSURED
            if terms:
                self.term.end = self.tail
            self.term = term = self._pool.take(self.tail, max(size, self._pool.size) if terms else size)
            term.end = min(term.end, MAX_POSITION)
            terms.append(term)
        return 0

    def _serve(self) -> None:
        """Give room to the oldest waiter until it is satisfied: the claim is made for it."""
        while self._blocked:
            blocked = self._blocked[0]
            result = self._claim(blocked.producer)
            if result == ClaimResult.BACK_PRESSURED:
                return
            self._blocked.popleft()
            blocked.result = result
            blocked.signal.set()

    def _open_gate(self) -> None:
        """Lets claims pass again as far as there is room for certain.

        Not past claims that wait, nor where the lock is to be used.
        """
        if self._terms and self.failure is None and not self._blocked and not self._locked:
            end, room = self.term.end, self.acknowledged + self._window
            self.limit = end if end < room else room

    # ---- the sender, on the reactor's thread -----------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Bytes that are claimed and not acknowledged."""
        return self.tail - self.acknowledged

    @property
    def waiting(self) -> bool:
        """Whether something is claimed that was not taken."""
        return self.tail > self.taken

    def disarm(self) -> None:
        """To be called before the sender looks, so that no frame committed from now on goes unnoticed."""
        self.armed = False

    def _committed(self) -> int:
        """Position up to which every claim is committed or aborted: the tail is read first, then the open claims."""
        committed = self.tail
        for producer in self._producers:
            start = producer.start
            if 0 <= start < committed:
                committed = start
        return committed

    def take(self, limit: int) -> Frames | None:
        """The next frames to be sent, ``limit`` bytes at most but one frame at least; None if there are none."""
        committed = self._committed()
        for term in self._terms:
            if term.end <= self.taken:
                continue
            end = min(committed, term.end)
            if term.aborted or term.holes:
                end = self._skip_holes(term, end)
            if self.taken < end:
                frames = cut_frames(term, self.taken, end, limit)
                self.taken = frames.end
                return frames
        if self._skipped:
            self.acknowledge(self.acknowledged)
        return None

    def _skip_holes(self, term: Term, end: int) -> int:
        """Goes past the holes that are next.

        :param end: up to where all is committed or aborted.
        :returns: up to where there are frames then.
        """
        term.sort_holes()
        for hole_start, hole_end in term.holes:
            if hole_start == self.taken and hole_end <= end:
                self._skipped.append((hole_start, hole_end))
                self.taken = hole_end
            elif hole_start > self.taken:
                return min(end, hole_start)
        return end

    def unblock(self, now: float) -> bool:
        """Gives up the claim the sender waits for, if its thread is dead or has had :data:`STUCK_SECONDS`.

        :param now: seconds by a clock that does not go back.
        :returns: whether the sender waits for a claim, so that this is to be called again.
        """
        committed = self._committed()
        for producer in self._producers:
            if producer.start == committed:
                break
        else:
            self._stuck = None
            return False
        known = self._stuck
        if known is None or known[0] is not producer or known[1] != committed:
            self._stuck = known = (producer, committed, now)
        term = next(term for term in self._terms if committed < term.end)
        if (not producer.alive() or now - known[2] >= STUCK_SECONDS) and producer.revoke(committed, term):
            self._stuck = None
            self.wake()
        return True

    # ---- acknowledgement and the end -------------------------------------------------------------------

    def acknowledge(self, position: int) -> None:
        """Record that everything below a position is acknowledged; its memory may serve again.

        The callbacks of its claims are invoked in the order of their positions.

        :param position: the end of a taken frame.
        """
        self._advance_acknowledged(position)
        while self._waiters and self._waiters[0][0] <= self.acknowledged:
            at, _, waiter = self._waiters.pop(0)
            waiter.callback(at)

    def _advance_acknowledged(self, position: int) -> None:
        """Move the acknowledged position, and what follows from that for terms and for claims that wait for room."""
        with self._lock:
            self.limit = 0
            skipped, terms = self._skipped, self._terms
            while skipped and skipped[0][0] <= position:
                position = max(position, skipped.pop(0)[1])
            if position > self.acknowledged:
                self.acknowledged = position
            while len(terms) > 1 and terms[0].end <= self.acknowledged:
                self._pool.give(terms.pop(0))
            self._serve()
            self._open_gate()

    def when_acknowledged(self, position: int) -> "Deferred[int]":
        """Return a Deferred that fires with ``position`` once everything below it is acknowledged.

        :returns: it fails with :attr:`failure` if that can no longer happen.
        """
        lost_from = self.lost_from
        if position <= (self.acknowledged if lost_from is None else lost_from):
            return succeed(position)
        if lost_from is not None and self.failure is not None:
            return fail(self.failure)
        waiter: Deferred[int] = Deferred()
        self._asked += 1
        item = (position, self._asked, waiter)
        if not self._waiters or self._waiters[-1][0] <= position:
            self._waiters.append(item)
        else:
            insort(self._waiters, item)
        return waiter

    def trim(self) -> None:
        """Gives back the last term too, if everything is acknowledged and no claim is open: for logs that are idle."""
        with self._lock:
            self.limit = 0
            if self._terms and self.tail == self.acknowledged and self._committed() == self.tail:
                self._pool.give(self._terms.pop())
                self.term = NO_TERM
            self._open_gate()

    def shut(self, why: Exception) -> None:
        """Refuse further claims, and let threads go that wait for room; what is claimed can be taken and acknowledged.

        :param why: the reason, which becomes :attr:`failure`; a second one has no effect.
        """
        with self._lock:
            if self.failure is None:
                self.failure = why
            self.limit = 0
            self._serve()

    def abandon(self, why: Exception) -> None:
        """Give up the log and its memory: what is claimed will not be sent, nor sent again.

        To be called again if threads had claims open.

        :param why: that the Deferreds of :meth:`when_acknowledged` fail with.
        """
        if self.lost_from is None:
            self.lost_from, self.failure = self.acknowledged, why
        self.shut(why)
        waiters, self._waiters = self._waiters, []
        self.taken = self._committed()
        self._advance_acknowledged(self.taken)
        self.trim()
        for _, _, waiter in waiters:
            waiter.errback(why)

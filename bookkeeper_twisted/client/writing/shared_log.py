"""A claim log that any thread fills."""

import sys
from collections import deque
from collections.abc import Callable

import attrs

from ...errors import IllegalOperationError
from .claim_buffer import MAX_TERMS, ClaimLog, ClaimResult
from .log_frames import FrameLayout
from .log_terms import TermPool
from .producer import IDLE, Producer, WhenFull
from .threads import Signal, Threads

STUCK_SECONDS = 15.0
"""Seconds for which a claim may hold up the claims behind it."""


@attrs.define(eq=False)
class _Blocked:
    producer: Producer
    signal: Signal
    result: int = ClaimResult.BACK_PRESSURED


class SharedLog(ClaimLog):
    """Producers claim through handles, one for each thread; the rest belongs to the reactor's thread.

    :ivar armed: whether the sender has been woken and has not looked yet.
    :ivar dropped: offers that found no room and were dropped.
    """

    __slots__ = (
        "armed", "dropped", "_lock", "_threads", "_wake", "_blocked", "_producers",
        "_locked", "_stuck",
    )  # fmt: skip

    def __init__(
        self, layout: FrameLayout, pool: TermPool, threads: Threads, wake: Callable[[], None],
        window: int | None = None, start: int = 0, max_terms: int = MAX_TERMS,
    ) -> None:  # fmt: skip
        """
        :param wake: has the sender look for frames; called on any thread, once until it has looked.
        """
        super().__init__(layout, pool, window, start, max_terms)
        self.armed = False
        self.dropped = 0
        self._lock = threads.lock()  # of code that works behind the gate
        self._threads = threads
        self._wake = wake
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

    def claim_slowly(self, producer: Producer) -> int:
        """A claim behind the gate, of the handle's size.

        :returns: the position behind it, or a :class:`~.claim_buffer.ClaimResult`.
        :raises IllegalOperationError: the reactor's thread would have to wait.
        """
        self._check_size(producer.size)
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

    def _claim(self, producer: Producer) -> int:
        """Takes the place for a producer; the gate is shut."""
        result = self._make_room(producer.size)
        if result:
            return result
        producer.term = self.term
        producer.start = self.tail
        self.tail += producer.size
        return self.tail

    # ---- the reactor's thread --------------------------------------------------------------------------

    def disarm(self) -> None:
        """To be called before the sender looks, so that no frame committed from now on goes unnoticed."""
        self.armed = False

    def _committed(self) -> int:
        """See :meth:`ClaimLog._committed`: the tail is read first, then the claims in front of it."""
        committed = self.tail
        for producer in self._producers:
            start = producer.start
            if 0 <= start < committed:
                committed = start
        return committed

    def _settle(self, position: int) -> None:
        with self._lock:
            self.limit = 0
            super()._settle(position)

    def shut(self, why: Exception) -> None:
        """See :meth:`ClaimLog.shut`; threads that wait for room are let go."""
        with self._lock:
            super().shut(why)

    def trim(self) -> None:
        """See :meth:`ClaimLog.trim`; not while a claim is open."""
        with self._lock:
            self.limit = 0
            if self._committed() == self.tail:
                super().trim()
            self._open_gate()

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

    def _open_gate(self) -> None:
        """See :meth:`ClaimLog._open_gate`; not past claims that wait, nor where the lock is to be used."""
        if not self._blocked and not self._locked:
            super()._open_gate()

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

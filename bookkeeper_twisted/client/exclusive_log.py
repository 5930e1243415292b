"""A claim log for producers on the reactor's thread."""

from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext

from twisted.internet.defer import Deferred, fail, succeed

from ..errors import IllegalOperationError
from .claim_log import MAX_POSITION, MAX_TERMS, ClaimLog, ClaimResult
from .frame_shape import FrameShape
from .log_terms import TermPool


class ExclusiveLog(ClaimLog):
    """Never blocks: a full log says so, or the caller waits for a Deferred."""

    def __init__(
        self, shape: FrameShape, pool: TermPool, window: int | None = None, start: int = 0, max_terms: int = MAX_TERMS
    ) -> None:
        """See :class:`ClaimLog`."""
        super().__init__(shape, pool, nullcontext(), window, start, max_terms)
        self._room_waiters: deque[tuple[bytes, Deferred[int]]] = deque()
        self._claimed = 0

    @classmethod
    def unbounded(cls, shape: FrameShape, pool: TermPool) -> "ExclusiveLog":
        """A log that always has room: who offers has a limit of its own."""
        return cls(shape, pool, window=MAX_POSITION, max_terms=MAX_POSITION)

    def offer(self, payload: bytes) -> int:
        """Claims, stores and commits a frame.

        :returns: the position behind it, or a :class:`~.claim_log.ClaimResult`.
        """
        store, size, head = self.rows[len(payload)]
        start = self.tail
        end = start + size
        if end > self.limit:
            result = self._slow_room(size)
            if result:
                return result
        term = self.term
        store(term.buffer, start - term.base, head, payload)
        self.tail = end
        return end

    def offer_many(self, payloads: Sequence[bytes]) -> int:
        """Offers payloads in order until there is no more room; those of one size take one step.

        :returns: how many were stored.
        """
        size = len(payloads[0]) if payloads else 0
        if not payloads or list(map(len, payloads)).count(size) < len(payloads):
            return self._offer_each(payloads)
        _, frame_size, head = self.rows[size]
        separator = head + bytes(frame_size - len(head) - size)
        done = 0
        while done < len(payloads):
            if self.tail + frame_size > self.limit and self._slow_room(frame_size):
                break
            count = min((self.limit - self.tail) // frame_size, len(payloads) - done)
            at = self.tail - self.term.base
            part = payloads[done : done + count]
            self.term.view[at : at + count * frame_size] = separator + separator.join(part)
            self.tail += count * frame_size
            done += count
        return done

    def _offer_each(self, payloads: Sequence[bytes]) -> int:
        for done, payload in enumerate(payloads):
            if self.offer(payload) < 0:
                return done
        return len(payloads)

    def offer_later(self, payload: bytes) -> "Deferred[int]":
        """Offers now, or as soon as there is room: in the order of calls, and before any plain offer.

        :returns: the position behind the frame; fails with why the log was closed.
        """
        if self.failure is not None:
            return fail(self.failure)
        self._check_size(self.rows[len(payload)][1])
        if not self._room_waiters and (result := self.offer(payload)) != ClaimResult.BACK_PRESSURED:
            return succeed(result)
        waiter: Deferred[int] = Deferred(self._forget)
        self._room_waiters.append((payload, waiter))
        self.limit = 0
        return waiter

    def claim(self, size: int) -> memoryview | ClaimResult:
        """A place for a payload of ``size`` bytes, to be filled in and then committed or aborted, before any
        other offer.  The view has to be given up with that."""
        if self._claimed:
            raise IllegalOperationError("a claim is neither committed nor aborted")
        store, frame_size, head = self.rows[size]
        if self.tail + frame_size > self.limit and (result := self._slow_room(frame_size)):
            return ClaimResult(result)
        term, at = self.term, self.tail - self.term.base
        store(term.buffer, at, head, bytes(size))
        self._claimed = frame_size
        return term.view[at + frame_size - size : at + frame_size]

    def commit(self) -> int:
        """Makes the claim a frame.

        :returns: the position behind it.
        """
        if not self._claimed:
            raise IllegalOperationError("nothing is claimed")
        self.tail += self._claimed
        self._claimed = 0
        return self.tail

    def abort(self) -> None:
        """Gives the claim up; nothing is left of it."""
        self._claimed = 0

    def trim(self) -> None:
        """See :meth:`ClaimLog.trim`; not while a claim is open."""
        if not self._claimed:
            super().trim()

    def _slow_room(self, size: int) -> int:
        """Room for a frame, or why there is none."""
        self._check_size(size)
        if self._room_waiters:
            return ClaimResult.CLOSED if self.failure is not None else ClaimResult.BACK_PRESSURED
        result = self._make_room(size)
        self._open_gate()
        return result

    def _open_gate(self) -> None:
        """See :meth:`ClaimLog._open_gate`; not past those who wait."""
        if not self._room_waiters:
            super()._open_gate()

    def _forget(self, waiter: "Deferred[int]") -> None:
        self._room_waiters = deque(item for item in self._room_waiters if item[1] is not waiter)
        self._open_gate()

    def _serve(self) -> None:
        waiting, self._room_waiters = self._room_waiters, deque()
        served: list[tuple[Deferred[int], int]] = []
        while waiting and self.failure is None:
            payload, waiter = waiting[0]
            result = self.offer(payload)
            if result == ClaimResult.BACK_PRESSURED:
                break
            waiting.popleft()
            served.append((waiter, result))
        if self.failure is not None:
            for _, waiter in waiting:
                waiter.errback(self.failure)
        elif waiting:
            self._room_waiters = waiting
            self.limit = 0
        for waiter, position in served:
            waiter.callback(position)

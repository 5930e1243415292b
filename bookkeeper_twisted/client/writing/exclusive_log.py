"""A claim log for producers on the reactor's thread."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from twisted.internet.defer import Deferred, fail, succeed

from ...errors import IllegalOperationError
from .claim_buffer import MAX_POSITION, MAX_TERMS, ClaimLog, ClaimResult
from .frame_shape import FrameShape
from .log_terms import TermPool


class ExclusiveLog(ClaimLog):
    """Never blocks: a full log says so, or the caller waits for a Deferred."""

    __slots__ = ("_room_waiters", "_claimed", "_base", "_buffer")

    def __init__(
        self, shape: FrameShape, pool: TermPool, window: int | None = None, start: int = 0, max_terms: int = MAX_TERMS
    ) -> None:
        """See :class:`ClaimLog`."""
        super().__init__(shape, pool, window, start, max_terms)
        self._room_waiters: list[tuple[bytes, Deferred[int]]] = []
        self._claimed = 0
        self._note_term()

    @classmethod
    def unbounded(cls, shape: FrameShape, pool: TermPool) -> "ExclusiveLog":
        """A log that always has room: who offers has a limit of its own."""
        return cls(shape, pool, window=MAX_POSITION, max_terms=MAX_POSITION)

    def offer(self, payload: bytes) -> int:
        """Claims, stores and commits a frame.

        :returns: the position behind it, or a :class:`~.claim_buffer.ClaimResult`.
        """
        try:
            store, size, head = self.rows[len(payload)]
        except KeyError:
            store, size, head = self.row(len(payload))
        start = self.tail
        end = start + size
        if end > self.limit:
            result = self._slow_room(size)
            if result:
                return result
        store(self._buffer, start - self._base, head, payload)
        self.tail = end
        return end

    def offer_many(self, payloads: Sequence[bytes]) -> int:
        """Offers payloads in order until there is no more room; those that fit a term take one step.

        :returns: how many were stored.
        """
        if len(payloads) <= 1:
            return sum(self.offer(payload) > 0 for payload in payloads)
        sizes = list(map(len, payloads))
        if sizes.count(sizes[0]) == len(sizes):
            return self._offer_alike(payloads, sizes[0])
        rows = list(map(self.row, sizes))
        ends = list(accumulate([size for _, size, _ in rows], initial=0))
        parts = [bytes(self._shape.payload_at - len(rows[0][2]))] * (3 * len(rows))
        parts[::3] = [head for _, _, head in rows]
        parts[2::3] = payloads
        done = 0
        while done < len(payloads):
            _, size, _ = rows[done]
            if self.tail + size > self.limit and self._slow_room(size, ends[-1] - ends[done]):
                break
            count = bisect_right(ends, ends[done] + self.limit - self.tail) - 1 - done
            self._store(b"".join(parts[3 * done : 3 * (done + count)]))
            done += count
        return done

    def _offer_alike(self, payloads: Sequence[bytes], size: int) -> int:
        """As :meth:`offer_many`, where all have ``size`` bytes."""
        _, frame_size, head = self.row(size)
        front = head + bytes(frame_size - len(head) - size)
        done = 0
        while done < len(payloads):
            left = len(payloads) - done
            if self.tail + frame_size > self.limit and self._slow_room(frame_size, left * frame_size):
                break
            count = min((self.limit - self.tail) // frame_size, left)
            self._store(front + front.join(payloads[done : done + count]))
            done += count
        return done

    def _store(self, frames: bytes) -> None:
        """Claims and commits frames there is room for."""
        at = self.tail - self.term.base
        self.term.view[at : at + len(frames)] = frames
        self.tail += len(frames)

    def offer_later(self, payload: bytes) -> "Deferred[int]":
        """Offers now, or as soon as there is room: in the order of calls, and before any plain offer.

        :returns: the position behind the frame; fails with why the log was closed.
        """
        if self.failure is not None:
            return fail(self.failure)
        self._check_size(self.row(len(payload))[1])
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
        store, frame_size, head = self.row(size)
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
            self._note_term()

    def _slow_room(self, size: int, wanted: int = 0) -> int:
        """Room for a frame, or why there is none; see :meth:`ClaimLog._make_room`."""
        self._check_size(size)
        if self._room_waiters:
            return ClaimResult.CLOSED if self.failure is not None else ClaimResult.BACK_PRESSURED
        result = self._make_room(size, wanted)
        self._note_term()
        self._open_gate()
        return result

    def _note_term(self) -> None:
        """Keeps what an offer needs of the active term where it finds it with one step less."""
        self._base, self._buffer = self.term.base, self.term.buffer

    def _open_gate(self) -> None:
        """See :meth:`ClaimLog._open_gate`; not past those who wait."""
        if not self._room_waiters:
            super()._open_gate()

    def _forget(self, waiter: "Deferred[int]") -> None:
        self._room_waiters = [item for item in self._room_waiters if item[1] is not waiter]
        self._open_gate()

    def _serve(self) -> None:
        """In order; nobody who waits is overtaken."""
        if not self._room_waiters:
            return
        waiting, self._room_waiters = self._room_waiters, []
        served: list[int] = []
        for payload, _ in waiting:
            position = self.offer(payload)
            if position in (ClaimResult.BACK_PRESSURED, ClaimResult.CLOSED):
                break
            served.append(position)
        left = waiting[len(served) :]
        if left and self.failure is None:
            self._room_waiters = left
            self.limit = 0
        for position, (_, waiter) in zip(served, waiting, strict=False):
            waiter.callback(position)
        if self.failure is not None:
            for _, waiter in left:
                waiter.errback(self.failure)

"""The handle by which one thread claims room for frames in a claim log.

Theory of operation.  CPython lets another thread run only at a call, a return or a backward jump.  So a straight
run of loads, additions, comparisons, forward branches and stores cannot be split, and *is* the atomic
fetch-and-add: it takes the place and publishes, in this handle, that it is taken.  A call or a loop within it
would let two threads claim one place; a test of the byte code prevents that.  Trace functions run too, but only at
the beginning of a line: so the code that must not be split is one line.  Against debuggers that trace every
instruction, a log has its handles use its lock if a trace function is set when they are made, and so it does in an
interpreter without a global lock.

A commit is one store; the sender may send up to the lowest position that is still claimed in any handle.
"""
# ruff: noqa: E701, E702

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Protocol

from ...errors import IllegalOperationError
from .frames import FrameShape
from .terms import Term

IDLE = -1
REVOKED = -2

_NO_CLAIM = "this thread has claimed nothing: claim() comes before payload, commit() and abort()"
_OPEN_CLAIM = "a claim of this thread is open, or was given up: commit() or abort() comes first"
_GIVEN_UP = "the claim of this thread was given up because it was open for too long; nothing is appended"

_NO_SHAPES: dict[int, FrameShape] = {}


class ClaimResult(IntEnum):
    """The reasons why ``offer`` or ``claim`` claimed nothing, returned in place of a position."""

    BACK_PRESSURED = -2
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5


class WhenFull(Enum):
    """The actions of an offer that finds no room in the log."""

    CODE = "code"
    """Says so."""

    DROP = "drop"
    """Says so, and is counted."""

    BLOCK = "block"
    """Waits, in turn; on the reactor's thread it raises."""


class ProducersLog(Protocol):
    """The methods and attributes of a log (:class:`~.claim_log.ClaimLog`) that a producer uses.

    :ivar tail: the position after the last claim.
    :ivar limit: the position up to which claims need no lock.
    :ivar term: the memory of claims below the limit.
    :ivar shapes: the shapes of frames, by payload size.
    :ivar armed: whether the sender has been woken and has not looked yet.
    """

    tail: int
    limit: int
    term: Term
    shapes: dict[int, FrameShape]
    armed: bool

    def claim_slowly(self, producer: "Producer") -> int:
        """Claim a frame under the log's lock, because another term is needed or the log has no room.

        :param producer: the handle that claims; its ``size`` is the size of the frame.
        :returns: the position after the frame, or a :class:`ClaimResult`, which is negative.
        :raises bookkeeper_twisted.errors.IllegalOperationError: the reactor's thread would have to wait.
        """

    def shape(self, size: int) -> FrameShape:
        """Return the shape that frames with payloads of ``size`` bytes share."""

    def wake(self) -> None:
        """Wake the reactor, unless it was woken already since it last looked for frames."""


class Producer:
    """The handle of one thread on a claim log; the frames of one handle keep their order.

    :ivar start: the claimed position, :data:`IDLE` without a claim, :data:`REVOKED` if the log gave the claim up.
    :ivar size: bytes of the last claim; stored before ``start``, so that a thread that sees ``start`` sees ``size``.
    :ivar term: the term of the last claim that was made behind the gate; the log finds the term of other claims.
    :ivar alive: tests whether the thread is alive.
    :ivar when_full: what claims of this handle do if they find no room.
    :ivar patience: seconds for which claims wait for room at most.
    """

    __slots__ = ("start", "size", "term", "alive", "when_full", "patience", "_log", "_shapes", "_payload")

    def __init__(
        self, log: ProducersLog, alive: Callable[[], bool], when_full: WhenFull, patience: float | None
    ) -> None:
        self.start = IDLE
        self.size = 0
        self.term: Term = log.term
        self.alive = alive
        self.when_full = when_full
        self.patience = patience
        self._log = log
        self._shapes = log.shapes
        self._payload: memoryview | None = None

    def offer(self, payload: bytes) -> int:
        """Claim, store and commit a frame.

        :param payload: the bytes of the entry; copied before this returns.
        :returns: the position after the frame, or a :class:`ClaimResult`.
        :raises IllegalOperationError: another claim of the handle is open, or the log gave this one up; the frame is
            then not sent.
        """
        log = self._log
        try:
            store, size, head = self._shapes[len(payload)]
        except KeyError:
            store, size, head = self._shape(len(payload))
        self.size = size
        # fmt: off
        if (end := (start := log.tail) + size) <= log.limit: self.start = start; log.tail = end; term = log.term
        # fmt: on
        else:
            end = log.claim_slowly(self)
            if end < 0:
                return end
            start, term = self.start, self.term
            if start < 0:  # the log revoked the claim before this thread continued
                self._revoked()
        try:
            store(term.buffer, start - term.base, head, payload)
        except BaseException:
            self.give_up(term)
            raise
        # compares identities, because comparing the values of large positions takes longer
        if self.start is start: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        if not log.armed:
            log.wake()
        return end

    def claim(self, size: int) -> int:
        """Claim a frame for a payload of ``size`` bytes, to be filled in (:attr:`payload`), then committed or aborted.

        :returns: the position after the frame, or a :class:`ClaimResult`.
        """
        store, frame_size, head = self._shape(size)
        self.size = frame_size
        end = self._log.claim_slowly(self)
        if end > 0:
            at = end - frame_size - self.term.base
            store(self.term.buffer, at, head, bytes(size))
            self._payload = self.term.view[at + frame_size - size : at + frame_size]
            # without shapes, offers during the open claim go the slow way, so they need not test for an open claim
            self._shapes = _NO_SHAPES
        return end

    @property
    def payload(self) -> memoryview:
        """The writable memory of the open claim.

        :raises IllegalOperationError: no claim is open.
        """
        if self._payload is None:
            raise IllegalOperationError(_NO_CLAIM)
        return self._payload

    def commit(self) -> int:
        """Commit the open claim, so that its frame is sent.

        :returns: the position after the frame.
        :raises IllegalOperationError: no claim is open, or the log has given it up.
        """
        self._let_go()
        end = self.start + self.size
        if self.start >= 0: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        self._log.wake()
        return end

    def abort(self) -> None:
        """Give up the open claim, unless the log has revoked this claim already.

        :raises IllegalOperationError: no claim is open.
        """
        if self.start == IDLE:
            raise IllegalOperationError(_NO_CLAIM)
        self._let_go()
        self.give_up(self.term)
        self._log.wake()

    def revoke(self, start: int, term: Term) -> bool:
        """Give up the claim of a thread that is dead or stuck; called by the log only.

        :param start: the position of the claim.
        :param term: the term of the claim.
        :returns: whether the claim was still open.
        """
        if self.start == start: size = self.size; self.start = REVOKED  # fmt: skip
        else:
            return False
        term.tainted = True
        term.aborted.append((start, start + size))
        return True

    def _let_go(self) -> None:
        if self._payload is not None:
            self._payload.release()
            self._payload = None
            self._shapes = self._log.shapes

    def _shape(self, size: int) -> FrameShape:
        if self.start != IDLE:
            raise IllegalOperationError(_OPEN_CLAIM)
        return self._log.shape(size)

    def give_up(self, term: Term) -> None:
        """End a claim without a frame: its range becomes a hole, which the term records before the claim ends.

        :param term: the term of the claim.
        """
        if self.start >= 0:
            term.aborted.append((self.start, self.start + self.size))
        self.start = IDLE

    def _revoked(self) -> None:
        was, self.start = self.start, IDLE
        raise IllegalOperationError(_GIVEN_UP if was == REVOKED else _NO_CLAIM)

"""The handle by which one thread claims places in a claim log.

Theory of operation.  CPython lets another thread run only at a call, a return or a backward jump.  So a straight
run of loads, additions, comparisons, forward branches and stores cannot be split, and *is* the atomic
fetch-and-add: it takes the place and publishes, in this handle, that it is taken.  A call or a loop in there
breaks everything, which a test of the byte code prevents.  Trace functions run in between too, but where a line
begins: so what must not be split is one line.  Against debuggers that trace every instruction, a log has its handles
use its lock if a trace function is set when they are made, and so it does in an interpreter without a global lock.

A commit is one store; the sender's frontier is the least place that is still open in any handle.
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
    """The results of ``offer`` and ``claim`` that are no position: the reasons why nothing was claimed."""

    BACK_PRESSURED = -2
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5


class WhenFull(Enum):
    """The choices of an offer that finds no room."""

    CODE = "code"
    """Says so."""

    DROP = "drop"
    """Says so, and is counted."""

    BLOCK = "block"
    """Waits, in turn; on the reactor's thread it raises."""


class ProducersLog(Protocol):
    """The log of a producer (:class:`~.claim_log.ClaimLog`), as the producer needs it.

    :ivar tail: the position behind the last claim.
    :ivar limit: up to where claims need no lock.
    :ivar term: the memory that claims below the limit lie in.
    :ivar shapes: of frames, by payload size.
    :ivar armed: whether the sender has been woken and has not looked yet.
    """

    tail: int
    limit: int
    term: Term
    shapes: dict[int, FrameShape]
    armed: bool

    def claim_slowly(self, producer: "Producer") -> int:
        """Claim behind the gate, where another term is needed, or there is no room.

        :param producer: its frame is claimed.
        :returns: the position behind the frame, or a :class:`ClaimResult`, which is negative.
        :raises bookkeeper_twisted.errors.IllegalOperationError: the reactor's thread would have to wait.
        """

    def shape(self, size: int) -> FrameShape:
        """Return what frames with payloads of ``size`` bytes share."""

    def wake(self) -> None:
        """Wake the reactor, unless that was done since it last looked."""


class Producer:
    """A handle for one thread; its frames keep their order.

    :ivar start: the position claimed, :data:`IDLE` without a claim, :data:`REVOKED` if the log gave it up.
    :ivar size: bytes of the last claim; stored before it is made, so that a thread that sees the one sees the other.
    :ivar term: where the last claim lies that was made behind the gate; for the others the log finds it.
    :ivar alive: whether the thread is.
    :ivar when_full: what its claims do that find no room.
    :ivar patience: seconds they wait for it at most.
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

        :param payload: copied before this returns.
        :returns: the position behind it, or a :class:`ClaimResult`.
        :raises IllegalOperationError: another claim of the handle is open, or the log gave this one up; the frame is
            not sent then.
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
            if start < 0:  # given up before this thread went on
                self._revoked()
        try:
            store(term.buffer, start - term.base, head, payload)
        except BaseException:
            self.give_up(term)
            raise
        # the very number that was stored: where positions are large, comparing takes longer
        if self.start is start: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        if not log.armed:
            log.wake()
        return end

    def claim(self, size: int) -> int:
        """Takes a place for a payload of ``size`` bytes, to be filled in (:attr:`payload`), then committed or aborted.

        :returns: the position behind it, or a :class:`ClaimResult`.
        """
        store, frame_size, head = self._shape(size)
        self.size = frame_size
        end = self._log.claim_slowly(self)
        if end > 0:
            at = end - frame_size - self.term.base
            store(self.term.buffer, at, head, bytes(size))
            self._payload = self.term.view[at + frame_size - size : at + frame_size]
            self._shapes = _NO_SHAPES  # so that offers need not ask whether a claim is open
        return end

    @property
    def payload(self) -> memoryview:
        """The place of the open claim.

        :raises IllegalOperationError: there is none.
        """
        if self._payload is None:
            raise IllegalOperationError(_NO_CLAIM)
        return self._payload

    def commit(self) -> int:
        """Makes the claim a frame.

        :returns: the position behind it.
        :raises IllegalOperationError: there is no claim, or the log has given it up.
        """
        self._let_go()
        end = self.start + self.size
        if self.start >= 0: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        self._log.wake()
        return end

    def abort(self) -> None:
        """Give the claim up, if the log has not done so.

        :raises IllegalOperationError: there is no claim.
        """
        if self.start == IDLE:
            raise IllegalOperationError(_NO_CLAIM)
        self._let_go()
        self.give_up(self.term)
        self._log.wake()

    def revoke(self, start: int, term: Term) -> bool:
        """Give up the claim of a thread that is gone or stuck; called by the log only.

        :param start: its position.
        :param term: where it lies.
        :returns: whether it was still open.
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
        """Makes a claim a hole instead of a frame, which is reported before the place counts as free.

        :param term: where it lies.
        """
        if self.start >= 0:
            term.aborted.append((self.start, self.start + self.size))
        self.start = IDLE

    def _revoked(self) -> None:
        was, self.start = self.start, IDLE
        raise IllegalOperationError(_GIVEN_UP if was == REVOKED else _NO_CLAIM)

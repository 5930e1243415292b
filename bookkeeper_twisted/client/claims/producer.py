"""The handle by which one thread reserves (claims) memory for entries, called frames, in a claim log.

Theory of operation.  CPython lets another thread run only at a call, a return or a backward jump.  So no other thread
can run within a sequence of loads, additions, comparisons, forward branches and stores.  Such a sequence is used as an
atomic fetch-and-add: it moves the tail of the log, and stores the claimed position in this handle.  A call or a loop in
the sequence would be an error, because two threads could then claim the same position.  So a test checks the byte code.

A trace function runs at the beginning of each line, so the sequence is one line.  A debugger may trace every
instruction instead.  So if a trace function is set when a handle is made, all handles use the log's lock.  They also
use the lock in an interpreter without a global lock.

To commit a frame, a thread stores one value in its handle.  The sender may send all frames below the lowest position at
which any handle has an open claim.
"""
# ruff: noqa: E701, E702

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Protocol

from ...errors import IllegalOperationError
from .frames import FrameShape
from .memory_blocks import MemoryBlock

IDLE = -1
REVOKED = -2

_NO_CLAIM = "this thread has claimed nothing: claim() comes before payload, commit() and abort()"
_OPEN_CLAIM = "a claim of this thread is open, or was given up: commit() or abort() comes first"
_GIVEN_UP = "the claim of this thread was given up because it was open for too long; nothing is appended"

_NO_SHAPES: dict[int, FrameShape] = {}


class ClaimResult(IntEnum):
    """The reasons why ``offer`` or ``claim`` got no memory for an entry; they are returned instead of a position."""

    BACK_PRESSURED = -2
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5


class WhenFull(Enum):
    """The possible reactions of ``offer`` and ``claim`` if the log has no room for an entry."""

    CODE = "code"
    """Return ``ClaimResult.BACK_PRESSURED``."""

    DROP = "drop"
    """Drop the entry: return ``ClaimResult.BACK_PRESSURED``, and count the entry as dropped."""

    BLOCK = "block"
    """Wait for room, behind offers that wait already; on the reactor's thread, which must not wait, raise an error."""


class ProducersLog(Protocol):
    """The methods and attributes of a claim log (:class:`~.claim_log.ClaimLog`) that a producer uses.

    A frame is the memory for one entry.

    :ivar ledger_id: the id of the ledger.
    :ivar tail: the position (byte offset in the log) after the last claimed frame.
    :ivar limit: the position up to which threads reserve (claim) frames without a lock.
    :ivar block: the memory block that contains the frames up to ``limit``.
    :ivar shapes: a cache: maps the size of a payload to the function that writes a frame with such a payload, the size
        of the frame, and its encoded length field.
    :ivar armed: True from the moment at which the sender is woken until it looks for frames; meanwhile, it need not be
        woken again.
    """

    ledger_id: int
    tail: int
    limit: int
    block: MemoryBlock
    shapes: dict[int, FrameShape]
    armed: bool

    def claim_slowly(self, producer: "Producer") -> int:
        """Reserve (claim) a frame under the log's lock; called for a frame that would end above :attr:`limit`.

        :param producer: the handle that claims; its ``size`` is the size of the frame.
        :returns: the position after the frame, or a :class:`ClaimResult`, which is negative.
        :raises bookkeeper_twisted.errors.IllegalOperationError: there is no room, and the reactor's thread must not
            wait.
        """

    def shape(self, size: int) -> FrameShape:
        """Return the function that writes a frame with a payload of ``size`` bytes, the frame's size and length field.
        """

    def wake(self) -> None:
        """Wake the sender, unless it was woken already and has not looked for frames since then."""


class Producer:
    """The handle through which one thread claims frames in a claim log; its frames keep their order.

    To claim a frame is to reserve the memory for one entry.  The claim is open until the thread commits or aborts the
    frame.  A position is a byte offset in the log.

    :ivar start: position of the frame of the open claim; :data:`IDLE` if no claim is open, :data:`REVOKED` if the log
        has taken the memory back because the thread was too slow.
    :ivar size: size in bytes of the last claimed frame; stored before ``start``, so that the sender never reads a new
        ``start`` with an old ``size``.
    :ivar block: the memory block of the last frame that was claimed under the log's lock; frames that are claimed
        without the lock do not change this attribute.
    :ivar alive: tests whether the thread is alive.
    :ivar when_full: what :meth:`offer` and :meth:`claim` do if there is no room.
    :ivar patience: maximum number of seconds that they wait for room with ``WhenFull.BLOCK``; None for ever.
    """

    __slots__ = ("start", "size", "block", "alive", "when_full", "patience", "_log", "_shapes", "_payload")

    def __init__(
        self, log: ProducersLog, alive: Callable[[], bool], when_full: WhenFull, patience: float | None
    ) -> None:
        self.start = IDLE
        self.size = 0
        self.block: MemoryBlock = log.block
        self.alive = alive
        self.when_full = when_full
        self.patience = patience
        self._log = log
        self._shapes = log.shapes
        self._payload: memoryview | None = None

    def offer(self, payload: bytes) -> int:
        """Append an entry: reserve memory for it (claim a frame), store the payload there, and commit the frame.

        :param payload: the bytes of the entry; copied before this returns.
        :returns: the position (byte offset in the log) after the entry, or a :class:`ClaimResult`.
        :raises IllegalOperationError: this thread has called :meth:`claim`, and neither :meth:`commit` nor
            :meth:`abort` since; or the log has taken the memory back.  In both cases the entry is not sent.
        """
        log = self._log
        try:
            store, size, head = self._shapes[len(payload)]
        except KeyError:
            store, size, head = self._shape(len(payload))
        self.size = size
        # fmt: off
        if (end := (start := log.tail) + size) <= log.limit: self.start = start; log.tail = end; block = log.block
        # fmt: on
        else:
            end = log.claim_slowly(self)
            if end < 0:
                return end
            start, block = self.start, self.block
            if start < 0:  # the log has revoked the reserved memory in the meantime
                self._revoked()
        try:
            store(block.buffer, start - block.base, head, payload)
        except BaseException:
            self.give_up(block)
            raise
        # ``is`` suffices: unless the log has revoked the claim, both names refer to the same int object.  Comparing the
        # values of large numbers would take longer.
        if self.start is start: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        if not log.armed:
            log.wake()
        return end

    def claim(self, size: int) -> int:
        """Reserve memory for a payload of ``size`` bytes; the caller fills :attr:`payload`, then commits or aborts.

        :returns: the position (byte offset in the log) after the entry, or a :class:`ClaimResult`.
        """
        store, frame_size, head = self._shape(size)
        self.size = frame_size
        end = self._log.claim_slowly(self)
        if end > 0:
            at = end - frame_size - self.block.base
            store(self.block.buffer, at, head, bytes(size))
            self._payload = self.block.view[at + frame_size - size : at + frame_size]
            # offer() must raise an error until this memory is committed or aborted.  An empty cache ``_shapes`` saves
            # offer() a test: it calls _shape(), which raises the error.
            self._shapes = _NO_SHAPES
        return end

    @property
    def payload(self) -> memoryview:
        """The writable memory that this thread has reserved for the payload of its next entry.

        :raises IllegalOperationError: the thread has reserved no memory.
        """
        if self._payload is None:
            raise self._misused(_NO_CLAIM)
        return self._payload

    def commit(self) -> int:
        """Append the entry in the memory that this thread has reserved, so that the entry is sent.

        :returns: the position (byte offset in the log) after the entry.
        :raises IllegalOperationError: the thread has reserved no memory, or the log has taken the memory back.
        """
        self._let_go()
        end = self.start + self.size
        if self.start >= 0: self.start = IDLE  # fmt: skip
        else:
            self._revoked()
        self._log.wake()
        return end

    def abort(self) -> None:
        """Return the memory that this thread has reserved, without appending an entry.

        If the log has taken the memory back already, this is not an error.

        :raises IllegalOperationError: the thread has reserved no memory.
        """
        if self.start == IDLE:
            raise self._misused(_NO_CLAIM)
        self._let_go()
        self.give_up(self.block)
        self._log.wake()

    def revoke(self, start: int, block: MemoryBlock) -> bool:
        """Revoke the memory that a dead or stuck thread has reserved, so that later frames can be sent.

        :param start: the position of the claimed frame.
        :param block: the memory block that contains the frame.
        :returns: whether the claim was still open.
        """
        if self.start == start: size = self.size; self.start = REVOKED  # fmt: skip
        else:
            return False
        block.tainted = True
        block.aborted.append((start, start + size))
        return True

    def _let_go(self) -> None:
        if self._payload is not None:
            self._payload.release()
            self._payload = None
            self._shapes = self._log.shapes

    def _shape(self, size: int) -> FrameShape:
        if self.start != IDLE:
            raise self._misused(_OPEN_CLAIM)
        return self._log.shape(size)

    def give_up(self, block: MemoryBlock) -> None:
        """Return the memory that this thread has reserved, if any, so that the sender skips this memory.

        :param block: the memory block that contains the reserved memory.
        """
        if self.start >= 0:
            block.aborted.append((self.start, self.start + self.size))
        self.start = IDLE

    def _revoked(self) -> None:
        was, self.start = self.start, IDLE
        raise self._misused(_GIVEN_UP if was == REVOKED else _NO_CLAIM)

    def _misused(self, text: str) -> IllegalOperationError:
        return IllegalOperationError(f"ledger {self._log.ledger_id}: {text}")

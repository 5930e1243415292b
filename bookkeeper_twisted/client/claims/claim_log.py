"""A claim log: a queue of frames, one for each entry, that any thread fills and the reactor's thread sends.

Theory of operation.  Frames are stored in *memory blocks*, which are allocated in advance.  A thread *claims* a frame:
it reserves the memory for the frame.  Frames are sent in the order of the claims.  The thread then *commits* the frame,
or *aborts* it, which leaves a hole that is not sent.  The sender is the writer of the ledger, on the reactor's thread.
It *takes* several consecutive frames at a time and fills in their headers and digests (:mod:`.frames`).  A *position*
is a byte offset in the log.  A frame is *acknowledged* once its entry and all entries before it have their ack quorum.
A block is reused only once all its frames are acknowledged, so a frame that must be sent again still has
the same bytes.

A frame that ends at or below the position :attr:`ClaimLog.limit` is claimed without a lock.  To claim any other frame,
a thread takes the log's lock; under the lock it may begin a new block, or find that there is no room.  Methods that
hold the lock set the limit to 0 for this time, so that every other thread needs the lock, too.
"""

import sys
from bisect import insort
from collections import deque
from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred, fail, succeed

from ...errors import IllegalOperationError, IncorrectParameterError
from .frames import FrameLayout, Frames, FrameShape, cut_frames
from .memory_blocks import NO_BLOCK, MemoryBlock, MemoryPool
from .producer import IDLE, ClaimResult, Producer, WhenFull
from .threads import Signal, Threads

MAX_POSITION = (1 << 63) - 1
MAX_BLOCKS = 3
"""Maximum number of memory blocks of a claim log by default."""

STUCK_SECONDS = 15.0
"""Seconds after which the log revokes a claim (memory that a thread has reserved and not filled).

The frames after it cannot be sent before it is filled or revoked.
"""


@attrs.define(eq=False)
class _Blocked:
    producer: Producer
    signal: Signal
    result: int = ClaimResult.BACK_PRESSURED


class ClaimLog:
    """A queue of frames in memory: threads fill it, and the reactor's thread sends the frames to bookies.

    A frame is the memory for one entry's add request.  Each thread claims frames through its own handle
    (:class:`~.producer.Producer`).  The methods from :attr:`in_flight` on are for the sender, so only the reactor's
    thread calls them.

    :ivar ledger_id: id of the ledger, for the texts of errors.
    :ivar tail: position (byte offset in the log) after the last claimed frame.
    :ivar limit: position up to which threads reserve (claim) frames without a lock.
    :ivar block: the memory block in which frames are claimed now.
    :ivar taken: position up to which the sender has taken the frames.
    :ivar acknowledged: position up to which bookies have acknowledged the entries of all frames.
    :ivar failure: the reason why no more memory can be reserved in the log; None while memory can be reserved.
    :ivar lost_from: position at which the frames begin that will never be acknowledged; None before the log is
        abandoned.
    :ivar shapes: a cache that :meth:`shape` fills: maps the size of a payload to the function that writes a frame with
        such a payload, the size of the frame, and its encoded length field.
    :ivar armed: True from the moment at which the sender is woken until it calls :meth:`disarm`; meanwhile, it need not
        be woken again.
    :ivar dropped: number of entries that were dropped because the log had no room for them.
    :ivar revoked: number of claims that were revoked because their threads were dead or too slow.
    """

    __slots__ = (
        "ledger_id", "tail", "limit", "block", "taken", "acknowledged", "failure", "lost_from", "shapes", "armed",
        "dropped", "revoked", "_layout", "_pool", "_threads", "_wake", "_window", "_max_blocks", "_blocks", "_skipped",
        "_waiters", "_asked", "_lock", "_blocked", "_producers", "_locked", "_stuck", "_shut_since",
    )  # fmt: skip

    def __init__(
        self, ledger_id: int, layout: FrameLayout, pool: MemoryPool, threads: Threads, wake: Callable[[], None],
        window: int | None = None, start: int = 0, max_blocks: int = MAX_BLOCKS,
    ) -> None:  # fmt: skip
        """:param wake: wakes the sender; called on any thread, then not again until the sender calls :meth:`disarm`.
        :param window: maximum number of bytes of claimed frames that are not acknowledged yet; by default three times
            the size of a memory block.
        :param start: the position (byte offset) of the first frame.
        :param max_blocks: maximum number of memory blocks that the log may hold.
        """
        self.ledger_id = ledger_id
        self.tail = self.taken = self.acknowledged = start
        self.limit = 0
        self.block = NO_BLOCK
        self.failure: Exception | None = None
        self.lost_from: int | None = None
        self.shapes = layout.shapes
        self.armed = False
        self.dropped = 0
        self.revoked = 0
        self._layout = layout
        self._pool = pool
        self._threads = threads
        self._wake = wake
        self._window = MAX_BLOCKS * pool.size if window is None else window
        self._max_blocks = max_blocks
        # a list, because an empty list takes less memory than an empty deque
        self._blocks: list[MemoryBlock] = []
        self._skipped: list[tuple[int, int]] = []
        self._waiters: list[tuple[int, int, Deferred[int]]] = []
        self._asked = 0
        # A thread needs the lock to reserve memory above ``limit``; the sender needs it to free memory.
        self._lock = threads.lock()
        self._blocked: deque[_Blocked] = deque()
        self._producers: tuple[Producer, ...] = ()
        self._locked = not getattr(sys, "_is_gil_enabled", lambda: True)()
        self._stuck: tuple[Producer, int, float] | None = None
        self._shut_since: float | None = None

    # ---- any thread ----------------------------------------------------------------------------------

    def producer(self, when_full: WhenFull = WhenFull.CODE, patience: float | None = None) -> Producer:
        """Make the handle by which the calling thread reserves (claims) memory for entries in this log.

        :param when_full: the reaction of :meth:`.Producer.offer` and :meth:`.Producer.claim` if there is no room.
        :param patience: maximum number of seconds that these methods wait for room with ``WhenFull.BLOCK``; None
            for ever.
        """
        if sys.gettrace() is not None:
            self.use_lock()
        producer = Producer(self, self._threads.is_alive(), when_full, patience)
        with self._lock:
            kept = [other for other in self._producers if other.start != IDLE or other.alive()]
            self._producers = (*kept, producer)
        return producer

    def use_lock(self) -> None:
        """Make threads lock the log whenever they reserve memory, for example because a debugger traces a thread."""
        if not self._locked:
            with self._lock:
                self.limit = 0
                self._locked = True

    def wake(self) -> None:
        """Wake the sender, unless it was woken already and has not called :meth:`disarm` since then."""
        if not self.armed:
            self.armed = True
            self._wake()

    def shape(self, size: int) -> FrameShape:
        """Return the function that writes a frame with a payload of ``size`` bytes, the frame's size and length field.
        """
        return self.shapes.get(size) or self._layout.shape(size)

    def claim_slowly(self, producer: Producer) -> int:
        """Reserve (claim) a frame of ``producer.size`` bytes under the lock; with ``WhenFull.BLOCK``, wait for room.

        :returns: the position after the frame, or a :class:`~.producer.ClaimResult`.
        :raises IncorrectParameterError: the frame is larger than the limit of unacknowledged bytes, so that the log can
            never have room for it.
        :raises IllegalOperationError: there is no room, and the reactor's thread must not wait.
        """
        if producer.size > self._window:
            raise IncorrectParameterError(
                f"ledger {self.ledger_id}: a frame of {producer.size} bytes; the log holds {self._window}"
            )
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
                    raise IllegalOperationError(
                        f"ledger {self.ledger_id}: the log is full, {self.in_flight} bytes are not acknowledged, "
                        "and the reactor's thread must not wait for room"
                    )
                blocked = _Blocked(producer, self._threads.signal())
                self._blocked.append(blocked)
            finally:
                self._restore_limit()
        return self._wait(blocked)

    def _wait(self, blocked: _Blocked) -> int:
        self.wake()
        try:
            blocked.signal.wait(blocked.producer.patience)
        except BaseException:
            self._withdraw(blocked)
            blocked.producer.give_up(blocked.producer.block)
            raise
        self._withdraw(blocked)
        return blocked.result

    def _withdraw(self, blocked: _Blocked) -> None:
        """Remove from the queue a thread that waits for memory; do nothing if the thread has got the memory already."""
        with self._lock:
            if blocked in self._blocked:
                self._blocked.remove(blocked)
                self._serve()
                self._restore_limit()

    # ---- room, under the lock ------------------------------------------------------------------------

    def _claim(self, producer: Producer) -> int:
        """Reserve ``producer.size`` bytes of memory for an entry (claim a frame) at the tail of the log.

        The caller holds the lock.

        :returns: the position after the frame, or a :class:`~.producer.ClaimResult` if there is no room.
        """
        result = self._make_room(producer.size)
        if result:
            return result
        producer.block = self.block
        producer.start = self.tail
        self.tail += producer.size
        return self.tail

    def _make_room(self, size: int) -> int:
        """Find ``size`` free bytes for the next frame, in the newest memory block or in a new one.

        :returns: 0, or the :class:`~.producer.ClaimResult` that says why there is no room.
        """
        if self.failure is not None:
            return ClaimResult.CLOSED
        end, blocks = self.tail + size, self._blocks
        if end > MAX_POSITION:
            return ClaimResult.MAX_POSITION_EXCEEDED
        if end - self.acknowledged > self._window:
            return ClaimResult.BACK_PRESSURED
        if not blocks or end > self.block.end:
            if len(blocks) == self._max_blocks:
                return ClaimResult.BACK_PRESSURED
            if blocks:
                self.block.end = self.tail
            self.block = block = self._pool.acquire(self.tail, max(size, self._pool.size) if blocks else size)
            block.end = min(block.end, MAX_POSITION)
            blocks.append(block)
        return 0

    def _serve(self) -> None:
        """Reserve memory for the threads that wait for it, the longest waiting first, while the log has room."""
        while self._blocked:
            blocked = self._blocked[0]
            result = self._claim(blocked.producer)
            if result == ClaimResult.BACK_PRESSURED:
                return
            self._blocked.popleft()
            blocked.result = result
            blocked.signal.set()

    def _restore_limit(self) -> None:
        """Let threads reserve memory without the lock again, up to the end of the newest memory block.

        The limit is lower if otherwise the log could have too many unacknowledged bytes.  Change nothing if other
        threads wait for memory, because they come first, or if threads must always use the lock.
        """
        if self._blocks and self.failure is None and not self._blocked and not self._locked:
            end, room = self.block.end, self.acknowledged + self._window
            self.limit = end if end < room else room

    # ---- the sender, on the reactor's thread -----------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """The number of bytes that threads have reserved for entries that do not have their ack quorum yet.

        Memory into which threads are still writing counts, too.
        """
        return self.tail - self.acknowledged

    @property
    def waiting(self) -> bool:
        """Whether threads have reserved memory for entries that the sender has not sent yet.

        The threads may still be writing into this memory.
        """
        return self.tail > self.taken

    def disarm(self) -> None:
        """Record that the sender looks for frames now, so that the next committed frame wakes the sender again."""
        self.armed = False

    def _committed(self) -> int:
        """Return the position below which threads have finished all entries, so that the entries can be sent."""
        # Read the tail first, then the start of each thread's open frame.  A frame that a thread reserves between the
        # two reads begins at or above this tail, so it does not matter if this loop misses the frame.
        committed = self.tail
        for producer in self._producers:
            start = producer.start
            if 0 <= start < committed:
                committed = start
        return committed

    def take(self, limit: int) -> Frames | None:
        """Take the next frames to send: at most ``limit`` bytes, but at least one frame; None if no frame is ready."""
        committed = self._committed()
        for block in self._blocks:
            if block.end <= self.taken:
                continue
            end = min(committed, block.end)
            if block.aborted or block.holes:
                end = self._skip_holes(block, end)
            if self.taken < end:
                frames = cut_frames(block, self.taken, end, limit)
                self.taken = frames.end
                return frames
        if self._skipped:
            self.acknowledge(self.acknowledged)
        return None

    def _skip_holes(self, block: MemoryBlock, end: int) -> int:
        """Skip holes (reserved memory in which no entry was committed) that come before the next frame to send.

        :param end: position up to which every frame in the memory block was committed or aborted.
        :returns: position at which the next hole begins; ``end`` if there is no further hole.
        """
        block.sort_holes()
        for hole_start, hole_end in block.holes:
            if hole_start == self.taken and hole_end <= end:
                self._skipped.append((hole_start, hole_end))
                self.taken = hole_end
            elif hole_start > self.taken:
                return min(end, hole_start)
        return end

    def unblock(self, now: float) -> bool:
        """Revoke the oldest open claim (reserved memory), which delays later frames, if its thread is dead or too slow.

        A thread is too slow :data:`STUCK_SECONDS` after a call of this method has first found this claim.  In a log
        that is shut, revoke every open claim of a dead thread, and :data:`STUCK_SECONDS` after the first call of this
        method all open claims, so that this time does not pass once for each of them.

        :param now: seconds of a monotonic clock.
        :returns: True if this call has found an open claim; the caller must then call this method again later.
        """
        claims = {producer: start for producer in self._producers if (start := producer.start) >= 0}
        if not claims:
            self._stuck = None
            return False
        oldest = min(claims, key=claims.__getitem__)
        known = self._stuck
        if known is None or known[0] is not oldest or known[1] != claims[oldest]:
            self._stuck = known = (oldest, claims[oldest], now)
        is_late, is_over = now - known[2] >= STUCK_SECONDS, False
        if self.failure is None:
            claims = {oldest: claims[oldest]}
        elif self._shut_since is None:
            self._shut_since = now
        else:
            is_over = now - self._shut_since >= STUCK_SECONDS
        revoked = 0
        for producer, start in claims.items():
            if is_over or (is_late and producer is oldest) or not producer.alive():
                revoked += producer.revoke(start, next(block for block in self._blocks if start < block.end))
        if revoked:
            self.revoked += revoked
            self._stuck = None
            self.wake()
        return True

    # ---- acknowledgement and the end -------------------------------------------------------------------

    def acknowledge(self, position: int) -> None:
        """Record that all frames below a position are acknowledged, so that their memory can be reused.

        The Deferreds that :meth:`when_acknowledged` returned for positions up to this one fire, the lowest first.

        :param position: the end of a frame that was sent.
        """
        self._advance_acknowledged(position)
        while self._waiters and self._waiters[0][0] <= self.acknowledged:
            at, _, waiter = self._waiters.pop(0)
            waiter.callback(at)

    def _advance_acknowledged(self, position: int) -> None:
        """Record that all frames below a position are acknowledged.

        Return the memory blocks below this position to the pool, and reserve memory for waiting threads.
        """
        with self._lock:
            self.limit = 0
            skipped, blocks = self._skipped, self._blocks
            while skipped and skipped[0][0] <= position:
                position = max(position, skipped.pop(0)[1])
            if position > self.acknowledged:
                self.acknowledged = position
            while len(blocks) > 1 and blocks[0].end <= self.acknowledged:
                self._pool.release(blocks.pop(0))
            self._serve()
            self._restore_limit()

    def when_acknowledged(self, position: int) -> "Deferred[int]":
        """Return a Deferred that fires with ``position`` once all frames below this position are acknowledged.

        :returns: a Deferred, which fails with :attr:`failure` if the log is abandoned first.
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
        """Return the last memory block to the pool if all frames are acknowledged and no thread writes to it."""
        with self._lock:
            self.limit = 0
            if self._blocks and self.tail == self.acknowledged and self._committed() == self.tail:
                self._pool.release(self._blocks.pop())
                self.block = NO_BLOCK
            self._restore_limit()

    def shut(self, why: Exception) -> None:
        """Refuse to reserve more memory, also for waiting threads; reserved frames are still sent and acknowledged.

        :param why: the reason; becomes :attr:`failure`, unless an earlier reason is stored there.
        """
        with self._lock:
            if self.failure is None:
                self.failure = why
            self.limit = 0
            self._serve()

    def abandon(self, why: Exception) -> None:
        """Refuse to reserve more memory, and free the memory, because no frame will be sent any more.

        Memory to which a thread may still write is not freed.  Call this method again when the thread has committed or
        aborted its frame.

        :param why: the error with which the Deferreds of :meth:`when_acknowledged` fail.
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

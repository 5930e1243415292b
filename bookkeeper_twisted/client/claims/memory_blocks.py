"""The memory of claim logs (queues that threads fill with entries): memory blocks, and their pool."""

from bisect import insort

DEFAULT_BLOCK_SIZE = 256 << 10
SMALL_BLOCK_SIZE = 8 << 10
"""Size in bytes of a claim log's first memory block; small, so that thousands of ledgers can have entries in flight."""


class MemoryBlock:
    """A memory block of a claim log, which contains the frames from position ``base`` to ``end`` in the log.

    A position is a byte offset in the log.

    :ivar base: position of the first frame.
    :ivar end: position after the last frame; while threads may claim more frames in this block, the position after its
        memory.
    :ivar buffer: the memory.
    :ivar holes: ranges of reserved memory without an entry to send, in order; used by the reactor's thread only.
    :ivar aborted: such ranges that are not yet in ``holes``, in any order; any thread may add ranges.
    :ivar tainted: whether a thread may still write to memory that was revoked from it; if so, the block is not reused.
    """

    __slots__ = ("base", "end", "buffer", "view", "holes", "aborted", "tainted")

    def __init__(self, base: int, buffer: bytearray) -> None:
        self.base = base
        self.end = base + len(buffer)
        self.buffer = buffer
        self.view = memoryview(buffer)
        self.holes: list[tuple[int, int]] = []
        self.aborted: list[tuple[int, int]] = []
        self.tainted = False

    def sort_holes(self) -> None:
        """Move the ranges in :attr:`aborted` to :attr:`holes`, so that the sender does not send their bytes."""
        while self.aborted:
            insort(self.holes, self.aborted.pop())


NO_BLOCK = MemoryBlock(0, bytearray())
"""The block of a claim log that has no memory yet; its size is 0, so no frame fits into it."""


class MemoryPool:
    """A pool of the memory blocks of claim logs; it reuses the blocks that logs return.

    A log without frames in flight returns its blocks, so thousands of idle ledgers need no memory.  Any thread may
    call :meth:`take` and :meth:`give`.

    :ivar size: size of an ordinary block in bytes; a larger frame gets a larger block, whose memory is not reused.
    :ivar small: size of a small block in bytes.
    :ivar made: number of memory blocks that were allocated so far.
    """

    __slots__ = ("size", "small", "made", "_kept", "_free")

    def __init__(self, size: int = DEFAULT_BLOCK_SIZE, kept: int = 64, prepared: int = 0) -> None:
        """
        :param kept: maximum number of unused pieces of memory of each size that the pool keeps.
        :param prepared: number of pieces of ordinary size that the pool makes immediately, before the first log needs
            them.
        """
        self.size = size
        self.small = min(SMALL_BLOCK_SIZE, size)
        self.made = 0
        self._kept = kept
        self._free: dict[int, list[bytearray]] = {self.small: [], size: []}
        self._free[size] += [self._make(size) for _ in range(prepared)]

    def take(self, base: int, room: int) -> MemoryBlock:
        """Return a memory block of at least ``room`` bytes.

        The block is small if ``room`` bytes fit into a small block.

        :param base: position (byte offset) in the log at which the block begins.
        """
        size = self.small if room <= self.small else max(room, self.size)
        try:
            buffer = self._free[size].pop()
        except LookupError:
            buffer = self._make(size)
        return MemoryBlock(base, buffer)

    def give(self, block: MemoryBlock) -> None:
        """Take back a memory ``block``, which the caller must not use any more.

        The memory is not reused if a view of it still exists.
        """
        buffer = block.buffer
        block.view.release()
        free = self._free.get(len(buffer))
        if block.tainted or free is None or len(free) >= self._kept:
            return
        try:  # append() fails if a view of the memory still exists; then the memory must not be reused
            buffer.append(0)
        except BufferError:
            return
        buffer.pop()
        free.append(buffer)

    def _make(self, size: int) -> bytearray:
        self.made += 1
        return bytearray(size)

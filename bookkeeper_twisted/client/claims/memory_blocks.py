"""The memory of claim logs: blocks of memory, and their pool.

A claim log is a queue of entries that threads fill.  It stores each entry in a *frame*, a range of such memory.
"""

from bisect import insort

DEFAULT_BLOCK_SIZE = 256 << 10
SMALL_BLOCK_SIZE = 8 << 10
"""Size in bytes of the first memory block of a writer; small, because thousands of ledgers may each need one."""


class MemoryBlock:
    """A block of memory of a claim log, in which threads store entries.

    A frame is the memory for one entry.  A position is a byte offset in the log.

    :ivar base: position of the first frame.
    :ivar end: position at which the memory ends; once the next block is in use, position after the last frame.
    :ivar buffer: the memory.
    :ivar view: a view of the whole buffer.
    :ivar holes: sorted ranges of positions that the sender skips, because the thread that had reserved the memory did
        not append its entry; used by the reactor's thread only.
    :ivar aborted: new holes, not yet in ``holes``, in any order; any thread may add ranges.
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
        """Move the ranges in :attr:`aborted` to :attr:`holes`, the sorted ranges that the sender skips."""
        while self.aborted:
            insort(self.holes, self.aborted.pop())


NO_BLOCK = MemoryBlock(0, bytearray())
"""The empty block of every claim log that has no memory yet; no entry fits into it, so the first gets a new block."""


class MemoryPool:
    """A pool of the memory blocks of claim logs; it reuses the blocks that logs release.

    A log without frames in flight releases its blocks, so thousands of idle ledgers need no memory.  Any thread may
    call :meth:`acquire` and :meth:`release`.

    :ivar size: size of an ordinary block in bytes; a larger frame gets a larger block, whose memory is not reused.
    :ivar small: size of a small block in bytes.
    :ivar made: number of memory blocks that were allocated so far.
    """

    __slots__ = ("size", "small", "made", "_kept", "_free")

    def __init__(self, size: int = DEFAULT_BLOCK_SIZE, kept: int = 64, prepared: int = 0) -> None:
        """
        :param kept: maximum number of unused blocks of each size that the pool keeps.
        :param prepared: number of blocks of ordinary size to allocate now, so that the first claim logs need not wait
            for their allocation.
        """
        self.size = size
        self.small = min(SMALL_BLOCK_SIZE, size)
        self.made = 0
        self._kept = kept
        self._free: dict[int, list[bytearray]] = {self.small: [], size: []}
        self._free[size] += [self._make(size) for _ in range(prepared)]

    def acquire(self, base: int, room: int) -> MemoryBlock:
        """Return a memory block of at least ``room`` bytes: a small one, an ordinary one, or a larger one if necessary.

        :param base: position (byte offset) in the claim log at which the block begins.
        :param room: number of bytes that must fit into the block.
        """
        size = self.small if room <= self.small else max(room, self.size)
        try:
            buffer = self._free[size].pop()
        except LookupError:
            buffer = self._make(size)
        return MemoryBlock(base, buffer)

    def release(self, block: MemoryBlock) -> None:
        """Put a memory ``block`` back into the pool; the caller must not use the block any more.

        The memory is not reused if a view of it still exists.
        """
        buffer = block.buffer
        block.view.release()
        free = self._free.get(len(buffer))
        if block.tainted or free is None or len(free) >= self._kept:
            return
        # bytearray.append() raises BufferError while a memoryview of the bytearray exists.  The memory must then not be
        # reused, because the owner of the view would see the new bytes.
        try:
            buffer.append(0)
        except BufferError:
            return
        buffer.pop()
        free.append(buffer)

    def _make(self, size: int) -> bytearray:
        self.made += 1
        return bytearray(size)

"""The memory of claim logs: terms, and the pool that keeps them between uses."""

from bisect import insort

DEFAULT_TERM_SIZE = 256 << 10
SMALL_TERM_SIZE = 8 << 10
"""Bytes of the first term of a log that holds none, so that thousands of ledgers may each have an entry in flight."""


class Term:
    """A range of a log's positions and the memory behind it.

    :ivar base: position of the first byte.
    :ivar end: position after the last frame; behind the last byte of memory while the term is the active one.
    :ivar buffer: the memory; bytes are stored through :attr:`view`.
    :ivar holes: ranges of positions that were claimed and given up, in order; used by the reactor's thread only.
    :ivar aborted: ranges that any thread has added and that are not yet in ``holes``, in no order.
    :ivar tainted: whether a thread may still write here, so that the memory must not be reused.
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
        """Insert the ranges of aborted claims into the sorted list of holes."""
        while self.aborted:
            insort(self.holes, self.aborted.pop())


NO_TERM = Term(0, bytearray())
"""The term of logs without memory, in which nothing has room."""


class TermPool:
    """A pool of memory for the terms of several logs; the pool reuses the memory of terms that are given back.

    A log without frames in flight holds no term, so thousands of idle ledgers take no memory.  Any
    thread may take and give.

    :ivar size: bytes of an ordinary term; a larger frame gets a term of its own size, whose memory is not kept.
    :ivar small: bytes of a small term.
    :ivar made: number of pieces of memory made so far; it does not grow in a steady state.
    """

    __slots__ = ("size", "small", "made", "_kept", "_free")

    def __init__(self, size: int = DEFAULT_TERM_SIZE, kept: int = 64, prepared: int = 0) -> None:
        """
        :param kept: number of unused pieces of memory of each size that are kept.
        :param prepared: number of pieces of ordinary size that are made now.
        """
        self.size = size
        self.small = min(SMALL_TERM_SIZE, size)
        self.made = 0
        self._kept = kept
        self._free: dict[int, list[bytearray]] = {self.small: [], size: []}
        self._free[size] += [self._make(size) for _ in range(prepared)]

    def take(self, base: int, room: int) -> Term:
        """Return a term that begins at position ``base`` and has room for ``room`` bytes; a small term if possible."""
        size = self.small if room <= self.small else max(room, self.size)
        try:
            buffer = self._free[size].pop()
        except LookupError:
            buffer = self._make(size)
        return Term(base, buffer)

    def give(self, term: Term) -> None:
        """Take back a ``term``, which must not be used any more.

        The memory is reused unless somebody still holds a slice of it.
        """
        buffer = term.buffer
        term.view.release()
        free = self._free.get(len(buffer))
        if term.tainted or free is None or len(free) >= self._kept:
            return
        try:  # append() fails if somebody still holds a view of the memory, which must then not be reused
            buffer.append(0)
        except BufferError:
            return
        buffer.pop()
        free.append(buffer)

    def _make(self, size: int) -> bytearray:
        self.made += 1
        return bytearray(size)

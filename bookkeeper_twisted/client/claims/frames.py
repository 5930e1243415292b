"""Frames: memory for one add request each, in a queue of appended entries (claim log); the payload is at the end.

A thread stores the length word and the payload of a frame by one call.  The bytes between them, with the entry id, the
LAC and the digest, are filled in when the frame is sent (:mod:`~bookkeeper_twisted.codec.adds`).  Entry ids are given
only then, so an aborted frame leaves no gap in the entry ids.  A position in the log is a byte offset.

====  ==========================================================================
0     length word: the number of bytes after it, as an int32
4     room for the request's header, the master key, the entry's header and digest
..    payload, to the end of the frame
====  ==========================================================================
"""

import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from ...codec.adds import FRAME_OVERHEAD, Adds, seal_adds
from ...codec.digest import Digester, pack_headers
from ...entries.columns import column
from .memory_blocks import MemoryBlock

STORED_BY_SLICE = 4096
"""Payloads of this many bytes or more are stored by slice assignment, because a cached ``struct`` format for each large
size would take too much memory.
"""

_LENGTH = struct.Struct(">i")

StoreFrame = Callable[[bytearray, int, bytes, Any], None]
"""``store(buffer, at, length_word, payload)``: a function that writes a frame to offset ``at`` of a buffer.

It writes the length word (the size of the rest of the frame) and the payload; the header between them follows later.
"""

FrameShape = tuple[StoreFrame, int, bytes]
"""All that is needed to write a frame with a payload of some size: a function, the frame's size, its length word."""


class FrameLayout:
    """The layout of frames; it is the same for all ledgers whose digests have the same size.

    :ivar payload_at: offset of the payload in a frame, in bytes.
    :ivar shapes: a cache that :meth:`shape` fills and any thread may read: maps the size of a payload to the function
        that writes a frame with such a payload, the size of the frame, and its encoded length word.
    """

    __slots__ = ("payload_at", "shapes")

    def __init__(self, digest_size: int) -> None:
        self.payload_at = FRAME_OVERHEAD + digest_size
        self.shapes: dict[int, FrameShape] = {}

    def shape(self, size: int) -> FrameShape:
        """Return the function that writes a frame with a payload of ``size`` bytes, the frame's size and length word.

        Cache the result if the payload is small.
        """
        payload_at = self.payload_at
        word = _LENGTH.pack(payload_at - 4 + size)
        if size >= STORED_BY_SLICE:
            return _stored_by_slice(payload_at), payload_at + size, word
        shape = self.shapes[size] = _layout(payload_at, size).pack_into, payload_at + size, word
        return shape


@lru_cache(maxsize=8)
def layout_of(digest_size: int) -> FrameLayout:
    """Return the frame layout that all ledgers with digests of ``digest_size`` bytes share."""
    return FrameLayout(digest_size)


@lru_cache(maxsize=STORED_BY_SLICE)
def _layout(payload_at: int, size: int) -> struct.Struct:
    return struct.Struct(f"4s{payload_at - 4}x{size}s")


def _stored_by_slice(payload_at: int) -> StoreFrame:
    def store(buffer: bytearray, at: int, word: bytes, payload: Any) -> None:
        with memoryview(buffer) as view:
            view[at : at + 4] = word
            view[at + payload_at : at + payload_at + len(payload)] = payload

    return store


class Frames:
    """One or more consecutive frames (memory for one entry each) in one memory block, without gaps between them.

    :ivar start: position (byte offset) in the claim log of the first frame.
    :ivar end: position in the claim log after the last frame.
    """

    __slots__ = ("start", "end", "_block")

    def __init__(self, block: MemoryBlock, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self._block = block

    def view(self) -> memoryview:
        """Return a view of the bytes of all frames.  Do not keep it: the memory cannot be reused while a view exists.
        """
        base = self._block.base
        return self._block.view[self.start - base : self.end - base]

    def payloads(self, payload_at: int) -> Sequence[bytes]:
        """Copy the payloads of the entries out of their frames.

        :param payload_at: offset of the payload in a frame, in bytes.
        """
        at, size, buffer = self.start - self._block.base, self.end - self.start, self._block.buffer
        stride = _common_stride(buffer, at, size)
        data = bytes(self.view())
        if stride:
            return column(data, stride, size // stride, payload_at, stride)
        offsets = array("I", (0, *_frame_ends(buffer, at, size)))
        return [data[start + payload_at : end] for start, end in pairwise(offsets)]

    def seal(
        self, digester: Digester, ledger_id: int, first: int, last_add_confirmed: int, length: int,
        deferred_sync: bool = False,
    ) -> tuple[Adds, Sequence[int]]:  # fmt: skip
        """Fill in headers and digests of all frames; the first entry gets the id ``first``.

        :param last_add_confirmed: the LAC to store in the entries.
        :param length: length of the ledger in bytes before the first entry.
        :param deferred_sync: whether bookies acknowledge the entries before they sync them.
        :returns: the add requests; and for each entry, the length of the ledger in bytes up to and including this
            entry.
        """
        payloads = self.payloads(FRAME_OVERHEAD + digester.size)
        count, sizes = len(payloads), list(map(len, payloads))
        headers = pack_headers(ledger_id, first, last_add_confirmed, length, sizes)
        ids = (ledger_id,) * count, range(first, first + count)
        lengths = list(accumulate(sizes, initial=length))[1:]
        return seal_adds(digester, *ids, headers, payloads, 0, deferred_sync), lengths


def cut_frames(block: MemoryBlock, start: int, end: int, limit: int) -> Frames:
    """Return the first frames (memory for one entry each) in a range: at most ``limit`` bytes, but at least one frame.

    :param block: the memory block that contains the range.
    :param start: position (byte offset) in the claim log at which the first frame begins.
    :param end: position at which the last frame of the range ends; it must be greater than ``start``.
    :param limit: maximum number of bytes in the returned frames.
    """
    if end - start > limit:
        at, buffer = start - block.base, block.buffer
        stride: int = _LENGTH.unpack_from(buffer, at)[0] + 4
        size = max(limit // stride, 1) * stride
        if not _common_stride(buffer, at, size):
            ends = [*_frame_ends(buffer, at, limit)]
            size = ends[-1] if ends[-1] <= limit else ends[-2]
        end = start + size
    return Frames(block, start, end)


def _common_stride(buffer: bytearray, at: int, size: int) -> int:
    """Return the size of the frames in ``size`` bytes of memory if all have the same size, else 0."""
    stride: int = _LENGTH.unpack_from(buffer, at)[0] + 4
    if stride == size:
        return stride
    count, rest = divmod(size, stride)
    if rest:
        return 0
    # compare the lowest byte of the length words first, because this byte differs most often
    for i in range(at + 3, at - 1, -1):
        if buffer[i : at + size : stride].count(buffer[i]) != count:
            return 0
    return stride


def _frame_ends(buffer: bytearray, at: int, size: int) -> Iterator[int]:
    """Yield the end of each frame as an offset from ``at``; stop after the first offset >= ``size``."""
    unpack, end = _LENGTH.unpack_from, 0
    while end < size:
        end += unpack(buffer, at + end)[0] + 4
        yield end

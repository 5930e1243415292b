"""Frames that are next to be sent get what producers left out: ids, LAC, length, digest.

The frames of one turn are sealed together.  Where all have one size, which is found by comparing whole
columns of length words, the missing fields are columns too, and are stored a byte of all frames at a time;
a frame costs little more than its checksum.
"""

import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise

from ..codec.digest import Digester, pack_headers
from ..model import ENTRY_HEADER_SIZE, column
from .frame_shape import FrameShape
from .log_terms import Term

MAX_FRAMES = 1024
"""Frames taken at once; see :data:`~.append_queue.MAX_RUN_ENTRIES`."""

_LENGTH = struct.Struct(">i")
_ROW = 4
"""Fewer frames of one size are read sooner one by one."""

_ENTRY_ID = 8
"""Where the header's fields begin that are not the ledger's for good."""


class Frames:
    """Consecutive frames of one term, without holes, at least one.

    :ivar start: position of the first byte.
    :ivar count: how many.
    :ivar first: entry id of the first one, once they are sealed.
    """

    __slots__ = ("start", "count", "first", "_term", "_stride", "_offsets")

    def __init__(self, term: Term, start: int, count: int, stride: int, offsets: "array[int] | None") -> None:
        """
        :param stride: bytes of a frame where all have the same size, else 0.
        :param offsets: where ``stride`` is 0: ``count + 1`` offsets from ``start``.
        """
        self.start = start
        self.count = count
        self.first = -1
        self._term = term
        self._stride = stride
        self._offsets = offsets

    @property
    def end(self) -> int:
        """Position behind the last frame."""
        return self.position(self.count)

    def position(self, index: int) -> int:
        """Where a frame begins; that of :attr:`count` is the end."""
        return self.start + (index * self._stride if self._offsets is None else self._offsets[index])

    def view(self, index: int, count: int) -> memoryview:
        """Some of the frames.  Memory somebody holds a view of is lost for the pool: not to be kept."""
        base = self._term.base
        return self._term.view[self.position(index) - base : self.position(index + count) - base]

    def data(self, first: int, count: int) -> bytes:
        """The frames of entries ``first .. first + count - 1``, to be sent; always the same bytes."""
        return bytes(self.view(first - self.first, count))

    def seal(
        self, shape: FrameShape, digester: Digester, ledger_id: int, first: int, last_add_confirmed: int, length: int
    ) -> int:
        """Makes the frames the adds of entries from ``first`` on.

        :param length: bytes of all payloads of the ledger before the first one.
        :returns: with those of the frames.
        """
        self.first = first
        sizes, payloads = self._payloads(shape.payload_at)
        headers = pack_headers(ledger_id, first, last_add_confirmed, length, sizes)
        heads = column(headers, ENTRY_HEADER_SIZE, self.count, 0, ENTRY_HEADER_SIZE)
        digests = digester.digests(heads, payloads)
        at, buffer = self.start - self._term.base, self._term.buffer
        header_at = shape.payload_at - digester.size - ENTRY_HEADER_SIZE
        if self._offsets is None and self.count >= _ROW:
            span = self.count * self._stride
            _fill(buffer, at + header_at, span, self._stride, headers, ENTRY_HEADER_SIZE, _ENTRY_ID)
            _fill(buffer, at + shape.payload_at - digester.size, span, self._stride, digests, digester.size, 0)
            shape.number(buffer, at, self._stride, self.count, first)
        else:
            self._fill_each(shape, at + header_at, headers, digests, digester.size)
        return length + sum(sizes)

    def _payloads(self, payload_at: int) -> tuple[Sequence[int], Sequence[bytes]]:
        data = bytes(self.view(0, self.count))
        if self._offsets is None:
            stride = self._stride
            return [stride - payload_at] * self.count, column(data, stride, self.count, payload_at, stride)
        payloads = [data[a + payload_at : b] for a, b in pairwise(self._offsets)]
        return list(map(len, payloads)), payloads

    def _fill_each(self, shape: FrameShape, header_at: int, headers: bytes, digests: bytes, size: int) -> None:
        view, buffer, base = self._term.view, self._term.buffer, self._term.base
        for i in range(self.count):
            at = header_at + self.position(i) - self.start
            header_end = at + ENTRY_HEADER_SIZE
            view[at:header_end] = headers[i * ENTRY_HEADER_SIZE : (i + 1) * ENTRY_HEADER_SIZE]
            view[header_end : header_end + size] = digests[i * size : (i + 1) * size]
            frame_at = self.position(i) - base
            shape.number(buffer, frame_at, self.position(i + 1) - base - frame_at, 1, self.first + i)


def _fill(buffer: bytearray, at: int, span: int, stride: int, packed: bytes, size: int, skipped: int) -> None:
    """Stores ``size`` bytes into each frame, without the first ``skipped`` of them."""
    for i in range(skipped, size):
        buffer[at + i : at + i + span : stride] = packed[i::size]


def cut_frames(term: Term, start: int, end: int, limit: int) -> Frames:
    """The first frames of a range of positions: ``limit`` bytes at most, but at least one frame.

    :param end: where a frame ends; greater than ``start``.
    """
    at, buffer = start - term.base, term.buffer
    (length,) = _LENGTH.unpack_from(buffer, at)
    stride = length + 4
    count = min((end - start) // stride, max(limit // stride, 1), MAX_FRAMES)
    equal = count
    for i in range(4):
        plane = buffer[at + i : at + i + equal * stride : stride]
        equal -= len(plane.lstrip(plane[:1]))
    if equal == count or equal >= _ROW:
        return Frames(term, start, equal, stride, None)
    return _walk(term, start, end, limit)


def _walk(term: Term, start: int, end: int, limit: int) -> Frames:
    """As :func:`cut_frames`, one by one."""
    at, buffer, unpack = start - term.base, term.buffer, _LENGTH.unpack_from
    offsets = [0]
    offset, stop = 0, min(end - start, limit)
    while offset < stop:
        offset += unpack(buffer, at + offset)[0] + 4
        offsets.append(offset)
    count = min(len(offsets) - 1, MAX_FRAMES)
    if offsets[count] > limit and count > 1:
        count -= 1
    return Frames(term, start, count, 0, array("I", offsets[: count + 1]))

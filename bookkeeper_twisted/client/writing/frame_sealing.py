"""Frames that are next to be sent get what producers left out: ids, LAC, length, digest.

The frames of one turn are sealed together.  What stands in front of a payload has the same size in all of
them, so the missing fields are columns, and are stored a byte of all frames at a time: in the term itself
where all payloads have one size, which is found by comparing whole columns of length words, else in a table
of these fronts.  A frame costs little more than its checksum.  Few frames are sealed one by one, because
setting up columns takes as long as sealing several of them.
"""

import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...codec.digest import Digester, pack_headers
from ...model import ENTRY_HEADER_SIZE, column
from .frame_shape import FrameShape
from .log_terms import Term

_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">qqqq")

_COLUMNS = 20
"""Fewer frames are sealed sooner one by one."""

_ENTRY_ID = 8
"""Where the header's fields begin that are not the ledger's for good."""


class Frames:
    """Consecutive frames of one term, without holes, at least one.

    :ivar start: position of the first byte.
    :ivar end: position behind the last frame.
    :ivar first: entry id of the first one, once they are sealed.
    """

    __slots__ = ("start", "end", "first", "_term", "_count", "_stride", "_offsets")

    def __init__(self, term: Term, start: int, end: int) -> None:
        """What lies between is looked at only when somebody asks."""
        self.start = start
        self.end = end
        self.first = -1
        self._term = term
        self._count = 0
        self._stride = 0
        self._offsets: Sequence[int] = ()

    @property
    def count(self) -> int:
        """How many."""
        return self._count or self._measure()

    @property
    def stride(self) -> int:
        """Bytes of a frame where all have the same size, else 0."""
        if not self._count:
            self._measure()
        return self._stride

    def _measure(self) -> int:
        at, size, buffer = self.start - self._term.base, self.end - self.start, self._term.buffer
        self._stride = stride = _common_stride(buffer, at, size)
        if not stride:
            self._offsets = array("I", (0, *_frame_ends(buffer, at, size)))
        self._count = size // stride if stride else len(self._offsets) - 1
        return self._count

    def position(self, index: int) -> int:
        """Where a frame begins; that of :attr:`count` is the end."""
        stride = self.stride
        return self.start + (index * stride if stride else self._offsets[index])

    def view(self) -> memoryview:
        """All of them.  Memory somebody holds a view of is lost for the pool: not to be kept."""
        base = self._term.base
        return self._term.view[self.start - base : self.end - base]

    def data(self, first: int, count: int) -> bytes:
        """The frames of entries ``first .. first + count - 1``, to be sent; always the same bytes."""
        if count == self._count:
            return bytes(self.view())
        index, base = first - self.first, self._term.base
        return bytes(self._term.view[self.position(index) - base : self.position(index + count) - base])

    def seal(
        self, shape: FrameShape, digester: Digester, ledger_id: int, first: int, last_add_confirmed: int, length: int
    ) -> int:
        """Makes the frames the adds of entries from ``first`` on.

        :param length: bytes of all payloads of the ledger before the first one.
        :returns: with those of the frames.
        """
        self.first = first
        if self.count < _COLUMNS:
            return self._seal_each(shape, digester, ledger_id, last_add_confirmed, length)
        data = bytes(self.view())
        sizes, payloads = self._payloads(data, shape.payload_at)
        headers = pack_headers(ledger_id, first, last_add_confirmed, length, sizes)
        digests = digester.digests(column(headers, ENTRY_HEADER_SIZE, self._count, 0, ENTRY_HEADER_SIZE), payloads)
        if self._stride:
            _fill(shape, self._term.buffer, self.start - self._term.base, self._stride, first, headers, digests)
        else:
            self._lay_out(shape, data, payloads, headers, digests)
        return length + sum(sizes)

    def _payloads(self, data: bytes, payload_at: int) -> tuple[Sequence[int], Sequence[bytes]]:
        stride, count = self._stride, self._count
        if stride:
            return [stride - payload_at] * count, column(data, stride, count, payload_at, stride)
        payloads = [data[a + payload_at : b] for a, b in pairwise(self._offsets)]
        return list(map(len, payloads)), payloads

    def _lay_out(
        self, shape: FrameShape, data: bytes, payloads: Sequence[bytes], headers: bytes, digests: bytes
    ) -> None:
        """Stores frames of different sizes anew: fronts and payloads by turns."""
        size, count = shape.payload_at, self._count
        fronts = bytearray().join([data[at : at + size] for at in self._offsets[:-1]])
        _fill(shape, fronts, 0, size, self.first, headers, digests)
        parts = [b""] * (2 * count)
        parts[::2] = column(bytes(fronts), size, count, 0, size)
        parts[1::2] = payloads
        self.view()[:] = b"".join(parts)

    def _seal_each(
        self, shape: FrameShape, digester: Digester, ledger_id: int, last_add_confirmed: int, length: int
    ) -> int:
        term, payload_at = self._term, shape.payload_at
        buffer, view, header_at = term.buffer, term.view, payload_at - digester.size - ENTRY_HEADER_SIZE
        at = self.start - term.base
        for entry_id in range(self.first, self.first + self._count):
            end = at + 4 + _LENGTH.unpack_from(buffer, at)[0]
            front_end = at + payload_at
            length += end - front_end
            header = _HEADER.pack(ledger_id, entry_id, last_add_confirmed, length)
            view[at + header_at : front_end] = header + digester.digest(header + buffer[front_end:end])
            shape.number(buffer, at, end - at, 1, entry_id)
            at = end
        return length


def _fill(
    shape: FrameShape, buffer: bytearray, at: int, stride: int, first: int, headers: bytes, digests: bytes
) -> None:
    """Stores headers and digests, which lie side by side, and ids into fronts that are ``stride`` bytes apart."""
    count = len(headers) // ENTRY_HEADER_SIZE
    span, digest_size = count * stride, len(digests) // count
    digest_at = at + shape.payload_at - digest_size
    header_at = digest_at - ENTRY_HEADER_SIZE
    for i in range(_ENTRY_ID, ENTRY_HEADER_SIZE):
        buffer[header_at + i : header_at + i + span : stride] = headers[i::ENTRY_HEADER_SIZE]
    for i in range(digest_size):
        buffer[digest_at + i : digest_at + i + span : stride] = digests[i::digest_size]
    shape.number(buffer, at, stride, count, first)


def cut_frames(term: Term, start: int, end: int, limit: int) -> Frames:
    """The first frames of a range of positions: ``limit`` bytes at most, but at least one frame.

    :param end: where a frame ends; greater than ``start``.
    """
    if end - start > limit:
        at, buffer = start - term.base, term.buffer
        stride: int = _LENGTH.unpack_from(buffer, at)[0] + 4
        size = max(limit // stride, 1) * stride
        if not _common_stride(buffer, at, size):
            ends = [*_frame_ends(buffer, at, limit)]
            size = ends[-1] if ends[-1] <= limit else ends[-2]
        end = start + size
    return Frames(term, start, end)


def _common_stride(buffer: bytearray, at: int, size: int) -> int:
    """Bytes of each of the frames that fill ``size`` bytes, 0 if they differ."""
    stride: int = _LENGTH.unpack_from(buffer, at)[0] + 4
    if stride == size:
        return stride
    count, rest = divmod(size, stride)
    if rest:
        return 0
    for i in range(at + 3, at - 1, -1):  # the bytes that differ most come first
        if buffer[i : at + size : stride].count(buffer[i]) != count:
            return 0
    return stride


def _frame_ends(buffer: bytearray, at: int, size: int) -> Iterator[int]:
    """Where frames end, counted from ``at``, up to the first that ends ``size`` bytes behind it or later."""
    unpack, end = _LENGTH.unpack_from, 0
    while end < size:
        end += unpack(buffer, at + end)[0] + 4
        yield end

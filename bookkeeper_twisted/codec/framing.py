"""Length-prefixed frames over a stream: limits, and the received bytes of an incomplete frame.

A frame is ``u32 length`` and so many bytes.  The length is checked as soon as its four bytes are there, so
no peer makes us keep a frame that we would refuse.
"""

import struct

from ..errors import CodecError

LENGTH_SIZE = 4
MOST_ITEMS = 64
"""Number of single requests that are decoded from a chunk in one turn: some three milliseconds of work."""

MIN_LENGTH = 4
"""Bytes of the shortest packet, a four-byte V2 header; a protobuf header has at least eight bytes."""

_LENGTH = struct.Struct(">I")
_SMALL = 4096


def frame_length(data: bytes, at: int, limit: int) -> int:
    """Return the number of bytes after the length word at offset ``at``.

    :param limit: bytes of the longest frame with its length word.
    :raises CodecError: the frame is too long, or too short for any packet.
    """
    length: int = _LENGTH.unpack_from(data, at)[0]
    if length + LENGTH_SIZE > limit:
        raise CodecError(f"frame of {length} bytes is over the limit of {limit - LENGTH_SIZE}")
    if length < MIN_LENGTH:
        raise CodecError(f"frame of {length} bytes is no packet")
    return length


class FrameBuffer:
    """The received part of an incomplete frame.

    Pieces are joined once, when the frame is complete, so a large frame costs one copy in chunks of any
    size; small pieces share one bytearray, so a peer that sends byte by byte costs no object for each byte.
    """

    __slots__ = ("_limit", "_pieces", "_have", "_need")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes | bytearray] = []
        self._have = 0
        self._need = 0

    def __len__(self) -> int:
        return self._have

    @property
    def ready(self) -> bool:
        """Whether the buffered bytes begin with a complete frame."""
        return 0 < self._need <= self._have

    def add(self, chunk: bytes) -> bytes:
        """Add a ``chunk`` of the stream.

        :returns: all bytes to scan, from a frame boundary on; empty while the first frame is known to be incomplete.
        """
        if not self._pieces:
            return chunk
        last = self._pieces[-1]
        if len(chunk) < _SMALL and isinstance(last, bytearray):
            last += chunk
        elif len(chunk) < _SMALL:
            self._pieces.append(bytearray(chunk))
        else:
            self._pieces.append(chunk)
        self._have += len(chunk)
        if self._have < self._need:
            return b""
        data = b"".join(self._pieces)
        self.clear()
        return data

    def keep(self, data: bytes, at: int) -> None:
        """Buffer the bytes from ``at`` onwards: an incomplete frame, or complete frames to scan later.

        :param data: the bytes that :meth:`add` returned.
        :raises CodecError: the length of the frame is out of bounds.
        """
        if at == len(data):
            return
        self._have = len(data) - at
        self._need = LENGTH_SIZE
        if self._have >= LENGTH_SIZE:
            self._need += frame_length(data, at, self._limit)
        self._pieces = [data[at:]]

    def clear(self) -> None:
        """Drop all kept bytes."""
        self._pieces = []
        self._have = self._need = 0

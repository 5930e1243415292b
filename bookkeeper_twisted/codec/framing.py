"""Length-prefixed frames in a stream: limits for their size, and a buffer for an incomplete frame.

A frame is ``u32 length`` and as many bytes.  The length is checked as soon as its four bytes are received, so that no
peer can make us buffer too many bytes.
"""

import struct

from ..errors import CodecError

LENGTH_SIZE = 4
MOST_ITEMS = 64
"""Maximum number of requests that are decoded one by one in one turn of the reactor; all of them take some 3 ms."""

MIN_LENGTH = 4
"""Length in bytes of the shortest V2 packet, a four-byte header; a V3 packet has at least eight bytes."""

_LENGTH = struct.Struct(">I")
_SMALL = 4096
"""Frames smaller than this number of bytes are copied, to be decoded together with the frames that follow them.

To copy a larger frame costs more than to decode it alone."""


def frame_length(data: bytes, at: int, limit: int) -> int:
    """Return the number of bytes that follow the length word at offset ``at``.

    :param limit: size in bytes of the longest frame with its length word.
    :raises CodecError: the frame is longer than ``limit``, or shorter than any packet.
    """
    length: int = _LENGTH.unpack_from(data, at)[0]
    if length + LENGTH_SIZE > limit:
        raise CodecError(f"frame of {length} bytes is over the limit of {limit - LENGTH_SIZE}")
    if length < MIN_LENGTH:
        raise CodecError(f"frame of {length} bytes is no packet")
    return length


class FrameBuffer:
    """A buffer for the received bytes of an incomplete frame.

    The pieces of a frame are joined only when the frame is complete.  So a large frame is copied once, even if it
    arrives in many chunks.  Small pieces are appended to one bytearray, because a peer that sends byte by byte would
    otherwise cost an object for each byte.

    :ivar n_bytes: number of buffered bytes.
    """

    __slots__ = ("n_bytes", "_limit", "_pieces", "_need")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes | bytearray] = []
        self.n_bytes = 0
        self._need = 0

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)

    @property
    def ready(self) -> bool:
        """Whether the buffered bytes begin with a complete frame."""
        return 0 < self._need <= self.n_bytes

    def has_few(self, chunk: bytes, max_frames: int) -> bool:
        """Test whether ``chunk``, the bytes that follow the buffered bytes, contains bytes of few frames.

        :param max_frames: the maximum number of frames.
        :returns: False also if complete frames are buffered, or so few bytes that the length of their frame is unknown.
        """
        if self.ready or 0 < self.n_bytes < LENGTH_SIZE:
            return False
        at = self._need - self.n_bytes if self._pieces else 0
        for _ in range(max_frames - (at > 0)):
            if at > len(chunk) - LENGTH_SIZE:
                return True
            at += LENGTH_SIZE + _LENGTH.unpack_from(chunk, at)[0]
        return at >= len(chunk)

    def add(self, chunk: bytes) -> bytes:
        """Add a ``chunk`` of received bytes, and return the bytes that can be decoded now.

        :returns: the buffered bytes followed by the chunk; they begin with a frame.  Empty if this frame is still
            incomplete.
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
        self.n_bytes += len(chunk)
        if self.n_bytes < self._need:
            return b""
        data = b"".join(self._pieces)
        self.clear()
        return data

    def complete(self, chunk: bytes) -> tuple[bytes, int]:
        """Add a ``chunk`` of received bytes as :meth:`add` does, but leave what follows a large buffered frame in it.

        A chunk of large frames usually begins in the middle of a frame.  Only this frame is copied.

        :returns: the bytes that can be decoded first, empty if there are none; and the offset in ``chunk`` of the bytes
            that follow them, which the caller decodes next.
        """
        if not self._pieces:
            return b"", 0
        missing = self._need - self.n_bytes
        end = missing if self._need >= _SMALL and 0 < missing < len(chunk) else len(chunk)
        return self.add(chunk[:end]), end

    def keep(self, data: bytes, at: int) -> None:
        """Buffer the bytes from offset ``at`` on: an incomplete frame, or complete frames to be decoded later.

        :param data: the bytes that :meth:`add` returned.
        :raises CodecError: the length of the frame is out of bounds.
        """
        if at == len(data):
            return
        self.n_bytes = len(data) - at
        self._need = LENGTH_SIZE
        if self.n_bytes >= LENGTH_SIZE:
            self._need += frame_length(data, at, self._limit)
        self._pieces = [data[at:]]

    def limit(self, limit: int) -> None:
        """Change the maximum frame size, for frames that begin from now on.

        :param limit: size in bytes of the longest frame with its length word.
        """
        self._limit = limit

    def clear(self) -> None:
        """Drop the buffered bytes."""
        self._pieces = []
        self.n_bytes = self._need = 0

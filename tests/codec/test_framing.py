"""Frames that arrive in pieces, and what is kept of them."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.framing import FrameBuffer, frame_length
from bookkeeper_twisted.errors import CodecError

from .wire_examples import pieces, quick


def frames_of(buffer: FrameBuffer, chunks: list[bytes]) -> list[bytes]:
    """Complete frames, taken as a decoder takes them."""
    frames = []
    for chunk in chunks:
        data, at = buffer.add(chunk), 0
        while len(data) - at >= 4 and len(data) - at >= 4 + frame_length(data, at, 1 << 20):
            end = at + 4 + frame_length(data, at, 1 << 20)
            frames.append(data[at:end])
            at = end
        buffer.keep(data, at)
    return frames


class FrameLengthTests(SynchronousTestCase):
    """Which lengths are accepted."""

    def test_bounds(self) -> None:
        """Four bytes is the least, the limit less the length word the most."""
        for length in (4, 96):
            self.assertEqual(frame_length(struct.pack(">I", length), 0, 100), length)
        for length in (0, 1, 3, 97, 1 << 31, (1 << 32) - 1):
            with self.assertRaises(CodecError):
                frame_length(struct.pack(">I", length), 0, 100)


class FrameBufferTests(SynchronousTestCase):
    """Pieces are joined to frames, and nothing is joined twice."""

    @quick
    @given(st.lists(st.binary(min_size=4, max_size=9000), max_size=5), st.lists(st.integers(0, 50_000), max_size=20))
    def test_any_pieces(self, packets: list[bytes], cuts: list[int]) -> None:
        """Frames come out as they went in, and nothing stays behind."""
        frames = [struct.pack(">I", len(packet)) + packet for packet in packets]
        buffer = FrameBuffer(1 << 20)
        self.assertEqual(frames_of(buffer, pieces(b"".join(frames), cuts)), frames)
        self.assertEqual(len(buffer), 0)

    def test_incomplete_frame_is_not_joined(self) -> None:
        """While a frame is incomplete nothing is given out: what has come is not read or copied again."""
        buffer = FrameBuffer(1 << 20)
        chunk = bytes(10_000)
        self.assertEqual(frames_of(buffer, [struct.pack(">I", 50_000)]), [])
        for _ in range(4):
            self.assertEqual(buffer.add(chunk), b"")
        self.assertEqual(len(buffer), 40_004)
        self.assertEqual(len(buffer.add(chunk)), 50_004)

    def test_small_pieces_share_an_object(self) -> None:
        """A peer that sends byte by byte costs its bytes, not an object for each of them (S11)."""
        buffer = FrameBuffer(1 << 20)
        frames_of(buffer, [struct.pack(">I", 5000)])
        for _ in range(3000):
            buffer.add(b"x")
        self.assertLessEqual(len(buffer._pieces), 2)

    def test_over_the_limit(self) -> None:
        """A length over the limit is refused with nothing but its four bytes at hand."""
        buffer = FrameBuffer(100)
        with self.assertRaises(CodecError):
            buffer.keep(struct.pack(">I", 97), 0)

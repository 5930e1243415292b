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
        self.assertEqual(buffer.n_bytes, 0)

    def test_incomplete_frame_is_not_joined(self) -> None:
        """While a frame is incomplete nothing is given out: what has come is not read or copied again."""
        buffer = FrameBuffer(1 << 20)
        chunk = bytes(10_000)
        self.assertEqual(frames_of(buffer, [struct.pack(">I", 50_000)]), [])
        for _ in range(4):
            self.assertEqual(buffer.add(chunk), b"")
        self.assertEqual(buffer.n_bytes, 40_004)
        self.assertEqual(len(buffer.add(chunk)), 50_004)

    def test_complete(self) -> None:
        """Only a large frame that was cut is copied: what follows it stays in its chunk, whatever it is."""
        buffer, frame = FrameBuffer(1 << 20), struct.pack(">I", 9000) + bytes(9000)
        buffer.keep(frame[:5000], 0)
        self.assertEqual(buffer.complete(frame[5000:8000]), (b"", 3000))
        self.assertEqual(buffer.complete(frame[8000:] + frame * 3), (frame, 1004))
        self.assertEqual(buffer.n_bytes, 0)
        self.assertEqual(buffer.complete(frame), (b"", 0))

    def test_few(self) -> None:
        """A chunk has parts of few frames or not; what is buffered before it counts, as far as it is known."""
        frame = struct.pack(">I", 9000) + bytes(9000)

        def has_few(buffered: bytes, chunk: bytes) -> bool:
            buffer = FrameBuffer(1 << 20)
            buffer.keep(buffered, 0)
            return buffer.has_few(chunk, 2)

        for buffered, chunk, expected in (
            (b"", b"", True),
            (b"", bytes(12), False),
            (b"", frame, True),
            (b"", frame * 2, True),
            (b"", frame * 2 + b"\0", False),
            (b"", frame[:8000], True),
            (frame[:5000], frame[5000:], True),
            (frame[:5000], frame[5000:] + frame, True),
            (frame[:5000], frame[5000:] + frame[:200], True),
            (frame[:5000], frame[5000:] + frame + b"\0", False),
            (frame[:3], frame[3:4] + b"\xff" * 9000, False),  # nobody knows how long the frame is
            (frame, b"", False),  # a complete frame is buffered already
        ):
            with self.subTest(buffered=len(buffered), chunk=len(chunk)):
                self.assertIs(has_few(buffered, chunk), expected)

    def test_complete_small(self) -> None:
        """A small frame that was cut, and one whose length is not known yet, are decoded with what follows them."""
        for size, end in ((1000, 500), (9000, 3)):
            buffer, frame = FrameBuffer(1 << 20), struct.pack(">I", size) + bytes(size)
            buffer.keep(frame[:end], 0)
            self.assertEqual(buffer.complete(frame[end:] + frame), (frame + frame, 2 * len(frame) - end))

    def test_complete_later(self) -> None:
        """Complete frames that were put off are given out first, with what has come after them."""
        buffer, frame = FrameBuffer(1 << 20), struct.pack(">I", 9000) + bytes(9000)
        buffer.keep(frame * 3, len(frame))
        self.assertTrue(buffer.ready)
        self.assertEqual(buffer.complete(b""), (frame * 2, 0))
        buffer.keep(frame * 2, len(frame))
        self.assertEqual(buffer.complete(frame), (frame * 2, len(frame)))

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

"""A connection without grouping of replies, the baseline for measuring the gain of grouping."""

from collections.abc import Sequence

from ..protocol.server.connection import ServerConnection


class UngroupedConnection(ServerConnection):
    """A connection that writes every reply separately and immediately.

    It takes the place of its base as ``BookieServerFactory.protocol``.
    """

    def reply(self, data: bytes, count: int = 1) -> None:
        for frame in split_frames(data):
            super().reply(frame)
            self.flush()

    def reply_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        super().reply_pieces(pieces)
        self.flush()


def split_frames(frames: bytes) -> list[bytes]:
    """Return the single frames that the bytes ``frames`` consist of."""
    split, at = [], 0
    while at < len(frames):
        end = at + 4 + int.from_bytes(frames[at : at + 4], "big")
        split.append(frames[at:end])
        at = end
    return split

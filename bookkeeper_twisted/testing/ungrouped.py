"""A bookie's connection that writes each reply alone, to measure the gain of writing many replies together."""

from collections.abc import Sequence

from ..protocol.server.connection import ServerConnection


class UngroupedConnection(ServerConnection):
    """A bookie's connection that writes each reply separately and immediately.

    Set ``BookieServerFactory.protocol`` to this class to use it.
    """

    def reply(self, data: bytes, count: int = 1) -> None:
        for frame in split_frames(data):
            super().reply(frame)
            self.flush()

    def reply_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        super().reply_pieces(pieces)
        self.flush()


def split_frames(frames: bytes) -> list[bytes]:
    """Split the bytes ``frames`` into single frames."""
    split, at = [], 0
    while at < len(frames):
        end = at + 4 + int.from_bytes(frames[at : at + 4], "big")
        split.append(frames[at:end])
        at = end
    return split

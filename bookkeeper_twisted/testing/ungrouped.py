"""Replies that are not grouped: what grouping wins is measured against this."""

from collections.abc import Iterator, Sequence

from ..protocol.server import ServerConnection


class UngroupedConnection(ServerConnection):
    """Writes every reply by itself, as soon as there is one.

    It takes the place of its base as ``BookieServerFactory.protocol``.
    """

    def reply(self, data: bytes, count: int = 1) -> None:
        for frame in _frames(data):
            super().reply(frame)
            self.flush()

    def reply_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        super().reply_pieces(pieces)
        self.flush()


def _frames(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        yield data[position:end]
        position = end

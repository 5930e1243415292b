"""A TCP transport that sends at once, and gathers.

Twisted's transport leaves every write to the next turn of its reactor: two changes of the set of watched
descriptors and one more wait for each write, a copy where several pieces are written, and another copy of all that
is left with every write event of a slow peer.  This one hands the bytes to the kernel inside the write.  Only what the
kernel does not take waits for a write event, as the pieces it came in; a piece that is a view is copied then, so that a
peer that does not read never pins the memory that was written from.

A peer that reads as fast as it is written to gets a mebibyte a turn; then others are heard.

Everything else (producers, closing, half-closing, aborting, losing) is as with Twisted's transport, and an
error of a send inside a write is left to the write event that follows: a connection is never lost from inside a write.

Servers have it from :mod:`.server.direct_server`, clients from :mod:`.client.direct_client`.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from errno import EAGAIN, ENOBUFS, EWOULDBLOCK
from itertools import islice
from typing import Any

from twisted.internet.main import CONNECTION_LOST
from twisted.internet.tcp import Connection
from zope.interface import implementer

from .interfaces import IGatheringTransport

Piece = bytes | memoryview

GATHER_SIZE = 16 * 1024
"""Pieces that are shorter on the average are sent sooner joined than gathered."""

MAX_GATHERED = 1024
"""Pieces one system call takes (``IOV_MAX``)."""

MAX_BURST = 1024 * 1024
"""Bytes sent between two events of a connection before its producer is paused, so that others have their turn."""

MAX_WAITING = 64 * 1024
"""Bytes that may wait for the kernel before the producer is paused; ``bufferSize`` is the size of a received chunk."""

_FULL = frozenset({EAGAIN, EWOULDBLOCK, ENOBUFS})


@implementer(IGatheringTransport)
class DirectConnection(Connection):
    """Either end of a connection; goes before the class of Twisted's that makes an end of it."""

    _tempDataBuffer: deque[Piece]  # type: ignore[assignment]  # what waits; the base class adds to it, too
    _tempDataLen: int

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._tempDataBuffer = deque()
        self._burst = 0

    def write(self, data: bytes) -> None:
        if self._is_direct():
            self._send_or_keep([data], len(data))
        else:
            super().write(data)

    def writeSequence(self, iovec: Iterable[Piece]) -> None:
        pieces = list(iovec)
        if not self._is_direct():
            super().writeSequence([bytes(piece) if isinstance(piece, memoryview) else piece for piece in pieces])
            return
        size = sum(map(len, pieces))
        if len(pieces) > 1 and len(pieces) * GATHER_SIZE > size:
            pieces = [b"".join(pieces)]
        self._send_or_keep(pieces, size)

    def _is_direct(self) -> bool:
        """Whether to send now: nothing waits, nobody encrypts, no pull producer counts on a write event."""
        return bool(
            self.connected
            and not (self._tempDataLen or self.TLS or self._aborting or self._writeDisconnected)
            and (self.producer is None or self.streamingProducer)
        )

    def _send_or_keep(self, pieces: Sequence[Piece], size: int) -> None:
        """:param size: bytes of all pieces."""
        try:
            sent = self._send(pieces)
        except OSError:
            sent = 0  # the write event will meet the same error, or find room
        self._burst += sent
        if sent < size:
            self._tempDataBuffer.extend(_rest(pieces, sent))
            self._tempDataLen = size - sent
        if sent < size or self._burst > MAX_BURST:
            self._maybePauseProducer()
            self.startWriting()

    def _isSendBufferFull(self) -> bool:
        return self._burst > MAX_BURST or self._tempDataLen > MAX_WAITING

    def _send(self, pieces: Sequence[Piece]) -> int:
        """:returns: how many bytes the kernel has taken."""
        if len(pieces) == 1:
            return self.socket.send(pieces[0])
        return self.socket.sendmsg(pieces[:MAX_GATHERED])

    def doRead(self) -> Any:
        self._burst = 0
        return super().doRead()

    def doWrite(self) -> Any:
        """The kernel has room: sends what waits.

        :returns: what ended the connection, or None.
        """
        self._burst = 0
        if self._tempDataBuffer:
            try:
                sent = self._send(list(islice(self._tempDataBuffer, MAX_GATHERED)))
            except OSError as error:
                return None if error.errno in _FULL else CONNECTION_LOST
            self._forget(sent)
            if self._tempDataBuffer:
                return None
        self.stopWriting()
        return self._drained()

    def _forget(self, sent: int) -> None:
        """Drops bytes that were sent."""
        waiting = self._tempDataBuffer
        self._tempDataLen -= sent
        while waiting and sent >= len(waiting[0]):
            sent -= len(waiting.popleft())
        if sent:
            waiting[0] = memoryview(waiting[0])[sent:]

    def _drained(self) -> Any:
        """Nothing waits any more: what was put off until then."""
        if self.producer is not None and (self.producerPaused or not self.streamingProducer):
            self.producerPaused = False
            self.producer.resumeProducing()  # type: ignore[attr-defined]
        elif self.disconnecting:
            return self._postLoseConnection()
        elif self._writeDisconnecting:
            self._writeDisconnected = True  # before the protocol hears of it: it may close at once
            self._closeWriteConnection()
        return None


def _rest(pieces: Iterable[Piece], sent: int) -> Iterable[Piece]:
    """The pieces without their first bytes; none is a view of something its owner may want to let go."""
    for piece in pieces:
        size = len(piece)
        if sent < size:
            yield _behind(piece, sent)
        sent = max(0, sent - size)


def _behind(piece: Piece, sent: int) -> Piece:
    if isinstance(piece, memoryview):
        return bytes(piece[sent:])
    return memoryview(piece)[sent:] if sent else piece

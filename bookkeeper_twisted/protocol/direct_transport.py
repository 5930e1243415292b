"""A TCP server transport that sends at once, and gathers.

Twisted's transport leaves every write to the next turn of its reactor: two changes of the set of watched
descriptors and one more wait for each reply, and a copy where several pieces are written.  This one hands the
bytes to the kernel inside the write.  Only what the kernel does not take waits for a write event; a piece that is a
view is copied then, so that a peer that does not read never pins the cache its answer was cut from.

A peer that reads as fast as it is answered gets a mebibyte a turn; then others are heard.

Everything else (producers, closing, half-closing, aborting, losing) is as with Twisted's transport, and an
error of a send inside a write is left to the write event that follows: a connection is never lost from inside a write.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from errno import EAGAIN, ENOBUFS, EWOULDBLOCK
from itertools import islice
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IReactorTCP, IStreamServerEndpoint
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Port, Server
from zope.interface import implementer

from .busy_poll import BusyPoller, make_busy
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
class DirectServer(Server):
    """The server's end of a connection."""

    _tempDataBuffer: deque[Piece]  # type: ignore[assignment]  # what waits; the base class adds to it, too
    _tempDataLen: int
    server: "DirectPort"
    answers_at_once = True
    """See :mod:`.busy_poll`."""

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
        result = super().doRead()
        if self._burst and self.server.poller is not None:
            self.server.poller.answered = True
        return result

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
    """The pieces without their first bytes; none is a view into something its owner may want to let go."""
    for piece in pieces:
        size = len(piece)
        if sent < size:
            rest = piece if not sent else memoryview(piece)[sent:]
            yield bytes(rest) if isinstance(piece, memoryview) else rest
        sent = max(0, sent - size)


class DirectPort(Port):
    """A listening port whose connections send at once."""

    transport = DirectServer  # type: ignore[assignment]
    poller: BusyPoller | None = None


@implementer(IStreamServerEndpoint)
class DirectServerEndpoint:
    """Listens on an IPv4 or IPv6 address.

    Reactors that do not make their connections from sockets themselves (in memory, completion ports) make
    theirs as ever.
    """

    def __init__(self, reactor: IReactorTCP, port: int, backlog: int, interface: str, busy_poll: float = 0.0) -> None:
        """:param busy_poll: seconds, see :mod:`.busy_poll`."""
        self._reactor = reactor
        self._busy_poll = busy_poll
        self._arguments = (backlog, interface)
        self._port = port

    def listen(self, protocolFactory: IProtocolFactory) -> "Deferred[Any]":
        return execute(self._listen, protocolFactory)

    def _listen(self, factory: Any) -> IListeningPort:
        if not isinstance(self._reactor, PosixReactorBase):
            return self._reactor.listenTCP(self._port, factory, *self._arguments)
        port = DirectPort(self._port, factory, *self._arguments, self._reactor)
        port.poller = make_busy(self._reactor, self._busy_poll)
        port.startListening()
        return port

"""A TCP transport that sends within the write call, and that sends several pieces without a join.

Twisted's transport leaves every write to the next turn of its reactor: two changes of the set of watched
descriptors and one more wait for each write, a copy if several pieces are written, and another copy of all the
rest with every write event of a slow peer.  This transport passes the bytes to the kernel inside the write.  Only the
bytes that the kernel refuses are queued for a write event, in their pieces; a piece that is a view is then copied, so
that a peer that does not read never pins the memory that was written from.

A peer that reads as fast as it is sent to gets a mebibyte a turn; then other connections have their turn.

The queue is this module's own.  Everything else (producers, closing, half-closing, aborting, losing, TLS) is the base
class's, whose own ``doWrite`` runs whenever this queue is empty; an error of a send inside a write is left to the write
event that follows: a connection is never lost from inside a write.

The names of Twisted used beyond its documented interfaces are in :data:`BORROWED`, checked at import.  If one is
missing, :data:`DIRECT` is false, the log has one line, and both ends use Twisted's own transport.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EAGAIN, ENOBUFS, EWOULDBLOCK
from fcntl import ioctl
from itertools import islice
from termios import TIOCOUTQ
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import IConnector, IListeningPort, IProtocolFactory
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Client, Connection, Connector, Port, Server
from twisted.logger import ILogObserver, LogEvent, Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from .interfaces import IGatheringTransport
from .peer_lines import INTERVAL

Piece = bytes | memoryview

GATHER_SIZE = 16 * 1024
"""Pieces that are shorter on the average are sent sooner joined than gathered."""

MAX_GATHERED = 1024
"""Pieces one system call takes (``IOV_MAX``)."""

MAX_BURST = 1024 * 1024
"""Bytes sent between two events of a connection before its producer is paused, so that others have their turn."""

MAX_QUEUED = 64 * 1024
"""Queued bytes from which the producer is paused; ``bufferSize`` is the size of a received chunk."""

BORROWED: Mapping[type, Sequence[str]] = {
    FileDescriptor: ("_writeDisconnected", "producer", "producerPaused", "streamingProducer"),
    Connection: ("TLS",),
    Port: ("transport", "_logger"),
    Connector: ("_makeTransport",),
}
"""Attributes of Twisted's classes that are used here."""

_FULL = frozenset({EAGAIN, EWOULDBLOCK, ENOBUFS})
_log = Logger()


def missing(borrowed: Mapping[type, Sequence[str]] = BORROWED) -> list[str]:
    """Return the attributes, as ``Class.name``, that this version of Twisted lacks; log them in one line.

    :param borrowed: names of the used attributes, by class.
    """
    names = [f"{kind.__name__}.{name}" for kind, names in borrowed.items() for name in names if not hasattr(kind, name)]
    if names:
        _log.warn("this version of Twisted lacks {names}: using its own TCP transport, which is slower", names=names)
    return names


DIRECT = not missing()
"""Whether connections can send inside the write with this version of Twisted."""


@implementer(IGatheringTransport)
class DirectConnection(Connection):
    """Either end of a connection that sends within the write call; a base class before Twisted's class of that end."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._pieces: deque[Piece] = deque()
        self._queued = 0
        self._burst = 0
        self._aborted = False
        self.taken = 0

    @property
    def unread(self) -> int:
        try:
            found = ioctl(self.socket.fileno(), TIOCOUTQ, bytes(4))
        except (OSError, ValueError):  # the socket is closed, or the system does not support the call
            return 0
        return int.from_bytes(found, sys.byteorder)

    def write(self, data: bytes) -> None:
        """Send as much of ``data`` as the kernel takes now, and queue the rest."""
        if self.TLS:
            super().write(data)
        else:
            self._send_or_queue([data], len(data))

    def writeSequence(self, iovec: Iterable[Piece]) -> None:
        pieces = list(iovec)
        if self.TLS:
            super().writeSequence([bytes(piece) if isinstance(piece, memoryview) else piece for piece in pieces])
            return
        size = sum(map(len, pieces))
        if len(pieces) > 1 and len(pieces) * GATHER_SIZE > size:
            pieces = [b"".join(pieces)]
        self._send_or_queue(pieces, size)

    def _send_or_queue(self, pieces: Sequence[Piece], size: int) -> None:
        """Send as much of some pieces as the kernel takes now, and queue the rest.

        :param size: bytes of all pieces.
        """
        if not self.connected or self._aborted or self._writeDisconnected:
            return
        sent = 0
        # A pull producer must write only when the reactor reports that the socket is writable.
        if not self._queued and (self.producer is None or self.streamingProducer):
            try:
                sent = self._send(pieces)
            except OSError:
                pass  # ignore the error: the next attempt to write finds room, or fails too
            self._burst += sent
            self.taken += sent
        if sent < size:
            self._pieces.extend(_rest(pieces, sent))
            self._queued += size - sent
        if sent < size or self._burst > MAX_BURST:
            self._pause_producer_if_full()
            self.startWriting()

    def _pause_producer_if_full(self) -> None:
        if self.producer is None or not self.streamingProducer:
            return
        if self._burst > MAX_BURST or self._queued > MAX_QUEUED:
            self.producerPaused = True
            self.producer.pauseProducing()  # type: ignore[attr-defined]

    def _send(self, pieces: Sequence[Piece]) -> int:
        """Send as many bytes as the kernel has room for.

        :returns: the number of bytes that the kernel has taken.
        """
        if len(pieces) == 1:
            return self.socket.send(pieces[0])
        return self.socket.sendmsg(pieces[:MAX_GATHERED])

    def doRead(self) -> Any:
        self._burst = 0
        return super().doRead()

    def doWrite(self) -> Any:
        """Send the queued pieces when the kernel has room, then run the base class's postponed actions.

        :returns: what ended the connection, or None.
        """
        self._burst = 0
        if self._queued:
            try:
                sent = self._send(list(islice(self._pieces, MAX_GATHERED)))
            except OSError as error:
                return None if error.errno in _FULL else CONNECTION_LOST
            self._drop(sent)
            if self._queued:
                return None
        return super().doWrite()

    def writeSomeData(self, data: bytes) -> Any:
        """Send data that the base class wants to send; only TLS connections have such data."""
        return super().writeSomeData(data) if data else 0

    def _drop(self, sent: int) -> None:
        """Remove the sent bytes from the queue."""
        pieces = self._pieces
        self._queued -= sent
        self.taken += sent
        while pieces and sent >= len(pieces[0]):
            sent -= len(pieces.popleft())
        if sent:
            pieces[0] = memoryview(pieces[0])[sent:]

    def abortConnection(self) -> None:
        self._aborted = True
        super().abortConnection()

    def connectionLost(self, reason: Failure) -> None:
        self._pieces.clear()
        self._queued = 0
        super().connectionLost(reason)


def _rest(pieces: Iterable[Piece], sent: int) -> list[Piece]:
    """Return the pieces without their first ``sent`` bytes.

    Views of memory that its owner may free are copied.

    :raises TypeError: a piece is not bytes.
    """
    rest: list[Piece] = []
    for piece in pieces:
        size = len(piece)
        if sent < size:
            rest.append(_behind(piece, sent))
        sent = max(0, sent - size)
    return rest


def _behind(piece: Piece, sent: int) -> Piece:
    if isinstance(piece, memoryview):
        return bytes(piece[sent:])
    if not isinstance(piece, bytes):
        raise TypeError(f"data must be bytes, not {type(piece).__name__}")
    return memoryview(piece)[sent:] if sent else piece


# ---- the two ends ------------------------------------------------------------------------------------


class DirectServer(DirectConnection, Server):
    """An accepted connection that sends within the write call."""


@implementer(ILogObserver)
class _OneAMinute:
    """A filter that passes one event per minute to an observer of a log.

    A port that has no descriptor for a connection logs that for each of them: those who connect would fill the log.
    """

    def __init__(self, observer: Callable[[LogEvent], None], seconds: Callable[[], float]) -> None:
        self._observer = observer
        self._seconds = seconds
        self._next = 0.0

    def __call__(self, event: LogEvent) -> None:
        now = self._seconds()
        if now >= self._next:
            self._next = now + INTERVAL
            self._observer(event)


class DirectPort(Port):
    """A listening port whose connections send within the write call."""

    transport = DirectServer

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        observer = _OneAMinute(self._logger.observer, self.reactor.seconds)  # type: ignore[attr-defined]
        self._logger = Logger(self._logger.namespace, observer=observer)


class DirectClient(DirectConnection, Client):
    """An outgoing connection that sends within the write call, also while it is being established."""


class DirectConnector(Connector):
    """A connector of one connection that sends within the write call."""

    def _makeTransport(self) -> Client:
        return DirectClient(self.host, self.port, self.bindAddress, self, self.reactor)


class _DirectReactor:
    """A reactor whose plain TCP connections send within the write call.

    Sockets of files, TLS and systemd are Twisted's own.  Names, time-outs and cancellation are left to Twisted's
    endpoints.
    """

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)  # pass on every attribute, also those that declare interfaces

    def listenTCP(self, port: int, factory: IProtocolFactory, backlog: int = 50, interface: str = "") -> IListeningPort:
        found = DirectPort(port, factory, backlog, interface, self._reactor)
        found.startListening()
        return found

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None
    ) -> IConnector:
        connector = DirectConnector(host, port, factory, timeout, bindAddress, self._reactor)
        connector.connect()
        return connector


def direct_reactor(reactor: Any, direct: bool = DIRECT) -> Any:
    """Wrap a reactor so that the plain TCP connections of its endpoints send within the write call.

    The reactor itself is never changed.

    :param reactor: a reactor that does not make its connections from sockets itself (in memory, completion ports) is
        returned as it is.
    :param direct: False to return any reactor as it is; by default whether this version of Twisted has the names.
    """
    return _DirectReactor(reactor) if direct and isinstance(reactor, PosixReactorBase) else reactor

"""A TCP transport whose ``write`` sends the bytes at once, and which sends several byte strings without joining them.

Twisted's own transport postpones every write to the next turn of the reactor.  For each write, the reactor adds the
socket to the set of watched descriptors, waits for a write event, and removes the socket again.  Twisted also copies
several pieces to join them, and copies all unsent bytes again with each write event of a slow peer.

This transport passes the bytes to the kernel inside the write.  It queues only the bytes that the kernel does not
accept, and does not join them.  It copies memory views that it queues, so that a peer that does not read its bytes does
not keep the memory of the writer in use.

A connection sends at most a mebibyte in one turn of the reactor, even if its peer reads fast enough for more; then
other connections have their turn.

This module implements only the queue.  Twisted's base class does everything else (producers, closing, half-closing,
aborting, losing, TLS); its ``doWrite`` runs whenever this queue is empty.  If the kernel reports an error inside a
write, the error is ignored until the next write event, so that ``connectionLost`` is never called from inside a write.

:data:`BORROWED` lists the undocumented attributes of Twisted that are used here; they are looked up at import.  If an
attribute is missing, a log line says so, :data:`DIRECT` is False, and both ends use Twisted's own transport.
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
"""If the byte strings of a write have fewer bytes than this on average, it is faster to join them before sending."""

MAX_GATHERED = 1024
"""Maximum number of byte strings that one system call accepts (``IOV_MAX``)."""

MAX_BURST = 1024 * 1024
"""Bytes that a connection may send between two events of its socket; above it, its producer is paused."""

MAX_QUEUED = 64 * 1024
"""Queued bytes above which the producer is paused.

Twisted uses ``bufferSize`` for this limit, and also for the size of received chunks; here they differ.
"""

CLIENT_CHUNK = 256 * 1024
"""Maximum number of bytes that a client receives at a time.

Twisted's default is 64 KiB, so the reply to a batch read would arrive in many pieces, which are joined afterwards.
"""

BORROWED: Mapping[type, Sequence[str]] = {
    FileDescriptor: ("_writeDisconnected", "producer", "producerPaused", "streamingProducer"),
    Connection: ("TLS",),
    Port: ("transport", "_logger"),
    Connector: ("_makeTransport",),
}
"""The undocumented attributes of Twisted's classes that are used here, by class."""

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
"""Whether this version of Twisted has all the attributes that this module needs.

If not, Twisted's own transport is used.
"""


def unread_bytes(descriptor: int) -> int:
    """Return the number of bytes written to a TCP socket that the peer has not confirmed; 0 if it is unknown.

    :param descriptor: descriptor of the socket.
    """
    try:
        found = ioctl(descriptor, TIOCOUTQ, bytes(4))
    except (OSError, ValueError):  # the socket is closed, or the system does not support the call
        return 0
    return int.from_bytes(found, sys.byteorder)


@implementer(IGatheringTransport)
class DirectConnection(Connection):
    """The base class of both ends of a TCP connection; within ``write``, it passes bytes to the kernel.

    A subclass for one end has two base classes: this one, then Twisted's own class for that end.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._pieces: deque[Piece] = deque()
        self._queued = 0
        self._burst = 0
        self._aborted = False
        self.bytes_accepted = 0

    @property
    def unread(self) -> int:
        return unread_bytes(self.socket.fileno())

    def write(self, data: bytes) -> None:
        """Send as many bytes of ``data`` as the kernel accepts now, and queue the rest."""
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
        """Send as many bytes of ``pieces`` (byte strings) as the kernel accepts now, and queue the rest.

        :param size: total size in bytes of all pieces.
        """
        if not self.connected or self._aborted or self._writeDisconnected:
            return
        sent = 0
        # Bytes of a pull producer are always queued: it is asked for more bytes when a write event has emptied the
        # queue.
        if not self._queued and (self.producer is None or self.streamingProducer):
            try:
                sent = self._send(pieces)
            except OSError:
                pass  # ignore the error: the next write event sends again, and ends the connection if that fails
            self._burst += sent
            self.bytes_accepted += sent
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
        """Send as many bytes of ``pieces`` (byte strings) as the kernel accepts.

        :returns: the number of bytes that the kernel has accepted.
        """
        if len(pieces) == 1:
            return self.socket.send(pieces[0])
        return self.socket.sendmsg(pieces[:MAX_GATHERED])

    def doRead(self) -> Any:
        self._burst = 0
        return super().doRead()

    def doWrite(self) -> Any:
        """Send queued bytes; when all are sent, let the base class resume the producer or close the connection.

        :returns: the reason if the connection has ended, else None.
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
        """Send ``data`` from the buffer of Twisted's base class, which is empty except on TLS connections."""
        return super().writeSomeData(data) if data else 0

    def _drop(self, sent: int) -> None:
        """Remove the sent bytes from the queue."""
        pieces = self._pieces
        self._queued -= sent
        self.bytes_accepted += sent
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
    """Return ``pieces`` (byte strings) without the first ``sent`` bytes.

    Memory views are copied, because the owner of the memory may free it.

    :raises TypeError: a piece is neither bytes nor a memory view.
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
    """An accepted connection that passes bytes to the kernel within ``write``."""


@implementer(ILogObserver)
class _OneAMinute:
    """A filter that passes one event per minute to an observer of a log.

    When the process has no free file descriptor, a port logs every attempt to connect, and peers could fill the log.
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
    """A listening port whose connections pass bytes to the kernel within ``write``."""

    transport = DirectServer

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        observer = _OneAMinute(self._logger.observer, self.reactor.seconds)  # type: ignore[attr-defined]
        self._logger = Logger(self._logger.namespace, observer=observer)


class DirectClient(DirectConnection, Client):
    """The client's end of a TCP connection; once it is connected, ``write`` passes bytes to the kernel.

    As in Twisted, bytes that are written before the connection is established are dropped.
    """

    bufferSize = CLIENT_CHUNK


class DirectConnector(Connector):
    """A connector for a connection that passes bytes to the kernel within ``write``."""

    def _makeTransport(self) -> Client:
        return DirectClient(self.host, self.port, self.bindAddress, self, self.reactor)


class _DirectReactor:
    """A reactor whose plain TCP connections pass bytes to the kernel within ``write``.

    Unix sockets, Twisted's TLS and sockets from systemd are not changed.  Name resolution, time-outs and cancellation
    are left to Twisted's endpoints.
    """

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)  # delegate all attributes, including zope's declarations of interfaces

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
    """Wrap a reactor, so that the plain TCP connections of its endpoints pass bytes to the kernel within ``write``.

    The reactor itself is never changed.

    :param reactor: the reactor.  It is returned unchanged if its connections are not plain sockets.  Examples are the
        in-memory reactors of tests and Twisted's reactor for Windows completion ports.
    :param direct: False to return every reactor unchanged.  This is the default if the installed version of Twisted
        lacks an attribute that this module needs.
    """
    return _DirectReactor(reactor) if direct and isinstance(reactor, PosixReactorBase) else reactor

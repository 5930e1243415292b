"""Connections over loopback whose reactor is turned by hand, for the tests of transports."""

import socket
import struct
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol, IPullProducer, IPushProducer
from twisted.internet.protocol import ClientFactory, Factory, Protocol, ServerFactory
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.tcp import Connector, Port
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from ..bounds import until

_PATIENCE = 10.0
_PAUSE = 0.02
_BUFFER = 64 * 1024


@implementer(IHalfCloseableProtocol)
class RecordingProtocol(Protocol):
    """Remembers what happened to it."""

    transport: Any

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.lost: list[Failure] = []
        self.half_closed: list[str] = []

    def dataReceived(self, data: bytes) -> None:
        self.received.append(data)

    def connectionLost(self, reason: Any = None) -> None:
        self.lost.append(reason)
        self.transport.write(b"too late")

    def readConnectionLost(self) -> None:
        self.half_closed.append("read")
        self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        self.half_closed.append("write")


@implementer(IPushProducer, IPullProducer)
class RecordingProducer:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def pauseProducing(self) -> None:
        self.events.append("pause")

    def resumeProducing(self) -> None:
        self.events.append("resume")

    def stopProducing(self) -> None:
        self.events.append("stop")


def new_reactor(case: SynchronousTestCase) -> Any:
    """A reactor to be turned by hand, which leaves nothing behind when the test ends."""
    reactor: Any = SelectReactor()
    for waker in list(reactor._internalReaders):
        case.addCleanup(waker.connectionLost, None)
    return reactor


class LoopbackTestCase(SynchronousTestCase):
    """A connection over loopback with small buffers; its peer is a plain socket."""

    def setUp(self) -> None:
        self.reactor = new_reactor(self)
        self.protocol = RecordingProtocol()
        self.peer = self.open()
        self.peer.settimeout(_PATIENCE)
        self.turn_until(lambda: self.protocol.transport is not None)
        self.transport = self.protocol.transport
        self.transport.bufferSize = _BUFFER

    def tearDown(self) -> None:
        self.peer.close()
        if not self.protocol.lost:
            self.transport.connectionLost(Failure(ConnectionDone()))

    def open(self) -> socket.socket:
        """Begins the connection that the protocol is to get.

        :returns: its peer.
        """
        raise NotImplementedError

    def for_protocol(self, factory: Factory) -> Any:
        """A factory that gives out the one protocol there is."""
        factory.noisy = False
        factory.buildProtocol = lambda _: self.protocol  # type: ignore[method-assign, assignment]
        return factory

    def turn_until(self, reached: Any) -> None:
        """Turns the reactor until something is so; every turn waits for an event."""
        for _ in until(reached):
            self.reactor.runUntilCurrent()
            self.reactor.doIteration(0 if reached() else _PAUSE)

    def lose(self) -> Failure:
        """Turns until the connection is gone; it must not go twice."""
        self.turn_until(lambda: self.protocol.lost)
        self.reactor.iterate(0)
        [reason] = self.protocol.lost
        return reason

    def read(self, size: int) -> bytes:
        """What the peer reads while the reactor turns; less only if the connection ends."""
        parts: list[bytes] = []
        self.peer.setblocking(False)
        for _ in until(lambda: sum(map(len, parts)) == size, 100_000):
            try:
                part = self.peer.recv(min(size - sum(map(len, parts)), 64 * 1024))
            except BlockingIOError:
                self.reactor.iterate(0)
                continue
            if not part:
                break
            parts.append(part)
        return b"".join(parts)

    def reset(self) -> None:
        """The peer drops the connection."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()


class AcceptedTestCase(LoopbackTestCase):
    """The end of a connection that was accepted."""

    port_class: type[Port]

    def open(self) -> socket.socket:
        factory = self.for_protocol(ServerFactory())
        self.port = self.port_class(0, factory, interface="127.0.0.1", reactor=self.reactor)
        self.port.startListening()
        self.addCleanup(self.port.connectionLost, Failure(ConnectionDone()))
        self.port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(("127.0.0.1", self.port.getHost().port))
        return peer


class DialledTestCase(LoopbackTestCase):
    """The end of a connection that was asked for."""

    connector_class: type[Connector]

    def open(self) -> socket.socket:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            listener.settimeout(_PATIENCE)
            factory = self.for_protocol(ClientFactory())
            host, port = listener.getsockname()
            connector: Any = self.connector_class(host, port, factory, _PATIENCE, None, self.reactor)
            connector.connect()
            connector.transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            self.turn_until(lambda: self.protocol.transport is not None)
            return listener.accept()[0]

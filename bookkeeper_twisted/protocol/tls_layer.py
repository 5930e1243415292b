"""TLS between a protocol and its transport, begun on a connection that is open already.

Twisted's own layer does the work; this module joins what it handles record by record.  A record has 16 KiB at most,
while a chunk that is received has 256 KiB, and so may a batch of replies: the protocol receives the plain text of a
chunk by one call, and what it writes by one call leaves by one call of the transport, which sends within it
(:mod:`.direct_transport`).

Everything of Twisted that is used is public.  The module needs the packages of the extra ``tls``.
"""

from collections.abc import Iterable
from typing import Any, cast

from twisted.internet.interfaces import IHandshakeListener, IProtocol, IProtocolFactory, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from .interfaces import IGatheringTransport


class _Joined:
    """A transport that passes the bytes of several writes on by one write while it is told to wait."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._waiting: list[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def wait(self) -> None:
        if self._waiting is None:
            self._waiting = []

    def go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting:
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def write(self, data: bytes) -> None:
        if self._waiting is None:
            self._transport.write(data)
        else:
            self._waiting.append(data)

    def loseConnection(self) -> None:
        self.go_on()
        self._transport.loseConnection()


@implementer(IHandshakeListener)
class _Receiver:
    """The protocol above a layer, which receives the plain text of several records by one call."""

    def __init__(self, protocol: Any) -> None:
        self.protocol = protocol
        self._received: list[bytes] = []

    def makeConnection(self, transport: object) -> None:
        raise AssertionError("the protocol is connected already")

    def handshakeCompleted(self) -> None:
        self.protocol.handshakeCompleted()

    def dataReceived(self, data: bytes) -> None:
        self._received.append(data)

    def pass_on(self) -> None:
        received, self._received = self._received, []
        if received:
            self.protocol.dataReceived(received[0] if len(received) == 1 else b"".join(received))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.pass_on()
        self.protocol.connectionLost(reason)


@implementer(IGatheringTransport)
class TlsLayer(TLSMemoryBIOProtocol):
    """The layer of one connection: the protocol of its transport, and the transport of its protocol.

    :ivar taken: see :class:`.IGatheringTransport`; encrypted bytes, as is :attr:`unread`.
    """

    def __init__(self, factory: TLSMemoryBIOFactory, protocol: IProtocol, transport: Any) -> None:
        self._above = _Receiver(protocol)
        self._below = _Joined(transport)
        super().__init__(factory, self._above, False)

    @property
    def taken(self) -> int:
        return getattr(self._below, "taken", 0)

    @property
    def unread(self) -> int:
        return getattr(self._below, "unread", 0)

    def hand_over(self, protocol: IProtocol) -> None:
        """Pass what is received from now on to another ``protocol``."""
        self._above.protocol = protocol

    def begin(self) -> None:
        """Begin the handshake."""
        self.makeConnection(self._below)

    def dataReceived(self, data: bytes) -> None:
        self._below.wait()
        try:
            super().dataReceived(data)
        finally:
            self._below.go_on()
        self._above.pass_on()

    def write(self, data: bytes) -> None:
        """Encrypt ``data`` and send it by one write of the transport."""
        self._below.wait()
        try:
            super().write(data)
        finally:
            self._below.go_on()

    def writeSequence(self, data: Iterable[bytes | memoryview]) -> None:
        self.write(b"".join(data))


def begin_tls(protocol: Any, creator: Any, is_client: bool, clock: IReactorTime) -> TlsLayer:
    """Begin TLS on the connection of a ``protocol``, which receives nothing until the handshake is complete.

    Its ``handshakeCompleted`` is called then, or else its ``connectionLost`` with the error of the handshake.

    :param creator: makes the TLS connection (``IOpenSSLServerConnectionCreator``, or the client's).
    :returns: the layer, which is the transport of the protocol from now on.
    """
    transport = protocol.transport
    layer = TlsLayer(TLSMemoryBIOFactory(creator, is_client, cast(IProtocolFactory, None), clock), protocol, transport)
    protocol.transport = layer
    transport.protocol = layer
    layer.begin()
    return layer

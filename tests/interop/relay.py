"""A relay in front of a bookie, which has what a client sends in clear behind StartTLS arrive by itself."""

from typing import Any

from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, ServerFactory

_START_TLS = 15
"""Bytes of StartTLS, the first frame of each client here."""

_WAIT = 0.05
"""Seconds in which the bookie reads what has waited, before the client gets the answer and begins TLS."""


class _ToBookie(Protocol):
    """The end of a connection that leads to the bookie."""

    transport: Any

    def __init__(self, client: "_ToClient") -> None:
        self._client = client
        self._is_answered = False

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self._client.bookie_is_reached(self)

    def dataReceived(self, data: bytes) -> None:
        if self._is_answered:
            self._client.transport.write(data)
            return
        self._is_answered = True
        self._client.go_on()
        reactor.callLater(_WAIT, self._client.transport.write, data)  # type: ignore[attr-defined]

    def connectionLost(self, reason: object = None) -> None:
        self._client.transport.loseConnection()


class _ToClient(Protocol):
    """The end of a connection that leads to the client."""

    transport: Any
    factory: "Relay"

    def __init__(self) -> None:
        self._waiting = b""
        self._bookie: _ToBookie | None = None
        self._waits = True
        self._is_begun = False

    def connectionMade(self) -> None:
        self.factory.open.append(self)
        point = TCP4ClientEndpoint(reactor, "127.0.0.1", self.factory.port)
        connectProtocol(point, _ToBookie(self)).addErrback(lambda _: self.transport.loseConnection())

    def bookie_is_reached(self, bookie: _ToBookie) -> None:
        """From now on the bookie can be sent something."""
        self._bookie = bookie
        self._begin()

    def dataReceived(self, data: bytes) -> None:
        if self._waits or self._bookie is None:
            self._waiting += data
            self._begin()
        else:
            self._bookie.transport.write(data)

    def _begin(self) -> None:
        """Send StartTLS alone once more than that has arrived."""
        if self._bookie is not None and not self._is_begun and len(self._waiting) > _START_TLS:
            self._is_begun = True
            self._bookie.transport.write(self._waiting[:_START_TLS])

    def go_on(self) -> None:
        """Sends what has waited."""
        assert self._bookie is not None
        self._waits = False
        in_clear = self._waiting[_START_TLS:]
        self.factory.in_clear.append(in_clear)
        self._bookie.transport.write(in_clear)

    def connectionLost(self, reason: object = None) -> None:
        self.factory.open.remove(self)
        if self._bookie is not None:
            self._bookie.transport.loseConnection()


class Relay(ServerFactory):
    """The connections of clients to a bookie on 127.0.0.1.

    :param port: of the bookie.
    :ivar in_clear: what each client has sent between StartTLS and the answer to it.
    """

    protocol = _ToClient  # type: ignore[assignment]

    def __init__(self, port: int) -> None:
        self.port = port
        self.in_clear: list[bytes] = []
        self.open: list[_ToClient] = []

    def end(self) -> None:
        """Ends all connections."""
        for each in list(self.open):
            each.transport.abortConnection()

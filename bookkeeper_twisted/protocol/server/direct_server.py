"""The server's end of connections that send inside the write (:mod:`bookkeeper_twisted.protocol.direct_transport`)."""

from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IReactorTCP, IStreamServerEndpoint
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Port, Server
from zope.interface import implementer

from ..direct_transport import DIRECT, DirectConnection


class DirectServer(DirectConnection, Server):
    """A connection that was accepted."""


class DirectPort(Port):
    """A listening port whose connections send inside the write."""

    transport = DirectServer  # type: ignore[assignment]


@implementer(IStreamServerEndpoint)
class DirectServerEndpoint:
    """Listens on an IPv4 or IPv6 address.

    A reactor that does not make its connections from sockets itself (in memory, completion ports) listens in its own
    way, and so does every reactor if ``direct`` is false.  The reactor itself is never changed.
    """

    def __init__(self, reactor: IReactorTCP, port: int, backlog: int, interface: str, direct: bool = DIRECT) -> None:
        self._reactor = reactor
        self._direct = direct and isinstance(reactor, PosixReactorBase)
        self._arguments = (backlog, interface)
        self._port = port

    def listen(self, protocolFactory: IProtocolFactory) -> "Deferred[Any]":
        return execute(self._listen, protocolFactory)

    def _listen(self, factory: Any) -> IListeningPort:
        if not self._direct:
            return self._reactor.listenTCP(self._port, factory, *self._arguments)
        port = DirectPort(self._port, factory, *self._arguments, self._reactor)
        port.startListening()
        return port

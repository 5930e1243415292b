"""The server's end of connections that send at once (:mod:`bookkeeper_twisted.protocol.direct_transport`)."""

from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IReactorTCP, IStreamServerEndpoint
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Port, Server
from zope.interface import implementer

from ..direct_transport import DirectConnection
from .busy_poll import BusyPoller, make_busy


class DirectServer(DirectConnection, Server):
    """A connection that was accepted."""

    server: "DirectPort"
    answers_at_once = True
    """See :mod:`.busy_poll`."""

    def doRead(self) -> Any:
        result = super().doRead()
        if self._burst and self.server.poller is not None:
            self.server.poller.answered = True
        return result


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

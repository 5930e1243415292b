"""The server's end of connections that send inside the write (:mod:`bookkeeper_twisted.protocol.direct_transport`)."""

from typing import Any

from twisted.internet.interfaces import IListeningPort, IProtocolFactory
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Port, Server

from ..direct_transport import DIRECT, DirectConnection


class DirectServer(DirectConnection, Server):
    """A connection that was accepted."""


class DirectPort(Port):
    """A listening port whose connections send inside the write."""

    transport = DirectServer  # type: ignore[assignment]


def listening_reactor(reactor: Any, direct: bool = DIRECT) -> Any:
    """Return a reactor for server endpoints, whose plain TCP connections send inside the write.

    The reactor itself is never changed.

    :param reactor: one that does not make its connections from sockets itself (in memory, completion ports) is returned
        as it is.
    :param direct: False to return any reactor as it is; by default whether this version of Twisted has what it takes.
    """
    return _ListeningReactor(reactor) if direct and isinstance(reactor, PosixReactorBase) else reactor


class _ListeningReactor:
    """Forwards everything to a reactor but ``listenTCP``: sockets of files, of TLS and of systemd are Twisted's own."""

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def listenTCP(self, port: int, factory: IProtocolFactory, backlog: int = 50, interface: str = "") -> IListeningPort:
        found = DirectPort(port, factory, backlog, interface, self._reactor)
        found.startListening()
        return found

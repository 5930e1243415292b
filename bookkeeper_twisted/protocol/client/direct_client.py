"""The client's end of connections that send inside the write (:mod:`bookkeeper_twisted.protocol.direct_transport`)."""

from typing import Any

from twisted.internet.interfaces import IConnector
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Client, Connector

from ..direct_transport import DIRECT, DirectConnection


class DirectClient(DirectConnection, Client):
    """A connection that is made, and what it is before it is made."""


class DirectConnector(Connector):
    """Makes one connection over a transport of ours."""

    def _makeTransport(self) -> Client:
        return DirectClient(self.host, self.port, self.bindAddress, self, self.reactor)


class _Dialling:
    """A reactor whose outgoing connections send inside the write.  Twisted's endpoints do the rest with it: names,
    time-outs, cancellation."""

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)  # the interfaces it provides included

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None
    ) -> IConnector:
        connector = DirectConnector(host, port, factory, timeout, bindAddress, self._reactor)
        connector.connect()
        return connector


def dialling_directly(reactor: Any, direct: bool = DIRECT) -> Any:
    """Return what client endpoints need in the place of a reactor, so that their connections send inside the write.

    The reactor itself is never changed.

    :param reactor: one that does not make its connections from sockets itself (in memory, completion ports) is returned
        as it is.
    :param direct: False to return any reactor as it is; by default whether this version of Twisted has what it takes.
    """
    return _Dialling(reactor) if direct and isinstance(reactor, PosixReactorBase) else reactor

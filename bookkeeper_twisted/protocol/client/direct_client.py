"""The client's end of connections that send at once (:mod:`bookkeeper_twisted.protocol.direct_transport`)."""

from typing import Any

from twisted.internet.interfaces import IConnector
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Client, Connector

from ..direct_transport import DirectConnection


class DirectClient(DirectConnection, Client):
    """A connection that is made, and what it is before it is made."""


class DirectConnector(Connector):
    """Makes one connection."""

    def _makeTransport(self) -> Client:
        return DirectClient(self.host, self.port, self.bindAddress, self, self.reactor)


class _Dialling:
    """A reactor whose outgoing connections send at once.  Twisted's endpoints do the rest with it as ever: names,
    time-outs, cancellation."""

    def __init__(self, reactor: PosixReactorBase) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)  # so are asked, too, the interfaces it provides

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None
    ) -> IConnector:
        connector = DirectConnector(host, port, factory, timeout, bindAddress, self._reactor)
        connector.connect()
        return connector


def dialling_directly(reactor: Any) -> Any:
    """What client endpoints are given for a reactor, so that their connections send at once.

    A reactor that does not make its connections from sockets itself (in memory, completion ports) is given as it is.
    """
    return _Dialling(reactor) if isinstance(reactor, PosixReactorBase) else reactor

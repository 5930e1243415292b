"""Ports and endpoints whose connections send at once.  What is sent is tested with the transport."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ServerFactory
from twisted.internet.tcp import Port
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.protocol.server.direct_server import DirectPort, DirectServer, DirectServerEndpoint

from ..loopback import AcceptedTestCase, new_reactor


class PortTests(AcceptedTestCase):
    """The listening port."""

    port_class = DirectPort

    def test_kind(self) -> None:
        """Connections of the port send inside the write."""
        self.assertIsInstance(self.transport, DirectServer)


class EndpointTests(SynchronousTestCase):
    """The endpoint that makes such transports."""

    def listen(self, reactor: Any, port: int = 0, interface: str = "127.0.0.1", **more: bool) -> "Deferred[Any]":
        endpoint = DirectServerEndpoint(reactor, port, 7, interface, **more)
        verifyObject(IStreamServerEndpoint, endpoint)
        return endpoint.listen(ServerFactory())

    def test_direct(self) -> None:
        """On a reactor of sockets the connections send at once."""
        reactor = new_reactor(self)
        port = self.successResultOf(self.listen(reactor))
        self.addCleanup(port.connectionLost, Failure(ConnectionDone()))
        self.assertIsInstance(port, DirectPort)
        self.assertIsInstance(reactor, PosixReactorBase)
        self.assertEqual(port.backlog, 7)

    def test_not_supported(self) -> None:
        """With a version of Twisted that lacks what is borrowed, the reactor's own port listens."""
        port = self.successResultOf(self.listen(new_reactor(self), direct=False))
        self.addCleanup(port.connectionLost, Failure(ConnectionDone()))
        self.assertIs(type(port), Port)

    def test_taken(self) -> None:
        """An address that is taken is a failure."""
        port = self.successResultOf(self.listen(new_reactor(self)))
        self.addCleanup(port.connectionLost, Failure(ConnectionDone()))
        self.failureResultOf(self.listen(new_reactor(self), port.getHost().port), CannotListenError)

    def test_other_reactors(self) -> None:
        """A reactor that is none of sockets listens in its own way."""
        reactor = MemoryReactorClock()
        self.successResultOf(self.listen(reactor, 3181, "::1"))
        [(port, _, backlog, interface)] = reactor.tcpServers
        self.assertEqual((port, backlog, interface), (3181, 7, "::1"))

"""Ports whose connections send at once.  What is sent is tested with the transport."""

from typing import Any

from twisted.internet import unix
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint, serverFromString
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.protocol import ServerFactory
from twisted.internet.tcp import Port
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.direct_transport import DirectPort, DirectServer, direct_reactor

from ..loopback import AcceptedTestCase, new_reactor


class PortTests(AcceptedTestCase):
    """The listening port."""

    port_class = DirectPort

    def test_kind(self) -> None:
        """Connections of the port send inside the write."""
        self.assertIsInstance(self.transport, DirectServer)


class ListeningReactorTests(SynchronousTestCase):
    """The reactor that endpoints listen with."""

    def listen(self, reactor: Any, port: int = 0, interface: str = "127.0.0.1", **more: bool) -> "Deferred[Any]":
        endpoint = TCP4ServerEndpoint(direct_reactor(reactor, **more), port, 7, interface)
        listening: Deferred[Any] = endpoint.listen(ServerFactory())
        return listening

    def test_direct(self) -> None:
        """On a reactor of sockets the connections send at once."""
        reactor = new_reactor(self)
        port = self.successResultOf(self.listen(reactor))
        self.addCleanup(port.connectionLost, Failure(ConnectionDone()))
        self.assertIsInstance(port, DirectPort)
        self.assertIsInstance(reactor, PosixReactorBase)
        self.assertEqual(port.backlog, 7)

    def test_endpoint_strings(self) -> None:
        """Likewise where an endpoint string names the address; a socket in the file system stays Twisted's own."""
        reactor = direct_reactor(new_reactor(self))
        path = self.mktemp()
        for text, kind in (("tcp:0:interface=127.0.0.1", DirectPort), (f"unix:{path}:lockfile=0", unix.Port)):
            port = self.successResultOf(serverFromString(reactor, text).listen(ServerFactory()))
            self.addCleanup(port.connectionLost, Failure(ConnectionDone()))
            self.assertIs(type(port), kind)

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
        self.assertIs(direct_reactor(reactor), reactor)
        self.successResultOf(self.listen(reactor, 3181, "::1"))
        [(port, _, backlog, interface)] = reactor.tcpServers
        self.assertEqual((port, backlog, interface), (3181, 7, "::1"))

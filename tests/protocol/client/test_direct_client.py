"""How clients connect when their connections send at once, held against Twisted's own way."""

import socket
from typing import Any, cast

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.error import ConnectingCancelledError, ConnectionDone, ConnectionRefusedError, TimeoutError
from twisted.internet.interfaces import (
    IHostnameResolver,
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
    IResolutionReceiver,
)
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.tcp import Client
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.protocol.direct_transport import DirectClient, direct_reactor

from ..loopback import new_reactor

_TIMEOUT = 30.0


@implementer(IHostnameResolver)
class _Resolver:
    """Every name has the same address."""

    def resolveHostName(
        self, resolutionReceiver: IResolutionReceiver, hostName: str, portNumber: int = 0, *args: Any, **kwargs: Any
    ) -> Any:
        resolutionReceiver.resolutionBegan(cast(Any, None))
        resolutionReceiver.addressResolved(IPv4Address("TCP", "127.0.0.1", portNumber))
        resolutionReceiver.resolutionComplete()


class _Contract:
    """What holds for any way to connect."""

    class Tests(SynchronousTestCase):
        """The suite."""

        transport_class: type[Client]

        def setUp(self) -> None:
            self.reactor = new_reactor(self)
            self.now = 0.0
            self.reactor.seconds = lambda: self.now
            self.reactor.installNameResolver(_Resolver())
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(self.listener.close)
            self.port = self.listener.getsockname()[1]

        def dialling(self) -> Any:
            """What endpoints are given for the reactor."""
            raise NotImplementedError

        def connect(self, endpoint: Any) -> "Deferred[Any]":
            """Asks for a connection."""
            connected: Deferred[Any] = endpoint.connect(Factory.forProtocol(Protocol))
            return connected

        def settle(self, connected: "Deferred[Any]") -> None:
            """Turns the reactor until the attempt is over; what is under way ends by an event, pauses by time."""
            over: list[bool] = []

            def ended(result: Any) -> Any:
                over.append(True)
                return result

            connected.addBoth(ended)
            for _ in range(1000):
                if over:
                    return
                self.now += 1
                self.reactor.runUntilCurrent()
                self.reactor.doIteration(_TIMEOUT if self.reactor.getWriters() else 0)
            raise AssertionError("the attempt does not end")

        def check(self, endpoint: Any) -> None:
            """The endpoint reaches the listener, over the expected transport."""
            connected = self.connect(endpoint)
            self.settle(connected)
            transport = self.successResultOf(connected).transport
            self.assertIs(type(transport), self.transport_class)
            self.assertEqual(transport.getPeer().port, self.port)
            self.assertEqual(self.reactor.getDelayedCalls(), [])
            transport.connectionLost(Failure(ConnectionDone()))

        def test_address(self) -> None:
            """An address is connected to; no time-out is left behind."""
            self.check(TCP4ClientEndpoint(self.dialling(), "127.0.0.1", self.port))

        def test_address_of_version_6(self) -> None:
            """One of IPv6, too."""
            try:
                self.listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
            except OSError as error:
                raise self.skipTest(f"no IPv6 here: {error}") from error
            self.addCleanup(self.listener.close)
            self.port = self.listener.getsockname()[1]
            self.check(TCP6ClientEndpoint(self.dialling(), "::1", self.port))

        def test_name(self) -> None:
            """A name is asked of the reactor's resolver."""
            self.check(HostnameEndpoint(self.dialling(), "bookie.example", self.port))

        def test_refused(self) -> None:
            """Where no server listens the attempt fails."""
            self.listener.close()
            for kind, host in ((TCP4ClientEndpoint, "127.0.0.1"), (HostnameEndpoint, "bookie.example")):
                connected = self.connect(kind(self.dialling(), host, self.port))
                self.settle(connected)
                self.failureResultOf(connected, ConnectionRefusedError)
                self.assertEqual(self.reactor.removeAll(), [])

        def test_timeout(self) -> None:
            """An attempt has as long as it was given."""
            connected = self.connect(TCP4ClientEndpoint(self.dialling(), "127.0.0.1", self.port, _TIMEOUT))
            self.reactor.runUntilCurrent()  # begun
            self.now = _TIMEOUT - 1
            self.reactor.runUntilCurrent()
            self.assertNoResult(connected)
            self.now = _TIMEOUT
            self.reactor.runUntilCurrent()
            self.failureResultOf(connected, TimeoutError)
            self.assertEqual(self.reactor.removeAll(), [])

        def test_cancelled(self) -> None:
            """An attempt that is given up leaves nothing behind, begun or not."""
            for begun in (False, True):
                connected = self.connect(TCP4ClientEndpoint(self.dialling(), "127.0.0.1", self.port))
                if begun:
                    self.reactor.runUntilCurrent()
                connected.cancel()
                self.failureResultOf(connected, ConnectingCancelledError)
                self.reactor.runUntilCurrent()
                self.assertEqual((self.reactor.removeAll(), self.reactor.getDelayedCalls()), ([], []))

        def test_cancelled_name(self) -> None:
            """The same with a name."""
            connected = self.connect(HostnameEndpoint(self.dialling(), "bookie.example", self.port))
            self.reactor.runUntilCurrent()
            connected.cancel()
            self.failureResultOf(connected, ConnectingCancelledError)
            self.assertEqual((self.reactor.removeAll(), self.reactor.getDelayedCalls()), ([], []))


class TwistedDiallingTests(_Contract.Tests):
    """Twisted's way: the measure."""

    transport_class = Client

    def dialling(self) -> Any:
        return self.reactor


class DirectDiallingTests(_Contract.Tests):
    """Ours."""

    transport_class = DirectClient

    def dialling(self) -> Any:
        return direct_reactor(self.reactor)

    def test_interfaces(self) -> None:
        """It says of itself what the reactor says."""
        for interface in (IReactorTCP, IReactorTime, IReactorPluggableNameResolver):
            self.assertTrue(interface.providedBy(self.dialling()))


class OtherReactorTests(SynchronousTestCase):
    """Reactors that are none of sockets."""

    def test_as_it_is(self) -> None:
        """They connect in their own way."""
        reactor = MemoryReactorClock()
        self.assertIs(direct_reactor(reactor), reactor)

    def test_not_supported(self) -> None:
        """With a version of Twisted that lacks what is borrowed, every reactor connects in its own way."""
        reactor = new_reactor(self)
        self.assertIs(direct_reactor(reactor, direct=False), reactor)

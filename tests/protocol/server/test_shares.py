"""How many connections an address and a principal may have."""

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import ConnectionMetrics
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.factory import BookieServerFactory
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.protocol.server.outbox import Outbox
from bookkeeper_twisted.security.principals import NOBODY, Principal


class _Transport(StringTransport):
    aborted = False

    def abortConnection(self) -> None:
        self.aborted = True


class _Session:
    """Answers nothing."""

    busy = False

    def lost(self) -> None:
        """Forget nothing."""


class ShareTests(SynchronousTestCase):
    """Connections from several addresses, of several principals."""

    def start(self, **limits: int) -> None:
        self.metrics = ConnectionMetrics(Instruments())
        self.principal = NOBODY
        self.factory = BookieServerFactory(Outbox(), self.open, Clock(), self.metrics, ServerLimits(**limits))

    def open(self, connection: Any) -> Any:
        connection.principal = self.principal
        connection.enter(ConnectionState.READY)
        return _Session()

    def connect(self, host: str = "10.0.0.1", principal: Principal = NOBODY) -> tuple[Any, _Transport]:
        self.principal = principal
        connection: Any = self.factory.buildProtocol(IPv4Address("TCP", host, 5))
        transport = _Transport()
        connection.makeConnection(transport)
        return connection, transport

    def leave(self, pair: tuple[Any, _Transport]) -> None:
        pair[0].connectionLost(Failure(ConnectionDone()))

    def test_addresses(self) -> None:
        """An address has its share at most; another one is not concerned, and what has left does not count."""
        self.start(max_connections_per_address=2)
        first, second, third = (self.connect() for _ in range(3))
        self.assertEqual([pair[1].aborted for pair in (first, second, third)], [False, False, True])
        self.assertFalse(self.connect("10.0.0.2")[1].aborted)
        self.leave(third)
        self.assertTrue(self.connect()[1].aborted)
        self.leave(first)
        self.assertFalse(self.connect()[1].aborted)
        self.assertEqual((self.metrics.refused_addresses.value, self.metrics.active.value), (2, 3))

    def test_principals(self) -> None:
        """So a principal, from any address, once it is known; who has proven nothing has no share."""
        self.start(max_connections_per_principal=1)
        alice, bob = Principal("certificate", "CN=alice"), Principal("certificate", "CN=bob")
        first = self.connect("10.0.0.1", alice)
        self.assertFalse(first[1].disconnecting)
        self.assertTrue(self.connect("10.0.0.2", alice)[1].disconnecting)
        for who in (bob, NOBODY, NOBODY):
            self.assertFalse(self.connect("10.0.0.2", who)[1].disconnecting)
        self.leave(first)
        self.assertFalse(self.connect("10.0.0.1", alice)[1].disconnecting)
        self.assertEqual(self.metrics.refused_principals.value, 1)

    def test_no_limits(self) -> None:
        """By default there are no shares, and nothing is left when all have gone."""
        self.start()
        pairs = [self.connect("10.0.0.1", Principal("token", "t")) for _ in range(50)]
        self.assertFalse(any(transport.aborted or transport.disconnecting for _, transport in pairs))
        for pair in pairs:
            self.leave(pair)
        self.assertEqual(len(self.factory.peers._shares._by_host), 0)

"""Connections in memory."""

from typing import Any

from twisted.internet.error import ConnectionRefusedError
from twisted.internet.protocol import Factory, Protocol
from twisted.test.iosim import FakeTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.memory_network import MemoryNetwork

ADDRESS = ("h", 1)


class _Recorder(Protocol):
    """Remembers what it received."""

    transport: FakeTransport

    def __init__(self) -> None:
        self.received = b""
        self.lost = 0

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: object = None) -> None:
        self.lost += 1


class MemoryNetworkTests(SynchronousTestCase):
    """One listener."""

    def setUp(self) -> None:
        """Listens, and connects once."""
        self.servers: list[_Recorder] = []
        self.network = MemoryNetwork()
        listener = Factory.forProtocol(self._serve)
        self.network.listeners[ADDRESS] = listener
        self.client = self._connect()

    def _serve(self) -> _Recorder:
        self.servers.append(_Recorder())
        return self.servers[-1]

    def _connect(self) -> _Recorder:
        endpoint = self.network.endpoint(*ADDRESS)
        client: Any = self.successResultOf(endpoint.connect(Factory.forProtocol(_Recorder)))
        assert isinstance(client, _Recorder)
        return client

    def test_data(self) -> None:
        """Bytes move both ways, when told, and each way of its own connection."""
        other = self._connect()
        self.client.transport.write(b"one")
        other.transport.write(b"two")
        self.servers[0].transport.write(b"reply")
        self.assertEqual(self.servers[0].received, b"")
        self.assertTrue(self.network.move())
        self.assertEqual([s.received for s in self.servers], [b"one", b"two"])
        self.assertEqual((self.client.received, other.received), (b"reply", b""))
        self.assertFalse(self.network.move())

    def test_refused(self) -> None:
        """Without a listener a connection is refused."""
        connecting = self.network.endpoint("h", 2).connect(Factory.forProtocol(_Recorder))
        self.failureResultOf(connecting, ConnectionRefusedError)
        self.assertEqual(self.network.attempts, [ADDRESS, ("h", 2)])

    def test_unanswered(self) -> None:
        """An address can be made to say nothing."""
        self.network.unanswered.add(ADDRESS)
        connecting = self.network.endpoint(*ADDRESS).connect(Factory.forProtocol(_Recorder))
        self.assertNoResult(connecting)

    def test_break(self) -> None:
        """A broken connection is lost at both ends, with what was on its way."""
        self.client.transport.write(b"lost")
        self.network.break_connections(ADDRESS)
        self.assertEqual((self.client.lost, self.servers[0].lost, self.servers[0].received), (1, 1, b""))

    def test_close(self) -> None:
        """A close delivers what was written before it."""
        self.client.transport.write(b"last")
        self.client.transport.loseConnection()
        self.network.move()
        self.assertEqual((self.servers[0].received, self.servers[0].lost, self.client.lost), (b"last", 1, 1))

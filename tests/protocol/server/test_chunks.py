"""How many bytes a bookie receives at a time follows from the time that the requests in a chunk take."""

from typing import Any

from twisted.internet.interfaces import ITCPTransport
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import alsoProvides

from bookkeeper_twisted.codec.messages import ReadRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.protocol.server.limits import DEFAULT_LIMITS, FULL_CHUNK, QUICK, SLOW

from ...bookie.rig import Rig
from ..tls_ends import BookieLayerCase, QueueTransport, missing

_LEAST, _MOST = DEFAULT_LIMITS.chunk, DEFAULT_LIMITS.max_chunk


def _requests(n_bytes: int) -> bytes:
    """V3 reads of a ledger that does not exist, of some ``n_bytes`` together."""
    one = requests_out.encode_request(ReadRequest(V3.header(Operation.READ, 1, 0), 1, 1))
    return one * (n_bytes // len(one))


class _Cost:
    """A clock by which each piece of received bytes takes ``seconds``."""

    def __init__(self, case: SynchronousTestCase, turns: Any) -> None:
        self.seconds_each = self._now = 0.0
        self._clock, turns._clock = turns._clock, self
        receive = ServerConnection._receive

        def paid(connection: ServerConnection, data: bytes) -> None:
            receive(connection, data)
            self._now += self.seconds_each

        case.patch(ServerConnection, "_receive", paid)

    def seconds(self) -> float:
        return self._now

    def callLater(self, delay: float, function: Any, *args: Any) -> Any:
        return self._clock.callLater(delay, function, *args)


class _Socket(QueueTransport):
    bufferSize = 1 << 16

    def __init__(self) -> None:
        super().__init__()
        alsoProvides(self, ITCPTransport)

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass


class ChunkTests(SynchronousTestCase):
    """A connection in clear."""

    def setUp(self) -> None:
        self.rig, self.socket = Rig(), _Socket()
        self.cost = _Cost(self, self.rig.engine.factory.turns)
        connection = self.rig.engine.factory.buildProtocol(None)
        assert connection is not None
        connection.makeConnection(self.socket)
        self.connection = connection

    def _receive(self, n_bytes: int, seconds: float) -> int:
        """Receive requests of ``n_bytes`` that take ``seconds``; return how many bytes are received at a time then."""
        self.cost.seconds_each = seconds
        self.connection.dataReceived(_requests(n_bytes))
        self.socket.clear()
        turns: Any = self.rig.engine.factory.turns
        turns._go_on()
        return self.socket.bufferSize

    def test_quick(self) -> None:
        """If full chunks take little time, more is received at a time, up to the limit."""
        sizes = [self._receive(self.socket.bufferSize, QUICK / 2) for _ in range(4)]
        self.assertEqual(sizes, [2 * _LEAST, _MOST, _MOST, _MOST])

    def test_slow(self) -> None:
        """If a chunk takes long, less is received at a time, but never less than at the beginning."""
        for _ in range(2):
            self._receive(self.socket.bufferSize, QUICK / 2)
        sizes = [self._receive(FULL_CHUNK + 1000, SLOW + QUICK) for _ in range(3)]
        self.assertEqual(sizes, [_MOST // 2, _LEAST, _LEAST])

    def test_neither(self) -> None:
        """In between, the number of bytes stays."""
        self.assertEqual(self._receive(_LEAST, (QUICK + SLOW) / 2), _LEAST)

    def test_part(self) -> None:
        """A chunk that was not full says nothing about a larger one."""
        self.assertEqual(self._receive(FULL_CHUNK // 2, 0.0), _LEAST)
        self._receive(_LEAST, 0.0)
        self.assertEqual(self._receive(_LEAST - 1000, 0.0), 2 * _LEAST)


class TlsChunkTests(BookieLayerCase):
    """A connection within TLS."""

    skip = missing()

    def test_grows(self) -> None:
        """The bytes that are received are counted, and decryption is part of the time."""
        _Cost(self, self.connection.turns)
        socket: Any = _Socket()
        socket.bufferSize = _LEAST
        self.connection._socket = socket
        self.end.sendall(_requests(_LEAST))
        self.transport.protocol.dataReceived(self.end.bio_read(2 * _LEAST))
        self.assertEqual(socket.bufferSize, 2 * _LEAST)

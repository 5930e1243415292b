"""How many bytes a bookie receives at a time follows from the time that the requests in a chunk take."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.protocol.server.limits import DEFAULT_LIMITS, FEW_PEERS, FULL_CHUNK, QUICK, SLOW

from ...bookie.rig import Rig
from ..tls_ends import BookieLayerCase, missing
from .costs import Costs, TcpTransport, read

_LEAST, _MOST = DEFAULT_LIMITS.chunk, DEFAULT_LIMITS.max_chunk


def _requests(n_bytes: int) -> bytes:
    """Reads of some ``n_bytes`` together."""
    return read(1) * (n_bytes // len(read(1)))


class ChunkTests(SynchronousTestCase):
    """A connection in clear."""

    def setUp(self) -> None:
        self.rig, self.socket = Rig(), TcpTransport()
        self.costs, self.seconds = Costs(self.rig), 0.0
        receive = ServerConnection._receive

        def paid(connection: ServerConnection, data: bytes) -> None:
            receive(connection, data)
            self.costs.pay(connection, self.seconds)

        self.patch(ServerConnection, "_receive", paid)
        connection = self.rig.engine.factory.buildProtocol(None)
        assert connection is not None
        connection.makeConnection(self.socket)
        self.connection = connection

    def _receive(self, n_bytes: int, seconds: float) -> int:
        """Receive requests of ``n_bytes`` that take ``seconds``; return how many bytes are received at a time then."""
        self.seconds = seconds
        self.connection.dataReceived(_requests(n_bytes))
        self.socket.clear()
        self.costs.turn()
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

    def test_small(self) -> None:
        """A small chunk says nothing, however long its requests take."""
        self._receive(_LEAST, 0.0)
        self.assertEqual(self._receive(FULL_CHUNK, SLOW + QUICK), 2 * _LEAST)

    def _connect(self, count: int) -> None:
        """Let so many other peers connect."""
        for _ in range(count):
            other = self.rig.engine.factory.buildProtocol(None)
            assert other is not None
            other.makeConnection(TcpTransport())

    def test_many_peers(self) -> None:
        """While there are many connections, chunks do not grow, and those that have grown become smaller again."""
        self._connect(FEW_PEERS - 1)
        self.assertEqual([self._receive(self.socket.bufferSize, 0.0) for _ in range(2)], [2 * _LEAST, _MOST])
        self._connect(1)
        sizes = [self._receive(self.socket.bufferSize, 0.0) for _ in range(4)]
        self.assertEqual(sizes, [_MOST // 2, _LEAST, _LEAST, _LEAST])


class TlsChunkTests(BookieLayerCase):
    """A connection within TLS."""

    skip = missing()

    def test_grows(self) -> None:
        """The bytes that are received are counted, and decryption is part of the time."""
        Costs(self.rig)
        socket: Any = TcpTransport()
        socket.bufferSize = _LEAST
        self.connection._socket = socket
        self.end.sendall(_requests(_LEAST))
        self.transport.protocol.dataReceived(self.end.bio_read(2 * _LEAST))
        self.assertEqual(socket.bufferSize, 2 * _LEAST)

"""The pool: how the limit is shared by the wires, the tick, the end."""

from bookkeeper_twisted.client.connections.bookie_peer import PeerCounts
from bookkeeper_twisted.client.connections.pool import ConnectionPool
from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError
from bookkeeper_twisted.protocol.client.request_ids import RequestIds
from bookkeeper_twisted.protocol.connection_state import ConnectionState

from .socket_case import ADDRESS, BOOKIE, SocketCase


class ConnectionPoolTests(SocketCase):
    """One bookie, both wires."""

    def _pool(self, limit: int, **more: object) -> ConnectionPool:
        return ConnectionPool(self.settings, ClientConfig(max_connections_per_bookie=limit, **more))  # type: ignore[arg-type]

    def _flow(self) -> RequestIds:
        return RequestIds(self.settings.flow_ids.allocate())

    def _sockets(self, pool: ConnectionPool, wires: tuple[IWireProtocol, ...]) -> int:
        for _ in range(20):
            ids = self._flow()
            for wire in wires:
                pool.socket(BOOKIE, wire, ids)
        return sum(counts.sockets for counts in pool.counts().values())

    def test_limit(self) -> None:
        """All sockets to a bookie, of both wires, are within the limit."""
        for limit in (2, 3, 5):
            self.assertEqual(self._sockets(self._pool(limit), (V2, V3)), limit)
            self.assertEqual(self._sockets(self._pool(limit, wire_protocol="v3"), (V3,)), limit)

    def test_limit_of_one(self) -> None:
        """A limit of one is one socket, for V3."""
        for pool in (self._pool(1), self._pool(1, wire_protocol="v3")):
            self.assertEqual(self._sockets(pool, (V3,)), 1)

    def test_off(self) -> None:
        """Without pooling every flow has sockets of its own."""
        self.assertEqual(self._sockets(self._pool(0), (V2, V3)), 40)

    def test_counts(self) -> None:
        """Sockets and flows are counted by bookie and wire."""
        pool = self._pool(3)
        for _ in range(4):
            pool.socket(BOOKIE, V2, self._flow())
        self.assertEqual(pool.counts(), {(BOOKIE, V2): PeerCounts(2, 2, 4, 0, 0, 0)})

    def test_silence(self) -> None:
        """A bookie that says nothing for two ticks after a silent one is given up; then there is no timer."""
        pool = self._pool(2, connection_keepalive_sec=10.0)
        socket = pool.socket(BOOKIE, V2, self._flow())
        self.clock.advance(10)
        self.assertTrue(socket.usable)
        self.clock.advance(10)
        self.assertFalse(socket.usable)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_held_up(self) -> None:
        """A tick that comes late blames no bookie: what they have sent meanwhile is not read yet."""
        pool = self._pool(2, connection_keepalive_sec=10.0)
        socket = pool.socket(BOOKIE, V2, self._flow())
        self.clock.advance(10)
        self.clock.advance(60)
        self.assertTrue(socket.usable)
        self.clock.advance(10)
        self.assertFalse(socket.usable)

    def test_idle(self) -> None:
        """A socket that no flow uses is closed after the idle time."""
        pool = self._pool(2, connection_idle_sec=30.0, connection_keepalive_sec=10.0)
        ids = self._flow()
        socket = pool.socket(BOOKIE, V2, ids)
        socket.leave(ids, ClientClosedError())
        self.settings.flow_ids.release(ids.flow_id)
        for _ in range(3):
            self.assertTrue(socket.usable)
            assert socket.connection is not None
            socket.connection.dataReceived(b"")
            self.clock.advance(10)
        self.assertFalse(socket.usable)

    def test_close(self) -> None:
        """After the end nothing is given out, and the end is when the last socket is gone; twice is harmless."""
        pool = self._pool(2)
        pool.socket(BOOKIE, V2, self._flow())
        closed = pool.close(ClientClosedError("over"))
        self.assertRaises(ClientClosedError, pool.socket, BOOKIE, 2, self._flow())
        self.assertNoResult(closed)
        self.network.move()
        self.successResultOf(closed)
        self.successResultOf(pool.close(ClientClosedError("over")))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_close_while_connecting(self) -> None:
        """The end fails those who wait for sockets that are being made, and does not forget these sockets."""
        for limit in (2, 0):
            pool = self._pool(limit)
            self.network.unanswered.add(ADDRESS)
            flows = self._flow(), self._flow()
            waiters = [pool.socket(BOOKIE, V2, ids).connected(ids.flow_id) for ids in flows]
            closed = pool.close(ClientClosedError("over"))
            for waiter in waiters:
                self.failureResultOf(waiter, ClientClosedError)
            self.network.move()
            self.successResultOf(closed)

    def test_close_own_sockets(self) -> None:
        """The end closes sockets that are not shared, too, and waits for the last."""
        pool = self._pool(0)
        sockets = [pool.socket(BOOKIE, V2, self._flow()) for _ in range(3)]
        closed = pool.close(ClientClosedError("over"))
        self.assertNoResult(closed)
        self.network.move()
        self.successResultOf(closed)
        self.assertEqual([socket.state for socket in sockets], [ConnectionState.CLOSED] * 3)

    def test_grace(self) -> None:
        """At the end requests that are under way have the configured time; nothing new is taken meanwhile."""
        pool = self._pool(2, connection_grace_sec=3.0)
        ids = self._flow()
        socket = pool.socket(BOOKIE, V2, ids)
        assert socket.connection is not None
        reading = socket.connection.read(ids, 7, (0,))
        closed = pool.close(ClientClosedError("over"))
        self.clock.advance(2)
        self.assertNoResult(reading)
        self.assertRaises(ClientClosedError, pool.socket, BOOKIE, 2, ids)
        self.clock.advance(1)
        self.failureResultOf(reading, ClientClosedError)
        self.network.move()
        self.successResultOf(closed)

    def test_loss(self) -> None:
        """Connections that are lost do not end the pool."""
        pool = self._pool(2)
        ids = self._flow()
        socket = pool.socket(BOOKIE, V2, ids)
        self.network.break_connections(ADDRESS)
        self.failureResultOf(socket.connected(ids.flow_id), BookieHandleNotAvailableError)
        self.assertTrue(pool.socket(BOOKIE, V2, ids).usable)

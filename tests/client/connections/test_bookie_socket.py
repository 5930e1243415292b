"""One socket: which flows get it, in which order, and how they learn of its end."""

from typing import cast

import attrs
from twisted.internet.address import IPv4Address
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.error import TimeoutError as ConnectTimeout
from twisted.internet.interfaces import IProtocol, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from bookkeeper_twisted.client.connections.bookie_socket import BookieSocket
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.codec.v2 import replies_out
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, ClientClosedError, Status
from bookkeeper_twisted.protocol.client.connection import ClientConnection
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits
from bookkeeper_twisted.protocol.connection_state import ConnectionState

from .socket_case import ADDRESS, BOOKIE, SocketCase


class BookieSocketTests(SocketCase):
    """A socket with two flows."""

    def setUp(self) -> None:
        super().setUp()
        self.ended: list[BookieSocket] = []
        self.socket = BookieSocket(self.settings, (BOOKIE, V2), self.ended.append)
        self.one, self.two = self.ids(), self.ids()
        self.socket.join(self.one)
        self.socket.join(self.two)

    def test_waiters_in_order(self) -> None:
        """Those who wait get the connection in the order they asked; who asks meanwhile comes last."""
        order: list[str] = []

        def first(_: object) -> None:
            order.append("first")
            self.assertIsNone(self.socket.ready)
            self.socket.connected(1).addCallback(lambda _: order.append("third"))

        self.hold()
        self.socket.connect()
        self.assertIs(self.socket.state, ConnectionState.CONNECTING)
        self.socket.connected(1).addCallback(first)
        self.socket.connected(2).addCallback(lambda _: order.append("second"))
        self.let()
        self.assertEqual(order, ["first", "second", "third"])
        self.assertIs(self.socket.state, ConnectionState.READY)
        self.assertIs(self.socket.ready, self.successResultOf(self.socket.connected(1)))

    def test_cancelled_waiter(self) -> None:
        """A waiter that gave up is not called; the others are."""
        self.hold()
        self.socket.connect()
        one, two = self.socket.connected(1), self.socket.connected(1)
        one.cancel()
        self.failureResultOf(one, CancelledError)
        self.let()
        self.successResultOf(two)

    def test_refused(self) -> None:
        """A refused connection is no longer to be chosen when it fails all who wait, alike."""
        self.hold()
        self.socket.connect()
        waiters = [self.socket.connected(1), self.socket.connected(2)]
        known: list[bool] = []

        def look(failure: Failure) -> Failure:
            known.append(bool(self.ended))
            return failure

        waiters[0].addErrback(look)
        self.network.listeners.clear()
        self.let()
        errors = [self.failureResultOf(each, BookieHandleNotAvailableError).value for each in waiters]
        self.assertIs(errors[0], errors[1])
        self.assertEqual((known, self.socket.state, self.ended), ([True], ConnectionState.CLOSED, [self.socket]))
        self.assertIn(BOOKIE, str(errors[0]))
        self.failureResultOf(self.socket.connected(1), BookieHandleNotAvailableError)

    def _time_out_after(self, *seconds: float) -> "Deferred[ClientConnection]":
        attempts: list[Deferred[IStreamClientEndpoint]] = []

        def resolve(bookie_id: str) -> "Deferred[IStreamClientEndpoint]":
            attempts.append(Deferred())
            return attempts[-1]

        self.socket = BookieSocket(attrs.evolve(self.settings, resolve=resolve), (BOOKIE, V2), self.ended.append)
        self.socket.connect()
        waiter = self.socket.connected(1)
        for number, after in enumerate(seconds):
            self.clock.advance(after)
            attempts[number].errback(ConnectTimeout())
        for attempt in attempts[len(seconds) :]:
            attempt.callback(self.network.endpoint(*ADDRESS))
        return waiter

    def test_timed_out(self) -> None:
        """A connection that is not there in time is given up."""
        self.failureResultOf(self._time_out_after(10), BookieHandleNotAvailableError)

    def test_timed_out_late(self) -> None:
        """A time-out that comes late, because the process was held up, is followed by one more attempt."""
        self.successResultOf(self._time_out_after(16))

    def test_timed_out_late_twice(self) -> None:
        """There is only one more attempt."""
        self.failureResultOf(self._time_out_after(16, 16), BookieHandleNotAvailableError)

    def test_waiter_cancelled_by_another(self) -> None:
        """The first errback may cancel the requests behind it."""
        self.hold()
        self.socket.connect()
        first, second = self.socket.connected(1), self.socket.connected(1)

        def give_up(failure: Failure) -> Failure:
            second.cancel()
            return failure

        failed = first.addErrback(give_up)
        self.network.listeners.clear()
        self.let()
        self.failureResultOf(failed, BookieHandleNotAvailableError)
        self.failureResultOf(second, CancelledError)

    def test_lost(self) -> None:
        """A lost connection ends the socket once, before its requests fail in their order."""
        self.socket.connect()
        connection = self.successResultOf(self.socket.connected(1))
        order: list[object] = []

        def failed(failure: Failure, entry_id: int) -> None:
            order.append((entry_id, len(self.ended), self.socket.usable))

        for entry_id, ids in enumerate((self.one, self.two, self.one)):
            connection.read(ids, 7, (entry_id,)).addErrback(failed, entry_id)
        self.network.break_connections(ADDRESS)
        self.assertEqual(order, [(0, 1, False), (1, 1, False), (2, 1, False)])
        self.assertEqual((self.socket.state, self.socket.flows), (ConnectionState.CLOSED, {}))
        self.successResultOf(self.socket.gone)

    def test_leave(self) -> None:
        """A flow that leaves fails what it asked, in order; the other flow and the socket stay."""
        self.socket.connect()
        connection = self.successResultOf(self.socket.connected(1))
        mine = [connection.read(self.one, 7, (e,)) for e in range(2)]
        other = connection.read(self.two, 7, (5,))
        self.clock.advance(3)
        self.socket.leave(self.one, ClientClosedError())
        for each in mine:
            self.failureResultOf(each, ClientClosedError)
        self.assertNoResult(other)
        self.socket.leave(self.two, ClientClosedError())
        self.failureResultOf(other, ClientClosedError)
        self.assertEqual((self.socket.state, self.socket.idle_since), (ConnectionState.READY, 3))

    def test_leave_while_connecting(self) -> None:
        """A flow that leaves early fails what it waits for; what another waits for stays."""
        self.hold()
        self.socket.connect()
        mine, other = self.socket.connected(self.one.flow_id), self.socket.connected(self.two.flow_id)
        self.socket.leave(self.one, ClientClosedError())
        self.failureResultOf(mine, ClientClosedError)
        self.let()
        self.successResultOf(other)

    def test_close(self) -> None:
        """Closing fires when the socket is gone; later requests fail as told."""
        self.socket.connect()
        self.socket.close(ClientClosedError())
        self.assertIs(self.socket.state, ConnectionState.CLOSING)
        self.assertNoResult(self.socket.gone)
        self.network.move()
        self.successResultOf(self.socket.gone)
        self.failureResultOf(self.socket.connected(1), ClientClosedError)

    def test_close_while_connecting(self) -> None:
        """Closing during an attempt fails those who wait, and the attempt is given up."""
        self.network.unanswered.add(ADDRESS)
        self.socket.connect()
        waiter = self.socket.connected(1)
        self.socket.close(ClientClosedError())
        self.failureResultOf(waiter, ClientClosedError)
        self.assertEqual((self.socket.state, len(self.ended)), (ConnectionState.CLOSED, 1))
        self.successResultOf(self.socket.gone)

    def test_close_in_the_attempt(self) -> None:
        """An attempt that succeeds although the socket was closed meanwhile leaves no connection."""
        transport = StringTransport()

        class _Closing:
            def connect(_, factory: Factory) -> "Deferred[IProtocol]":
                self.socket.close(ClientClosedError())
                protocol = factory.buildProtocol(IPv4Address("TCP", *ADDRESS))
                assert protocol is not None
                protocol.makeConnection(transport)
                return succeed(protocol)

        settings = attrs.evolve(self.settings, resolve=lambda _: succeed(cast(IStreamClientEndpoint, _Closing())))
        self.socket = BookieSocket(settings, (BOOKIE, V2), self.ended.append)
        self.socket.connect()
        self.assertTrue(transport.disconnected)
        self.assertEqual((self.socket.state, self.socket.connection), (ConnectionState.CLOSED, None))

    def _drain(self) -> tuple["Deferred[list[ReadReply]]", ClientConnection]:
        """A socket that is closed with ten seconds of grace and a read under way."""
        self.socket.connect()
        connection = self.successResultOf(self.socket.connected(1))
        reading = connection.read(self.one, 7, (0,))
        self.socket.close(ClientClosedError(), 10.0)
        self.assertEqual((self.socket.state, self.ended), (ConnectionState.CLOSING, [self.socket]))
        return reading, connection

    def test_grace(self) -> None:
        """What is under way when a socket is closed may end as usual; then the socket goes at once."""
        reading, connection = self._drain()
        self.assertIsNone(self.socket.ready)
        self.failureResultOf(self.socket.connected(1), ClientClosedError)
        connection.dataReceived(replies_out.read_reply(2, 2, Status.EOK, 7, 0, b"entry"))
        self.assertEqual(self.successResultOf(reading)[0].entry, b"entry")
        self.assertNoResult(self.socket.gone)
        self.clock.advance(0)
        self.network.move()
        self.successResultOf(self.socket.gone)
        self.assertIs(self.socket.state, ConnectionState.CLOSED)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_end_of_grace(self) -> None:
        """Grace is no longer than it is said to be; what is still under way then fails as told."""
        self.settings = attrs.evolve(self.settings, limits=ConnectionLimits(read_timeout=100.0))
        self.socket = BookieSocket(self.settings, (BOOKIE, V2), self.ended.append)
        reading, _ = self._drain()
        self.clock.advance(9.9)
        self.assertNoResult(reading)
        self.clock.advance(0.2)
        self.failureResultOf(reading, ClientClosedError)
        self.network.move()
        self.successResultOf(self.socket.gone)

    def test_lost_in_grace(self) -> None:
        """A connection that is lost meanwhile ends the wait."""
        reading, _ = self._drain()
        self.network.break_connections(ADDRESS)
        self.failureResultOf(reading, BookieHandleNotAvailableError)
        self.successResultOf(self.socket.gone)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_grace(self) -> None:
        """Nothing waits where nothing is under way."""
        self.socket.connect()
        self.socket.close(ClientClosedError(), 10.0)
        self.assertIs(self.socket.state, ConnectionState.CLOSING)

    def test_keepalive(self) -> None:
        """A silent bookie is asked for a sign of life once, and given up if it stays silent."""
        self.socket.connect()
        connection = self.successResultOf(self.socket.connected(1))
        reading = connection.read(self.one, 7, (0,))
        self.socket.tick()
        self.assertEqual(connection.in_flight.own.flow_id, 0)
        self.assertTrue(self.socket.usable)
        self.socket.tick()
        self.failureResultOf(reading, BookieHandleNotAvailableError)
        self.assertEqual(len(self.ended), 1)

    def test_alive(self) -> None:
        """A bookie that sends is not asked, and one answer is enough."""
        self.socket.connect()
        connection = self.successResultOf(self.socket.connected(1))
        for _ in range(4):
            connection.dataReceived(b"")
            self.socket.tick()
            self.assertEqual(connection.writer.queue.size, 0)
        self.socket.tick()
        self.assertGreater(connection.writer.queue.size, 0)
        connection.dataReceived(b"")
        self.socket.tick()
        self.socket.tick()
        self.assertTrue(self.socket.usable)

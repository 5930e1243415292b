"""What is left of a TLS connection without the garbage collector, which a bookie runs seldom."""

import gc
import weakref
from typing import Any

from twisted.internet.task import Clock

from bookkeeper_twisted.codec.messages import StartTlsResponse
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, Status
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.protocol.client.connection import ClientConnection, ConnectionOwner
from bookkeeper_twisted.protocol.client.connection_limits import ConnectionLimits
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.traffic import Traffic
from bookkeeper_twisted.protocol.server.connection import ServerConnection

from .tls_ends import QueueTransport, TlsLayerCase


class LeftoverTests(TlsLayerCase):
    """Connections that have ended."""

    def setUp(self) -> None:
        super().setUp()
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        self.clock, self.flow_ids = Clock(), FlowIds()
        self.made: list[weakref.ref[Any]] = []

    def _dialled(self, host: str = "bookie.example") -> QueueTransport:
        """A client, which has asked for TLS."""
        from bookkeeper_twisted.protocol.client.encryption import EncryptingConnection

        owner = ConnectionOwner("bookie:1", self.flow_ids, Traffic(self.clock.seconds), lambda error: None)

        def connection(_: object) -> ClientConnection:
            made = ClientConnection(self.clock, V3, ConnectionLimits(), owner)
            self.made.append(weakref.ref(made))
            return made

        creator = self.client_tls.connecting_to(host)
        dialled = EncryptingConnection(self.clock, Peer("bookie:1"), creator, 30.0, connection)
        dialled.ready.addErrback(lambda _: None)
        transport = QueueTransport()
        transport.protocol = dialled
        dialled.makeConnection(transport)
        self.made.append(weakref.ref(dialled))
        return transport

    def _pair(self, host: str = "bookie.example") -> list[QueueTransport]:
        """Both ends of a connection, as far as their handshake goes."""
        connection, accepted = self._accepted(b"")
        self.made.append(weakref.ref(connection))
        ends = [accepted, self._dialled(host)]
        del connection
        self._move(*ends)
        for end in ends:
            self.made += (weakref.ref(end.protocol), weakref.ref(end.protocol.getHandle()))
        return ends

    def _move(self, one: QueueTransport, other: QueueTransport) -> None:
        for _ in range(10):
            for near, far in ((one, other), (other, one)):
                if (data := near.take()) and not far.disconnecting:
                    far.protocol.dataReceived(data)

    def _client(self) -> ClientConnection:
        (client,) = [each for of in self.made if isinstance(each := of(), ClientConnection)]
        return client

    def _server(self) -> ServerConnection:
        (server,) = [each for of in self.made if isinstance(each := of(), ServerConnection)]
        return server

    def _lose(self, *ends: QueueTransport) -> None:
        """End the connections; no object may be left of them."""
        for end in ends:
            end.lose()
        self.flushLoggedErrors()
        self.assertGreater(len(self.made), 3)
        left = [object_of() for object_of in self.made if object_of() is not None]
        self.assertEqual(left, [])

    def test_closed(self) -> None:
        """Nothing is left after the end of TLS, whichever end begins it."""
        for is_client in (False, True):
            ends = self._pair()
            if is_client:
                self._client().close(BookieHandleNotAvailableError())
            else:
                self._server().end()
            self._move(*ends)
            self.assertEqual([end.disconnecting for end in ends], [True, True])
            self._lose(*ends)
            self.made.clear()

    def test_lost(self) -> None:
        """Nothing is left after a connection that is lost without an end of TLS."""
        self._lose(*self._pair())

    def test_aborted(self) -> None:
        """Nothing is left after a connection that is dropped at this end."""
        ends = self._pair()
        for end in ends:
            end.protocol.abortConnection()
        self._lose(*ends)

    def test_broken(self) -> None:
        """Nothing is left after a peer that sends bytes that are no TLS."""
        ends = self._pair()
        for end in ends:
            end.protocol.dataReceived(b"GET / HTTP/1.1\r\n\r\n" * 10)
        self._lose(*ends)

    def test_refused(self) -> None:
        """Nothing is left after a handshake that fails."""
        self._lose(*self._pair("elsewhere.example"))

    def test_busy(self) -> None:
        """Nothing is left of connections over which requests were answered."""
        ends = self._pair()
        asked = self._client().read(RequestIds(self.flow_ids.allocate()), 1, [0])
        self.clock.advance(0)
        for _ in range(3):
            self._move(*ends)
            self.rig.drain()
        self.successResultOf(asked)
        del asked
        self._lose(*ends)

    def test_time_out(self) -> None:
        """Nothing is left after handshakes that take too long."""
        connection, accepted = self._accepted()
        dialled = self._dialled()
        dialled.take()
        reply = V3.encode_response(StartTlsResponse(V3.header(Operation.START_TLS, 1, 0), Status.EOK))
        dialled.protocol.dataReceived(reply)
        self.made += (weakref.ref(connection), weakref.ref(accepted.protocol), weakref.ref(dialled.protocol))
        del connection
        for _ in range(200):
            self.rig.clock.advance(0.25)
            self.clock.advance(0.25)
        self.assertTrue(accepted.aborted and dialled.aborted)
        self._lose(accepted, dialled)

    def test_unanswered_end(self) -> None:
        """Nothing is left of an end of TLS that the peer does not answer: a timer drops the connection."""
        for is_client in (False, True):
            ends = self._pair()
            if is_client:
                self._client().close(BookieHandleNotAvailableError())
            else:
                self._server().end()
            for _ in range(40):
                self.rig.clock.advance(0.25)
                self.clock.advance(0.25)
            self.assertTrue(ends[is_client].aborted)
            self._lose(*ends)
            self.made.clear()

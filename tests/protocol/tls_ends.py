"""Ends of TLS connections over transports that the test reads, for the tests of TLS beneath protocols."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.encryption import Encryption
from bookkeeper_twisted.codec.messages import StartTlsRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.v3 import requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.protocol.server.limits import ServerLimits
from bookkeeper_twisted.security.contexts import ClientTls, ServerTls

from ..bookie.rig import Rig

if TYPE_CHECKING:
    from OpenSSL import SSL

START_TLS = requests_out.encode_request(StartTlsRequest(V3.header(Operation.START_TLS, 1, 0)))
NOW = 1_767_225_600.0
CHUNK = 64 * 1024
SECONDS_TO_CLOSE = 5.0
QUEUE = 64 * 1024
"""Bytes from which the transport of these tests is full."""


def missing() -> str | None:
    """Return the reason to skip tests of TLS."""
    try:
        import OpenSSL  # noqa: F401
    except ImportError:
        return "pyOpenSSL is not installed: pip install 'bookkeeper-twisted[tls]'"
    return None


class QueueTransport(StringTransport):
    """A transport with a queue, which the peer reads when the test says so."""

    aborted = False
    protocol: Any

    def write(self, data: bytes) -> None:
        super().write(data)
        if self.queued > QUEUE and self.producer is not None:
            self.producer.pauseProducing()

    @property
    def queued(self) -> int:
        return len(self.value())

    def take(self) -> bytes:
        """Let the peer read all that waits."""
        data: bytes = self.value()
        self.clear()
        if self.producer is not None:
            self.producer.resumeProducing()
        return data

    @property
    def is_read(self) -> bool:
        """Whether bytes of the peer are received."""
        return bool(self.producerState == "producing")

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def setTcpKeepAlive(self, enabled: bool) -> None:
        pass

    def abortConnection(self) -> None:
        self.aborted = True
        super().abortConnection()

    def lose(self) -> None:
        """The connection ends; the transport forgets its protocol, as Twisted's does."""
        protocol, self.producer = self.protocol, None
        del self.protocol
        protocol.connectionLost(Failure(ConnectionDone()))


class TlsLayerCase(SynchronousTestCase):
    """A bookie with TLS, and peers of it in OpenSSL alone."""

    skip = missing()
    max_idle_answers = 1 << 30

    def setUp(self) -> None:
        from bookkeeper_twisted.protocol import tls_layer

        from ..security.certificates import Folder, authority, bookie, client
        from ..security.key_updates import SUITE

        self.patch(tls_layer, "MAX_IDLE_ANSWERS", self.max_idle_answers)
        files = Folder(Path(self.mktemp()))
        files.put_pair(bookie(), authority())
        self.server_tls = ServerTls(files.settings(ciphers=SUITE), lambda: NOW)
        files = Folder(Path(self.mktemp()))
        files.put_pair(client(), authority())
        self.client_tls = ClientTls(files.settings(ciphers=SUITE), lambda: NOW)
        self.creator = self.client_tls.connecting_to("bookie.example")
        limits = ServerLimits(read_timeout=30, frame_timeout=30)
        encryption = Encryption(self.server_tls)
        self.rig = Rig(options=EngineOptions(encryption=encryption, server=limits))

    def _accepted(self, asked: bytes = START_TLS) -> tuple[Any, QueueTransport]:
        """A connection of the bookie, which has been asked for TLS."""
        transport = QueueTransport()
        connection: Any = self.rig.engine.factory.buildProtocol(None)
        transport.protocol = connection
        connection.makeConnection(transport)
        if asked:
            connection.dataReceived(asked)
            transport.take()
        return connection, transport

    def _shake(self, end: "SSL.Connection", transport: QueueTransport) -> None:
        """Make the handshake between an end in OpenSSL and the layer of a transport."""
        from OpenSSL import SSL

        for _ in range(4):
            try:
                end.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                transport.protocol.dataReceived(end.bio_read(1 << 16))
            except SSL.WantReadError:
                pass
            if data := transport.take():
                end.bio_write(data)


class BookieLayerCase(TlsLayerCase):
    """A connection of a bookie after its handshake."""

    def setUp(self) -> None:
        super().setUp()
        from ..security.key_updates import KeyUpdates

        unused: Any = None
        self.connection, self.transport = self._accepted()
        self.updates = KeyUpdates(self.client_tls._context.get(), "CLIENT_TRAFFIC_SECRET_0")
        self.end = self.creator.clientConnectionForTLS(unused)
        self.end.set_connect_state()
        self._shake(self.end, self.transport)
        self.assertTrue(self.connection.is_encrypted)

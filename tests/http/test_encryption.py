"""HTTP over TLS: what is served to whom, and the bounds of connections, which hold for handshakes as well."""

from pathlib import Path
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.http.access import HttpProtection
from bookkeeper_twisted.http.channel import MAX_BODY, MAX_CONNECTIONS, REQUEST_TIME
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import new_registry, render
from bookkeeper_twisted.security.contexts import ClientTls
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ..protocol.tls_ends import QUEUE, QueueTransport
from .http_case import lines

try:
    from OpenSSL import SSL

    from bookkeeper_twisted.protocol import tls_layer

    from ..security.certificates import AFTER, EXPIRED, FIXTURES, Folder, authority, bookie, client, issued
    from ..security.handshakes import NOW
    from ..security.key_updates import SUITE, KeyUpdates
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None

_GET = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
_PUT = "PUT /api/v1/bookie/gc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


class _Transport(QueueTransport):
    """A TCP connection whose peer reads when the test says so."""

    def loseWriteConnection(self) -> None:
        """Fail: the peer would not see TLS end."""
        raise AssertionError("half a connection was closed below TLS")


class _Peer:
    """A client in memory.

    :ivar received: the plain text that has arrived.
    :ivar error: that has ended the handshake or the connection.
    """

    def __init__(self, protocol: Any, connection: "SSL.Connection", clock: Clock) -> None:
        self.clock = clock
        self.transport = _Transport(peerAddress=IPv4Address("TCP", "192.0.2.1", 7))
        self.received, self.error, self.closed = b"", "", False
        self.connection = connection
        connection.set_connect_state()
        self.transport.protocol = protocol
        protocol.makeConnection(self.transport)

    @property
    def protocol(self) -> Any:
        """The protocol of the transport, which is TLS."""
        return self.transport.protocol

    def pending(self) -> bytes:
        """What the client has to send, the first step of its handshake included."""
        try:
            self.connection.do_handshake()
        except SSL.WantReadError:
            pass
        except SSL.Error as error:
            self.error = str(error)
        try:
            return self.connection.bio_read(1 << 20)
        except SSL.WantReadError:
            return b""

    def exchange(self, turns: int = 8) -> None:
        """Carry bytes to and fro, a turn of the server after each."""
        for _ in range(turns):
            data = self.pending()
            if data and not self.transport.disconnecting:
                self.protocol.dataReceived(data)
            self.clock.advance(0)
            if answer := self.transport.take():
                self.connection.bio_write(answer)
            self.read()

    def read(self) -> None:
        """Decrypt what has arrived."""
        while True:
            try:
                self.received += self.connection.recv(1 << 16)
            except SSL.WantReadError:
                return
            except SSL.ZeroReturnError:
                self.closed = True
                return
            except SSL.Error as error:
                self.error = self.error or str(error)
                return

    def ask(self, text: str) -> int:
        """The status of an answer."""
        self.exchange()
        self.received = b""
        try:
            self.connection.send(text.encode())
        except SSL.Error:
            return 0
        self.exchange()
        return int(self.received.split()[1]) if self.received else 0


class EncryptedCase(SynchronousTestCase):
    """A site over TLS, reached by other machines."""

    skip = SKIP

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(NOW)
        self.server, self.client = Folder(Path(self.mktemp())), Folder(Path(self.mktemp()))
        self.server.put_pair(bookie(), authority())
        self.client.put_pair(client(), authority())
        self.open()

    def keys(self, **more: Any) -> dict[str, Any]:
        """Keys that name the files of the server."""
        path = self.server.path
        return {
            "http_server_enabled": True, "http_server_tls_enable": True, "http_server_key_store_type": "PEM",
            "http_server_key_store_path": str(path / "key.pem"),
            "http_server_certificate_path": str(path / "chain.pem"), "http_server_trust_store_type": "PEM",
            "http_server_trust_store_path": str(path / "trust.pem"),
            "tls_cert_files_refresh_duration_seconds": 0.0, "http_admin_principals": ("role:writer",), **more,
        }  # fmt: skip

    def open(self, **more: Any) -> None:
        """Make the site anew."""
        protection = HttpProtection(BookieConfig(**self.keys(**more)), self.clock)
        self.instruments = Instruments()
        self.guard = protection.guard(self.instruments)
        self.site = make_site(FakeBookieAdmin(), self.clock, guard=self.guard)
        self.factory = protection.encrypted(self.site)
        self.said = self.factory.opened(False)

    def tls(self, shows: bool = True) -> "SSL.Connection":
        """One end of a connection, of a client that shows its certificate or not."""
        settings = self.client.settings(client_authentication=shows)
        return ClientTls(settings, self.clock.seconds).connecting_to("bookie.example").clientConnectionForTLS(None)  # type: ignore

    def peer(self, shows: bool = True) -> _Peer:
        """A connection that was accepted."""
        protocol = self.factory.buildProtocol(None)
        self.assertIsNotNone(protocol)
        return _Peer(protocol, self.tls(shows), self.clock)


class ServedTests(EncryptedCase):
    """Requests within TLS, and the certificates of their senders."""

    def test_expiry(self) -> None:
        """When the certificate of the server expires is exported."""
        text = render(new_registry(self.instruments)).decode()
        self.assertIn(f'tls_certificate_expires_at_seconds{{server="http"}} {AFTER.timestamp()}\n', text)

    def test_certificate(self) -> None:
        """A certificate is a principal, its roles are administrators; a connection carries several requests."""
        peer = self.peer()
        self.assertEqual(peer.ask(_GET % "/"), 200)
        self.assertIn(b"/api/v1/bookie/info\n", peer.received)
        self.assertEqual(peer.ask(_PUT), 200)
        self.open(http_admin_principals=("role:nobody",))
        peer = self.peer()
        self.assertEqual(peer.ask(_PUT), 403)
        self.assertIn(b"CN=client,OU=0:writer", peer.received)
        self.assertTrue(self.said.startswith("over TLS, asks for a token or certificate"))

    def test_token_before_certificate(self) -> None:
        """A token that is not accepted is refused, whatever certificate the connection has."""
        text = "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"
        self.assertEqual(self.peer().ask(text), 401)

    def test_required(self) -> None:
        """Without a certificate there is no handshake, where a trust store is named; it is counted and logged."""
        with capturedLogs() as events:
            peers = [self.peer(shows=False) for _ in range(3)]
            for peer in peers:
                self.assertEqual(peer.ask(_GET % "/metrics"), 0)
                peer.transport.lose()
        self.assertEqual(self.guard.failed_handshakes.value, 3)
        (line,) = lines(events)
        self.assertRegex(line, "info: the TLS handshake of the HTTP server with 192.0.2.1:7 failed: .*certificate")
        self.assertEqual(self.site.channels, {})

    def test_cut_off(self) -> None:
        """A connection that is lost without the end of TLS is forgotten, and is no error."""
        for text in ("", "GET /metr"):
            peer = self.peer()
            self.assertEqual(peer.ask(_GET % "/heartbeat"), 200)
            peer.connection.send(text.encode() or b"\r\n")
            peer.exchange()
            peer.transport.lose()
        self.assertEqual((self.site.channels, self.flushLoggedErrors()), ({}, []))

    def test_foreign(self) -> None:
        """A certificate of another authority is refused, an optional one as well."""
        self.client.put_pair(issued("client", authority("other")), authority())
        for how in ("required", "optional"):
            self.open(http_server_tls_client_authentication=how)
            peer = self.peer()
            self.assertEqual(peer.ask(_GET % "/metrics"), 0)
            peer.transport.lose()
            self.assertEqual(self.guard.failed_handshakes.value, 1)

    def test_optional(self) -> None:
        """Where certificates are optional, probes need none, and a certificate that is shown still counts."""
        self.open(http_server_tls_client_authentication="optional")
        peer = self.peer(shows=False)
        self.assertEqual([peer.ask(_GET % path) for path in ("/metrics", "/heartbeat", "/")], [200, 200, 401])
        self.assertEqual(self.peer().ask(_GET % "/"), 200)

    def test_without_trust(self) -> None:
        """Without a trust store no certificate is asked for."""
        self.open(http_server_trust_store_path="")
        self.assertIn("no request can show who sends it", self.said)
        self.assertEqual([self.peer(shows).ask(_GET % "/") for shows in (True, False)], [401, 401])
        self.assertEqual(self.peer(False).ask(_GET % "/heartbeat"), 200)

    def test_in_clear(self) -> None:
        """A request in clear is not answered in clear, and is a line in the log."""
        with capturedLogs() as events:
            peer = self.peer()
            peer.protocol.dataReceived(b"GET /metrics HTTP/1.0\r\n\r\n")
            self.clock.advance(0)
            self.assertNotIn(b"HTTP/1", peer.transport.value())
            self.assertTrue(peer.transport.disconnecting)
            peer.transport.lose()
        self.assertIn("failed: http request", lines(events)[0])

    def test_new_files(self) -> None:
        """Changed files are used by connections that begin later, and the server does not start again."""
        old = self.peer()
        old.exchange()
        self.server.put("trust.pem", authority("other").chain_pem())
        self.clock.advance(1)
        refused = self.peer()
        self.assertEqual(refused.ask(_GET % "/"), 0)
        self.assertEqual(old.ask(_GET % "/"), 200)

    def test_stores(self) -> None:
        """Java's stores are read with passwords in the configuration, as Apache's keys have them, or in files."""
        store = str(FIXTURES / "ec.jks")
        password = self.server.put("password", b"sesame\n")
        for keys in (
            {"http_server_key_store_password": "sesame"}, {"http_server_key_store_password_path": password},
            {"http_server_key_store_password_path": password, "http_server_key_store_password": "wrong"},
        ):  # fmt: skip
            self.open(http_server_key_store_type="JKS", http_server_key_store_path=store, **keys)


class RefusedTests(EncryptedCase):
    """Configurations that cannot work end the start."""

    def test_files(self) -> None:
        """The error names the key and the file, and not the password."""
        path = str(self.server.path / "none")
        store = str(FIXTURES / "ec.jks")
        for keys, reason in (
            ({"http_server_key_store_path": path}, f"httpServerKeyStorePath = '{path}': No such file"),
            ({"http_server_certificate_path": path}, f"httpServerCertificatePath = '{path}': No such file"),
            ({"http_server_trust_store_path": path}, f"httpServerTrustStorePath = '{path}': No such file"),
            ({"http_server_key_store_type": "PKCS"}, "httpServerKeyStoreType = 'PKCS': expected one of"),
            ({"http_server_key_store_path": store, "http_server_key_store_type": "JKS",
              "http_server_key_store_password": "sesamo"}, "httpServerKeyStorePath = .*httpServerKeyStorePassword"),
            ({"http_server_key_store_path": ""}, "httpServerTlsEnable = 'true'.*: httpServerKeyStorePath is not set"),
            ({"http_server_trust_store_path": "", "http_server_tls_client_authentication": "optional"},
             "httpServerTlsClientAuthentication = 'optional'.*: needs httpServerTrustStorePath"),
            ({"http_server_endpoint": "ssl:443:privateKey=k"}, "httpServerEndpoint = .*has TLS already"),
            ({"http_server_tls_enable": False}, "has an effect only with httpServerTlsEnable=true"),
        ):  # fmt: skip
            with self.subTest(reason):
                error = self.assertRaises(ConfigError, self.open, **keys)
                self.assertRegex(str(error), reason)
                self.assertNotIn("sesamo", str(error))

    def test_expired(self) -> None:
        """An expired certificate is a warning that names the key."""
        self.server.put_pair(issued("bookie", authority(), ["bookie.example"], until=EXPIRED), authority())
        with capturedLogs() as events:
            self.open()
        self.assertRegex(lines(events)[0], "warn: httpServerCertificatePath = .*: the certificate of CN=bookie expired")


class BoundsTests(EncryptedCase):
    """The bounds of connections hold before, in and after the handshake."""

    def serve_one(self) -> None:
        """Let one connection have its turn."""
        (call,) = [call for call in self.clock.calls if "_serve_one" in repr(call.func)]
        self.clock.calls.remove(call)
        call.func()

    def test_half_open(self) -> None:
        """Connections that never begin their handshake are those that go for new ones."""
        peers = [self.peer() for _ in range(MAX_CONNECTIONS)]
        late = self.peer()
        self.assertTrue(peers[0].transport.disconnecting or peers[0].transport.disconnected)
        self.assertFalse(peers[1].transport.disconnecting)
        self.assertEqual((late.ask(_GET % "/"), len(self.site.channels)), (200, MAX_CONNECTIONS))

    def test_all_busy(self) -> None:
        """Where all connections have requests under way, a new one is refused before its handshake."""
        peers = [self.peer() for _ in range(MAX_CONNECTIONS)]
        for peer in peers:
            peer.exchange()
        for peer in peers:
            peer.connection.send(_GET.encode() % b"/")
            peer.protocol.dataReceived(peer.pending())
        for _ in peers:
            self.serve_one()  # decrypts the request of one; none is answered before the others are decrypted
        self.assertIsNone(self.factory.buildProtocol(None))

    def test_silent(self) -> None:
        """A connection that sends nothing ends with the time for a request."""
        peer = self.peer()
        self.clock.advance(REQUEST_TIME - 1)
        self.assertFalse(peer.transport.disconnecting)
        self.clock.advance(1)
        self.assertTrue(peer.transport.disconnecting)

    def test_slow(self) -> None:
        """A handshake that arrives byte by byte has the time of a request, not a time after each byte."""
        peer = self.peer()
        hello = peer.pending()
        for byte in hello[: int(REQUEST_TIME) - 1]:
            peer.protocol.dataReceived(bytes([byte]))
            self.clock.advance(1)
            self.assertFalse(peer.transport.disconnecting)
        self.clock.advance(1)
        self.assertTrue(peer.transport.disconnecting)

    def test_one_a_turn(self) -> None:
        """Handshakes take turns, with requests too; a connection is not read until its turn."""
        peers = [self.peer() for _ in range(5)]
        for peer in peers:
            peer.protocol.dataReceived(peer.pending())
            self.assertEqual((peer.transport.value(), peer.transport.producerState), (b"", "paused"))
        for number in range(1, 6):
            self.serve_one()
            self.assertEqual([bool(peer.transport.value()) for peer in peers], [True] * number + [False] * (5 - number))
            self.assertEqual(peers[number - 1].transport.producerState, "producing")

    def test_records(self) -> None:
        """Within TLS, too, a connection is not read and nothing is decrypted until its turn."""
        peers = [self.peer() for _ in range(5)]
        for peer in peers:
            peer.exchange()
        for peer in peers:
            peer.connection.send(b"G")
            peer.protocol.dataReceived(peer.pending())
            self.assertEqual(peer.transport.producerState, "paused")
        self.assertEqual([peer.protocol._channel._begun for peer in peers], [False] * 5)
        for number in range(1, 6):
            self.serve_one()
            begun = [peer.protocol._channel._begun for peer in peers]
            self.assertEqual(begun, [True] * number + [False] * (5 - number))
            self.assertEqual(peers[number - 1].transport.producerState, "producing")

    def test_gone_before_its_turn(self) -> None:
        """A connection that is lost, or evicted, before its turn is left alone."""
        peer, other = self.peer(), self.peer()
        for each in (peer, other):
            each.protocol.dataReceived(each.pending())
        peer.transport.lose()
        other.protocol.abortConnection()
        self.clock.advance(0)
        self.clock.advance(0)
        for each in (peer, other):
            self.assertLess(len(each.transport.value()), 10)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_long_body(self) -> None:
        """A body that is too long is answered within TLS, then TLS is closed, and what follows is thrown away."""
        peer = self.peer()
        head = f"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MAX_BODY + 1}\r\n\r\n"
        self.assertEqual(peer.ask(head), 413)
        self.assertTrue(peer.closed)
        for _ in range(100):
            peer.connection.send(bytes(1 << 14))
            peer.protocol.dataReceived(peer.connection.bio_read(1 << 16))
        self.assertFalse(peer.transport.disconnecting)
        self.clock.advance(3)
        self.assertTrue(peer.transport.disconnecting or peer.transport.disconnected)

    def test_unread(self) -> None:
        """A peer that does not read its answer is sent no other one, and is given up in time."""
        peer = self.peer()
        self.assertEqual(peer.ask(_GET % "/"), 200)
        producer = peer.transport.producer
        assert producer is not None
        producer.pauseProducing()
        peer.connection.send(3 * _GET.encode() % (b"/", b"/", b"/"))
        peer.protocol.dataReceived(peer.pending())
        for _ in range(8):
            self.clock.advance(0)
        peer.connection.bio_write(peer.transport.value())
        peer.read()
        self.assertEqual(peer.received.count(b"HTTP/1.1 200"), 2)
        self.clock.advance(REQUEST_TIME + 1)
        self.assertTrue(peer.transport.disconnecting or peer.transport.disconnected)

    def test_key_updates(self) -> None:
        """A peer that only asks for new keys is not read on while the answers wait for it."""
        self.open(tls_enabled_cipher_suites=SUITE)
        tls = ClientTls(self.client.settings(client_authentication=True, ciphers=SUITE), self.clock.seconds)
        self.patch(tls_layer, "MAX_IDLE_ANSWERS", 1 << 30)
        updates = KeyUpdates(tls._context.get(), "CLIENT_TRAFFIC_SECRET_0")
        unused: Any = None
        connection = tls.connecting_to("bookie.example").clientConnectionForTLS(unused)
        peer = _Peer(self.factory.buildProtocol(None), connection, self.clock)
        peer.exchange()
        chunks = 0
        while peer.transport.is_read and chunks < 500:
            peer.protocol.dataReceived(updates.records(100))
            chunks += 1
        self.assertLess(chunks, 100)
        self.assertLess(peer.transport.queued, 3 * QUEUE)

    def test_stop(self) -> None:
        """The stop of the server ends handshakes, too."""
        self.factory.doStart()
        peer = self.peer()
        peer.protocol.dataReceived(peer.pending())
        self.factory.doStop()
        self.assertTrue(peer.transport.disconnecting or peer.transport.disconnected)

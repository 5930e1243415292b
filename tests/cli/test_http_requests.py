"""HTTP requests of the shell."""

from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.http_requests import MAX_BODY, send
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError


class SendTests(SynchronousTestCase):
    """One request."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.config = ClientConfig()

    def _sent(self, method: str, body: bytes) -> "tuple[Deferred[tuple[int, bytes]], StringTransport]":
        """A request that has reached its server, and the transport there."""
        sending = Deferred.fromCoroutine(send(self.reactor, method, "http://127.0.0.1:8080/x", body, self.config))
        (host, port, factory, _, _) = self.reactor.tcpClients[-1]
        self.assertEqual((host, port), ("127.0.0.1", 8080))
        protocol, transport = factory.buildProtocol(None), StringTransport()
        assert protocol is not None
        self.protocol = protocol
        protocol.makeConnection(transport)
        self.reactor.pump([0.1] * 5)
        return sending, transport

    def test_answer(self) -> None:
        """Method, path and body are sent; status and body come back, also of a refusal."""
        sending, transport = self._sent("PUT", b"{}")
        self.assertRegex(transport.value(), rb"(?s)^PUT /x HTTP/1.1\r\n.*\r\n\r\n\{\}$")
        for data in (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n", b"no"):
            self.protocol.dataReceived(data)
        self.assertEqual(self.successResultOf(sending), (404, b"no"))

    def test_no_answer(self) -> None:
        """A server that does not answer, or ends the connection, is a failure that names it."""
        sending, _ = self._sent("GET", b"")
        self.reactor.advance(11)
        self.assertIn("http://127.0.0.1:8080/x", self.failureResultOf(sending, OSError).getErrorMessage())
        sending, _ = self._sent("GET", b"")
        self.protocol.connectionLost(Failure(ConnectionLost()))
        text = self.failureResultOf(sending, OSError).getErrorMessage()
        self.assertTrue(text.startswith("http://127.0.0.1:8080/x: Connection to the other side was lost"), text)

    def test_token(self) -> None:
        """The client's token is sent to this machine; in clear to others only if the configuration says so."""
        path = Path(self.mktemp())
        path.write_text("sesame\n")
        path.chmod(0o600)
        self.config = ClientConfig(client_auth_token_file=str(path))
        sending, transport = self._sent("GET", b"")
        self.assertIn(b"\r\nAuthorization: Bearer sesame\r\n", transport.value())
        self.reactor.advance(11)
        self.failureResultOf(sending, OSError)
        for in_clear in (False, True):
            config = ClientConfig(client_auth_token_file=str(path), token_in_clear=in_clear)
            sending = Deferred.fromCoroutine(send(self.reactor, "GET", "http://192.0.2.1:80/x", b"", config))
            protocol, transport = self.reactor.tcpClients[-1][2].buildProtocol(None), StringTransport()
            assert protocol is not None
            protocol.makeConnection(transport)
            self.assertEqual(b"sesame" in transport.value(), in_clear)
            self.reactor.advance(11)
            self.failureResultOf(sending, OSError)
        self.config = ClientConfig(client_auth_token_file=f"{path}.none")
        sending = Deferred.fromCoroutine(send(self.reactor, "GET", "http://127.0.0.1:8080/x", b"", self.config))
        self.failureResultOf(sending, ConfigError)

    def test_encrypted(self) -> None:
        """A server with TLS is verified by the trust store of a client of bookies, which has to be named."""
        try:
            import OpenSSL  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra tls") from None
        sending = Deferred.fromCoroutine(send(self.reactor, "GET", "https://192.0.2.1:80/x", b"", ClientConfig()))
        self.assertIn("tlsTrustStore is not set", self.failureResultOf(sending, ConfigError).getErrorMessage())

    def test_no_address(self) -> None:
        """What is no address is a failure that names it."""
        for place in ("a b", ":", "localhost:x", "h\u00fctte:1", "http://localhost:1", "-5"):
            sending = Deferred.fromCoroutine(send(self.reactor, "GET", f"http://{place}/x", b"", self.config))
            text = self.failureResultOf(sending, OSError).getErrorMessage()
            self.assertEqual(text, f"http://{place}/x: no address of an HTTP server")

    def test_too_long(self) -> None:
        """An answer beyond a mebibyte is not read to its end."""
        sending, transport = self._sent("GET", b"")
        self.protocol.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n")
        self.protocol.dataReceived(bytes(MAX_BODY + 1))
        self.assertTrue(transport.disconnecting)
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertIn("more than", self.failureResultOf(sending, OSError).getErrorMessage())

    def test_cut_off(self) -> None:
        """A connection that ends within the body is a failure."""
        sending, _ = self._sent("GET", b"")
        self.protocol.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        self.protocol.connectionLost(Failure(ConnectionLost()))
        self.failureResultOf(sending, OSError)

    def test_refused(self) -> None:
        """So is one that is not there."""
        sending = Deferred.fromCoroutine(send(self.reactor, "GET", "http://127.0.0.1:8080/x", b"", self.config))
        factory = self.reactor.tcpClients[-1][2]
        connector: Any = self.reactor.connectors[-1]
        factory.clientConnectionFailed(connector, Failure(ConnectionRefusedError()))
        self.reactor.pump([1.0] * 3)
        self.failureResultOf(sending, OSError)

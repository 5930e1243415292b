"""The HTTP server of a bookie."""

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin


class SiteTests(SynchronousTestCase):
    """Requests as a client sends them."""

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes, bytes]:
        """Status, headers and body of an answer."""
        site = make_site(FakeBookieAdmin())  # type: ignore[arg-type]
        channel = site.buildProtocol(None)
        transport = StringTransport()
        channel.makeConnection(transport)
        channel.dataReceived(f"{method} {path} HTTP/1.0\r\n\r\n".encode())
        head, _, body = transport.value().partition(b"\r\n\r\n")
        channel.timeOut = None
        channel.connectionLost(None)
        return int(head.split()[1]), head, body

    def test_heartbeat(self) -> None:
        """``/heartbeat`` says OK, byte for byte as Apache's bookie does."""
        self.assertEqual((self.get("/heartbeat")[0], self.get("/heartbeat")[2]), (200, b"OK\n"))

    def test_metrics(self) -> None:
        """``/metrics`` is the text exposition."""
        status, head, body = self.get("/metrics")
        self.assertEqual((status, body), (200, b"# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 3\n"))
        self.assertIn(b"text/plain; version=0.0.4", head)

    def test_not_found(self) -> None:
        """Other paths are not found."""
        for path in ("/", "/metrics/x", "/api/v1/nothing"):
            self.assertEqual(self.get(path)[0], 404)

    def test_wrong_method(self) -> None:
        """Other methods are not allowed."""
        self.assertEqual(self.get("/metrics", "DELETE")[0], 405)

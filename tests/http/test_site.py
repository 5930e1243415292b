"""The HTTP server of a bookie."""


from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site
from zope.interface import implementer

from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.site import make_autorecovery_site, make_metrics_site, make_site
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles, SpeedLimits
from bookkeeper_twisted.limits.throttle import Rate, Throttles
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster


class SiteTests(SynchronousTestCase):
    """Requests as a client sends them."""

    def get(self, path: str, method: str = "GET", site: Site | None = None) -> tuple[int, bytes, bytes]:
        """Status, headers and body of an answer."""
        site = site or make_site(FakeBookieAdmin(), Clock())
        channel, transport = site.buildProtocol(None), StringTransport()
        channel.makeConnection(transport)
        channel.dataReceived(f"{method} {path} HTTP/1.0\r\n\r\n".encode())
        site.reactor.advance(0)  # type: ignore[attr-defined]
        head, _, body = transport.value().partition(b"\r\n\r\n")
        channel.connectionLost(None)
        return int(head.split()[1]), head, body

    def test_without_a_bookie(self) -> None:
        """Autorecovery in its own process has metrics, a heartbeat, its limits and its paths, and none of a bookie."""
        clock = Clock()
        throttles = Throttles(clock, {"replication-read": Rate(5)})
        limits = SpeedLimits(throttles, AdaptiveThrottles(clock, throttles, lambda: None))
        cluster = MemoryCluster(clock, 3)
        shared = SharedClient(lambda: cluster.connect().addCallback(BookKeeperAdmin))
        site = make_autorecovery_site(lambda: iter([b"auditor_in_office 1\n"]), limits, shared, clock)
        self.assertIn(b'"replication-read"', self.get("/api/v1/bookie/throttles", site=site)[2])
        self.assertEqual(self.get("/api/v1/autorecovery/status?enabled=perhaps", "PUT", site)[0], 400)
        self.assertEqual(self.get("/heartbeat", site=site)[2], b"OK\n")
        body = self.get("/metrics", site=site)[2]
        self.assertTrue(body.startswith(b"auditor_in_office 1\n"))
        self.assertIn(b"process_open_fds", body)
        self.assertEqual(self.get("/api/v1/bookie/info", site=site)[0], 404)

    def test_root(self) -> None:
        """The root names every path, and each of them is there."""
        status, _, body = self.get("/")
        paths = body.decode().splitlines()
        self.assertEqual((status, paths), (200, sorted(paths)))
        self.assertLess({"/metrics", "/heartbeat", "/api/v1/bookie/info"}, {*paths})
        self.assertEqual(self.get("/", "PUT")[0], 404)

    def test_heartbeat(self) -> None:
        """``/heartbeat`` says OK, byte for byte as Apache's bookie does."""
        self.assertEqual((self.get("/heartbeat")[0], self.get("/heartbeat")[2]), (200, b"OK\n"))

    def test_metrics(self) -> None:
        """``/metrics`` is the text exposition."""
        status, head, body = self.get("/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(body.startswith(b"# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 3\n"))
        self.assertIn(b"text/plain; version=0.0.4", head)

    def test_metrics_alone(self) -> None:
        """A site for metrics has nothing else, and can be asked by any name."""
        site = make_metrics_site(lambda: iter([b"bookie_WRITE_BYTES 3\n"]), Clock())
        status, _, body = self.get("/metrics", site=site)
        self.assertEqual((status, body[:21]), (200, b"bookie_WRITE_BYTES 3\n"))
        self.assertIn(b"process_open_fds", body)
        for path in ("/heartbeat", "/api/v1/bookie/info", "/api/v1/config/server_config"):
            self.assertEqual(self.get(path, site=site)[0], 404)
        self.assertEqual(self.get("/", site=site)[2], b"/metrics\n")
        self.assertEqual(self.get("/metrics", "PUT", site)[0], 405)
        self.assertTrue(site.hosts.allow(b"bookie-0.bookie.pulsar.svc.cluster.local:8000"))

    def test_process(self) -> None:
        """``/metrics`` has what the process takes, under the names that prometheus_client gives it."""
        body = self.get("/metrics")[2]
        for name in (b"process_open_fds", b"process_resident_memory_bytes", b"process_cpu_seconds_total"):
            self.assertRegex(body, rb"\n# TYPE %s (gauge|counter)\n%s [0-9.e+]+\n" % (name, name))

    def test_head(self) -> None:
        """HEAD has the head of GET and no body, and is not worth a warning in the log."""
        messages: list[LogEvent] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            messages.append(event)

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        for path in ("/heartbeat", "/metrics"):
            status, head, body = self.get(path, "HEAD")
            self.assertEqual((status, body), (200, b""))
            self.assertRegex(head, rb"Content-Length: [1-9]")
        self.assertEqual(messages, [])

    def test_not_found(self) -> None:
        """Other paths are not found."""
        for path in ("/metrics/x", "/api/v1/nothing"):
            self.assertEqual(self.get(path)[0], 404)

    def test_wrong_method(self) -> None:
        """Other methods are not allowed."""
        status, head, _ = self.get("/metrics", "DELETE")
        self.assertEqual(status, 405)
        self.assertIn(b"Allow: GET, HEAD", head)

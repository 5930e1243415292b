"""``throttles``."""

import json
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.http.api import json_answer
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.site import make_autorecovery_site, make_site
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles, SpeedLimits
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ...http.http_case import HttpCase
from ..shell_case import BOOKIES, ShellCase

BOOKIE = "127.0.0.1:3285"


class ThrottlesTests(ShellCase, HttpCase):
    """A bookie with an HTTP server beside four without."""

    def setUp(self) -> None:
        super().setUp()
        endpoints = (
            Endpoint("bookie", "127.0.0.1", 3285, "bookie-rpc"),
            Endpoint("httpserver", "127.0.0.1", 8285, "http"),
        )
        self.do(self.cluster.registration.register_bookie(BOOKIE, False, BookieServiceInfo(endpoints)))
        self.environ["BK_bookiePort"] = "3285"
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, Clock())

    def _http(
        self, method: str, url: str, body: bytes, config: ClientConfig
    ) -> "Deferred[tuple[int, bytes]]":
        self.requests.append((method, url, body))
        answer = self.ask("/" + url.split("/", 3)[3], method, body.decode())
        return succeed((answer.status, answer.body.encode()))

    def test_shown(self) -> None:
        """Each limiter is a line, behind one of the latency bound; the local bookie is asked where it is registered."""
        self.assertEqual(self.shell("throttles"), 0)
        self.assertEqual(self.requests, [("GET", "http://127.0.0.1:8285/api/v1/bookie/throttles", b"")])
        self.assertEqual(self.printed[0], "adaptive {latencyBoundMs=0, factor=1, latencyP99Ms=unknown}")
        self.assertTrue(self.printed[2].startswith("scrub {entriesPerSecond=0, bytesPerSecond=10000000, "))
        self.assertEqual(len(self.printed), 3)

    def test_changed(self) -> None:
        """A limit and the latency bound are changed, and shown as they are then."""
        self.assertEqual(self.shell("throttles", "scrub", "-bytes", "5e6", "-e", "7"), 0)
        self.assertEqual(self.admin.work.rates["scrub"], Rate(7, 5e6))
        self.assertIn("bytesPerSecond=5000000", self.printed[2])
        self.assertEqual(self.shell("throttles", "-b", BOOKIE, "-latency", "20"), 0)
        self.assertEqual((self.admin.work.adaptive.bound, self.admin.work.rates["scrub"]), (20.0, Rate(7, 5e6)))

    def test_refused_by_the_bookie(self) -> None:
        """What the bookie refuses fails with its reason."""
        self.assertEqual(self.shell("throttles", "none", "-bytes", "1"), 255)
        self.assertEqual(self.complaints, ["throttles: no limiter is named 'none'; there are gc-metadata, scrub"])
        self.assertEqual(self.shell("throttles", "scrub", "-bytes", "-1"), 255)
        self.assertIn("should be a number from 0", self.complaints[0])

    def test_refused(self) -> None:
        """A limiter without numbers, or the other way round, is not sent."""
        for arguments in (("scrub",), ("-bytes", "1"), ("-entries", "1", "-latency", "5"), ("-latency", "x")):
            self.assertEqual(self.shell("throttles", *arguments), 255)
        self.assertEqual(self.requests, [])

    def test_autorecovery(self) -> None:
        """Autorecovery in the bookie's process, or in its own at an address, is shown and changed the same way."""
        throttles = Throttles(self.clock, {"replication-read": Rate()})
        limits = SpeedLimits(throttles, AdaptiveThrottles(self.clock, throttles, lambda: None))
        self.admin.replication_limits = limits
        self.assertEqual(self.shell("throttles", "replication-read", "-bytes", "5e6"), 0, self.complaints)
        self.assertEqual(throttles.find("replication-read").rate, Rate(bytes=5e6))
        self.assertEqual([text.split()[0] for text in self.printed],
                         ["adaptive", "replicationAdaptive", "gc-metadata", "replication-read", "scrub"])  # fmt: skip
        self.site = make_autorecovery_site(lambda: iter(()), limits, SharedClient(Deferred), self.clock)
        self.assertEqual(self.shell("throttles", "-http", "10.0.0.1:8080", "-replicationlatency", "20"), 0)
        self.assertEqual(self.requests[-1][1], "http://10.0.0.1:8080/api/v1/bookie/throttles")
        self.assertEqual(limits.limits().adaptive.bound, 20.0)
        self.assertEqual(self.printed[0], "replicationAdaptive {latencyBoundMs=20, factor=1, latencyP99Ms=unknown}")
        self.assertEqual(self.shell("throttles", "-http", "10.0.0.1:8080", "-b", BOOKIE), 255)
        self.assertIn("exclude each other", self.complaints[0])

    def test_no_server(self) -> None:
        """A bookie that is not there, or has no HTTP server, is said to."""
        self.assertEqual(self.shell("throttles", "-b", BOOKIES[0]), 255)
        self.assertIn("has no HTTP server", self.complaints[0])
        self.assertEqual(self.shell("throttles", "-b", "127.0.0.1:1"), 255)
        self.assertIn("bookie 127.0.0.1:1 is not there", self.complaints[0])

    def test_encrypted(self) -> None:
        """A server with TLS is asked so: where its bookie has registered it, or at an address."""
        endpoints = (Endpoint("bookie", "10.0.0.9", 3181, "bookie-rpc"), Endpoint("h", "10.0.0.9", 8285, "https"))
        self.do(self.cluster.registration.register_bookie("10.0.0.9:3181", False, BookieServiceInfo(endpoints)))
        self.assertEqual(self.shell("throttles", "-b", "10.0.0.9:3181"), 0, self.complaints)
        self.assertEqual(self.shell("throttles", "-http", "https://10.0.0.9:8285/"), 0, self.complaints)
        url = "https://10.0.0.9:8285/api/v1/bookie/throttles"
        self.assertEqual([asked for _, asked, _ in self.requests], [url, url])

    def test_no_right(self) -> None:
        """A refusal for want of a token or a right is its reason."""
        found = str(json_answer({"reason": "a token or a certificate is needed"}, 401).body).encode()
        self._http = lambda method, url, body, config: succeed((401, found))  # type: ignore[method-assign]
        self.assertEqual(self.shell("throttles"), 255)
        self.assertEqual(self.complaints, ["throttles: a token or a certificate is needed"])

    def test_loopback(self) -> None:
        """A server that its own machine alone can reach is asked by the local bookie's shell, by no other.

        The address would be another bookie's elsewhere, whose limits would be changed.
        """
        http = Endpoint("httpserver", "127.0.0.1", 8285, "http")
        endpoints = (Endpoint("bookie", "10.0.0.9", 3181, "bookie-rpc"), http)
        self.do(self.cluster.registration.register_bookie("10.0.0.9:3181", False, BookieServiceInfo(endpoints)))
        self.assertEqual(self.shell("throttles", "-b", "10.0.0.9:3181"), 255)
        self.assertIn("serves HTTP on its own machine alone: httpServerHost opens it", self.complaints[0])
        self.assertEqual(self.requests, [])
        self.environ["BK_bookieId"] = "10.0.0.9:3181"
        self.assertEqual(self.shell("throttles"), 0, self.complaints)
        self.assertEqual(self.requests[0][1], "http://127.0.0.1:8285/api/v1/bookie/throttles")

    def test_other_server(self) -> None:
        """An answer of something else, and none at all, are failures."""
        found: list[Deferred[Any]] = []
        self._http = lambda method, url, body, config: found.pop()  # type: ignore[method-assign]
        for answer in (b"[1]", b"<html>", json.dumps({"adaptive": {}}).encode(), b'{"adaptive": 1, "limiters": {}}'):
            found.append(succeed((200, answer)))
            self.assertEqual(self.shell("throttles"), 255)
            self.assertEqual(self.complaints, ["throttles: 127.0.0.1:8285 does not answer as a bookie does"])
        found.append(fail(OSError("refused")))
        self.assertEqual(self.shell("throttles"), 255)
        self.assertEqual(self.complaints, ["throttles: refused"])

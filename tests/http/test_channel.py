"""Connections of the HTTP server: bounds of bodies, turns, back-pressure, evictions, names, the end."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.resource import Resource

from bookkeeper_twisted.http.api import Answer, ApiPage, ApiRequest
from bookkeeper_twisted.http.channel import MAX_BODY, MAX_CONNECTIONS, REQUEST_TIME, BoundedSite
from bookkeeper_twisted.http.hosts import HostNames

_GET = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n"


class _Root(Resource):
    isLeaf = True

    def __init__(self, page: ApiPage) -> None:
        super().__init__()
        self.render = page.render  # type: ignore[method-assign]


class ChannelCase(SynchronousTestCase):
    """A site on a clock whose turns a test makes one by one."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.asked: list[ApiRequest] = []
        self.slow: list[Deferred[None]] = []
        self.answer = "yes"
        self.took = 0.0
        self.closed: list[bool] = []
        page = ApiPage(self._get, self._get)
        closing = [lambda: self.closed.append(True)]
        self.site = BoundedSite(_Root(page), self.clock, HostNames(["Good.Example"]), closing)

    async def _get(self, request: ApiRequest) -> Answer:
        self.asked.append(request)
        self.clock.rightNow += self.took
        if request.flag("slow"):
            self.slow.append(Deferred())
            await self.slow[-1]
        return Answer(self.answer)

    def peer(self, sent: bytes = b"") -> tuple[Any, StringTransport]:
        """A connection, with bytes that it has sent."""
        channel, transport = self.site.buildProtocol(None), StringTransport()
        channel.makeConnection(transport)
        if sent:
            channel.dataReceived(sent)
        return channel, transport

    def turn(self) -> None:
        """One call of the clock."""
        (call,) = [call for call in self.clock.calls if "_serve_one" in repr(call.func)]
        self.clock.calls.remove(call)
        self.clock.rightNow = max(self.clock.rightNow, call.getTime())
        call.func()

    def status(self, sent: bytes) -> int:
        """The status of the answer to the bytes of a new connection."""
        _, transport = self.peer(sent)
        self.clock.advance(0)
        self.received = transport.value()
        return int(self.received.split()[1]) if self.received else 0


class BodyTests(ChannelCase):
    """What a peer sends."""

    def test_declared(self) -> None:
        """A body is refused by its length before a byte of it is there; what follows is read and thrown away."""
        head = b"PUT / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
        channel, transport = self.peer(head % (MAX_BODY + 1))
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 413 Content Too Large\r\n"))
        self.assertNotIn(b"100 Continue", transport.value())
        for _ in range(100):
            channel.dataReceived(bytes(1 << 16))
        self.assertEqual(self.asked, [])
        self.clock.advance(3)
        self.assertTrue(transport.disconnected)
        self.assertEqual(self.status(head % MAX_BODY + bytes(MAX_BODY)), 100)
        self.assertEqual(len(self.asked[0].body), MAX_BODY)

    def test_chunked(self) -> None:
        """A body without a length is refused as soon as it is too long."""
        head = b"PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"4000\r\n" + bytes(0x4000) + b"\r\n"
        self.assertEqual(self.status(head + 4 * chunk + b"0\r\n\r\n"), 200)
        self.assertEqual(len(self.asked[0].body), MAX_BODY)
        self.assertEqual(self.status(head + 5 * chunk + b"0\r\n\r\n"), 413)
        self.assertEqual(self.status(head + 4 * chunk), 0)
        self.assertEqual(len(self.asked), 1)

    def test_forms(self) -> None:
        """No form is parsed: its parts are no parameters, and it is not kept twice."""
        form = b"--b\r\nContent-Disposition: form-data; name=f\r\n\r\ntrue\r\n--b--\r\n"
        for kind in (b"multipart/form-data; boundary=b", b"application/x-www-form-urlencoded"):
            head = b"POST /?a=%%ff&b= HTTP/1.0\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(form))
            self.assertEqual(self.status(head + form), 404)
            self.assertEqual(self.status(head.replace(b"POST", b"PUT") + form), 200)
            self.assertEqual((set(self.asked[-1].parameters), self.asked[-1].body), ({"a", "b"}, form))

    def test_bad(self) -> None:
        """What is no request is answered, too: lengths of 5,000 digits, lines and heads that are too long."""
        for status, sent in (
            (400, b"PUT / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"), (400, b"\r\n\r\nx\r\n\r\n"),
            (431, b"GET /" + b"x" * 20_000), (400, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 600),
            (431, b"GET / HTTP/1.1\r\na: " + b"x" * 70_000 + b"\r\n\r\n"),
            (400, b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            (400, b"GET / HTTP/1.1\r\n\r\n"), (400, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
        ):  # fmt: skip
            with self.subTest(sent[:40]):
                self.assertEqual(self.status(sent), status)
                self.assertGreater(len(self.received.partition(b"\r\n\r\n")[2]), 20)
        self.assertEqual(self.asked, [])


    def test_pieces(self) -> None:
        """Of many bytes some are parsed in a turn: chunks of one byte are work for a parser."""
        head = b"PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        channel, transport = self.peer(head + b"1\r\nx\r\n" * 8000)
        channel.dataReceived(b"0\r\n\r\n" + _GET % 1)
        self.assertEqual(transport.producerState, "paused")
        for n in range(1, 13):
            self.turn()
            self.assertEqual(len(self.asked), n // 12)
        self.assertEqual(transport.producerState, "producing")
        self.turn()
        self.assertEqual([len(asked.body) for asked in self.asked], [8000, 0])


class TurnTests(ChannelCase):
    """When a request is answered."""

    def test_one_a_turn(self) -> None:
        """One request is answered in a turn, pipelined or not, in the order of arrival; none is lost."""
        peers = [self.peer(b"".join(_GET % i for i in range(k, k + 3))) for k in (0, 10)]
        body = b"PUT /5 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + _GET % 6
        for piece in (body[:40], body[40:-5], body[-5:]):
            peers[0][0].dataReceived(piece)
        self.assertEqual(self.asked, [])
        for n in range(1, 9):
            self.turn()
            self.assertEqual(len(self.asked), n)
        self.assertEqual([transport.value().count(b"200 OK") for _, transport in peers], [5, 3])
        self.assertEqual(self.asked[-2].body, b"abc")
        channel, transport = self.peer(body[:-5])
        channel.dataReceived(body[-5:])
        self.turn()
        self.turn()
        self.assertEqual(transport.value().count(b"200 OK"), 2)

    def test_share(self) -> None:
        """Answers take a quarter of the time at most."""
        self.took = 0.1
        self.peer(_GET % 1 * 3)
        for n in range(3):
            self.turn()
            self.assertAlmostEqual(self.clock.seconds(), 0.1 + 0.4 * n)

    def test_held(self) -> None:
        """A peer that goes on sending is not read; what is held of it does not grow with each answer."""
        channel, transport = self.peer(_GET % 1 * 400)
        read = 0
        for _ in range(300):
            if transport.producerState == "producing":
                channel.dataReceived(_GET % 1 * 1600)
                read += 1
            self.turn()
        self.assertLess(read, 5)
        self.assertEqual(len(self.asked), 300)

    def test_unread(self) -> None:
        """The next request waits until the answer before it is sent; a peer that does not read is cut off."""
        channel, transport = self.peer(_GET % 1 * 3)
        write = transport.write

        def fill(data: bytes) -> None:
            write(data)
            channel.pauseProducing()

        transport.write = fill  # type: ignore[method-assign]
        for n in (1, 2):
            self.clock.advance(1)
            self.clock.advance(1)
            self.assertEqual(len(self.asked), n)
            channel.resumeProducing()
        self.clock.advance(1)
        self.clock.advance(REQUEST_TIME)
        self.assertEqual((len(self.asked), transport.disconnected), (3, True))

    def test_last_unread(self) -> None:
        """A peer that asked for the end of its connection and does not read the last answer is cut off, too."""
        _, transport = self.peer(b"GET / HTTP/1.0\r\n\r\n")
        transport.loseConnection = lambda: None  # type: ignore[method-assign]
        self.clock.advance(0)
        self.clock.advance(REQUEST_TIME)
        self.assertTrue(transport.disconnected)

    def test_slow_request(self) -> None:
        """A request that comes byte by byte has a time; an idle connection has it, too, and closes by itself."""
        for sent in (b"GET / HTTP/1.1\r\n", b""):
            channel, transport = self.peer(sent)
            for _ in range(61):
                if sent:
                    channel.dataReceived(b"a")
                self.clock.advance(1)
            self.assertTrue(transport.disconnecting)


class HalfCloseTests(ChannelCase):
    """A client that ends its sending side, and still reads."""

    def half_closed(self, sent: bytes) -> tuple[Any, StringTransport]:
        """A connection that has sent bytes, and sends no more."""
        channel, transport = self.peer(sent)
        IHalfCloseableProtocol(channel).readConnectionLost()
        return channel, transport

    def test_answered(self) -> None:
        """All requests that have arrived are answered, also in later turns; then the connection is closed."""
        slow = _GET.replace(b"%d", b"?slow=true")
        _, transport = self.half_closed(slow + _GET % 1 + slow + b"GET /cut")
        for _ in range(2):
            self.clock.advance(1)
            self.clock.advance(1)
            self.assertFalse(transport.disconnecting)
            self.slow[-1].callback(None)
        self.clock.advance(0)
        self.assertEqual(transport.value().count(b"200 OK"), 3)
        self.assertTrue(transport.disconnecting)

    def test_later(self) -> None:
        """It is the same if the sending side ends while the request is being answered, or has many chunks to parse."""
        channel, transport = self.peer(_GET.replace(b"%d", b"?slow=true"))
        self.clock.advance(0)
        channel.readConnectionLost()
        self.slow[-1].callback(None)
        self.assertIn(b"200 OK", transport.value())
        self.assertTrue(transport.disconnecting)
        head = b"PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        _, transport = self.half_closed(head + b"1\r\nx\r\n" * 2000 + b"0\r\n\r\n")
        for _ in range(10):
            self.clock.advance(1)
        self.assertEqual(len(self.asked[-1].body), 2000)
        self.assertTrue(transport.disconnecting)

    def test_nothing(self) -> None:
        """Without a complete request, the connection is closed at once, also one whose request was refused."""
        for sent in (b"", b"GET / HT", b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100, b"x\r\n\r\n"):
            _, transport = self.half_closed(sent)
            self.clock.advance(0)
            self.assertTrue(transport.disconnecting, sent)

    def test_unanswered(self) -> None:
        """An answer that does not come has a time: the client may be gone, and then its request is cancelled."""
        for half_close_first in (True, False):
            channel, transport = self.peer(_GET.replace(b"%d", b"?slow=true"))
            for step in ("close", "turn") if half_close_first else ("turn", "close"):
                if step == "close":
                    channel.readConnectionLost()
                else:
                    self.clock.advance(0)
            self.clock.advance(REQUEST_TIME - 1)
            self.assertFalse(transport.disconnecting)
            self.clock.advance(1)
            self.assertTrue(transport.disconnecting)
            self.assertFalse(self.slow[-1].called)
            channel.connectionLost()
            self.assertTrue(self.slow[-1].called)

    def test_gone(self) -> None:
        """A connection that is lost cancels its request at once, half-closed before or not."""
        for half_close in (True, False):
            channel, _ = self.peer(_GET.replace(b"%d", b"?slow=true"))
            self.clock.advance(0)
            if half_close:
                channel.readConnectionLost()
            channel.connectionLost()
            self.assertTrue(self.slow[-1].called)
            self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stream(self) -> None:
        """A stream, which has no end of its own, ends at once: a browser that is gone keeps no place."""
        channel, transport = self.peer(_GET.replace(b"%d", b"?slow=true"))
        self.clock.advance(0)
        channel.requests[0].registerProducer(StringTransport(), True)
        channel.readConnectionLost()
        self.assertTrue(transport.disconnecting)
        channel.connectionLost()

    def test_unread(self) -> None:
        """An answer that a half-closed client does not read is given up after its time."""
        channel, transport = self.half_closed(_GET % 1)
        write = transport.write

        def fill(data: bytes) -> None:
            write(data)
            channel.pauseProducing()

        transport.write = fill  # type: ignore[method-assign]
        self.clock.advance(0)
        self.assertFalse(transport.disconnecting)
        self.clock.advance(REQUEST_TIME)
        self.assertTrue(transport.disconnected)


class ConnectionTests(ChannelCase):
    """How many there are, and under which names."""

    def test_eviction(self) -> None:
        """Beyond the limit the connection that is idle for longest goes; those that are being answered stay."""
        busy = [self.peer(_GET.replace(b"%d", b"?slow=true")) for _ in range(MAX_CONNECTIONS - 2)]
        self.clock.advance(0)
        first, second = self.peer(_GET % 1), self.peer()
        self.clock.advance(0)
        third = self.peer()
        self.assertEqual([second[1].disconnected, first[1].disconnected], [True, False])
        fourth = self.peer()
        self.assertEqual([third[1].disconnected, first[1].disconnected], [False, True])
        for channel, _ in (third, fourth):
            channel.dataReceived(_GET.replace(b"%d", b"?slow=true"))
        self.assertIsNone(self.site.buildProtocol(None))
        self.assertEqual(len(self.site.channels), MAX_CONNECTIONS)
        self.assertFalse(any(transport.disconnected for _, transport in busy))
        busy[0][0].connectionLost()
        self.assertIsNotNone(self.site.buildProtocol(None))

    def test_hosts(self) -> None:
        """Names that others can point at this machine are refused, with the key that allows them."""
        for host in (
            "localhost", "a.localhost:80", "127.0.0.1", "[::1]:8080", "10.1.2.3:8080", "good.example.", "GOOD.example"
        ):  # fmt: skip
            self.assertEqual(self.status(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()), 200, host)
        for host in (
            "evil.example", "good.example.evil.example", "localhost.evil", "1.2.3.4.evil", "a@localhost", "", "\xff"
        ):  # fmt: skip
            self.assertEqual(self.status(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1")), 421, host)
        _, transport = self.peer(b"GET / HTTP/1.1\r\nHost: evil\r\n\r\n")
        self.clock.advance(0)
        self.assertIn(b"httpServerAllowedHosts", transport.value())
        self.assertEqual(self.status(b"GET / HTTP/1.0\r\n\r\n"), 200)
        self.assertTrue(HostNames(["*"]).allow(b"evil"))

    def sent_by(self, path: str, *headers: str, method: str = "GET") -> int:
        """The status of the answer to a request of a browser to ``localhost:8080``."""
        head = [f"{method} {path} HTTP/1.1", "Host: localhost:8080", "Content-Length: 0", *headers]
        return self.status(("\r\n".join(head) + "\r\n\r\n").encode())

    def test_other_sites(self) -> None:
        """What a page of another site sends is refused, also a simple GET; its own pages and tools are answered."""
        for site in ("same-origin", "none"):
            self.assertEqual(self.sent_by("/api/v1/x", f"Sec-Fetch-Site: {site}"), 200)
        for site in ("cross-site", "same-site", "news", "a" * 999):
            self.assertEqual(self.sent_by("/api/v1/x", f"Sec-Fetch-Site: {site}"), 403)
        self.assertIn(b"a page of another site sent this request (Sec-Fetch-Site: aaa", self.received)
        self.assertEqual(self.sent_by("/api/v1/x"), 200)

    def test_links_of_other_sites(self) -> None:
        """Another site may link to the console, but neither show it in a frame nor link to other paths."""
        link = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
        for path in ("/console", "/console/", "/console?x"):
            self.assertEqual(self.sent_by(path, *link), 200, path)
        self.assertEqual(self.sent_by("/metrics", *link), 403)
        self.assertEqual(self.sent_by("/console", *link, method="PUT"), 403)
        self.assertEqual(self.sent_by("/console", *link[:2], "Sec-Fetch-Dest: iframe"), 403)
        self.assertEqual(self.sent_by("/console", link[0], "Sec-Fetch-Mode: no-cors", link[2]), 403)

    def test_origins(self) -> None:
        """A page's origin has to be this server, or an allowed name, by which a proxy may serve it."""
        for origin in ("http://localhost:8080", "https://localhost:8080", "https://good.example", "http://good.example:1"):
            self.assertEqual(self.sent_by("/", f"Origin: {origin}", method="PUT"), 200, origin)
        for origin in ("null", "http://localhost", "http://localhost:8081", "http://evil", "localhost:8080", "file://"):
            self.assertEqual(self.sent_by("/", f"Origin: {origin}", method="PUT"), 403, origin)
        self.site.hosts = HostNames(["*"])
        self.assertEqual(self.sent_by("/", "Origin: http://evil", method="PUT"), 200)
        self.assertEqual(self.sent_by("/", "Sec-Fetch-Site: cross-site"), 403)

    def test_default_ports(self) -> None:
        """The port that a scheme has without saying so is the same port."""
        for host, origin in (("h.localhost", "http://h.localhost:80"), ("[::1]:443", "https://[::1]")):
            sent = f"PUT / HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: 0\r\n\r\n"
            self.assertEqual(self.status(sent.encode()), 200, origin)

    def test_stop(self) -> None:
        """The end of the server closes what is idle or waits, and what is being answered behind its answer."""
        self.site.doStart()
        slow, idle = self.peer(_GET.replace(b"%d", b"?slow=true") + _GET % 2), self.peer()
        self.clock.advance(0)
        waiting = self.peer(_GET % 1)
        self.site.doStop()
        self.clock.advance(0)
        self.assertEqual([t.disconnected for _, t in (slow, idle, waiting)], [False, True, True])
        self.slow[0].callback(None)
        self.clock.advance(0)
        self.assertIn(b"200 OK", slow[1].value())
        self.assertTrue(slow[1].disconnecting)
        self.assertEqual((len(self.asked), self.closed), (1, [True]))

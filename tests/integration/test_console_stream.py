"""The stream of the console over a real socket."""

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.interfaces import IReactorTCP
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.http.console import feed
from bookkeeper_twisted.http.console.feed import ConsoleFeed
from bookkeeper_twisted.http.console.stream import StreamPage
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

HEAD = b"GET /api/v1/console/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"


class _Listener(Protocol):
    """Asks for the stream, and waits for texts in it and for its end."""

    def __init__(self) -> None:
        self.data = b""
        self.ended: Deferred[None] = Deferred()
        self._wanted: tuple[bytes, Deferred[None]] | None = None

    def connectionMade(self) -> None:
        self.transport.write(HEAD)  # type: ignore[union-attr]

    def until(self, text: bytes) -> "Deferred[None]":
        """Fire when the text has come."""
        seen: Deferred[None] = Deferred()
        self._wanted = text, seen
        self.dataReceived(b"")
        return seen

    def dataReceived(self, data: bytes) -> None:
        self.data += data
        if self._wanted is not None and self._wanted[0] in self.data:
            (_, seen), self._wanted = self._wanted, None
            seen.callback(None)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.ended.callback(None)


class ConsoleStreamTests(TestCase):
    """A site on the loopback interface."""

    def setUp(self) -> None:
        tcp: Any = IReactorTCP(reactor)
        self.site = make_site(FakeBookieAdmin(), reactor)
        self.port = tcp.listenTCP(0, self.site, interface="127.0.0.1")
        self.is_open = True
        self.addCleanup(self.stop)
        pages: Any = self.site.resource
        (self.feed,) = [page._feed for page in pages._pages.values() if isinstance(page, StreamPage)]
        assert isinstance(self.feed, ConsoleFeed)

    async def stop(self) -> None:
        """Stop the server, once."""
        if self.is_open:
            self.is_open = False
            await self.port.stopListening()

    async def listener(self) -> _Listener:
        """A client that has got the snapshot."""
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", self.port.getHost().port)
        found: _Listener = await connectProtocol(endpoint, _Listener())
        await found.until(b"event: snapshot\n")
        return found

    async def test_gone(self) -> None:
        """When the only viewer closes its connection, the feed has none, and nothing is sampled any more."""
        found, left, leave = await self.listener(), Deferred[None](), self.feed.leave

        def leaving(viewer: Any) -> None:
            leave(viewer)
            if not left.called:
                left.callback(None)

        self.patch(self.feed, "leave", leaving)
        self.assertEqual(len(self.feed._viewers), 1)
        found.transport.loseConnection()  # type: ignore[union-attr]
        await left
        self.assertEqual((len(self.feed._viewers), self.feed._timer), (0, None))

    async def test_stop(self) -> None:
        """At the stop of the server the response ends with its last chunk, and the connection closes."""
        found = await self.listener()
        await self.stop()
        await found.ended
        self.assertTrue(found.data.endswith(b"0\r\n\r\n"))

    async def test_never_reads(self) -> None:
        """A client that reads nothing after the first bytes is disconnected when its buffers are full, and no other."""
        deaf, reader = await self.listener(), await self.listener()
        deaf.transport.pauseProducing()  # type: ignore[union-attr]
        left, leave = Deferred[Any](), self.feed.leave

        def leaving(viewer: Any) -> None:
            leave(viewer)
            if not left.called:
                left.callback(viewer)

        self.patch(self.feed, "leave", leaving)
        self.patch(feed, "PATIENCE", 0.5)
        (first, second) = self.feed._viewers
        filled = b"data: " + b"x" * 65536 + b"\n\n"
        for _ in range(1000):  # more than all buffers hold
            first.send(filled)
            await deferLater(reactor, 0, lambda: None)
            if first.unread >= 4 * len(filled):
                break
        self.assertGreaterEqual(first.unread, 4 * len(filled))
        self.assertIs(await left, first)
        self.assertEqual(list(self.feed._viewers), [second])
        for client in (deaf, reader):
            client.transport.abortConnection()  # type: ignore[union-attr]
            await client.ended

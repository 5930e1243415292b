"""The stream of the console over HTTP."""

import json

from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from bookkeeper_twisted.http.console.feed import LEAST_TURN, MAX_VIEWERS, PATIENCE
from bookkeeper_twisted.http.console.stream import MOST_SECONDS
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.instruments import Ring
from bookkeeper_twisted.metrics import JournalGroup
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ..http_case import HttpCase

PATH = "/api/v1/console/stream"


class _Peer:
    """A client with a connection of its own."""

    def __init__(self, case: "StreamCase", more: str = "") -> None:
        self.case = case
        self.channel, self.transport = case.site.buildProtocol(None), StringTransport()
        self.channel.makeConnection(self.transport)
        head = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{more}\r\n"
        self.channel.dataReceived(head.encode())
        case.clock.advance(0)

    def text(self) -> str:
        """What has come since the last call."""
        text = str(self.transport.value(), "utf-8")
        self.transport.clear()
        return text

    def go(self) -> None:
        """Disconnect."""
        self.channel.connectionLost(Failure(ConnectionDone()))


class StreamCase(HttpCase):
    """The site of a fake bookie."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.admin = FakeBookieAdmin()
        self.site = make_site(self.admin, self.clock)
        self.site.doStart()

    def add(self) -> None:
        """A journal group is written, and sent."""
        self.admin.groups[0].append(JournalGroup(1.0, 1, 1, 0.0, 0.0, 0.0))
        self.clock.pump([1.0, 1.0])


class StreamTests(StreamCase):
    """From the request to the end of the connection."""

    def test_events(self) -> None:
        """The response begins at once with a snapshot; changes follow; nothing may store it."""
        peer = _Peer(self)
        text = peer.text()
        self.assertTrue(text.startswith("HTTP/1.1 200 OK\r\n"))
        self.assertIn("Content-Type: text/event-stream; charset=utf-8\r\n", text)
        self.assertIn("Cache-Control: no-store\r\n", text)
        self.assertIn("event: snapshot\n", text)
        self.add()
        self.assertIn('event: change\ndata: {"journals":[{"last":1,', peer.text())
        peer.go()
        self.assertNotIn("ConsoleFeed", str(self.clock.getDelayedCalls()))

    def test_snapshot(self) -> None:
        """A client that wants no stream gets all parts one time, and the connection stays usable."""
        found = json.loads(self.ask(PATH).body)
        self.assertLessEqual({"bookie", "latency", "throttles", "work", "journals", "slow"}, set(found))
        self.assertEqual(self.ask(PATH, "HEAD").status, 200)
        self.assertEqual(self.ask(PATH, "PUT").status, 405)

    def test_last_event(self) -> None:
        """The header names the last event that the viewer has."""
        first = _Peer(self)
        number = first.text().partition("id: ")[2].partition("\n")[0]
        second = _Peer(self, f"Last-Event-ID: {number}\r\n")
        self.assertNotIn("snapshot", second.text())
        self.add()
        self.assertIn("event: change", second.text())

    def test_too_many(self) -> None:
        """One viewer too many is refused, until another has gone."""
        peers = [_Peer(self) for _ in range(MAX_VIEWERS)]
        refused = _Peer(self)
        self.assertIn("503", refused.text().splitlines()[0])
        peers[0].go()
        self.assertIn("200", _Peer(self).text().splitlines()[0])

    def test_deaf(self) -> None:
        """Viewers that have stopped reading on a quiet cluster keep no other out: the oldest response ends."""
        peers = [_Peer(self) for _ in range(MAX_VIEWERS)]
        self.clock.pump([1.0] * int(LEAST_TURN))
        for peer in peers:
            peer.text()
        self.assertIn("200", _Peer(self).text().splitlines()[0])
        self.assertEqual([peer.text().endswith("0\r\n\r\n") for peer in peers], [True, *[False] * (MAX_VIEWERS - 1)])

    def test_full_connection(self) -> None:
        """A viewer whose connection is full gets nothing more, and a snapshot when there is room again."""
        peer = _Peer(self)
        peer.channel.pauseProducing()
        peer.text()
        self.add()
        self.add()
        self.assertEqual(peer.text(), "")
        peer.channel.resumeProducing()
        text = peer.text()
        self.assertIn("event: snapshot", text)
        self.assertIn('"last":2', text)
        peer.channel.pauseProducing()
        peer.channel.resumeProducing()
        self.assertEqual(peer.text(), "")

    def test_never_reads(self) -> None:
        """A viewer that never reads is disconnected."""
        peer, other = _Peer(self), _Peer(self)
        peer.channel.pauseProducing()
        self.clock.pump([1.0] * (int(PATIENCE) + 1))
        self.assertTrue(peer.transport.disconnected or peer.transport.disconnecting)
        self.assertFalse(other.transport.disconnected or other.transport.disconnecting)

    def test_pieces(self) -> None:
        """What of an event has no room waits for it, and what comes meanwhile is left out until then."""
        peer = _Peer(self)
        peer.text()
        pieces, write = list[int](), peer.transport.writeSequence

        def full(data: list[bytes]) -> None:
            pieces.append(sum(map(len, data)))
            write(data)
            peer.channel.pauseProducing()

        self.admin.groups = (Ring(2000),)
        for _ in range(2000):
            self.admin.groups[0].append(JournalGroup(1.0, 1, 1, 0.0, 0.0, 0.0))
        self.patch(peer.transport, "writeSequence", full)
        self.clock.pump([1.0, 1.0])
        self.assertEqual(len(pieces), 1)
        self.patch(peer.transport, "writeSequence", write)
        self.add()
        self.assertEqual(len(peer.text()), pieces[0])
        peer.channel.resumeProducing()
        rest = peer.text()
        self.assertNotIn("event: change", rest)
        change, _, snapshot = rest.partition("event: snapshot")
        self.assertIn("}\n\n", change)
        self.assertIn('"last":2001', snapshot)

    def test_reads_a_little(self) -> None:
        """A viewer whose connection has room again now and then is not idle, and neither is one that has read all."""
        peer = _Peer(self)
        for _ in range(3):
            peer.channel.pauseProducing()
            self.clock.pump([1.0] * int(PATIENCE - 1))
            peer.channel.resumeProducing()
        self.clock.pump([1.0] * 60)
        self.assertFalse(peer.transport.disconnected or peer.transport.disconnecting)

    def test_longest(self) -> None:
        """A stream ends in time, so that its viewer has to show a token again; one that is left has no timer."""
        peer, other = _Peer(self), _Peer(self)
        other.go()
        self.assertEqual(str(self.clock.getDelayedCalls()).count("EventStream._end_in_time"), 1)
        self.clock.pump([1.0] * int(MOST_SECONDS - 1))
        self.assertFalse(peer.text().endswith("0\r\n\r\n"))
        self.clock.advance(1.0)
        self.assertTrue(peer.text().endswith("0\r\n\r\n"))
        peer.go()

    def test_alone(self) -> None:
        """The only viewer, whose stream has ended in time, goes on behind its last event, without a snapshot."""
        peer = _Peer(self)
        self.clock.pump([1.0] * int(MOST_SECONDS))
        text = peer.text()
        self.assertTrue(text.endswith("0\r\n\r\n"))
        number = text.rpartition("id: ")[2].partition("\n")[0]
        self.clock.pump([1.0])
        back = _Peer(self, f"Last-Event-ID: {number}\r\n")
        self.assertNotIn("snapshot", back.text())
        self.add()
        self.assertIn("event: change", back.text())
        back.go()
        self.assertNotIn("ConsoleFeed", str(self.clock.getDelayedCalls()))

    def test_stop(self) -> None:
        """At the stop of the server the response ends in an orderly way, and its connection closes."""
        peer = _Peer(self)
        peer.text()
        self.site.doStop()
        self.assertTrue(peer.text().endswith("0\r\n\r\n"))
        self.assertTrue(peer.transport.disconnecting or peer.transport.disconnected)
        peer.go()

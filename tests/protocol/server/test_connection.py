"""Connections as a bookie sees them."""

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from bookkeeper_twisted.codec.framing import MOST_ITEMS
from bookkeeper_twisted.codec.runs import ReadRun
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import ConnectionMetrics
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.interfaces import IGatheringTransport, IRequestSession, IServerConnection
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.protocol.server.factory import BookieServerFactory
from bookkeeper_twisted.protocol.server.limits import (
    MAX_LEAVING,
    SECONDS_IN_USE,
    SECONDS_STALLED,
    SECONDS_TO_CLOSE,
    ServerLimits,
)
from bookkeeper_twisted.protocol.server.outbox import Outbox


@implementer(IRequestSession)
class _Session:
    """Remembers what it was told."""

    def __init__(self, connection: IServerConnection) -> None:
        self.connection = connection
        self.busy = False
        self.items: list[Any] = []
        self.events: list[str] = []

    def received(self, items: Sequence[Any]) -> None:
        self.items.extend(items)

    def writable(self) -> None:
        self.events.append("writable")

    def lost(self) -> None:
        self.events.append("lost")


class _Transport(StringTransport):
    """Counts writes and remembers an abort."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        super().write(data)

    def abortConnection(self) -> None:
        self.aborted = True


@implementer(IGatheringTransport)
class _GatheringTransport(_Transport):
    """Remembers the pieces of a write."""

    def __init__(self) -> None:
        super().__init__()
        self.sequences: list[list[bytes | memoryview]] = []
        self.bytes_accepted = 0
        self.unread = 0

    def writeSequence(self, data: Iterable[bytes | memoryview]) -> None:
        self.sequences.append(list(data))


class ServerTestCase(SynchronousTestCase):
    """A factory whose sessions only listen."""

    limits = ServerLimits()
    authenticates = False

    def setUp(self) -> None:
        self.outbox = Outbox()
        self.clock = Clock()
        self.metrics = ConnectionMetrics(Instruments())
        self.sessions: list[_Session] = []
        self.factory = BookieServerFactory(self.outbox, self.open_session, self.clock, self.metrics, self.limits)

    def open_session(self, connection: IServerConnection) -> _Session:
        self.sessions.append(_Session(connection))
        connection.enter(ConnectionState.AUTHENTICATING if self.authenticates else ConnectionState.READY)
        return self.sessions[-1]

    def connect(self) -> tuple[ServerConnection, _Transport]:
        connection, transport = self.factory.buildProtocol(None), _Transport()
        assert connection is not None
        connection.makeConnection(transport)
        return connection, transport


class RequestTests(ServerTestCase):
    """What comes in."""

    def test_interfaces(self) -> None:
        """It is what session and transport expect."""
        connection, _ = self.connect()
        verifyObject(IServerConnection, connection)
        verifyObject(IPushProducer, connection)
        verifyObject(IRequestSession, self.sessions[0])

    def test_chunks(self) -> None:
        """Requests reach the session however they are cut."""
        connection, _ = self.connect()
        data = requests_out.encode_reads(1, range(5))
        for i in range(len(data)):
            connection.dataReceived(data[i : i + 1])
        entry_ids = [i for run in self.sessions[0].items for i in run.entry_ids]
        self.assertEqual(entry_ids, [0, 1, 2, 3, 4])

    def test_many_frames(self) -> None:
        """Of a chunk of very many frames a turn takes some, and the peer is not read until all were taken, in their
        order; a connection that goes has no turn any more."""
        frame = requests_out.encode_reads(1, [0])
        data = b"".join(frame[:4] + bytes([3 + number % 2]) + frame[5:] for number in range(3 * MOST_ITEMS))
        connection, transport = self.connect()
        session = self.sessions[0]
        connection.dataReceived(data + frame[:7])
        taken = [len(session.items)]
        while transport.producerState == "paused":
            [turn] = [call for call in self.clock.calls if call.getTime() == 0]
            self.clock.calls.remove(turn)
            turn.called = 1
            turn.func()
            taken.append(len(session.items))
        self.assertEqual(taken, [MOST_ITEMS, 2 * MOST_ITEMS, 3 * MOST_ITEMS])
        self.assertEqual([item.header.version for item in session.items], [3, 4] * (3 * MOST_ITEMS // 2))
        connection.dataReceived(frame[7:] + data)
        connection.set_reading_paused(True)
        connection.set_reading_paused(False)
        connection.connectionLost(Failure(ConnectionDone()))
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_broken_peer(self) -> None:
        """A peer that breaks the protocol gets what it asked for before, and is closed; the rest is not read."""
        connection, transport = self.connect()
        session = self.sessions[0]
        good = requests_out.encode_reads(1, [0])
        session.received = lambda items: connection.reply(b"answer")  # type: ignore[method-assign]
        connection.dataReceived(good + b"\xff\xff\xff\xff")
        self.assertEqual((transport.value(), transport.disconnecting), (b"answer", True))
        connection.dataReceived(good)
        self.assertEqual(transport.value(), b"answer")
        self.assertEqual(self.metrics.broken.value, 1)

    def test_many_broken_peers(self) -> None:
        """S11: a peer that sends nonsense on many connections does not fill the log."""
        with capturedLogs() as events:
            for _ in range(100):
                self.connect()[0].dataReceived(b"\0\0\0\0")
        self.assertEqual(len(events), 1)
        self.assertEqual(self.metrics.broken.value, 100)

    def test_broken_peer_that_does_not_read(self) -> None:
        """It is dropped when its time is over."""
        connection, transport = self.connect()
        connection.dataReceived(b"\0\0\0\0")
        self.assertFalse(transport.aborted)
        self.clock.advance(SECONDS_TO_CLOSE)
        self.assertTrue(transport.aborted)

    def test_broken_peer_that_goes(self) -> None:
        """No timer is left behind it."""
        connection, _ = self.connect()
        connection.dataReceived(b"\0\0\0\0")
        connection.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_others_unharmed(self) -> None:
        """What one peer breaks does not concern another."""
        broken, _ = self.connect()
        other, transport = self.connect()
        broken.dataReceived(b"\0\0\0\0")
        other.dataReceived(requests_out.encode_reads(1, [0]))
        self.assertIsInstance(self.sessions[1].items[0], ReadRun)
        self.assertFalse(transport.disconnecting)


class ReplyTests(ServerTestCase):
    """What goes out."""

    limits = ServerLimits(unsent_bytes=10)

    def test_one_write_a_flush(self) -> None:
        """All replies since the last flush are one write, and are counted."""
        connection, transport = self.connect()
        connection.reply(b"ab", 2)
        connection.reply_pieces([b"c", b"d"])
        self.assertEqual(transport.writes, [])
        self.outbox.flush()
        self.outbox.flush()
        self.assertEqual(transport.writes, [b"abcd"])
        replies = self.metrics.replies_per_write
        self.assertEqual((replies.sum, replies.count), (3, 1))

    def test_one_gathering_write_a_flush(self) -> None:
        """A transport that gathers gets the pieces as they are; one that does not, their bytes."""
        connection, plain = self.connect()
        gathering, transport = self.factory.buildProtocol(None), _GatheringTransport()
        assert gathering is not None
        gathering.makeConnection(transport)
        for peer in (connection, gathering):
            peer.reply(b"a")
            peer.reply_pieces([b"b", memoryview(b"c")])
        self.outbox.flush()
        self.assertEqual((plain.writes, transport.writes), ([b"abc"], []))
        self.assertEqual(transport.sequences, [[b"a", b"b", memoryview(b"c")]])

    def test_room(self) -> None:
        """There is room until many bytes are queued or the transport is full."""
        connection, _ = self.connect()
        self.assertTrue(connection.has_room)
        connection.reply(b"x" * 10)
        self.assertFalse(connection.has_room)
        self.outbox.flush()
        self.assertTrue(connection.has_room)
        connection.pauseProducing()
        self.assertFalse(connection.has_room)
        connection.resumeProducing()
        self.assertTrue(connection.has_room)
        self.assertEqual(self.sessions[0].events, ["writable"])

    def test_held_session_goes_on_after_a_flush(self) -> None:
        """Requests that waited for room go on when a write has made some, even if the transport never was full."""
        connection, transport = self.connect()
        session = self.sessions[0]
        connection.set_reading_paused(True)
        connection.reply(b"x" * 10)

        def go_on() -> None:
            connection.set_reading_paused(False)
            connection.reply(b"more")

        session.writable = go_on  # type: ignore[method-assign]
        self.outbox.flush()
        self.assertEqual(transport.writes, [b"x" * 10, b"more"])

    def test_hold(self) -> None:
        """A held connection is not read."""
        connection, transport = self.connect()
        connection.set_reading_paused(True)
        self.assertEqual(transport.producerState, "paused")
        connection.set_reading_paused(False)
        self.assertEqual(transport.producerState, "producing")

    def test_big_reply(self) -> None:
        """A reply in pieces that fills the room is written at once, behind what was queued."""
        connection, transport = self.connect()
        connection.reply(b"first ")
        connection.reply_pieces([b"much ", b"more"])
        connection.reply(b" last")
        self.assertEqual(transport.writes, [b"first much more"])
        self.outbox.flush()
        self.assertEqual(transport.writes[1:], [b" last"])

    def test_pending_replies(self) -> None:
        """What full transports were given is counted until they are empty or gone; meanwhile replies are small."""
        limits = self.factory.limits
        pairs = [self.connect() for _ in range(2)]
        for connection, _ in pairs:
            self.assertEqual(connection.reply_limit, limits.max_frame_size)
            connection.pauseProducing()
            connection.reply(bytes(limits.pending_bytes // 2))
        self.outbox.flush()
        self.assertEqual(self.metrics.pending_bytes.value, limits.pending_bytes)
        self.assertEqual(self.connect()[0].reply_limit, limits.small_reply)
        pairs[0][0].resumeProducing()
        self.assertEqual(pairs[0][0].reply_limit, limits.max_frame_size)
        pairs[1][0].connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.metrics.pending_bytes.value, 0)

    def test_closed(self) -> None:
        """Replies to a peer that is gone are dropped."""
        connection, transport = self.connect()
        connection.reply(b"queued")
        connection.connectionLost(Failure(ConnectionDone()))
        connection.reply(b"late")
        connection.reply_pieces([b"late"])
        connection.set_reading_paused(True)
        self.outbox.flush()
        self.assertEqual((transport.writes, self.sessions[0].events), ([], ["lost"]))


class FactoryTests(ServerTestCase):
    """All connections together."""

    limits = ServerLimits(max_connections=2, frame_timeout=20.0)

    def _heard(self, pair: "tuple[ServerConnection, _Transport]") -> None:
        """A whole frame arrives."""
        pair[0].dataReceived(requests_out.encode_reads(1, [0]))

    def test_the_idlest_goes(self) -> None:
        """S11: where there are too many, one that never completed a frame goes for a newcomer, then the one that was
        idle longest; not one that was just heard, nor one with requests under way."""
        talks, herd = self.connect(), self.connect()
        self._heard(talks)
        self.clock.advance(SECONDS_IN_USE)
        third = self.connect()
        self.assertEqual([t.disconnecting for _, t in (talks, herd, third)], [False, True, False])
        self._heard(third)
        self.clock.advance(SECONDS_IN_USE)
        fourth = self.connect()
        self.assertEqual([t.disconnecting for _, t in (talks, third, fourth)], [True, False, False])
        self.assertFalse(any(t.aborted for _, t in (talks, herd)))
        self._heard(fourth)
        self.clock.advance(SECONDS_IN_USE)
        for session in self.sessions:
            session.busy = True
        self.assertTrue(self.connect()[1].aborted)
        self.assertEqual((self.metrics.evicted.value, self.metrics.refused.value), (2, 1))

    def _wait(self, seconds: int) -> None:
        self.clock.pump([1.0] * seconds)

    def test_room_is_made_by_an_orderly_close(self) -> None:
        """The peer of a connection that goes for a newcomer sees an end, not a reset; many at once are reset, as those
        that do not read their replies stay until their time is over."""
        pairs = []
        for _ in range(MAX_LEAVING + 3):
            pairs.append(self.connect())
            self.clock.advance(SECONDS_IN_USE / (MAX_LEAVING + 3))
            pairs[-1][0].heard_at -= SECONDS_IN_USE
        self.assertEqual([t.aborted for _, t in pairs], [False] * MAX_LEAVING + [True] + [False] * 2)
        self.assertEqual([t.disconnecting for _, t in pairs], [True] * MAX_LEAVING + [False] * 3)
        for connection, _ in pairs[:-2]:
            connection.connectionLost(Failure(ConnectionDone()))
        self.assertFalse(self.connect()[1].aborted)
        self.assertTrue(pairs[-2][1].disconnecting)

    def test_unread_replies_make_no_orderly_close(self) -> None:
        """A peer that goes for a newcomer, and does not read the replies that it has, is reset at once."""
        (connection, transport), _ = self.connect(), self.connect()
        connection.pauseProducing()
        self.clock.advance(SECONDS_STALLED)
        self.connect()
        self.assertEqual((transport.aborted, transport.disconnecting), (True, False))

    def test_silent_connections_stay(self) -> None:
        """A connection that was opened before it is needed may be silent for ever, and so may one between frames."""
        silent, idle = self.connect(), self.connect()
        self._heard(idle)
        self._wait(100)
        self.assertEqual([t.disconnecting or t.aborted for _, t in (silent, idle)], [False, False])

    def test_half_a_frame(self) -> None:
        """A connection that stops inside a frame is closed in time, which runs from the first byte of that frame."""
        first, second = self.connect(), self.connect()
        self._heard(second)
        self._wait(15)
        frame = requests_out.encode_reads(1, [0])
        first[0].dataReceived(frame[:1])
        second[0].dataReceived(frame + frame[:-1])
        self._wait(15)
        first[0].dataReceived(frame[1:2])
        second[0].dataReceived(frame[-1:] + frame[:1])
        self._wait(10)
        self.assertEqual([t.disconnecting for _, t in (first, second)], [True, False])
        self._wait(15)
        self.assertTrue(second[1].disconnecting)
        self.assertEqual(self.metrics.timed_out.value, 2)

    def test_authentication(self) -> None:
        """Where peers have to authenticate they have a limited time for it from the accept on, whatever they send; then
        they may be silent."""
        self.authenticates = True
        silent, done = self.connect(), self.connect()
        frame = requests_out.encode_reads(1, [0])
        self._wait(15)
        silent[0].dataReceived(frame + frame[:1])
        done[0].enter(ConnectionState.READY)
        self._wait(10)
        self.assertEqual([t.disconnecting for _, t in (silent, done)], [True, False])
        self._wait(100)
        self.assertFalse(done[1].disconnecting)

    def test_half_a_frame_behind_the_authentication(self) -> None:
        """The time of a frame that came with the last one of the authentication runs from its first byte."""
        self.authenticates = True
        connection, transport = self.connect()
        self._wait(15)
        connection.dataReceived(b"\0")
        connection.enter(ConnectionState.READY)
        self._wait(15)
        self.assertFalse(transport.disconnecting)
        self._wait(10)
        self.assertTrue(transport.disconnecting)

    def test_slow_frame_that_is_held(self) -> None:
        """The time in which the bookie does not read a connection is not the peer's."""
        connection, transport = self.connect()
        connection.dataReceived(b"\0")
        connection.set_reading_paused(True)
        self._wait(60)
        connection.set_reading_paused(False)
        self._wait(15)
        self.assertFalse(transport.disconnecting)
        self._wait(15)
        self.assertTrue(transport.disconnecting)

    def test_held_up(self) -> None:
        """A look that comes late, because the process was held up, drops nobody: what they sent is not read yet."""
        connection, transport = self.connect()
        connection.dataReceived(b"\0")
        self.clock.advance(100)
        self.assertFalse(transport.disconnecting)

    def test_no_timer(self) -> None:
        """There is no timer without connections."""
        connection, _ = self.connect()
        connection.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_limit(self) -> None:
        """S11: connections beyond the limit are dropped while all others are in use, until some have gone."""
        first, _ = self.connect()
        self.connect()
        refused, transport = self.connect()
        self.assertTrue(transport.aborted)
        refused.dataReceived(requests_out.encode_reads(1, [0]))
        refused.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(len(self.sessions), 2)
        first.connectionLost(Failure(ConnectionDone()))
        _, transport = self.connect()
        self.assertFalse(transport.aborted)
        metrics = self.metrics
        self.assertEqual((metrics.accepted.value, metrics.refused.value, metrics.active.value), (3, 1, 2))

    def test_end_all(self) -> None:
        """Connections are closed behind their replies; it fires when they are gone."""
        pairs = [self.connect(), self.connect()]
        pairs[0][0].reply(b"last words")
        self.factory.stop_accepting()
        pairs[0][0].set_reading_paused(False)
        self.assertEqual(pairs[0][1].producerState, "paused")
        ended = self.factory.end_all()
        self.assertEqual(pairs[0][1].value(), b"last words")
        for connection, transport in pairs:
            self.assertTrue(transport.disconnecting)
            self.assertNoResult(ended)
            connection.connectionLost(Failure(ConnectionDone()))
        self.successResultOf(ended)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_connection_while_stopping(self) -> None:
        """A port that is closed late hands over no connection any more (S1)."""
        self.factory.stop_accepting()
        self.assertIsNone(self.factory.buildProtocol(None))

    def test_ended(self) -> None:
        """What arrives at a connection that is being closed is not read."""
        connection, _ = self.connect()
        self.factory.end_all()
        connection.dataReceived(requests_out.encode_reads(1, [0]))
        self.assertEqual(self.sessions[0].items, [])

    def test_end_without_connections(self) -> None:
        """Without connections there is nothing to wait for."""
        self.successResultOf(self.factory.end_all())

    def test_abort_all(self) -> None:
        """An abort drops all of them."""
        _, transport = self.connect()
        self.factory.abort_all()
        self.assertTrue(transport.aborted)

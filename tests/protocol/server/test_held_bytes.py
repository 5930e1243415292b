"""Frames whose rest does not come hold no more than a limit of memory, over all connections (S11)."""

from twisted.internet.error import ConnectionDone
from twisted.logger import capturedLogs
from twisted.python.failure import Failure

from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.protocol.connection_state import ConnectionState
from bookkeeper_twisted.protocol.server.limits import ServerLimits

from .test_connection import ServerTestCase

_FRAME = (5000).to_bytes(4, "big")


class IncompleteFrameTests(ServerTestCase):
    """Connections that send parts of frames."""

    limits = ServerLimits(incomplete_bytes=10_000)

    def test_heaviest_goes(self) -> None:
        """Beyond the limit the connection goes that has held most bytes for longest; others keep what they sent."""
        small, long, late = [self.connect() for _ in range(3)]
        small[0].dataReceived(_FRAME)
        self.clock.advance(1)
        long[0].dataReceived(_FRAME + bytes(4000))
        self.clock.advance(1)
        late[0].dataReceived(_FRAME + bytes(4900))
        self.assertEqual(self.factory.incomplete.n_bytes, 4 + 4004 + 4904)
        small[0].dataReceived(bytes(1200))
        self.assertEqual([transport.aborted for _, transport in (small, long, late)], [False, True, False])
        self.assertEqual((self.factory.incomplete.n_bytes, self.metrics.shed.value), (1204 + 4904, 1))
        long[0].connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.factory.incomplete.n_bytes, 1204 + 4904)

    def test_untrusted_peers_first(self) -> None:
        """Peers that are not authenticated are dropped before others, however long these hold more bytes."""
        known, untrusted, late = [self.connect() for _ in range(3)]
        known[0].dataReceived(_FRAME + bytes(4900))
        self.clock.advance(10)
        untrusted[0].state = ConnectionState.AUTHENTICATING
        untrusted[0].dataReceived(_FRAME + bytes(3000))
        late[0].dataReceived(_FRAME + bytes(4900))
        self.assertEqual([transport.aborted for _, transport in (known, untrusted, late)], [False, True, False])

    def test_a_frame_a_time(self) -> None:
        """A connection that completes its frames is not taken for one that holds the first of them still."""
        entry = b"".join(n.to_bytes(8, "big", signed=True) for n in (1, 0, -1, 0)) + bytes(4940)
        frame = requests_out.encode_adds(b"k" * 20, EntryRun.of_entries(1, 0, [entry]), 0)
        self.assertEqual(len(frame), 5000)
        busy, half, third = [self.connect() for _ in range(3)]
        busy[0].dataReceived(frame[:4900])
        self.clock.advance(10)
        half[0].dataReceived(frame[:4000])
        busy[0].dataReceived(frame[4900:] + frame[:4900])
        self.clock.advance(1)
        busy[0].dataReceived(frame[4900:] + frame[:4900])
        third[0].dataReceived(frame[:2000])
        self.assertEqual([transport.aborted for _, transport in (busy, half, third)], [False, True, False])

    def test_whole_frames(self) -> None:
        """What is complete, and what has left, counts no more; the flood is one line of the log."""
        with capturedLogs() as events:
            for _ in range(100):
                connection, _ = self.connect()
                connection.dataReceived(_FRAME + bytes(4000))
        self.assertEqual(len([event for event in events if "dropping" in str(event["log_format"])]), 1)
        self.assertLessEqual(self.factory.incomplete.n_bytes, 10_000)
        self.assertEqual(self.metrics.shed.value, 98)
        for connection in list(self.factory.peers):
            connection.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.factory.incomplete.n_bytes, 0)

"""Peers that do not read their replies keep no connection from others (S11)."""

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.protocol.server.connected_peers import PeerDelay
from bookkeeper_twisted.protocol.server.connection import ServerConnection
from bookkeeper_twisted.protocol.server.limits import SECONDS_STALLED, ServerLimits

from .test_connection import ServerTestCase, _GatheringTransport

_READ_TIMEOUT = 60


class UnreadReplyTests(ServerTestCase):
    """Connections whose transports are full."""

    limits = ServerLimits(max_connections=2, read_timeout=_READ_TIMEOUT)

    def stalled(self) -> tuple[ServerConnection, _GatheringTransport]:
        """A connection with requests under way whose transport is full."""
        connection, transport = self.factory.buildProtocol(None), _GatheringTransport()
        assert connection is not None
        connection.makeConnection(transport)
        connection.dataReceived(requests_out.encode_reads(1, [0]))
        self.sessions[-1].busy = True
        connection.pauseProducing()
        return connection, transport

    def wait(self, seconds: int) -> None:
        self.clock.pump([1.0] * seconds)

    def test_goes_for_a_new_one(self) -> None:
        """Where there are too many connections, one whose peer has read nothing for a while goes for a new one."""
        self.stalled()
        _, transport = self.stalled()
        self.wait(int(SECONDS_STALLED) - 1)
        self.assertTrue(self.connect()[1].aborted)
        transport.bytes_accepted += 1  # the other one has read nothing
        self.wait(1)
        self.assertFalse(self.connect()[1].aborted)
        self.assertFalse(transport.aborted)
        self.assertEqual((self.metrics.evicted.value, self.metrics.refused.value), (1, 1))

    def test_pile_of_requests(self) -> None:
        """One that has requests under way, and replies in the kernel that its peer does not fetch, goes, too, even if
        more replies are written all the time; one whose peer fetches some, or whose replies are all fetched, does not.
        """
        pairs = [self.stalled() for _ in range(2)]
        for number, (connection, transport) in enumerate(pairs):
            connection.resumeProducing()
            transport.bytes_accepted, transport.unread = 10_000, 4_000 * number
        self.assertTrue(self.connect()[1].aborted)
        for _ in range(int(SECONDS_STALLED) - 1):
            self.wait(1)
            for number, (_, transport) in enumerate(pairs):
                transport.bytes_accepted += 100
                transport.unread += 100 * number
        self.assertTrue(self.connect()[1].aborted)
        self.wait(1)
        self.assertFalse(self.connect()[1].aborted)
        self.assertEqual([transport.aborted or transport.disconnecting for _, transport in pairs], [False, True])

    def test_slowest(self) -> None:
        """Of all peers, the one that has not read for the longest time is named; then the farthest, if it is known."""
        self.assertIsNone(self.factory.peers.slowest())
        far, _ = self.connect()
        self.assertEqual(self.factory.peers.slowest(), PeerDelay(far.peer, 0.0, None))
        self.patch(ServerConnection, "round_trip", property(lambda each: 0.2 if each is far else 0.1))
        self.assertEqual(self.factory.peers.slowest()[1:], (0.0, 0.2))  # type: ignore[index]
        _, transport = self.stalled()
        self.factory.peers.slowest()  # time counts from the first look on
        self.wait(5)
        self.assertEqual(self.factory.peers.slowest()[1:], (5.0, 0.1))  # type: ignore[index]
        transport.bytes_accepted += 1
        self.assertEqual(self.factory.peers.slowest()[1:], (0.0, 0.2))  # type: ignore[index]

    def test_reset(self) -> None:
        """A peer that reads nothing for long is dropped, and counted; one that reads a byte now and then is not."""
        (_, silent), (slow, slowly) = self.stalled(), self.stalled()
        for _ in range(4):
            self.wait(_READ_TIMEOUT // 2)
            slowly.bytes_accepted += 1
        self.assertEqual((silent.aborted, slowly.aborted), (True, False))
        self.assertEqual(self.metrics.timed_out.value, 1)
        slow.resumeProducing()
        self.wait(2 * _READ_TIMEOUT)
        self.assertFalse(slowly.aborted)

    def test_plain_transport(self) -> None:
        """A transport that does not count what was read shows it by having room again."""
        connection, transport = self.connect()
        connection.dataReceived(requests_out.encode_reads(1, [0]))
        for _ in range(3):
            connection.pauseProducing()
            self.wait(_READ_TIMEOUT - 20)
            connection.resumeProducing()
        self.assertFalse(transport.aborted)
        connection.pauseProducing()
        self.wait(_READ_TIMEOUT + 20)
        self.assertTrue(transport.aborted)

    def test_no_limit(self) -> None:
        """Without a limit, such a peer stays until there are too many connections."""
        self.limits = ServerLimits(max_connections=1, read_timeout=None)
        self.setUp()
        connection, transport = self.stalled()
        self.wait(10 * _READ_TIMEOUT)
        self.assertFalse(transport.aborted)
        self.connect()
        self.assertTrue(transport.aborted)
        connection.connectionLost(Failure(ConnectionDone()))

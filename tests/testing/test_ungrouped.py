"""Connections that write each reply by itself."""

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.interfaces import IServerConnection
from bookkeeper_twisted.testing.ungrouped import UngroupedConnection

from ..bookie.rig import Rig, add_replies, adds, batch, reads, run


class UngroupedTests(SynchronousTestCase):
    """A bookie with such connections."""

    def setUp(self) -> None:
        self.rig = Rig()

    def writes(self, request: bytes, reply: bytes | None = None) -> int:
        """How many writes a request leads to on a new connection; and checks their bytes."""
        peer = self.rig.connect()
        peer.send(request)
        self.rig.drain()
        replies = peer.replies()
        if reply is not None:
            self.assertEqual(replies, reply)
        return peer.transport.writes

    def test_writes_of_a_group(self) -> None:
        """A group of 100 adds on a connection is one write; without grouping the same bytes are 100."""
        requests = [adds(run(ledger_id, 0, 50)) for ledger_id in (1, 2)]
        expected = b"".join(add_replies(run(ledger_id, 0, 50), Status.EOK) for ledger_id in (1, 2))
        self.assertEqual(self.writes(b"".join(requests), expected), 1)
        self.rig.engine.factory.protocol = UngroupedConnection
        self.assertEqual(self.writes(b"".join(requests), expected), 100)
        replies = self.rig.engine.factory.metrics.replies_per_write
        self.assertEqual((replies.count, replies.sum), (101, 200))

    def test_reads(self) -> None:
        """So are reads, and a batch read is one reply."""
        self.rig.add(run(1, 0, 50))
        self.rig.drain()
        self.assertEqual(self.writes(reads(1, range(50)) + batch(1, 0, 50, 1 << 20)), 1)
        self.rig.engine.factory.protocol = UngroupedConnection
        self.assertEqual(self.writes(reads(1, range(50)) + batch(1, 0, 50, 1 << 20)), 51)

    def test_interface(self) -> None:
        """It is a connection as its session expects one."""
        self.rig.engine.factory.protocol = UngroupedConnection
        connection = self.rig.connect().connection
        self.assertIsInstance(connection, UngroupedConnection)
        verifyObject(IServerConnection, connection)

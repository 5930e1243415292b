"""Connections that are kept."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking_reads.pool import OutstandingRequest
from bookkeeper_twisted.blocking_reads.requests import WIRES
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, NoSuchEntryError, RequestTimeoutError

from .made_up import LEDGER, Cluster


class PoolTests(SynchronousTestCase):
    """One bookie."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(1)
        (self.address,) = self.cluster.addresses

    def begin(self, wire: int = 2) -> OutstandingRequest[bytes]:
        """A request for an entry that the bookie does not have."""
        return OutstandingRequest(
            self.cluster.pool, self.address, wire,
            lambda connection: connection.send(WIRES[wire].encode_reads(LEDGER, [1], 1)),
            lambda connection: connection.receive_frame(),
        )  # fmt: skip

    def closed(self) -> list[bool]:
        """Which connections are closed."""
        return [connection.closed for connection in self.cluster.connections]

    def test_one_idle_connection(self) -> None:
        """One connection of each wire version is kept; a second one that comes back is closed."""
        for exchange in (self.begin(), self.begin(), self.begin(3)):
            exchange.reply()
        self.assertEqual(self.closed(), [False, True, False])
        self.begin().reply()
        self.assertEqual(len(self.cluster.connections), 3)

    def test_error_closes(self) -> None:
        """A connection on which something failed, or whose reply nobody needs, is not used again."""
        self.cluster.bookies[0].silent = True
        self.assertRaises(RequestTimeoutError, self.begin().reply)
        self.begin().abandon()
        self.assertEqual(self.closed(), [True, True])

    def test_error_of_the_bookie(self) -> None:
        """A connection over which the bookie answered with an error is kept."""

        def refuse(_: object) -> None:
            raise NoSuchEntryError(LEDGER, 1)

        for _ in range(2):
            asked = OutstandingRequest(self.cluster.pool, self.address, 2, lambda _: None, refuse)
            self.assertRaises(NoSuchEntryError, asked.reply)
        self.assertEqual(self.closed(), [False])

    def test_lost_idle_connection(self) -> None:
        """A request over an idle connection that brings no reply is sent once more, over a new one."""
        self.begin().reply()
        self.cluster.lose_idle_connections()
        self.begin().reply()
        self.assertEqual(self.closed(), [True, False])
        self.cluster.bookies[0].silent = True
        self.assertRaises(RequestTimeoutError, self.begin().reply)
        self.assertRaises(RequestTimeoutError, self.begin().reply)
        self.assertEqual(self.cluster.bookies[0].dialled, 4)

    def test_down(self) -> None:
        """That no connection can be made is an error of the reply."""
        self.cluster.bookies[0].down = True
        exchange = self.begin()
        self.assertRaises(BookieHandleNotAvailableError, exchange.reply)
        self.assertEqual(self.cluster.bookies[0].dialled, 1)

    def test_what_is_remembered_of_bookies(self) -> None:
        """A refused batch read and a failure are forgotten after a while."""
        pool = self.cluster.pool
        support, bookie_id = pool.batch_support, self.address.bookie_id
        support.refused(bookie_id)
        pool.health.failed(bookie_id, BookieHandleNotAvailableError("down"))
        self.assertEqual((support.is_expected(bookie_id), pool.is_suspect(self.address)), (False, True))
        self.cluster.now = 60.0
        self.assertEqual((support.is_expected(bookie_id), pool.is_suspect(self.address)), (False, False))
        self.cluster.now = 300.0
        self.assertTrue(support.is_expected(bookie_id))

    def test_close(self) -> None:
        """Closing the pool closes what is idle."""
        self.begin().reply()
        self.cluster.pool.close()
        self.assertTrue(self.cluster.connections[0].closed)

    def test_dropped(self) -> None:
        """So does dropping the last reference to the pool."""
        self.begin().reply()
        del self.cluster.pool
        self.assertTrue(self.cluster.connections[0].closed)

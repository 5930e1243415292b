"""Connections that are kept."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BookieHandleNotAvailableError

from .made_up import Cluster


class PoolTests(SynchronousTestCase):
    """One bookie."""

    def setUp(self) -> None:
        self.cluster = Cluster.of(1)
        (self.address,) = self.cluster.addresses

    def test_one_idle_connection(self) -> None:
        """One connection of each wire version is kept; a second one that comes back is closed."""
        pool = self.cluster.pool
        with pool.use(self.address, 2) as first, pool.use(self.address, 2) as second, pool.use(self.address, 3):
            self.assertIsNot(first, second)
        self.assertEqual([connection.closed for connection in self.cluster.connections], [True, False, False])
        with pool.use(self.address, 2) as again:
            self.assertIs(again, second)

    def test_error_closes(self) -> None:
        """A connection on which something failed is not used again."""
        with self.assertRaises(ValueError), self.cluster.pool.use(self.address, 2):
            raise ValueError
        self.assertTrue(self.cluster.connections[0].closed)
        with self.cluster.pool.use(self.address, 2):
            self.assertEqual(len(self.cluster.connections), 2)

    def test_fresh(self) -> None:
        """Who asks for a new connection gets one, and the old one is closed."""
        with self.cluster.pool.use(self.address, 2):
            pass
        with self.cluster.pool.use(self.address, 2, fresh=True):
            self.assertTrue(self.cluster.connections[0].closed)

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
        with self.cluster.pool.use(self.address, 2):
            pass
        self.cluster.pool.close()
        self.assertTrue(self.cluster.connections[0].closed)

    def test_dropped(self) -> None:
        """So does dropping the last reference to the pool."""
        with self.cluster.pool.use(self.address, 2):
            pass
        del self.cluster.pool
        self.assertTrue(self.cluster.connections[0].closed)

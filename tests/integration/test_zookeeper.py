"""The ZooKeeper server of the tests."""

import socket
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared.zookeeper import ZooKeeperServer


class ZooKeeperServerTests(SynchronousTestCase):
    """:class:`ZooKeeperServer`."""

    def test_life(self) -> None:
        """A started server takes connections on its port, a stopped one does not, and it can be started again."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        server = ZooKeeperServer(folder)
        self.addCleanup(server.stop)
        for _ in range(2):
            server.start()
            self.assertGreater(server.pid, 0)
            socket.create_connection(("127.0.0.1", server.port)).close()
            server.stop()
            self.assertRaises(ConnectionRefusedError, socket.create_connection, ("127.0.0.1", server.port))
            self.assertEqual(server.pid, 0)

    def test_roots(self) -> None:
        """Every test gets a root of its own."""
        server = ZooKeeperServer(Path(self.mktemp()))
        first, second = server.new_root(), server.new_root()
        self.assertNotEqual(first, second)
        self.assertEqual(server.uri(first), f"zk+hierarchical://127.0.0.1:{server.port}{first}")

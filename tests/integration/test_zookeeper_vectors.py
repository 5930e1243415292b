"""The captured trees, made again on a real ZooKeeper and read by its own client."""

from typing import Any

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.metadata.interfaces import DEFAULT_OPTIONS
from bookkeeper_twisted.metadata.zookeeper.cluster import ZooKeeperAdmin
from bookkeeper_twisted.metadata.zookeeper.driver import ZooKeeperDriver
from bookkeeper_twisted.metadata.zookeeper.kazoo_client import KazooZooKeeper
from bookkeeper_twisted.metadata.zookeeper.session import Session
from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri

from ..metadata.zookeeper.replay import VectorCluster
from ..vectors.dumps import DumpedNode, load_dump

_reactor: Any = reactor


class ZooKeeperVectorTests(TestCase):
    """Node for node what Apache's bookies and tools have left."""

    def setUp(self) -> None:
        self.server = shared_zookeeper()
        self.kazoo: Any = KazooClient(self.server.hosts)
        self.kazoo.start()
        self.addCleanup(self.kazoo.close)
        self.addCleanup(self.kazoo.stop)

    async def _compare(self, name: str, kind: str = "hierarchical", drawn: int = 0) -> None:
        dump, root = load_dump(name), self.server.new_root()
        uri = self.server.uri(root, kind)
        target = ZooKeeperUri.parse(uri)
        connections = [KazooZooKeeper(_reactor, target.hosts, DEFAULT_OPTIONS) for _ in range(2)]
        session = Session(_reactor, uri, connections[0], DEFAULT_OPTIONS)
        admin = ZooKeeperAdmin(session, root, target.factory, dump.data("INSTANCEID").decode)
        driver = ZooKeeperDriver(_reactor, uri, target, connections[1], DEFAULT_OPTIONS)
        try:
            await VectorCluster(dump, admin, driver, lambda node: None).make(False, drawn)
            found = self._dump(root, root, dump.root)
        finally:
            await driver.close()
            await admin.close()
        self.assertEqual(sorted(found, key=lambda node: node.path), sorted(dump.nodes, key=lambda node: node.path))

    def _dump(self, path: str, root: str, theirs: str) -> list[DumpedNode]:
        """A tree as if its root were theirs."""
        data, stat = self.kazoo.get(path)
        renamed = theirs + path.removeprefix(root)
        nodes = [DumpedNode(renamed, stat.ephemeralOwner != 0, stat.version, stat.cversion, data)]
        for name in self.kazoo.get_children(path):
            nodes += self._dump(f"{path}/{name}", root, theirs)
        return nodes

    async def test_initialize(self) -> None:
        """A new cluster."""
        await self._compare("01-initnewcluster")

    async def test_one_bookie(self) -> None:
        """A registered bookie with two endpoints, and its cookie."""
        await self._compare("03-one-bookie")

    async def test_ids(self) -> None:
        """Chosen ids of all lengths, then three generated ones, in both layouts."""
        await self._compare("07-ids-hierarchical", drawn=3)
        await self._compare("08-ids-longhierarchical", "longhierarchical", drawn=3)

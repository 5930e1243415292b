"""The trees that Apache's tools and bookies leave in ZooKeeper, made by our own, node for node."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.zookeeper.uris import ZooKeeperUri
from bookkeeper_twisted.testing.zookeeper import MemoryZooKeeper

from ...vectors.dumps import DumpedNode, load_dump
from .replay import VectorCluster
from .rig import Store, ended


class VectorTests(SynchronousTestCase):
    """Paths, kinds, versions, numbers of children ever, and bytes."""

    def _made(self, name: str, kind: str = "hierarchical", drawn: int = 0, formats: bool = False) -> MemoryZooKeeper:
        """A server on which the cluster of a dump was made again."""
        dump, clock = load_dump(name), Clock()
        uri = f"zk+{kind}://127.0.0.1:2181{dump.root}"
        self.assertEqual(ZooKeeperUri.parse(uri).root, dump.root)
        store = Store(uri, instance_ids=[dump.data("INSTANCEID").decode()])
        cluster = VectorCluster(
            dump, store.admin(clock), store.driver(clock), lambda node: store.server.create(node, 0)
        )
        self.successResultOf(ended(clock, cluster.make(formats, drawn)))
        return store.server

    def _dumped(self, server: MemoryZooKeeper, root: str) -> tuple[DumpedNode, ...]:
        return tuple(
            DumpedNode(path, bool(node.owner), node.version, node.stat.cversion, node.data)
            for path, node in server.dump(root)
        )

    def _equal(self, name: str, server: MemoryZooKeeper) -> None:
        dump = load_dump(name)
        for ours, theirs in zip(self._dumped(server, dump.root), dump.nodes, strict=True):
            self.assertEqual(ours, theirs)

    def test_initialize(self) -> None:
        """A new cluster."""
        self._equal("01-initnewcluster", self._made("01-initnewcluster"))

    def test_format(self) -> None:
        """A cluster formatted where there was none."""
        self._equal("02-metaformat", self._made("02-metaformat", formats=True))

    def test_one_bookie(self) -> None:
        """A registered bookie with two endpoints, and its cookie."""
        self._equal("03-one-bookie", self._made("03-one-bookie"))

    def test_ids(self) -> None:
        """Chosen ids of all lengths, then three generated ones, in both layouts."""
        self._equal("07-ids-hierarchical", self._made("07-ids-hierarchical", drawn=3))
        self._equal("08-ids-longhierarchical", self._made("08-ids-longhierarchical", "longhierarchical", drawn=3))

    def test_long_ids(self) -> None:
        """Once there are long ids, generated ones are long, and the one that is taken is skipped."""
        server = self._made("09-idgen-long", drawn=6)
        self._equal("09-idgen-long", server)

    def test_ledger_metadata(self) -> None:
        """Ledgers of versions 1, 2 and 3: open, in recovery, closed, written again.

        Its bookies had been restarted more often than here, so the numbers of children differ.
        """
        dump = load_dump("06-ledger-metadata")
        server = self._made("06-ledger-metadata")
        ours = {node.path: (node.ephemeral, node.version, node.data) for node in self._dumped(server, dump.root)}
        theirs = {node.path: (node.ephemeral, node.version, node.data) for node in dump.nodes}
        del theirs["/ledgers/idgen"]
        self.assertEqual(ours, theirs)

"""Making and unmaking clusters: what is kept, what is removed, what is refused."""

from bookkeeper_twisted.errors import MetadataError, MetadataSerializationError, NotInitializedError
from bookkeeper_twisted.metadata.zookeeper.cluster import ensure_layout
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import HIERARCHICAL, LONG_HIERARCHICAL

from .rig import Store, ZooKeeperCase

KEPT = (
    "available/a:1", "available/readonly/b:1", "underreplication", "underreplication/LAYOUT",
    "underreplication/disable", "underreplication/lostBookieRecoveryDelay", "underreplication/checkallledgersctime",
    "underreplication/auditorelection", "disableHealthCheck",
)  # fmt: skip
REMOVED = (
    "00", "00/0000", "00/0000/L0001", "000", "idgen", "idgen-long", "idgen-long/HOB-0000000001", "ID-0000000001",
    "cookies", "cookies/a:1", "underreplication/ledgers", "underreplication/ledgers/0000", "underreplication/locks",
)  # fmt: skip
ALWAYS = ("INSTANCEID", "LAYOUT", "available", "available/readonly")


class FormatTests(ZooKeeperCase):
    """:meth:`ZooKeeperAdmin.format`."""

    def test_kept_and_removed(self) -> None:
        """Ledgers, ids, cookies and marks go; registrations, switches and the auditors' notes stay."""
        for path in (*KEPT, *REMOVED):
            self.server.create(NewNode(f"/ledgers/{path}"), 0)
        admin = self.store.admin(self.clock)
        self.run_(admin.open())
        self.run_(admin.format())
        self.assertEqual(sorted(self.store.paths()), sorted((*KEPT, *ALWAYS)))

    def test_parents(self) -> None:
        """Formatting makes the parents of the root, which initializing refuses to do."""
        store = Store("zk+longhierarchical://127.0.0.1:2181/a/b/c")
        admin = store.admin(self.clock)
        self.run_(admin.open())
        self.assertIn("/a/b/c", self.fails(MetadataError, admin.initialize()))
        self.assertEqual(store.server.top.children, {})
        self.run_(admin.format())
        self.assertIn(LONG_HIERARCHICAL.encode(), store.server.find("/a/b/c/LAYOUT").data)

    def test_new_layout(self) -> None:
        """The URI says what the cluster will be; what it was says what is removed."""
        self.server.create(NewNode("/ledgers/00"), 0)
        self.store.uri = "zk+longhierarchical://127.0.0.1:2181/ledgers"
        store = Store(self.store.uri)
        store.server = self.server
        admin = store.admin(self.clock)
        self.run_(admin.open())
        self.run_(admin.format())
        self.assertIn(LONG_HIERARCHICAL.encode(), self.server.find("/ledgers/LAYOUT").data)
        self.assertNotIn("00", self.store.paths())


class NukeTests(ZooKeeperCase):
    """:meth:`ZooKeeperAdmin.nuke`."""

    def test_nothing_is_left(self) -> None:
        """Whatever belongs to a cluster goes, and the root."""
        for path in (*REMOVED[:10], "underreplication", "underreplication/LAYOUT"):
            self.server.create(NewNode(f"/ledgers/{path}"), 0)
        admin = self.store.admin(self.clock)
        self.run_(admin.open())
        self.run_(admin.nuke(None))
        self.assertEqual(self.server.top.children, {})

    def test_foreign_nodes(self) -> None:
        """What is not the cluster's is named, and nothing is removed."""
        for name in ("disableHealthCheck", "somebody", "0000"):
            self.server.create(NewNode(f"/ledgers/{name}"), 0)
            before = self.store.paths()
            admin = self.store.admin(self.clock)
            self.run_(admin.open())
            self.assertIn(name, self.fails(MetadataError, admin.nuke(None)))
            self.assertEqual(self.store.paths(), before)
            self.server.delete(f"/ledgers/{name}", -1)

    def test_no_cluster(self) -> None:
        """What is not there cannot be removed."""
        del self.server.top.children["ledgers"]
        admin = self.store.admin(self.clock)
        self.run_(admin.open())
        self.fails(NotInitializedError, admin.nuke(None))
        self.fails(NotInitializedError, admin.instance_id())


class LayoutTests(ZooKeeperCase):
    """:func:`ensure_layout`."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes, self.connection = self.znodes()

    def test_missing(self) -> None:
        """A missing layout is stored as asked for, or as usual."""
        for factory, expected in ((None, HIERARCHICAL), (LONG_HIERARCHICAL, LONG_HIERARCHICAL)):
            self.server.delete("/ledgers/LAYOUT", -1)
            self.assertEqual(self.run_(ensure_layout(self.nodes, factory)).factory, expected)
            self.assertEqual(self.server.find("/ledgers/LAYOUT").data, f"2\n{expected}:1".encode())

    def _race(self, data: bytes) -> None:
        """Another client stores a layout right before ours."""
        self.server.delete("/ledgers/LAYOUT", -1)
        create = self.server.create

        def overtaken(new: NewNode, session_id: int) -> str:
            self.server.create = create  # type: ignore[method-assign]
            create(NewNode(new.path, data), 0)
            return create(new, session_id)

        self.server.create = overtaken  # type: ignore[method-assign]

    def test_lost_race(self) -> None:
        """A client that was faster must have stored the same."""
        self._race(f"2\n{HIERARCHICAL}:1".encode())
        self.run_(ensure_layout(self.nodes, None))
        self._race(f"2\n{LONG_HIERARCHICAL}:1".encode())
        self.fails(MetadataError, ensure_layout(self.nodes, None))

    def test_garbage(self) -> None:
        """What is no layout is an error with its path."""
        self.server.set("/ledgers/LAYOUT", b"garbage", -1)
        self.assertIn("/ledgers/LAYOUT", self.fails(MetadataSerializationError, ensure_layout(self.nodes, None)))

"""Ledger ids."""

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import FLAT, HIERARCHICAL, LEGACY_HIERARCHICAL, TREES
from bookkeeper_twisted.metadata.zookeeper.ledgers.ledger_ids import LedgerIds

from ..rig import ZooKeeperCase

TREE = TREES[HIERARCHICAL]


class LedgerIdsTests(ZooKeeperCase):
    """:class:`LedgerIds`."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes, self.connection = self.znodes()
        self.ids = LedgerIds(self.nodes)

    def draw(self, factory: str = HIERARCHICAL) -> int:
        return self.run_(self.ids.draw(TREES[factory]))

    def add(self, *names: str) -> None:
        for name in names:
            self.server.create(NewNode(f"/ledgers/{name}"), 0)

    def test_short(self) -> None:
        """Short ids count from 0 and leave nothing but their parent."""
        self.assertEqual([self.draw() for _ in range(3)], [0, 1, 2])
        self.assertEqual([path for path in self.store.paths() if path.startswith("id")], ["idgen"])

    def test_taken(self) -> None:
        """An id that a ledger has is not given."""
        self.add("00", "00/0000", "00/0000/L0001")
        self.assertEqual([self.draw() for _ in range(3)], [0, 2, 3])

    def test_overflow(self) -> None:
        """When 31 bits are used up ids go on at the first long one, for all clients and for ever."""
        self.add("idgen")
        self.server.find("/ledgers/idgen").created = (1 << 31) - 2
        self.assertEqual(self.draw(), (1 << 31) - 2)
        self.assertEqual([self.draw() for _ in range(2)], [1 << 32, (1 << 32) + 1])
        nodes, _ = self.znodes()
        self.assertEqual(self.run_(LedgerIds(nodes).draw(TREE)), (1 << 32) + 2)
        self.assertIn("idgen-long/HOB-0000000001", self.store.paths())

    def test_negative(self) -> None:
        """A counter that has wrapped is used up as well."""
        self.add("idgen")
        self.server.find("/ledgers/idgen").created = -5
        self.assertEqual(self.draw(), 1 << 32)

    def test_next_high(self) -> None:
        """When the low bits of a high number are used up, the next high number follows."""
        self.add("idgen-long", "idgen-long/HOB-0000000007")
        self.server.find("/ledgers/idgen-long/HOB-0000000007").created = (1 << 31) - 1
        self.assertEqual(self.draw(), 8 << 32)

    def test_old_highs_are_removed(self) -> None:
        """Only the newest three are kept, and one that is in use."""
        self.add("idgen-long", *(f"idgen-long/HOB-{n:010d}" for n in range(1, 7)), "idgen-long/HOB-0000000002/ID-x")
        self.assertEqual(self.draw(), 6 << 32)
        kept = sorted(self.server.find("/ledgers/idgen-long").children)
        self.assertEqual(kept, [f"HOB-{n:010d}" for n in (2, 4, 5, 6)])

    def test_foreign_high(self) -> None:
        """What is no high number is left alone."""
        self.add("idgen-long", "idgen-long/HOB-x", "idgen-long/other")
        self.assertEqual(self.draw(), 1 << 32)

    def test_layouts_without_long_ids(self) -> None:
        """Where there are no long ids the end is an error; the flat layout counts at the root."""
        self.add("idgen")
        self.server.find("/ledgers/idgen").created = (1 << 31) - 1
        self.assertIn("used up", self.fails(MetadataError, self.ids.draw(TREES[LEGACY_HIERARCHICAL])))
        created = self.server.find("/ledgers").created
        self.assertEqual(self.draw(FLAT), created)

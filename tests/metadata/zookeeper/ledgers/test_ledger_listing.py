"""Listings: complete, or an error (S8)."""

from bookkeeper_twisted.errors import MetadataError, NotInitializedError
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode, NodeMissingError, NotConnectedError
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import FLAT, HIERARCHICAL, TREES
from bookkeeper_twisted.metadata.zookeeper.ledgers.ledger_listing import MAX_ID, LedgerListing

from ..rig import ZooKeeperCase

IDS = [0, 9999, 10000, 1234567890, 2147483646, 2147483647, 1 << 32, MAX_ID]


class LedgerListingTests(ZooKeeperCase):
    """:class:`LedgerListing`."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes, self.connection = self.znodes()

    def add(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            try:
                self.server.find("/".join(["/ledgers", *parts[:depth]]))
            except NodeMissingError:
                self.server.create(NewNode("/".join(["/ledgers", *parts[:depth]])), 0)

    def add_all(self, factory: str = HIERARCHICAL) -> None:
        for ledger_id in IDS:
            self.add(TREES[factory].path_of(ledger_id))

    async def listed(self, first: int = 0, last: int = MAX_ID, factory: str = HIERARCHICAL) -> list[int]:
        return [i async for i in LedgerListing(self.nodes, TREES[factory], first, last).ids()]

    def test_order(self) -> None:
        """Both trees, in ascending order, though ZooKeeper lists in none; other nodes of the root are passed."""
        self.add_all()
        for other in ("idgen", "underreplication", "0000", "cookies"):
            self.add(other)
        self.assertEqual(self.run_(self.listed()), IDS)

    def test_flat(self) -> None:
        """The flat layout lists the root, ids of more digits behind the others."""
        self.add_all(FLAT)
        self.add("ID-0000000001")
        self.assertEqual(self.run_(self.listed(factory=FLAT)), IDS)
        self.assertEqual(self.run_(self.listed(10000, 1 << 32, FLAT)), IDS[2:7])

    def test_ranges(self) -> None:
        """Every range gives what lies in it, and reads only what can."""
        self.add_all()
        for first in IDS:
            for last in IDS:
                self.assertEqual(self.run_(self.listed(first, last)), [i for i in IDS if first <= i <= last])
        before = len(self.connection.calls)
        self.run_(self.listed(1234567890, 1234567890))
        self.assertEqual(self.connection.calls[before:].count("children"), 5)  # three levels, and two of the long ids

    def test_vanished_parent(self) -> None:
        """A node that is pruned while the listing is on its way had no ledger left."""
        self.add_all()
        listing = LedgerListing(self.nodes, TREES[HIERARCHICAL], 0, MAX_ID).ids()

        async def walk() -> list[int]:
            found = [await anext(listing)]
            for path in ("12/3456/L7890", "12/3456", "12"):
                self.server.delete(f"/ledgers/{path}", -1)
            return found + [ledger_id async for ledger_id in listing]

        self.assertEqual(self.run_(walk()), [ledger_id for ledger_id in IDS if ledger_id != 1234567890])

    def test_missing_root(self) -> None:
        """Without a root there is no listing, least of all an empty one."""
        del self.server.top.children["ledgers"]
        self.fails(NotInitializedError, self.listed())

    def test_foreign_nodes(self) -> None:
        """A node that is none of the layout, or in the wrong place, ends the listing with its path."""
        for path in ("00/0000/x", "00/other", "00/0000/L00001", "99/9999/L9999", "000/0000/0000/0000/L0001"):
            self.setUp()
            self.add_all()
            self.add(path)
            self.assertIn(f"/ledgers/{path}", self.fails(MetadataError, self.listed()))

    def test_too_large(self) -> None:
        """Digits beyond 63 bits are no ledger."""
        self.add("999/9999/9999/9999/L9999")
        self.fails(MetadataError, self.listed(0, 10**19))

    def test_lost_server(self) -> None:
        """A step whose answer is lost again and again ends the listing."""
        self.add_all()
        for after in range(5, 30):
            self.connection.lose(False, after=after)
        self.fails(NotConnectedError, self.listed())

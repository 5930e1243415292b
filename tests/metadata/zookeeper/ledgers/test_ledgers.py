"""Ledger metadata on ZooKeeper, beyond the contract."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail

from bookkeeper_twisted.errors import LedgerExistsError, MetadataSerializationError
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode, NodeForbiddenError
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN

from ..rig import ZooKeeperCase


class LedgersTests(ZooKeeperCase):
    """:class:`ZooKeeperLedgers`."""

    def setUp(self) -> None:
        super().setUp()
        self.driver, self.connection = self.opened()
        self.ledgers = self.driver.ledgers

    def tree(self) -> list[str]:
        return [path for path in self.store.paths() if path[0] == "0"]

    def test_pruning(self) -> None:
        """With the last ledger below them parents go, the others stay."""
        for ledger_id in (0, 1, 10000, 1 << 40):
            self.run_(self.ledgers.create(ledger_id, OPEN))
        self.run_(self.ledgers.remove(1))
        self.run_(self.ledgers.remove(1 << 40))
        self.assertEqual(self.tree(), ["00", "00/0000", "00/0000/L0000", "00/0001", "00/0001/L0000"])
        self.run_(self.ledgers.remove(0))
        self.run_(self.ledgers.remove(10000))
        self.assertEqual(self.tree(), [])

    def test_failing_pruning(self) -> None:
        """A removal whose pruning fails has removed the ledger."""
        self.run_(self.ledgers.create(0, OPEN))
        for after in range(1, 20):
            self.connection.lose(False, after=after)
        self.run_(self.ledgers.remove(0))
        self.assertEqual(self.tree(), ["00", "00/0000"])

    def test_garbage(self) -> None:
        """Unreadable metadata are an error that names ledger and node; a create does not take them for its own."""
        for path, data in (("00", b""), ("00/0000", b""), ("00/0000/L0005", b"garbage")):
            self.server.create(NewNode(f"/ledgers/{path}", data), 0)
        text = self.fails(MetadataSerializationError, self.ledgers.read(5))
        self.assertIn("ledger 5, /ledgers/00/0000/L0005", text)
        self.fails(LedgerExistsError, self.ledgers.create(5, attrs.evolve(OPEN, c_token=1)))

    def test_forbidden(self) -> None:
        """Metadata that the access control list of their node hides are those of one ledger: walks go on past it."""
        self.run_(self.ledgers.create(5, OPEN))

        def forbidden(path: str, *more: object) -> "Deferred[Any]":
            return fail(NodeForbiddenError(f"{path}: NoAuthError"))

        self.patch(self.connection, "get", forbidden)
        text = self.fails(MetadataSerializationError, self.ledgers.read(5))
        self.assertIn("ledger 5 may not be read by this client: /ledgers/00/0000/L0005: NoAuthError", text)

    def test_flat(self) -> None:
        """A cluster of the flat layout is read and written."""
        self.server.set("/ledgers/LAYOUT", b"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1", -1)
        driver, _ = self.opened("zk+flat://127.0.0.1:2181/ledgers")
        ledger_id = self.run_(driver.ledgers.generate_id())
        self.run_(driver.ledgers.create(ledger_id, OPEN))
        self.assertIn(f"L{ledger_id:010d}", self.store.paths())
        self.run_(driver.ledgers.remove(ledger_id))

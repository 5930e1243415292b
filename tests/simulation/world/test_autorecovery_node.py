"""Processes of autorecovery that can be killed."""

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig

from . import AutorecoveryNode
from .nodes import WorldCase


class AutorecoveryNodeTests(WorldCase):
    """:class:`AutorecoveryNode`."""

    def started(self, name: str) -> AutorecoveryNode:
        """A node at work."""
        node = AutorecoveryNode(self.world, name, ClientConfig(), BookKeeper, AutorecoveryConfig())
        self.result(node.start())
        self.pass_time(5)
        return node

    def in_office(self, node: AutorecoveryNode) -> bool:
        """Whether its auditor is."""
        assert node.autorecovery is not None
        return node.autorecovery.election.in_office

    def test_killed(self) -> None:
        """When the auditor is killed, the other process has one; nothing of the first goes on."""
        one, two = self.started("x1"), self.started("x2")
        self.assertEqual((self.in_office(one), self.in_office(two)), (True, False))
        one.kill()
        self.pass_time(10)
        self.assertTrue(self.in_office(two))
        self.assertEqual([name for _, name in self.world.metadata.store.votes.values()], ["x2:3181"])

    def test_lost_bookie(self) -> None:
        """A bookie that is lost for good does not start again, and another one takes its place."""
        self.started("x1")
        writer = self.result(self.client.create_ledger(2, 2, 2))
        self.result(writer.append(b"one"))
        self.result(writer.close())
        (segment,) = self.result(self.client.ledger_metadata(writer.ledger_id)).segments
        (lost,) = [bookie for bookie in self.bookies if bookie.bookie_id == segment.bookies[0]]
        lost.lose()
        lost.start()
        self.pass_time(60)
        self.assertFalse(lost.running)
        (segment,) = self.result(self.client.ledger_metadata(writer.ledger_id)).segments
        self.assertNotIn(lost.bookie_id, segment.bookies)
        self.assertEqual(self.world.metadata.store.marks, {})

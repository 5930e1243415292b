"""Flows on one connection: joining, leaving, and the ids that stay held."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.flow_table import FlowTable
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds


class FlowTableTests(SynchronousTestCase):
    """A table and the client's ids."""

    def setUp(self) -> None:
        self.flow_ids = FlowIds()
        self.table = FlowTable(self.flow_ids)
        self.ids = RequestIds(self.flow_ids.take())

    def test_duplicate(self) -> None:
        """A second flow with a live id is refused, and the first one keeps it."""
        flow = self.table.of(self.ids)
        self.assertRaises(ValueError, self.table.of, RequestIds(self.ids.flow_id))
        self.assertIs(self.table.of(self.ids), flow)

    def test_orphans(self) -> None:
        """The id of a flow that left is held until every reply to it has come."""
        flow = self.table.of(self.ids)
        flow.expected_replies = 3
        self.flow_ids.release(self.ids.flow_id)
        self.table.leave(flow)
        self.assertEqual((self.table.orphans, len(self.flow_ids)), (3, 1))
        self.table.replied(self.ids.flow_id << 32, 2)
        self.assertEqual((self.table.orphans, len(self.flow_ids)), (1, 1))
        self.table.replied((self.ids.flow_id << 32) + 9)
        self.assertEqual((self.table.orphans, len(self.flow_ids)), (0, 0))

    def test_unknown(self) -> None:
        """A reply for a flow that never was is dropped."""
        self.table.replied(77 << 32)
        self.assertEqual(self.table.orphans, 0)

    def test_clear(self) -> None:
        """With the connection every expected reply is gone."""
        flow = self.table.of(self.ids)
        flow.expected_replies = 3
        self.table.leave(flow)
        self.flow_ids.release(self.ids.flow_id)
        self.table.clear()
        self.assertEqual(len(self.flow_ids), 0)

"""Flow ids and sequences: never 0, never twice, at the edges too."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.client.request_ids import MAX_FLOW_ID, SEQUENCES, FlowIds, RequestIds


def _nothing(first: int, count: int) -> bool:
    return False


class FlowIdsTests(SynchronousTestCase):
    """The ids of one client."""

    def test_wrap(self) -> None:
        """After the last id comes 1, not 0, and an id that is held is passed over."""
        ids = FlowIds(MAX_FLOW_ID)
        held = FlowIds()
        self.assertEqual([ids.allocate() for _ in range(3)], [MAX_FLOW_ID, 1, 2])
        self.assertEqual([held.allocate() for _ in range(2)], [1, 2])
        again = FlowIds(MAX_FLOW_ID)
        again.allocate()
        again.allocate()
        again.release(MAX_FLOW_ID)
        again._following = MAX_FLOW_ID
        self.assertEqual([again.allocate(), again.allocate()], [MAX_FLOW_ID, 2])

    def test_quarantine(self) -> None:
        """An id is free only after its last holder let it go."""
        ids = FlowIds()
        flow_id = ids.allocate()
        ids.retain(flow_id)
        ids.release(flow_id)
        self.assertEqual(len(ids), 1)
        ids.release(flow_id)
        self.assertEqual(len(ids), 0)


class RequestIdsTests(SynchronousTestCase):
    """The ids of one flow."""

    def test_halves(self) -> None:
        """The high half is the flow, the low half counts from 0."""
        ids = RequestIds(7)
        self.assertEqual([ids.allocate(1, _nothing), ids.allocate(3, _nothing), ids.allocate(1, _nothing)],
                         [7 << 32, (7 << 32) + 1, (7 << 32) + 4])  # fmt: skip

    def test_edges(self) -> None:
        """All 31 bits of both halves survive, and the id stays positive in 64 signed bits."""
        for sequence in ((1 << 28) - 1, 1 << 28, SEQUENCES - 1):
            number = RequestIds(MAX_FLOW_ID, sequence).allocate(1, _nothing)
            self.assertEqual(divmod(number, 1 << 32), (MAX_FLOW_ID, sequence))
            self.assertLess(number, 1 << 63)

    def test_wrap(self) -> None:
        """The ids of one request are consecutive: it begins anew at 0 where they would not fit."""
        ids = RequestIds(1, SEQUENCES - 2)
        self.assertEqual(ids.allocate(3, _nothing), 1 << 32)

    def test_pending(self) -> None:
        """A sequence that is waited for is passed over; that is asked only after the first wrap."""
        asked: list[int] = []

        def is_pending(first: int, count: int) -> bool:
            asked.append(first & 0xFFFF)
            return len(asked) < 3

        ids = RequestIds(1, SEQUENCES - 1)
        ids.allocate(1, is_pending)
        self.assertEqual(asked, [])
        self.assertEqual(ids.allocate(2, is_pending), (1 << 32) + 4)
        self.assertEqual(asked, [0, 2, 4])

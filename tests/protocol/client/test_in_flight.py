"""The account of one connection: bytes, waiting flows, orphans; every way out releases once."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import frames_and_replies
from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.in_flight import InFlight, SendingFlow
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.sent_reads import NUMBERED

from .test_in_flight_adds import confirmed, few_adds


def flow_of(flight: InFlight, ids: RequestIds) -> SendingFlow:
    """The account's record of a flow."""
    return flight._flows[ids.flow_id]


class InFlightTests(SynchronousTestCase):
    """Adds, reads and a call of one flow, over V3."""

    def setUp(self) -> None:
        """Ten adds, two reads, one call: 1,000, 60 and 40 bytes."""
        self.flow_ids = FlowIds()
        self.ids = RequestIds(self.flow_ids.allocate())
        self.flight = InFlight(True, self.flow_ids)
        self.base = self.ids.flow_id << 32
        numbers = range(self.base, self.base + 10)
        adds = few_adds([7] * 10, range(10))
        self.flight.add(self.ids, adds, 1000, b"", numbers, 5.0, lambda *_: None, True)
        numbers = range(self.base + 10, self.base + 12)
        self.reads = self.flight.read(self.ids, NUMBERED, numbers, 60, 5.0, Deferred())
        self._call(self.ids, self.base + 12, 40)
        self.flow = flow_of(self.flight, self.ids)

    def _call(self, ids: RequestIds, number: int, size: int) -> None:
        self.flight.call(ids, number, size, 5.0, 7, 0, int, int, Deferred())

    def _account(self) -> tuple[int, int]:
        return self.flight.unacknowledged, self.flow.waiting

    def test_answered(self) -> None:
        """Answers release what they answer."""
        self.assertEqual(self._account(), (1100, 13))
        list(self.flight.answered_adds(range(self.base, self.base + 5)))
        self.assertEqual(self._account(), (600, 8))
        for number in self.reads.ids:
            self.flight.answered_read(number, ReadReply(Status.EOK, 7, 0, number, b""))
        self.flight.take_call(self.base + 12)
        self.assertEqual(self._account(), (500, 5))
        self.assertTrue(self.flight)

    def test_give_up(self) -> None:
        """Giving up releases once, however often it is said."""
        for _ in range(2):
            self.flight.give_up(self.reads)
            self.flight.take_call(self.base + 12)
        self.assertEqual(self._account(), (1000, 10))

    def test_when_empty(self) -> None:
        """Who wants to know is told once, when nothing at all is waited for."""
        told: list[bool] = []
        self.flight.when_empty(lambda: told.append(bool(self.flight)))
        self.flight.give_up(self.reads)
        self.flight.take_call(self.base + 12)
        self.assertEqual(told, [])
        self.flight.expire(5.0)
        self._call(self.ids, self.base + 13, 40)
        self.flight.take_call(self.base + 13)
        self.assertEqual(told, [False])

    def test_expire(self) -> None:
        """What is overdue comes out in order and is released."""
        self.assertEqual([sent.order for sent in self.flight.expire(5.0)], [1, 2, 3])
        self.assertEqual(self._account(), (0, 0))
        self.assertFalse(self.flight)

    def test_leave(self) -> None:
        """A flow that leaves takes its own requests out; its replies are orphans until they come."""
        other = RequestIds(self.flow_ids.allocate())
        self._call(other, other.flow_id << 32, 5)
        kept = flow_of(self.flight, other)
        self.assertEqual([sent.order for sent in self.flight.abandon(self.ids)], [1, 2, 3])
        self.assertEqual((self._account(), kept.waiting), ((5, 0), 1))
        self.assertEqual(self.flight.orphans, 13)
        self.flight.replied(self.base, 13)
        self.assertEqual(self.flight.orphans, 0)

    def test_clear(self) -> None:
        """At the end everything comes out once, in order."""
        self.assertEqual([sent.order for sent in self.flight.clear()], [1, 2, 3])
        self.assertEqual(list(self.flight.clear()), [])
        self.assertEqual(self._account(), (0, 0))

    def test_pending(self) -> None:
        """An id is pending while its request is outstanding, whatever it is."""
        pending = [self.flight.is_pending(self.base + n, 1) for n in (9, 11, 12, 13)]
        self.assertEqual(pending, [True, True, True, False])


class KeyedInFlightTests(SynchronousTestCase):
    """V2: keys that stay in use."""

    def test_leave(self) -> None:
        """The keys of a flow that left stay in use, but its id is free: no reply carries it."""
        flow_ids = FlowIds()
        ids = RequestIds(flow_ids.allocate())
        flight = InFlight(False, flow_ids)
        ten = few_adds([7] * 10, range(10))
        flight.add(ids, ten, 1000, b"", None, 5.0, lambda *_: None, True)
        one = few_adds((7,), (5,))
        flight.read(ids, 7, (3,), 30, 5.0, Deferred())
        self.assertTrue(flight.are_in_use(one, False) and not flight.can_read(7, (3,)))
        self.assertEqual(len(flight.abandon(ids)), 2)
        self.assertEqual((flight.are_in_use(one, False), flight.can_read(7, (3,))), (True, False))
        self.assertEqual((flight.orphans, flight.abandoned), (11, 11))
        flow_ids.release(ids.flow_id)
        self.assertEqual(len(flow_ids), 0)
        self.assertEqual(list(flight.answered_adds([(7, n) for n in range(10)])), [])
        self.assertFalse(flight.are_in_use(one, False))


class AmongOthersTests(SynchronousTestCase):
    """V2: adds of the ledgers 7, 8 and 9 among other requests of one flow."""

    def setUp(self) -> None:
        """Five adds of one ledger, three of many, two reads, one call, and two adds again."""
        flow_ids = FlowIds()
        self.ids = RequestIds(flow_ids.allocate())
        self.flight = InFlight(False, flow_ids)
        self._adds((7,) * 5, range(5), 500)
        self._adds((7, 8, 9), (5, 0, 0), 100)
        self.reads = self.flight.read(self.ids, 7, (0, 1), 60, 5.0, Deferred())
        self.flight.call(self.ids, 1, 40, 5.0, 7, 0, int, int, Deferred())
        self._adds((8, 10), (1, 0), 77)
        self.flow = flow_of(self.flight, self.ids)

    def _adds(self, ledger_ids: Sequence[int], entry_ids: Sequence[int], size: int) -> None:
        adds = few_adds(ledger_ids, entry_ids, size)
        _, replies = frames_and_replies(adds)
        self.assertTrue(self.flight.add(self.ids, adds, size, replies, None, 5.0, lambda *_: None, False))

    def _answer(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> list[tuple[int, list[int]]]:
        parts = self.flight.answered_adds(list(zip(ledger_ids, entry_ids, strict=True)))
        return [(part.order, list(part.indexes)) for part in parts]

    def _account(self) -> tuple[int, int]:
        return self.flight.unacknowledged, self.flow.waiting

    def _answer_others(self) -> None:
        self._answer((7,) * 5, range(5))
        list(self.flight.answered_reads([ReadReply(Status.EOK, 7, i, None, b"") for i in range(2)]))
        self.flight.take_call(1)

    def test_answered(self) -> None:
        """Answers release what they answer, in turn and out of turn, once, until nothing is left."""
        self.assertEqual(self._account(), (777, 13))
        self.assertEqual(self._answer((7, 8), (5, 0)), [(2, [0, 1])])
        self.assertEqual(self._account(), (710, 11))
        self.assertEqual(self._answer((10, 9, 8), (0, 0, 0)), [(2, [2]), (5, [1])])
        self.assertEqual(self._account(), (638, 9))
        self._answer_others()
        self.assertEqual((self._account(), bool(self.flight)), ((38, 1), True))
        self._answer((8,), (1,))
        self.assertEqual((self._account(), bool(self.flight)), ((0, 0), False))

    def test_confirmed(self) -> None:
        """The bytes of replies release what they confirm."""
        sent = few_adds((7,) * 5, range(5)), few_adds((7, 8), (5, 0))
        data = b"".join([frames_and_replies(adds)[1] for adds in sent])
        parts, size = confirmed(self.flight, data + b"rest")
        self.assertEqual([(part.order, list(part.indexes)) for part in parts], [(1, [*range(5)]), (2, [0, 1])])
        self.assertEqual((size, self._account()), (len(data), (210, 6)))

    def test_others(self) -> None:
        """Replies to what was not asked release nothing."""
        self.assertEqual((self._answer((7, 6), (30, 0)), self._account()), ([], (777, 13)))

    def test_when_empty(self) -> None:
        """Who wants to know is told with the last of the mixed adds, once the rest is answered."""
        told: list[tuple[int, int]] = []
        self.flight.when_empty(lambda: told.append(self._account()))
        self._answer_others()
        self._answer((7, 8, 9, 8), (5, 0, 0, 1))
        self.assertEqual(told, [])
        self._answer((10,), (0,))
        self.assertEqual(told, [(0, 0)])

    def test_everything_ends_in_order(self) -> None:
        """Overdue, left or lost: everything comes out once in the order in which it was asked, and is released."""
        for end in (
            lambda flight: flight.expire(5.0), lambda flight: flight.abandon(self.ids), lambda flight: flight.clear(),
        ):  # fmt: skip
            self.setUp()
            told: list[tuple[int, int]] = []
            self.flight.when_empty(lambda told=told: told.append(self._account()))  # type: ignore[misc]
            self._answer((7,), (5,))
            ended = [(sent.order, sent.count) for sent in end(self.flight)]
            self.assertEqual(ended, [(1, 5), (2, 2), (3, 2), (4, 1), (5, 2)])
            self.assertEqual((self._account(), bool(self.flight), told), ((0, 0), False, [(0, 0)]))
            self.assertEqual(list(end(self.flight)), [])

    def test_not_overdue(self) -> None:
        """Mixed adds have a deadline of their own."""
        self.flight.expire(4.9)
        self.assertEqual(self._account(), (777, 13))

    def test_abandoned(self) -> None:
        """Mixed adds that were given up are orphans until their replies, which release nothing."""
        self.flight.expire(5.0)
        self.assertEqual((self.flight.abandoned, self.flight.orphans), (12, 12))
        self.assertEqual((self._answer((7, 8, 9), (5, 0, 0)), self._account()), ([], (0, 0)))
        self.assertEqual((self.flight.abandoned, self.flight.orphans), (9, 9))

    def test_can_add(self) -> None:
        """Adds are refused for one entry that is outstanding, or was given up without an answer."""

        def can_add(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
            return not self.flight.are_in_use(few_adds(ledger_ids, entry_ids), False)

        self.assertEqual([can_add((7, 11), (entry_id, 0)) for entry_id in (4, 5, 6)], [False, False, True])
        self.assertFalse(can_add((11, 10), (0, 0)))
        self._answer((7, 8, 9), (5, 0, 0))
        self.assertEqual((can_add((7,), (5,)), can_add((11, 7), (0, 4))), (True, False))
        self.flight.expire(5.0)
        self.assertFalse(can_add((11, 7), (0, 4)))
        self._answer((7,), (4,))
        self.assertTrue(can_add((11, 7), (0, 4)))


class FlowTests(SynchronousTestCase):
    """Flows on one connection: joining, leaving, and the client's ids, which stay held."""

    def setUp(self) -> None:
        """One flow with three adds, over V3."""
        self.flow_ids = FlowIds()
        self.flight = InFlight(True, self.flow_ids)
        self.ids = RequestIds(self.flow_ids.allocate())
        self.base = self.ids.flow_id << 32
        self._add(self.ids)
        self.flow_ids.release(self.ids.flow_id)

    def _add(self, ids: RequestIds) -> None:
        numbers = range(self.base, self.base + 3)
        self.flight.add(ids, few_adds([7] * 3, range(3)), 30, b"", numbers, 5.0, lambda *_: None, True)

    def test_duplicate(self) -> None:
        """A second flow with a live id is refused, and the first one keeps it."""
        flow = flow_of(self.flight, self.ids)
        self.assertRaises(ValueError, self._add, RequestIds(self.ids.flow_id))
        self.assertIs(flow_of(self.flight, self.ids), flow)
        self.assertEqual((self.flight.unacknowledged, flow.waiting), (30, 3))

    def test_orphans(self) -> None:
        """The id of a flow that left is held until every reply to it has come."""
        self.flight.abandon(self.ids)
        self.assertEqual((self.flight.orphans, len(self.flow_ids)), (3, 1))
        self.flight.replied(self.base, 2)
        self.assertEqual((self.flight.orphans, len(self.flow_ids)), (1, 1))
        self.flight.replied(self.base + 9)
        self.assertEqual((self.flight.orphans, len(self.flow_ids)), (0, 0))

    def test_unknown(self) -> None:
        """A reply for a flow that never was is dropped."""
        self.flight.replied(77 << 32)
        self.assertEqual(self.flight.orphans, 0)

    def test_clear(self) -> None:
        """With the connection every expected reply is gone."""
        self.flight.abandon(self.ids)
        self.flight.clear()
        self.assertEqual((self.flight.orphans, len(self.flow_ids)), (0, 0))

"""The account of one connection: bytes, waiting flows, orphans; every way out settles once."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.in_flight import InFlight
from bookkeeper_twisted.protocol.client.outstanding import SentCall, SentReads
from bookkeeper_twisted.protocol.client.outstanding_adds import SentAdds
from bookkeeper_twisted.protocol.client.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.client.traffic import Traffic

from .test_outstanding_adds import few_adds


class InFlightTests(SynchronousTestCase):
    """Adds, reads and a call of one flow, over V3."""

    wire = 3

    def setUp(self) -> None:
        """Ten adds, two reads, one call: 1,000, 60 and 40 bytes."""
        self.flow_ids = FlowIds()
        self.ids = RequestIds(self.flow_ids.take())
        self.traffic = Traffic(Clock().seconds)
        self.flight = InFlight(self.wire == 3, self.flow_ids, self.traffic)
        self.base = self.ids.flow_id << 32
        flow = self.flow = self.flight.flows.of(self.ids)
        numbers = range(self.base, self.base + 10) if self.wire == 3 else None
        adds = few_adds([7] * 10, range(10))
        self.flight.adds.insert(SentAdds(flow, 1, 5.0, 1000, adds, b"", numbers, lambda *_: None), True)
        keys: Any = (self.base + 10, self.base + 11) if self.wire == 3 else ((7, 0), (7, 1))
        self.reads = SentReads(flow, 2, 5.0, keys, 60, Deferred())
        self.flight.read(self.reads)
        self.call = SentCall(flow, 3, 5.0, 7, 0, 40, int, int, Deferred())
        self.flight.call(self.base + 12, self.call)

    def _account(self) -> tuple[int, int]:
        return self.traffic.unacknowledged, self.flow.waiting

    def test_answered(self) -> None:
        """Answers settle what they answer."""
        self.assertEqual(self._account(), (1100, 13))
        list(self.flight.adds.answered(range(self.base, self.base + 5)))
        self.assertEqual(self._account(), (600, 8))
        for key in self.reads.keys:
            self.flight.answered_read(key, ReadReply(Status.EOK, 7, 0, None, b""))
        self.flight.take_call(self.base + 12)
        self.assertEqual(self._account(), (500, 5))
        self.assertTrue(self.flight)

    def test_give_up(self) -> None:
        """Giving up settles once, however often it is said."""
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
        self.flight.call(self.base + 13, self.call)
        self.flight.take_call(self.base + 13)
        self.assertEqual(told, [False])

    def test_expire(self) -> None:
        """What is overdue comes out in order and is settled."""
        self.assertEqual([sent.order for sent in self.flight.expire(5.0)], [1, 2, 3])
        self.assertEqual(self._account(), (0, 0))
        self.assertFalse(self.flight)

    def test_leave(self) -> None:
        """A flow that leaves takes its own requests out; its replies are orphans until they come."""
        other = RequestIds(self.flow_ids.take())
        kept = SentCall(self.flight.flows.of(other), 4, 5.0, 7, 0, 5, int, int, Deferred())
        self.flight.call(other.flow_id << 32, kept)
        self.assertEqual([sent.order for sent in self.flight.leave(self.ids)], [1, 2, 3])
        self.assertEqual((self._account(), kept.flow.waiting), ((5, 0), 1))
        self.assertEqual(self.flight.orphans, 13)
        self.flight.flows.replied(self.base, 13)
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
    """V2: keys that stay taken."""

    def test_leave(self) -> None:
        """The keys of a flow that left stay taken, but its id is free: no reply carries it."""
        flow_ids = FlowIds()
        ids = RequestIds(flow_ids.take())
        flight = InFlight(False, flow_ids, Traffic(Clock().seconds))
        flow = flight.flows.of(ids)
        ten = few_adds([7] * 10, range(10))
        flight.adds.insert(SentAdds(flow, 1, 5.0, 1000, ten, b"", None, lambda *_: None), True)
        one = few_adds((7,), (5,))
        flight.read(SentReads(flow, 2, 5.0, [(7, 3)], 30, Deferred()))
        self.assertTrue(flight.adds.is_taken(one, False) and not flight.can_read(7, (3,)))
        self.assertEqual(len(flight.leave(ids)), 2)
        self.assertEqual((flight.adds.is_taken(one, False), flight.can_read(7, (3,))), (True, False))
        self.assertEqual((flight.orphans, flight.abandoned), (11, 11))
        flow_ids.release(ids.flow_id)
        self.assertEqual(len(flow_ids), 0)
        self.assertEqual(list(flight.adds.answered([(7, n) for n in range(10)])), [])
        self.assertFalse(flight.adds.is_taken(one, False))


class AmongOthersTests(SynchronousTestCase):
    """V2: adds of the ledgers 7, 8 and 9 among other requests of one flow."""

    def setUp(self) -> None:
        """Five adds of one ledger, three of many, two reads, one call, and two adds again."""
        flow_ids = FlowIds()
        self.ids = RequestIds(flow_ids.take())
        self.traffic = Traffic(Clock().seconds)
        self.flight = InFlight(False, flow_ids, self.traffic)
        flow = self.flow = self.flight.flows.of(self.ids)
        self._adds(1, (7,) * 5, range(5), 500)
        self._adds(2, (7, 8, 9), (5, 0, 0), 100)
        self.reads = SentReads(flow, 3, 5.0, [(7, 0), (7, 1)], 60, Deferred())
        self.flight.read(self.reads)
        self.flight.call(1, SentCall(flow, 4, 5.0, 7, 0, 40, int, int, Deferred()))
        self._adds(5, (8, 10), (1, 0), 77)

    def _adds(self, order: int, ledger_ids: Sequence[int], entry_ids: Sequence[int], size: int) -> None:
        adds = few_adds(ledger_ids, entry_ids, size)
        sent = SentAdds(self.flow, order, 5.0, size, adds, adds.replies, None, lambda *_: None)
        self.flight.adds.insert(sent, False)

    def _answer(self, ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> list[tuple[int, list[int]]]:
        parts = self.flight.adds.answered(list(zip(ledger_ids, entry_ids, strict=True)))
        return [(part.order, list(part.places)) for part in parts]

    def _account(self) -> tuple[int, int]:
        return self.traffic.unacknowledged, self.flow.waiting

    def _answer_others(self) -> None:
        self._answer((7,) * 5, range(5))
        for entry_id in range(2):
            self.flight.answered_read((7, entry_id), ReadReply(Status.EOK, 7, entry_id, None, b""))
        self.flight.take_call(1)

    def test_answered(self) -> None:
        """Answers settle what they answer, in turn and out of turn, once, until nothing is left."""
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
        """The bytes of replies settle what they confirm."""
        data = few_adds((7,) * 5, range(5)).replies + few_adds((7, 8), (5, 0)).replies
        confirmed = [(part.order, list(part.places)) for part in self.flight.adds.confirmed(data + b"rest")]
        self.assertEqual(confirmed, [(1, [*range(5)]), (2, [0, 1])])
        self.assertEqual((self.flight.adds.n_confirmed, self._account()), (len(data), (210, 6)))

    def test_others(self) -> None:
        """Replies to what was not asked settle nothing."""
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
        """Overdue, left or lost: everything comes out once in the order in which it was asked, and is settled."""
        for end in (
            lambda flight: flight.expire(5.0), lambda flight: flight.leave(self.ids), lambda flight: flight.clear(),
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
        """Mixed adds that were given up are orphans until their replies, which settle nothing."""
        self.flight.expire(5.0)
        self.assertEqual((self.flight.abandoned, self.flight.orphans), (12, 12))
        self.assertEqual((self._answer((7, 8, 9), (5, 0, 0)), self._account()), ([], (0, 0)))
        self.assertEqual((self.flight.abandoned, self.flight.orphans), (9, 9))

    def test_can_add(self) -> None:
        """Adds are refused for one entry that is outstanding, or was given up without an answer."""

        def can_add(ledger_ids: Sequence[int], entry_ids: Sequence[int]) -> bool:
            return not self.flight.adds.is_taken(few_adds(ledger_ids, entry_ids), False)

        self.assertEqual([can_add((7, 11), (entry_id, 0)) for entry_id in (4, 5, 6)], [False, False, True])
        self.assertFalse(can_add((11, 10), (0, 0)))
        self._answer((7, 8, 9), (5, 0, 0))
        self.assertEqual((can_add((7,), (5,)), can_add((11, 7), (0, 4))), (True, False))
        self.flight.expire(5.0)
        self.assertFalse(can_add((11, 7), (0, 4)))
        self._answer((7,), (4,))
        self.assertTrue(can_add((11, 7), (0, 4)))

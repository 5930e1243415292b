"""The account of one connection: bytes, waiting flows, orphans; every way out settles once."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.in_flight import InFlight
from bookkeeper_twisted.protocol.outstanding import SentAdds, SentCall, SentReads
from bookkeeper_twisted.protocol.request_ids import FlowIds, RequestIds
from bookkeeper_twisted.protocol.traffic import Traffic


class InFlightTests(SynchronousTestCase):
    """Adds, reads and a call of one flow, over V3."""

    wire = 3

    def setUp(self) -> None:
        """Ten adds, two reads, one call: 1,000, 60 and 40 bytes."""
        self.flow_ids = FlowIds()
        self.ids = RequestIds(self.flow_ids.take())
        self.traffic = Traffic(Clock().seconds)
        self.flight = InFlight(self.wire, self.flow_ids, self.traffic)
        self.base = self.ids.flow_id << 32
        flow = self.flow = self.flight.flows.of(self.ids)
        key = self.base if self.wire == 3 else 0
        self.flight.add(SentAdds(flow, 1, 5.0, 7, 0, key, 10, 1000, lambda *_: None))
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
        self.flight.answered_adds(self.ids.flow_id, self.base, 5)
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
            self.flight.give_up_call(self.base + 12)
        self.assertEqual(self._account(), (1000, 10))

    def test_when_empty(self) -> None:
        """Who wants to know is told once, when nothing at all is waited for."""
        told: list[bool] = []
        self.flight.when_empty(lambda: told.append(bool(self.flight)))
        self.flight.give_up(self.reads)
        self.flight.give_up_call(self.base + 12)
        self.assertEqual(told, [])
        self.flight.expire(5.0)
        self.flight.call(self.base + 13, self.call)
        self.flight.give_up_call(self.base + 13)
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
        flight = InFlight(2, flow_ids, Traffic(Clock().seconds))
        flow = flight.flows.of(ids)
        flight.add(SentAdds(flow, 1, 5.0, 7, 0, 0, 10, 1000, lambda *_: None))
        flight.read(SentReads(flow, 2, 5.0, [(7, 3)], 30, Deferred()))
        self.assertFalse(flight.can_add(7, 5, 1) or flight.can_read(7, (3,)))
        self.assertEqual(len(flight.leave(ids)), 2)
        self.assertEqual((flight.can_add(7, 5, 1), flight.can_read(7, (3,))), (False, False))
        self.assertEqual((flight.orphans, flight.abandoned), (11, 11))
        flow_ids.release(ids.flow_id)
        self.assertEqual(len(flow_ids), 0)
        self.assertEqual(list(flight.answered_adds(7, 0, 10)), [])
        self.assertTrue(flight.can_add(7, 5, 1))

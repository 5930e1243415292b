"""What a connection waits for: ranges of adds, keys of reads."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.outstanding import (
    OutstandingAdds,
    OutstandingReads,
    SendingFlow,
    SentAdds,
    SentReads,
    in_order,
)
from bookkeeper_twisted.protocol.client.request_ids import RequestIds

LANE = 7
FLOW = SendingFlow(RequestIds(1))


def _sent(order: int, key: int, count: int, deadline: float = 5.0) -> SentAdds:
    return SentAdds(FLOW, order, deadline, LANE, key, key, count, 100 * count, lambda *_: None)


def _ranges(sent: Any) -> list[tuple[int, int]]:
    return [(s.first, s.count) for s in sent]


class OutstandingAddsTests(SynchronousTestCase):
    """Runs of adds in lanes."""

    def setUp(self) -> None:
        """Three runs of ten: 0, 10, 20."""
        self.adds = OutstandingAdds()
        for order in range(3):
            self.adds.insert(LANE, _sent(order, 10 * order, 10))

    def test_whole_run(self) -> None:
        """A reply for a whole run takes it out."""
        self.assertEqual(_ranges(self.adds.answered(LANE, 0, 10)), [(0, 10)])
        self.assertEqual(_ranges(self.adds), [(10, 10), (20, 10)])

    def test_across_runs(self) -> None:
        """A reply may cover several runs, the last one in part."""
        self.assertEqual(_ranges(self.adds.answered(LANE, 0, 25)), [(0, 10), (10, 10), (20, 5)])
        self.assertEqual(_ranges(self.adds), [(25, 5)])

    def test_out_of_order(self) -> None:
        """A reply that overtakes others splits the run it answers."""
        self.assertEqual(_ranges(self.adds.answered(LANE, 14, 2)), [(14, 2)])
        self.assertEqual(sorted(_ranges(self.adds)), [(0, 10), (10, 4), (16, 4), (20, 10)])

    def test_unknown(self) -> None:
        """Replies to what nobody asked are ignored, also a second reply to the same."""
        self.assertEqual(_ranges(self.adds.answered(LANE + 1, 0, 10)), [])
        self.assertEqual(_ranges(self.adds.answered(LANE, 90, 10)), [])
        self.adds.answered(LANE, 0, 10)
        self.assertEqual(_ranges(self.adds.answered(LANE, 0, 10)), [])

    def test_taken(self) -> None:
        """Keys are taken while they are outstanding, and free after the answer."""
        self.assertTrue(self.adds.is_taken(LANE, 29, 5))
        self.assertFalse(self.adds.is_taken(LANE, 30, 5))
        self.assertFalse(self.adds.is_taken(LANE + 1, 0, 5))
        self.adds.answered(LANE, 10, 10)
        self.assertFalse(self.adds.is_taken(LANE, 10, 10))
        self.assertTrue(self.adds.is_taken(LANE, 5, 10))

    def test_taken_in_part(self) -> None:
        """The upper part of a run stays taken when what was answered below it is sent again."""
        self.adds.insert(LANE + 1, _sent(3, 0, 10))
        self.adds.answered(LANE + 1, 3, 4)
        self.adds.insert(LANE + 1, _sent(4, 3, 1))
        self.assertTrue(self.adds.is_taken(LANE + 1, 9, 1))
        self.assertFalse(self.adds.is_taken(LANE + 1, 4, 3))

    def test_any_taken(self) -> None:
        """One key that is taken in its own lane is enough; the keys of other lanes do not matter."""
        other = LANE + 1
        self.adds.insert(other, _sent(3, 50, 2))
        self.assertTrue(self.adds.is_any_taken((1, other, LANE), (5, 0, 29)))
        self.assertTrue(self.adds.is_any_taken((other, LANE), (51, 30)))
        self.assertFalse(self.adds.is_any_taken((1, other, LANE), (5, 29, 50)))
        self.assertFalse(self.adds.is_any_taken((1, 2), (5, 50)))
        self.adds.answered(other, 50, 1)
        self.assertFalse(self.adds.is_any_taken((LANE, other), (30, 50)))
        self.assertTrue(self.adds.is_any_taken((LANE, other), (30, 51)))

    def test_any_taken_after_giving_up(self) -> None:
        """What was given up without numbers is still taken."""
        self.adds.expire(5.0, keep_taken=True)
        self.assertTrue(self.adds.is_any_taken((1, LANE), (0, 12)))
        self.adds.answered(LANE, 0, 30)
        self.assertFalse(self.adds.is_any_taken((1, LANE), (0, 12)))

    def test_expire(self) -> None:
        """What is overdue is given up; with numbers of its own it is forgotten."""
        self.adds.insert(LANE, _sent(3, 30, 1, deadline=9.0))
        self.assertEqual(_ranges(self.adds.expire(5.0, keep_taken=False)), [(0, 10), (10, 10), (20, 10)])
        self.assertEqual(_ranges(self.adds), [(30, 1)])
        self.assertFalse(self.adds.is_taken(LANE, 0, 30))

    def test_late_reply(self) -> None:
        """Without numbers an overdue key stays taken until its reply comes, which is nobody's."""
        self.adds.answered(LANE, 0, 5)
        expired = self.adds.expire(5.0, keep_taken=True)
        self.assertEqual(_ranges(expired), [(5, 5), (10, 10), (20, 10)])
        self.assertTrue(all(s.done is not None for s in expired))
        self.assertFalse(self.adds)
        self.assertEqual(self.adds.abandoned, 25)
        self.assertTrue(self.adds.is_taken(LANE, 5, 1))
        self.assertEqual(_ranges(self.adds.answered(LANE, 5, 25)), [])
        self.assertEqual(self.adds.abandoned, 0)
        self.assertFalse(self.adds.is_taken(LANE, 5, 1))

    def test_leave(self) -> None:
        """A flow that leaves gives up its own adds; those of others stay."""
        other = SentAdds(SendingFlow(RequestIds(2)), 3, 5.0, LANE, 30, 30, 4, 400, lambda *_: None)
        self.adds.insert(LANE, other)
        self.assertEqual(_ranges(self.adds.leave(FLOW, keep_taken=False)), [(0, 10), (10, 10), (20, 10)])
        self.assertEqual(_ranges(self.adds), [(30, 4)])

    def test_sizes(self) -> None:
        """The sizes of the parts of a run add up to the size of the whole, wherever it is split."""
        sent = SentAdds(FLOW, 1, 5.0, LANE, 0, 100, 7, 1000, None)
        parts = [sent.part(100, 101), sent.part(101, 105), sent.part(105, 107)]
        self.assertEqual([part.first for part in parts], [0, 1, 5])
        self.assertEqual(sum(part.size for part in parts), 1000)

    def test_clear(self) -> None:
        """At the end everything is taken out once."""
        self.assertEqual(_ranges(self.adds.clear()), [(0, 10), (10, 10), (20, 10)])
        self.assertEqual(_ranges(self.adds.clear()), [])

    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(
        st.lists(st.integers(1, 6), min_size=1, max_size=8), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)))
    )
    def test_each_once(self, counts: list[int], replies: list[tuple[int, int]]) -> None:
        """Whatever the replies, each entry is answered at most once, and only if it was named; its key is free then."""
        adds, key = OutstandingAdds(), 0
        for order, count in enumerate(counts):
            adds.insert(LANE, _sent(order, key, count))
            key += count
        answered: list[int] = []
        for start, count in replies:
            for sent in adds.answered(LANE, start, count):
                answered += range(sent.first, sent.first + sent.count)
        named = {e for start, count in replies for e in range(start, start + count) if e < key}
        self.assertEqual(sorted(answered), sorted(named))
        rest = {e for s in adds for e in range(s.first, s.first + s.count)}
        self.assertEqual(rest, set(range(key)) - named)
        again = min(named, default=key)
        adds.insert(LANE, _sent(len(counts), again, 1))
        taken = [e for e in range(key + 2) if adds.is_taken(LANE, e, 1)]
        self.assertEqual(taken, sorted(rest | {again}))


class OutstandingReadsTests(SynchronousTestCase):
    """Reads by key."""

    def setUp(self) -> None:
        """One group of two reads."""
        self.reads = OutstandingReads()
        self.group = SentReads(FLOW, 1, 5.0, [(7, 0), (7, 1)], 60, Deferred())
        self.reads.insert(self.group)

    def _reply(self, entry_id: int) -> ReadReply:
        return ReadReply(Status.EOK, 7, entry_id, None, b"")

    def test_complete(self) -> None:
        """A group is complete with its last reply; replies are in the order asked."""
        self.assertIsNone(self.reads.answered((7, 1), self._reply(1)))
        self.assertIs(self.reads.answered((7, 0), self._reply(0)), self.group)
        self.assertEqual([r.entry_id for r in self.group.replies if r], [0, 1])
        self.assertFalse(self.reads)

    def test_unknown(self) -> None:
        """A reply nobody asked for is ignored."""
        self.assertIsNone(self.reads.answered((7, 9), self._reply(9)))

    def test_taken(self) -> None:
        """A key cannot be asked twice at a time, nor twice in one group."""
        self.assertTrue(self.reads.is_taken([(7, 5), (7, 1)]))
        self.assertTrue(self.reads.is_taken([(7, 5), (7, 5)]))
        self.assertFalse(self.reads.is_taken([(7, 5), (8, 1)]))

    def test_late_reply(self) -> None:
        """A key that was given up is taken until its late reply, which answers nobody."""
        self.reads.answered((7, 0), self._reply(0))
        self.assertEqual(self.reads.expire(5.0, keep_taken=True), [self.group])
        self.assertFalse(self.reads)
        self.assertEqual(self.reads.abandoned, 1)
        self.assertTrue(self.reads.is_taken([(7, 1)]))
        self.assertFalse(self.reads.is_taken([(7, 0)]))
        self.assertIsNone(self.reads.answered((7, 1), self._reply(1)))
        self.assertEqual((self.reads.abandoned, self.reads.is_taken([(7, 1)])), (0, False))

    def test_expire_in_order(self) -> None:
        """Only what is overdue expires, each group once, oldest first."""
        later = SentReads(FLOW, 2, 6.0, [(7, 5)], 30, Deferred())
        latest = SentReads(FLOW, 3, 9.0, [(7, 6)], 30, Deferred())
        self.reads.insert(later)
        self.reads.insert(latest)
        self.assertEqual(self.reads.expire(6.0, keep_taken=False), [self.group, later])
        self.assertEqual(self.reads.clear(), [latest])

    def test_in_order(self) -> None:
        """Requests of different kinds are put in the order in which they were made."""
        adds = _sent(0, 0, 1)
        self.assertEqual(in_order([self.group, adds]), [adds, self.group])

"""What a connection waits for: keys of reads."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.in_flight import InFlight
from bookkeeper_twisted.protocol.client.request_ids import FlowIds
from bookkeeper_twisted.protocol.client.sent_reads import ReadKey, ReadsByKey, SentReads


def _reads(keys: Sequence[ReadKey]) -> SentReads:
    return SentReads(None, 1, 5.0, 60, keys, [None] * len(keys), Deferred())


def _reply(entry_id: int) -> ReadReply:
    return ReadReply(Status.EOK, 7, entry_id, None, b"")


class ReadsByKeyTests(SynchronousTestCase):
    """Reads by key."""

    def setUp(self) -> None:
        """One group of two reads."""
        self.reads = ReadsByKey()
        self.group = _reads([(7, 0), (7, 1)])
        self.reads.put(self.group)

    def test_complete(self) -> None:
        """A group is complete with its last reply; replies are in the order asked."""
        self.assertEqual(self.reads.pop((7, 1)), (self.group, 1))
        self.assertFalse(self.group.file(1, _reply(1)))
        self.assertEqual(self.reads.pop((7, 0)), (self.group, 0))
        self.assertTrue(self.group.file(0, _reply(0)))
        self.assertEqual([r.entry_id for r in self.group.replies if r], [0, 1])
        self.assertEqual(self.reads.some(lambda reads: True), [])

    def test_taken(self) -> None:
        """A key cannot be asked twice at a time, nor twice in one group."""
        self.assertTrue(self.reads.are_taken([(7, 5), (7, 1)]))
        self.assertTrue(self.reads.are_taken([(7, 5), (7, 5)]))
        self.assertFalse(self.reads.are_taken([(7, 5), (8, 1)]))

    def test_give_up(self) -> None:
        """Keys without a reply are given up once, and stay taken if that is asked for."""
        self.reads.pop((7, 0))
        self.assertEqual([self.reads.give_up(self.group, keep_taken=True) for _ in range(2)], [1, 0])
        self.assertEqual([(7, n) in self.reads for n in range(2)], [False, True])
        self.assertIsNone(self.reads.pop((7, 1)))
        other = _reads([(7, 0), (7, 1)])
        self.reads.put(other)
        self.assertEqual(self.reads.give_up(self.group, keep_taken=False), 0)
        self.assertEqual(self.reads.give_up(other, keep_taken=False), 2)
        self.assertFalse(self.reads.are_taken([(7, 0)]))


class ReadsInFlightTests(SynchronousTestCase):
    """Reads in the account of a connection without numbers."""

    def setUp(self) -> None:
        """One group of two reads."""
        self.flight = InFlight(False, FlowIds())
        self.group = self._read([(7, 0), (7, 1)], 5.0)

    def _read(self, keys: Sequence[ReadKey], deadline: float) -> SentReads:
        return self.flight.read(self.flight.own, keys, 60, deadline, Deferred())

    def test_unknown(self) -> None:
        """A reply without a request is ignored."""
        self.assertIsNone(self.flight.answered_read((7, 9), _reply(9)))
        self.assertTrue(self.flight)

    def test_complete(self) -> None:
        """A group comes out with its last reply."""
        self.assertIsNone(self.flight.answered_read((7, 1), _reply(1)))
        self.assertIs(self.flight.answered_read((7, 0), _reply(0)), self.group)
        self.assertFalse(self.flight)

    def test_many_replies(self) -> None:
        """Replies that come together complete the groups that they are of, in their order; others are ignored."""
        other = self._read([(7, 5), (8, 1)], 5.0)
        replies = [ReadReply(Status.EOK, ledger_id, i, None, b"%d" % i) for ledger_id, i in ((7, 5), (7, 0), (7, 9))]
        self.assertEqual(list(self.flight.answered_reads(replies)), [])
        replies = [ReadReply(Status.EOK, ledger_id, i, None, b"%d" % i) for ledger_id, i in ((8, 1), (7, 0), (7, 1))]
        found = self.flight.answered_reads(replies)
        self.assertIs(next(found), other)
        self.assertEqual([reply.entry for reply in other.replies if reply], [b"5", b"1"])
        self.assertFalse(self.flight.can_read(7, [1]))
        self.assertEqual((list(found), bool(self.flight)), ([self.group], False))

    def test_many_late_replies(self) -> None:
        """Late replies that come together free their keys."""
        self.flight.expire(5.0)
        self.assertEqual(list(self.flight.answered_reads([_reply(0), _reply(1), _reply(1)])), [])
        self.assertEqual((self.flight.abandoned, self.flight.can_read(7, [0, 1])), (0, True))

    def test_late_reply(self) -> None:
        """A key that was given up is taken until its late reply, which is dropped."""
        self.flight.answered_read((7, 0), _reply(0))
        self.assertEqual(self.flight.expire(5.0), [self.group])
        self.assertFalse(self.flight)
        self.assertEqual(self.flight.abandoned, 1)
        self.assertFalse(self.flight.can_read(7, [1]))
        self.assertTrue(self.flight.can_read(7, [0]))
        self.assertIsNone(self.flight.answered_read((7, 1), _reply(1)))
        self.assertEqual((self.flight.abandoned, self.flight.can_read(7, [1])), (0, True))

    def test_expire_in_order(self) -> None:
        """Only what is overdue expires, each group once, oldest first."""
        later, latest = self._read([(7, 5)], 6.0), self._read([(7, 6)], 9.0)
        self.assertEqual(self.flight.expire(6.0), [self.group, later])
        self.assertEqual(self.flight.clear(), [latest])

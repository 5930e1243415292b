"""The reads that a connection waits for, by id."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.in_flight import InFlight
from bookkeeper_twisted.protocol.client.request_ids import FlowIds
from bookkeeper_twisted.protocol.client.sent_reads import NUMBERED, ReadsById, SentReads


def _reads(ids: Sequence[int], scope: int | None = 7) -> SentReads:
    return SentReads(None, 1, 5.0, 60, scope, ids, Deferred())


def _reply(entry_id: int, ledger_id: int = 7) -> ReadReply:
    return ReadReply(Status.EOK, ledger_id, entry_id, None, b"%d" % entry_id)


class SentReadsTests(SynchronousTestCase):
    """Reads that were sent together."""

    def test_order(self) -> None:
        """Replies are returned in the order of the ids, whatever order they arrive in."""
        reads = _reads((4, 9, 2))
        reads.file((2,), (_reply(2),))
        self.assertEqual(reads.n_missing, 2)
        reads.file((9, 4), (_reply(9), _reply(4)))
        self.assertEqual((reads.n_missing, [reply.entry_id for reply in reads.replies()]), (0, [4, 9, 2]))

    def test_twice(self) -> None:
        """A second reply to a read does not stand for another read."""
        reads = _reads((4, 9))
        reads.file((4, 4), (_reply(4), _reply(4)))
        self.assertEqual(reads.n_missing, 1)


class ReadsByIdTests(SynchronousTestCase):
    """The index of outstanding reads."""

    def setUp(self) -> None:
        """Two reads of a ledger that were sent together."""
        self.reads = ReadsById()
        self.group = _reads((0, 1))
        self.reads.put(self.group)

    def test_find(self) -> None:
        """Reads are found by scope and id until their ids are removed."""
        self.assertEqual(self.reads.find(7, 1), (self.group, True))
        self.assertEqual([self.reads.find(8, 1), self.reads.find(7, 2)], [(None, False)] * 2)
        self.reads.remove(7, (1, 1))
        self.assertEqual([self.reads.find(7, n)[1] for n in (0, 1)], [True, False])
        self.assertEqual(self.reads.some(lambda reads: True), [self.group])
        self.reads.remove(7, (0,))
        self.assertEqual((self.reads.some(lambda reads: True), self.reads._scopes), ([], {}))

    def test_of(self) -> None:
        """The ids up to the first one of other reads are told apart."""
        self.reads.put(_reads((5,)))
        self.assertEqual([self.reads.of(self.group, ids) for ids in ((1, 0), (0, 5, 1), (1, 3))], [2, 1, 1])

    def test_taken(self) -> None:
        """An id cannot be asked twice at a time, nor twice in one group; a scope has ids of its own."""
        for ids in ((5, 1), (5, 5), (1,), range(1, 4)):
            self.assertTrue(self.reads.are_in_use(7, ids), ids)
        self.assertFalse(self.reads.are_in_use(7, (5, 6)) or self.reads.are_in_use(7, range(2, 5)))
        self.assertFalse(self.reads.are_in_use(8, (0, 1)) or self.reads.are_in_use(NUMBERED, (0,)))

    def test_give_up(self) -> None:
        """Ids without a reply are given up once, and stay in use if that is asked for."""
        self.reads.remove(7, (0,))
        self.assertEqual([self.reads.give_up(self.group, keep_in_use=True) for _ in range(2)], [1, 0])
        self.assertEqual([self.reads.find(7, n) for n in range(2)], [(None, False), (None, True)])
        self.reads.remove(7, (1,))
        other = _reads((0, 1))
        self.reads.put(other)
        self.assertEqual(self.reads.give_up(self.group, keep_in_use=False), 0)
        self.assertEqual(self.reads.give_up(other, keep_in_use=False), 2)
        self.assertFalse(self.reads.are_in_use(7, (0,)))


class ReadsInFlightTests(SynchronousTestCase):
    """Reads in the account of a connection without numbers."""

    def setUp(self) -> None:
        """Two reads of one ledger, sent together."""
        self.flight = InFlight(False, FlowIds())
        self.group = self._read((0, 1), 5.0)

    def _read(self, ids: Sequence[int], deadline: float, ledger_id: int = 7) -> SentReads:
        return self.flight.read(self.flight.own, ledger_id, ids, 60, deadline, Deferred())

    def _answered(self, *replies: ReadReply) -> list[SentReads]:
        return list(self.flight.answered_reads(replies))

    def test_unknown(self) -> None:
        """A reply without a request is ignored."""
        self.assertEqual(self._answered(_reply(9), _reply(0, 8)), [])
        self.assertTrue(self.flight)

    def test_complete(self) -> None:
        """A group is yielded with its last reply."""
        self.assertEqual(self._answered(_reply(1)), [])
        self.assertEqual(self._answered(_reply(0)), [self.group])
        self.assertFalse(self.flight)

    def test_many_replies(self) -> None:
        """Replies that come together complete the groups that they are of, in their order; others are ignored."""
        other, far = self._read((5, 6), 5.0), self._read((1,), 5.0, 8)
        self.assertEqual(self._answered(_reply(5), _reply(0), _reply(9)), [])
        found = self.flight.answered_reads([_reply(6), _reply(1, 8), _reply(1), _reply(1)])
        self.assertIs(next(found), other)
        self.assertEqual([reply.entry for reply in other.replies()], [b"5", b"6"])
        self.assertFalse(self.flight.can_read(7, [1]))
        self.assertEqual((list(found), bool(self.flight)), ([far, self.group], False))

    def test_reads_between(self) -> None:
        """Reads that a caller sends between two groups are found, and those that it gave up are not."""
        other = self._read((5, 6), 5.0)
        found = self.flight.answered_reads([_reply(0), _reply(1), _reply(5), _reply(6), _reply(7)])
        self.assertIs(next(found), self.group)
        self.flight.give_up(other)
        between = self._read((7,), 5.0)
        self.assertEqual((list(found), self.flight.abandoned), ([between], 0))

    def test_lost_between(self) -> None:
        """When a caller clears the account between two groups, the reads behind are with those that it gets."""
        other = self._read((5, 6), 5.0)
        found = self.flight.answered_reads([_reply(0), _reply(1), _reply(5), _reply(6)])
        self.assertIs(next(found), self.group)
        self.assertEqual((self.flight.clear(), list(found)), ([other], []))

    def test_many_late_replies(self) -> None:
        """Late replies that come together free their keys."""
        self.flight.expire(5.0)
        self.assertEqual(self._answered(_reply(0), _reply(1), _reply(1)), [])
        self.assertEqual((self.flight.abandoned, self.flight.can_read(7, [0, 1])), (0, True))

    def test_late_reply(self) -> None:
        """A key that was given up is in use until its late reply, which is dropped."""
        self._answered(_reply(0))
        self.assertEqual(self.flight.expire(5.0), [self.group])
        self.assertFalse(self.flight)
        self.assertEqual(self.flight.abandoned, 1)
        self.assertFalse(self.flight.can_read(7, [1]))
        self.assertTrue(self.flight.can_read(7, [0]))
        self.assertEqual(self._answered(_reply(1)), [])
        self.assertEqual((self.flight.abandoned, self.flight.can_read(7, [1])), (0, True))

    def test_expire_in_order(self) -> None:
        """Only what is overdue expires, each group once, oldest first."""
        later, latest = self._read((5,), 6.0), self._read((6,), 9.0)
        self.assertEqual(self.flight.expire(6.0), [self.group, later])
        self.assertEqual(self.flight.clear(), [latest])

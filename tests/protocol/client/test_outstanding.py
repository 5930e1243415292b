"""What a connection waits for: keys of reads."""

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.protocol.client.outstanding import (
    OutstandingReads,
    SendingFlow,
    SentReads,
)
from bookkeeper_twisted.protocol.client.request_ids import RequestIds

FLOW = SendingFlow(RequestIds(1))


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
        """A reply without a request is ignored."""
        self.assertIsNone(self.reads.answered((7, 9), self._reply(9)))

    def test_taken(self) -> None:
        """A key cannot be asked twice at a time, nor twice in one group."""
        self.assertTrue(self.reads.is_taken([(7, 5), (7, 1)]))
        self.assertTrue(self.reads.is_taken([(7, 5), (7, 5)]))
        self.assertFalse(self.reads.is_taken([(7, 5), (8, 1)]))

    def test_late_reply(self) -> None:
        """A key that was given up is taken until its late reply, which is dropped."""
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

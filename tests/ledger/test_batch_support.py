"""Bookies without batch reads are remembered for a while."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BadRequestError, NoSuchEntryError, RequestTimeoutError
from bookkeeper_twisted.ledger.batch_support import REMEMBERED, BatchAttempt, BatchSupport


class BatchSupportTests(SynchronousTestCase):
    """What is known of each bookie."""

    def test_memory(self) -> None:
        """A bookie that lacks batch reads is tried again after a while, the others all the time."""
        clock = Clock()
        support = BatchSupport(clock.seconds)
        self.assertTrue(support.is_expected("a"))
        support.refused("a")
        self.assertFalse(support.is_expected("a"))
        self.assertTrue(support.is_expected("b"))
        clock.advance(REMEMBERED - 1)
        self.assertFalse(support.is_expected("a"))
        clock.advance(1)
        self.assertTrue(support.is_expected("a"))

    def test_unanswered(self) -> None:
        """One batch read without an answer is an accident, a second one in a row is not."""
        support = BatchSupport(Clock().seconds)
        support.unanswered("a")
        self.assertTrue(support.is_expected("a"))
        support.gave_one("a")
        support.unanswered("a")
        support.unanswered("b")
        self.assertTrue(support.is_expected("a"))
        support.unanswered("a")
        self.assertFalse(support.is_expected("a"))
        self.assertTrue(support.is_expected("b"))


class BatchAttemptTests(SynchronousTestCase):
    """An attempt to read from three replicas."""

    def setUp(self) -> None:
        self.support = BatchSupport(Clock().seconds)
        self.attempt = BatchAttempt(self.support, ["a", "b", "c"])

    def test_all_answered(self) -> None:
        """If every bookie answered with an error, single reads are of no use."""
        for bookie_id in "abc":
            self.attempt.failed(bookie_id, NoSuchEntryError(1, 2))
        self.assertFalse(self.attempt.leaves_open)
        self.assertEqual(list(self.attempt.errors), ["a", "b", "c"])

    def test_refused(self) -> None:
        """A bookie that refuses a batch read may have the entry, and is not asked by the next attempt."""
        self.attempt.failed("a", BadRequestError())
        self.assertTrue(self.attempt.leaves_open)
        following = BatchAttempt(self.support, ["a", "b", "c"])
        self.assertEqual((following.capable, following.leaves_open), (["b", "c"], True))

    def test_unanswered(self) -> None:
        """Only bookies that then answer single reads, twice in a row, are remembered."""
        for _ in range(2):
            for bookie_id in "ab":
                self.attempt.failed(bookie_id, RequestTimeoutError("late"))
            self.assertTrue(self.attempt.leaves_open)
            self.attempt.single_reads_succeeded({"a", "c"})
        self.assertEqual(BatchAttempt(self.support, ["a", "b", "c"]).capable, ["b", "c"])

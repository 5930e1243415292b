"""Bookies without batch reads are remembered for a while."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.bookie_health import REMEMBERED, BatchSupport


class BatchSupportTests(SynchronousTestCase):
    """What is known of each bookie."""

    def test_memory(self) -> None:
        """A bookie that lacks batch reads is tried again after a while, the others all the time."""
        clock = Clock()
        support = BatchSupport(clock)
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
        support = BatchSupport(Clock())
        support.unanswered("a")
        self.assertTrue(support.is_expected("a"))
        support.gave_one("a")
        support.unanswered("a")
        support.unanswered("b")
        self.assertTrue(support.is_expected("a"))
        support.unanswered("a")
        self.assertFalse(support.is_expected("a"))
        self.assertTrue(support.is_expected("b"))

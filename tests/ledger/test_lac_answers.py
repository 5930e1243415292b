"""The answers of bookies to requests for the LAC, without a bookie."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BookieIOError, NoSuchEntryError, NoSuchLedgerError
from bookkeeper_twisted.ledger.lac_answers import LacAnswers, LastConfirmed
from bookkeeper_twisted.ledger.schedule import Schedule


class LacAnswersTests(SynchronousTestCase):
    """Three bookies, of which two must answer."""

    def setUp(self) -> None:
        self.answers = LacAnswers(7, ["a", "b", "c"], Schedule(3, 3, 2).is_covered)

    def test_merged(self) -> None:
        """The highest LAC counts, and the length goes with the newest entry, whoever knows them."""
        self.answers.heard("a", LastConfirmed(8, 3, 30))
        self.answers.heard("b", LastConfirmed(5, 6, 60))
        self.assertEqual(self.answers.known, LastConfirmed(8, 6, 60))

    def test_no_entry(self) -> None:
        """A bookie that has no entry of the ledger has answered."""
        self.answers.failed("a", NoSuchEntryError(7))
        self.assertFalse(self.answers.suffice)
        self.answers.failed("c", NoSuchLedgerError(7))
        self.assertTrue(self.answers.suffice)
        self.assertEqual((self.answers.known, self.answers.errors), (LastConfirmed(), {}))

    def test_failures(self) -> None:
        """A bookie that failed has not; the error for too few answers names it."""
        for bookie_id in "ab":
            self.answers.failed(bookie_id, BookieIOError(7))
        self.answers.heard("c", LastConfirmed())
        self.assertFalse(self.answers.suffice)
        self.assertRegex(str(self.answers.failure()), "ledger 7: bookie a: I/O error.*; bookie b: I/O error")

"""The account of failed bookies."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.failed_bookies import RETRY_SECONDS, SPARE_SECONDS, FailedBookies, of_ledger
from bookkeeper_twisted.errors import BookieIOError, LedgerFencedError, NotEnoughBookiesError, RequestTimeoutError

ENSEMBLE = ("b0", "b1", "b2")


class FailedBookiesTests(SynchronousTestCase):
    """Three bookies."""

    def setUp(self) -> None:
        """None has failed."""
        self.failures = FailedBookies()

    def test_rounds(self) -> None:
        """A round takes the bookies that failed, late ones too, but none twice at one position."""
        self.failures.add(["b2"])
        self.failures.late["b0"] = None
        self.assertTrue(self.failures.waiting)
        first = self.failures.take(ENSEMBLE, ())
        self.assertEqual(first, {0: "b0", 2: "b2"})
        self.assertEqual((self.failures.waiting, self.failures.late), (False, {}))
        self.failures.add(["b0", "b1", "elsewhere"])
        self.assertEqual(self.failures.take(ENSEMBLE, first.items()), {1: "b1"})
        self.assertEqual(list(self.failures.useless), ["b0", "b2", "b1"])

    def test_completed(self) -> None:
        """Once an entry completes all bookies are of use, and there is time for tries again."""
        self.failures.add(["b0"])
        self.failures.take(ENSEMBLE, ())
        self.assertEqual(self.failures.pause(10.0, 1.0), RETRY_SECONDS)
        self.failures.completed()
        self.assertEqual(self.failures.useless, {})
        self.assertEqual(self.failures.pause(20.0, 1.0), RETRY_SECONDS)

    def test_pauses(self) -> None:
        """Tries end with the patience since the first one."""
        found = [self.failures.pause(now, 0.75) for now in (10.0, 10.5, 10.75)]
        self.assertEqual(found, [RETRY_SECONDS, 0.25, None])
        self.assertIsNone(FailedBookies().pause(10.0, 0.0))

    def test_errors_with_fields(self) -> None:
        """An error whose class has fields is left as it is."""
        self.failures.note("b1", BookieIOError())
        fenced = LedgerFencedError(7)
        self.assertIs(self.failures.explained(of_ledger(fenced, 7), ENSEMBLE, ENSEMBLE), fenced)

    def test_first_error(self) -> None:
        """The first error of a member is kept, until it is no member any more."""
        first, second = BookieIOError(), RequestTimeoutError("late")
        self.assertEqual([self.failures.note("b1", error) for error in (first, second)], [True, False])
        shortage = NotEnoughBookiesError("none")
        explained = self.failures.explained(shortage, ENSEMBLE, {"b1"})
        self.assertIs(explained.__cause__, first)
        self.assertEqual(str(explained), f"none; bookie b1: {first}")
        self.failures.changed(("b0", "s0", "b2"))
        self.assertEqual(str(self.failures.explained(shortage, ENSEMBLE, {"b1"})), "none")
        self.assertTrue(self.failures.note("b1", second))

    def test_stays(self) -> None:
        """A bookie that none can take the place of stays for a while, as long as it is a member."""
        self.failures.stay(["b0", "b1"], 5.0)
        self.assertEqual([self.failures.stays_until(name) for name in ENSEMBLE], [*[5.0 + SPARE_SECONDS] * 2, None])
        self.failures.changed(("s0", "b1", "b2"))
        self.assertEqual([self.failures.stays_until(name) for name in ENSEMBLE[:2]], [None, 5.0 + SPARE_SECONDS])

    def test_forget(self) -> None:
        """Bookies that are tried again have not failed, and may be chosen."""
        self.failures.add(["b0"])
        self.failures.take(ENSEMBLE, ())
        self.failures.add(["b1"])
        self.failures.forget()
        self.assertEqual((self.failures.waiting, self.failures.useless), (False, {}))
        self.assertEqual(self.failures.take(ENSEMBLE, ()), {})

"""A sync of a whole ensemble."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.base_writer import force_ensemble
from bookkeeper_twisted.errors import BookieHandleNotAvailableError
from bookkeeper_twisted.testing.bookies import MemoryBookies


class ForceTests(SynchronousTestCase):
    """Three bookies in memory."""

    def setUp(self) -> None:
        """All are well."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)

    def _force(self) -> "Deferred[None]":
        return Deferred.fromCoroutine(force_ensemble(self.bookies, 5, ("a", "b", "c")))

    def test_all(self) -> None:
        """Every bookie is asked, and all have to answer."""
        self.bookies["b"].delay = 1.0
        forced = self._force()
        self.clock.advance(0)
        self.assertNoResult(forced)
        self.clock.advance(1.0)
        self.successResultOf(forced)
        for name in "abc":
            self.assertEqual(self.bookies[name].requests, [("force", 5, -1, 1)])

    def test_failure(self) -> None:
        """The first that fails is what the caller gets; the other failures make no noise."""
        self.bookies["a"].up = self.bookies["b"].up = False
        forced = self._force()
        self.clock.advance(0)
        self.failureResultOf(forced, BookieHandleNotAvailableError)

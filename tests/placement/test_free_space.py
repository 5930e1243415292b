"""Free space, asked by the clock."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import RequestTimeoutError
from bookkeeper_twisted.placement.free_space import FreeSpace
from bookkeeper_twisted.testing.bookies import MemoryBookies


class FreeSpaceTests(SynchronousTestCase):
    """Asked once an hour, again after a minute without an answer."""

    def setUp(self) -> None:
        """No bookies yet."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        config = ClientConfig(get_bookie_info_interval_seconds=3600, get_bookie_info_retry_interval_seconds=60)
        self.space = FreeSpace(self.clock, self.bookies.bookie_info, config)

    def _asked(self, bookie_id: str) -> int:
        return len(self.bookies[bookie_id].requests)

    def test_new_bookies(self) -> None:
        """A bookie is asked when it appears, and then once an interval."""
        self.space.bookies_changed({"a", "b"})
        self.clock.advance(0)
        self.assertEqual(self.space.free_bytes, {"a": 1 << 39, "b": 1 << 39})
        self.space.bookies_changed({"a", "b", "c"})
        self.clock.advance(0)
        self.assertEqual([self._asked(b) for b in "abc"], [1, 1, 1])
        self.clock.advance(3600)
        self.assertEqual([self._asked(b) for b in "abc"], [2, 2, 2])

    def test_no_answer(self) -> None:
        """One that does not answer is asked again soon, and keeps what it said before."""
        self.bookies["a"].fail("bookie_info", lambda: RequestTimeoutError("no reply in time"), times=1)
        self.space.bookies_changed({"a"})
        self.clock.advance(0)
        self.assertEqual(self.space.free_bytes, {})
        self.clock.advance(60)
        self.clock.advance(0)
        self.assertEqual(self.space.free_bytes, {"a": 1 << 39})

    def test_gone(self) -> None:
        """One that is gone is forgotten and not asked any more; if it comes back it is asked at once."""
        self.space.bookies_changed({"a"})
        self.clock.advance(0)
        self.space.bookies_changed(set())
        self.assertEqual(self.space.free_bytes, {})
        self.clock.advance(7200)
        self.assertEqual(self._asked("a"), 1)
        self.space.bookies_changed({"a"})
        self.assertEqual(self._asked("a"), 2)

    def test_broken(self) -> None:
        """An unforeseen error is logged."""
        self.bookies["a"].fail("bookie_info", lambda: ZeroDivisionError())
        self.space.bookies_changed({"a"})
        self.clock.advance(0)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_stop(self) -> None:
        """A stopped one leaves no timer, also while it asks."""
        self.space.bookies_changed({"a"})
        self.clock.advance(0)
        self.space.bookies_changed({"a", "b"})
        self.space.stop()
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

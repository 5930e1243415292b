"""What is remembered of bookies, and for how long."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BookieIOError, NoSuchEntryError, RequestTimeoutError
from bookkeeper_twisted.ledger.bookie_health import BookieHealth


class BookieHealthTests(SynchronousTestCase):
    """A memory of a minute."""

    def setUp(self) -> None:
        """Nothing happened yet."""
        self.clock = Clock()
        self.health = BookieHealth(self.clock.seconds, 60.0)

    def test_failure(self) -> None:
        """A failure is remembered for a while, from the last one on."""
        self.assertIsNone(self.health.failed_at("b0"))
        self.health.failed("b0", BookieIOError())
        self.clock.advance(30)
        self.health.failed("b0", RequestTimeoutError("late"))
        self.clock.advance(59)
        self.assertEqual(self.health.failed_at("b0"), 30)
        self.clock.advance(1)
        self.assertIsNone(self.health.failed_at("b0"))

    def test_harmless(self) -> None:
        """A bookie that does not have an entry did not fail."""
        self.health.failed("b0", NoSuchEntryError())
        self.assertIsNone(self.health.failed_at("b0"))

    def test_success(self) -> None:
        """A success makes a failure forgotten, not slowness."""
        self.health.failed("b0", BookieIOError())
        self.health.was_slow("b0")
        self.health.succeeded("b0")
        self.assertIsNone(self.health.failed_at("b0"))
        self.assertTrue(self.health.is_slow("b0"))
        self.clock.advance(60)
        self.assertFalse(self.health.is_slow("b0"))

"""What all handles of a client share."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.speculation import Patience
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.testing.bookies import MemoryBookies

from .reading.reading_case import make_context

ENSEMBLE = ("b0", "b1", "b2")


class ClientContextTests(SynchronousTestCase):
    """Parts made from the configuration."""

    def setUp(self) -> None:
        """Time and bookies."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)

    def test_patience(self) -> None:
        """The keys are milliseconds."""
        context = make_context(
            self.clock, self.bookies, first_speculative_read_timeout=100.0, max_speculative_read_timeout=900.0,
            speculative_read_timeout_backoff_multiplier=3.0,
        )  # fmt: skip
        self.assertEqual(context.read_patience, Patience(0.1, 0.9, 3.0))
        self.assertEqual(context.poll_patience, Patience(1.5, 5.0, 2.0))

    def test_read_order(self) -> None:
        """Readers spread their load, unless they are to be sticky; then each has its own first bookie."""
        schedule = Schedule(3, 3, 2)
        plain = make_context(self.clock, self.bookies).read_order(schedule)
        self.assertEqual([plain.of(ENSEMBLE, n)[0] for n in range(3)], list(ENSEMBLE))
        context = make_context(self.clock, self.bookies, sticky_reads_enabled=True)
        orders = [context.read_order(schedule) for _ in range(30)]
        self.assertEqual({len({order.of(ENSEMBLE, n)[0] for n in range(3)}) for order in orders}, {1})
        self.assertEqual({order.of(ENSEMBLE, 0)[0] for order in orders}, set(ENSEMBLE))

    def test_health(self) -> None:
        """Failures are remembered as long as configured."""
        health = make_context(self.clock, self.bookies, bookie_failure_history_expiration_msec=500.0).health
        health.was_slow("b0")
        self.clock.advance(0.4)
        self.assertTrue(health.is_slow("b0"))
        self.clock.advance(0.1)
        self.assertFalse(health.is_slow("b0"))

"""What the pool promises whatever the load, as the benchmark shows it."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.pool import pool_cases


class PoolCasesTests(SynchronousTestCase):
    """Each figure."""

    def test_rows(self) -> None:
        """All are within their bars, none of which is a lower bound."""
        for name, bar, figure, at_least in pool_cases.case_rows():
            self.assertFalse(at_least)
            self.assertLessEqual(figure, bar, name)

    def test_burst(self) -> None:
        """A burst opens what it may, and no less."""
        self.assertEqual(pool_cases.burst(), pool_cases.MAX_SOCKETS)

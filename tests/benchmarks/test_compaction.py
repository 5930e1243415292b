"""The judgement of compactions."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compaction.compaction import Bar, ratios


class BarTests(SynchronousTestCase):
    """A figure and its bounds."""

    def test_bounds(self) -> None:
        """A figure holds at its bounds and misses beyond them."""
        found = [Bar("a", figure, 0.95, 1.05).held for figure in (0.94, 0.95, 1.0, 1.05, 1.06)]
        self.assertEqual(found, [False, True, True, True, False])
        self.assertEqual([Bar("a", figure, 2.0).held for figure in (1.9, 9.0)], [False, True])
        self.assertEqual([Bar("a", figure, high=1.5).held for figure in (0.1, 1.6)], [True, False])

    def test_text(self) -> None:
        """A missed bar says so."""
        self.assertEqual(str(Bar("p99", 1.6, high=1.5)), "p99: 1.600 (<= 1.5: MISSED)")
        self.assertEqual(str(Bar("reads", 1.0, 0.95, 1.05)), "reads: 1.000 (>= 0.95, <= 1.05: held)")


class RatioTests(SynchronousTestCase):
    """Phases beside a compaction over phases alone."""

    def test_medians(self) -> None:
        """Ratios are taken within a round; a compaction that ended early in one round shows."""
        idle = {"rate": 100.0, "p99_ms": 10.0}
        rounds = [
            {"idle": idle, "compacting": {"rate": 100.0 * n, "p99_ms": 10.0 / n, "to_the_end": float(n != 4)}}
            for n in (1, 2, 4)
        ]
        self.assertEqual(ratios(rounds), {"rate": 2.0, "p99_ms": 0.5, "to_the_end": 0.0})

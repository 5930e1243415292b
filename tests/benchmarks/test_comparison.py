"""Ratios, and what was missed."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.comparison import Change, changes, headlines, missed, rows
from benchmarks.compare.targets import Target

from .made_up import BESIDE_OLD, RUNS

_CHEAP = [{"p50_ms": 0.1}] * 3


class ComparisonTests(SynchronousTestCase):
    """Invented figures of a comparison."""

    def test_ratios(self) -> None:
        """A ratio is the median over the rounds of the ratios within a round, with its extremes."""
        rate = rows(RUNS)[0]
        self.assertEqual(rate.target, Target("add-1K-1000-v2", "rate", 1.5))
        self.assertEqual((rate.ours, rate.apache, rate.ratio, rate.low, rate.high), (300, 100, 3, 1, 4))

    def test_rows(self) -> None:
        """Every target of a workload that was run has a row, others have none."""
        found = [(row.target.workload, row.target.figure) for row in rows(RUNS)]
        headline = [(f"bp62-headline-{name}", "rate") for name in ("b100", "b500", "single")]
        self.assertEqual(found, [("add-1K-1000-v2", figure) for figure in ("rate", "cpu", "p99_ms")] + headline)

    def test_changes(self) -> None:
        """Another source tree is compared by the same figures, where it was run; Apache's bookie stays the measure."""
        self.assertEqual(changes(RUNS), [])
        self.assertEqual(changes(BESIDE_OLD)[0], Change("add-1K-1000-v2", "rate", 300, 200, 1.5, 0.5, 2))
        self.assertEqual(rows(BESIDE_OLD), rows(RUNS)[:3])

    def test_once(self) -> None:
        """A figure with several targets has one row beside the other tree; each target that was missed is named."""
        (rounds,) = BESIDE_OLD.values()
        runs = {"add-1K-1-v2": {"ours": rounds["ours"], "old": rounds["old"], "tuned": _CHEAP, "raw": _CHEAP}}
        self.assertEqual([(each.workload, each.figure) for each in changes(runs)], [("add-1K-1-v2", "p50_ms")])
        self.assertEqual(
            missed(rows(runs), {}), ["add-1K-1-v2 p50_ms beside tuned", "add-1K-1-v2 p50_ms beside raw"]
        )

    def test_headline(self) -> None:
        """BP-62's table has both bookies, and the factor of batches over single reads."""
        found = headlines(RUNS)
        self.assertEqual({name: each.factor for name, each in found.items()}, {"ours": 15, "java": 30})

    def test_headline_in_part(self) -> None:
        """Without one of its columns there is no table."""
        self.assertEqual(headlines({k: v for k, v in RUNS.items() if k != "bp62-headline-b500"}), {})

    def test_missed(self) -> None:
        """What costs more than it may is named, and so is a factor that is too small."""
        expected = ["add-1K-1000-v2 cpu beside java", "bp62-headline factor"]
        self.assertEqual(missed(rows(RUNS), headlines(RUNS)), expected)

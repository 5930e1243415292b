"""What two bookies' figures of the same rounds say: medians of ratios, beside the targets."""

import statistics
from collections.abc import Mapping, Sequence

import attrs

from ..shared.loads import Figures
from .stage import OLD, OURS
from .targets import BATCH_FACTOR, TARGETS, Target

Runs = Mapping[str, Mapping[str, Sequence[Figures]]]
"""By workload and bookie, the figures of each round."""


@attrs.frozen
class Row:
    """One target and what was measured for it.

    :ivar ours, apache: medians over the rounds.
    :ivar ratio: median over the rounds of the ratio within a round; ``low`` and ``high`` are the extremes.
    """

    target: Target
    ours: float
    apache: float
    ratio: float
    low: float
    high: float

    @property
    def met(self) -> bool:
        """Whether the target was met."""
        return self.target.met(self.ratio)


def rows(runs: Runs) -> list[Row]:
    """All targets of the workloads that were run, in the order of the table of targets."""
    return [
        Row(target, *_medians(runs[target.workload], target.figure, target.against))
        for target in TARGETS
        if target.workload in runs
    ]


@attrs.frozen
class Change:
    """One figure of our bookie beside that of another source tree, in the same rounds.

    :ivar new, old: medians over the rounds.
    :ivar ratio: median over the rounds of new over old within a round; ``low`` and ``high`` are the extremes.
    """

    workload: str
    figure: str
    new: float
    old: float
    ratio: float
    low: float
    high: float


def changes(runs: Runs) -> list[Change]:
    """The figures that have targets, of the workloads that another source tree was run with."""
    figures = dict.fromkeys((target.workload, target.figure) for target in TARGETS)
    return [
        Change(workload, figure, *_medians(runs[workload], figure, OLD))
        for workload, figure in figures
        if OLD in runs.get(workload, ())
    ]


def _medians(
    by_bookie: Mapping[str, Sequence[Figures]], figure: str, other: str
) -> tuple[float, float, float, float, float]:
    """Medians of ours and of another bookie; median and extremes of the ratios within a round."""
    ours = [figures[figure] for figures in by_bookie[OURS]]
    theirs = [figures[figure] for figures in by_bookie[other]]
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return statistics.median(ours), statistics.median(theirs), statistics.median(ratios), min(ratios), max(ratios)


@attrs.frozen
class Headline:
    """BP-62's own table for one bookie: entries per second of one synchronous caller."""

    by_100: float
    by_500: float
    single: float

    @property
    def factor(self) -> float:
        """Batches of 100 over entries one by one."""
        return self.by_100 / self.single


def headlines(runs: Runs) -> dict[str, Headline]:
    """By bookie; empty if not all of the table was run."""
    names = [f"bp62-headline-{name}" for name in ("b100", "b500", "single")]
    if not all(name in runs for name in names):
        return {}
    return {
        bookie: Headline(*(statistics.median(each["rate"] for each in runs[name][bookie]) for name in names))
        for bookie in runs[names[0]]
    }


def missed(found: Sequence[Row], headline: Mapping[str, Headline]) -> list[str]:
    """What was not met, in words."""
    names = [
        f"{row.target.workload} {row.target.figure} beside {row.target.against}" for row in found if not row.met
    ]
    if headline and headline[OURS].factor < BATCH_FACTOR:
        names.append("bp62-headline factor")
    return names

"""``results.md``: what a comparison found, for people."""

from collections.abc import Iterator, Mapping, Sequence

import attrs

from .comparison import Headline, Row
from .grouping import GROUPED, ONE_BY_ONE, Grouping
from .machine import Machine
from .stage import OURS
from .syscalls import CALLS
from .targets import BATCH_FACTOR, FIGURES, SYNCS_PER_1000, WRITES_PER_1000


@attrs.frozen
class Circumstances:
    """Under which a comparison was made.

    :ivar versions: by name of the software.
    :ivar date: in ISO 8601.
    """

    command: str
    date: str
    rounds: int
    scale: float
    generator: str
    machine: Machine
    versions: Mapping[str, str]


def figure(value: float) -> str:
    """A figure with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(
    found: Sequence[Row], headline: Mapping[str, Headline], grouping: Mapping[str, Mapping[str, Grouping]],
    facts: Circumstances,
) -> str:  # fmt: skip
    """The whole page."""
    parts = [_head(facts), _table(found)]
    if headline:
        parts.append(_headline(headline))
    if grouping:
        parts.append(_grouping(grouping))
    return "\n".join(line for part in parts for line in (*part, ""))


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(facts: Circumstances) -> Iterator[str]:
    machine = facts.machine
    yield "# Ours beside Apache's"
    yield ""
    if facts.scale != 1:
        yield f"**A trial with {facts.scale:g} of the work: it shows that everything runs; its figures mean nothing.**"
        yield ""
    yield f"`{facts.command}`, {facts.date}."
    yield ""
    yield f"{machine.cores} cores ({machine.cpu}), {machine.memory_gib:.0f} GiB, Linux {machine.kernel};"
    yield f"one fdatasync of 4 KiB takes {machine.sync_ms:.2f} ms."
    yield ", ".join(f"{name} {version}" for name, version in facts.versions.items()) + "."
    yield ""
    yield f"Rounds: {facts.rounds}, our bookie and Apache's in turn; load by {facts.generator} on the same cores."
    yield "Figures are medians over the rounds; a ratio is ours over Apache's within a round: median (least..most)."


def _table(found: Sequence[Row]) -> Iterator[str]:
    yield _line("workload", "figure", "ours", "Apache", "configuration", "ratio", "target", "")
    yield _line("---", "---", "---:", "---:", "---", "---:", "---:", "---")
    for row in found:
        target, ratio = row.target, f"{row.ratio:.2f} ({row.low:.2f}..{row.high:.2f})"
        yield _line(
            target.workload, FIGURES[target.figure], figure(row.ours), figure(row.apache), target.against, ratio,
            target.text, _verdict(row.met),
        )  # fmt: skip


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def _headline(headline: Mapping[str, Headline]) -> Iterator[str]:
    yield "BP-62's own work, one synchronous caller, entries/s; the last column is batches of 100 over one by one:"
    yield ""
    yield _line("bookie", "batches of 100", "batches of 500", "one by one", "factor", "target")
    yield _line("---", "---:", "---:", "---:", "---:", "---")
    for name, each in headline.items():
        target = f"≥ {BATCH_FACTOR:g}, {_verdict(each.factor >= BATCH_FACTOR)}" if name == OURS else ""
        yield _line(name, figure(each.by_100), figure(each.by_500), figure(each.single), f"{each.factor:.1f}", target)


def _grouping(grouping: Mapping[str, Mapping[str, Grouping]]) -> Iterator[str]:
    yield "Adds of 1 KiB with 1,000 in flight to our bookie, and to one that writes every reply by itself; system calls"
    yield f"for 1,000 adds, counted by strace apart from the timed rounds (targets: {WRITES_PER_1000:g} socket writes,"
    yield f"{SYNCS_PER_1000:g} syncs).  A journal group that is written and synced by one call (pwritev2 with"
    yield "RWF_DSYNC) is a file write here, so file writes count as syncs:"
    yield ""
    yield _line("wire", "replies", *CALLS, "entries/s", "CPU s per million", "target")
    yield _line("---", "---", *("---:" for _ in CALLS), "---:", "---:", "---")
    for wire, ways in grouping.items():
        for name, each in ways.items():
            calls = [f"{each.counts.per_1000[call]:.1f}" for call in CALLS]
            target = _verdict(each.counts.met) if name == GROUPED else ""
            yield _line(wire, name, *calls, figure(each.rate), figure(each.cpu), target)
    for wire, ways in grouping.items():
        grouped, single = ways[GROUPED], ways[ONE_BY_ONE]
        yield ""
        yield f"Without grouping {wire} loses a factor of {grouped.rate / single.rate:.2f} in rate"
        yield f"and of {single.cpu / grouped.cpu:.2f} in CPU."

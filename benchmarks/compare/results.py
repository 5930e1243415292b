"""``results.md``: what a comparison found, for people."""

from collections.abc import Iterator, Mapping, Sequence

from .comparison import Change, Headline, Row
from .grouping import GROUPED, ONE_BY_ONE
from .pieces import Circumstances, Groupings
from .stage import OURS
from .syscalls import CALLS
from .targets import BATCH_FACTOR, FIGURES, SYNCS_PER_1000, WRITES_PER_1000


def figure(value: float) -> str:
    """A figure with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(
    found: Sequence[Row], headline: Mapping[str, Headline], grouping: Groupings, facts: Sequence[Circumstances],
    changed: Sequence[Change] = (),
) -> str:  # fmt: skip
    """The whole page.

    :param facts: of the pieces it is made of, at least one; of one machine.
    """
    parts = [_head(facts), _table(found)]
    if changed:
        parts.append(_changes(changed))
    if headline:
        parts.append(_headline(headline))
    if grouping:
        parts.append(_grouping(grouping))
    return "\n".join(line for part in parts for line in (*part, ""))


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(facts: Sequence[Circumstances]) -> Iterator[str]:
    first, machine = facts[0], facts[0].machine
    yield "# Ours beside Apache's"
    yield ""
    for scale in {each.scale for each in facts} - {1}:
        yield f"**A trial with {scale:g} of the work: it shows that everything runs; its figures mean nothing.**"
        yield ""
    yield f"{machine.cores} cores ({machine.cpu}), {machine.memory_gib:.0f} GiB, Linux {machine.kernel}."
    yield ", ".join(f"{name} {version}" for name, version in first.versions.items()) + "."
    yield ""
    yield "Beside each command: the load average before it, what the host took of the processors' time meanwhile, the"
    yield "time of one fdatasync of 4 KiB and the rate of durable direct writes of 1 MiB."
    yield ""
    for each in facts:
        disk = f"{each.machine.sync_ms:.2f} ms, {each.machine.disk_mib:,.0f} MiB/s"
        yield f"* `{each.command}`, {each.date}: {each.load:.2f}, {each.stolen:.1%}, {disk}"
    yield ""
    yield f"Our bookie and Apache's take turns, round by round; load by {first.generator} on the same cores."
    yield "Figures are medians over the rounds; a ratio is ours over Apache's within a round: median (least..most)."
    yield "Workloads named tls run within TLS, also beside our own bookie in clear (configuration plain)."
    yield "The configuration raw is no bookie: for workloads named long, the bare calls that write the same bytes; for"
    yield "others, a server that does nothing but receive, write durably, and send what is in its memory."


def _table(found: Sequence[Row]) -> Iterator[str]:
    yield _line("workload", "figure", "ours", "Apache", "configuration", "ratio", "target", "")
    yield _line("---", "---", "---:", "---:", "---", "---:", "---:", "---")
    for row in found:
        target, ratio = row.target, f"{row.ratio:.2f} ({row.low:.2f}..{row.high:.2f})"
        yield _line(
            target.workload, FIGURES[target.figure], figure(row.ours), figure(row.apache), target.against, ratio,
            target.text, _verdict(row.met),
        )  # fmt: skip


def _changes(changed: Sequence[Change]) -> Iterator[str]:
    yield "This source tree beside the old one, in the same rounds; a ratio is new over old:"
    yield ""
    yield _line("workload", "figure", "new", "old", "ratio")
    yield _line("---", "---", "---:", "---:", "---:")
    for each in changed:
        ratio = f"{each.ratio:.2f} ({each.low:.2f}..{each.high:.2f})"
        yield _line(each.workload, FIGURES[each.figure], figure(each.new), figure(each.old), ratio)


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


def _grouping(grouping: Groupings) -> Iterator[str]:
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

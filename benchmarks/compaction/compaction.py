"""``python -m benchmarks compaction``: what a compaction costs, how exactly it keeps its limit, what it is good for.

A thousand ledgers are written in turns, every second one is deleted, and what is left is compacted.  The parts:

- ``limits``: a bookie without a network.  Reads and writes of a limited compaction by the kernel's counters, with
  either limit alone and with both.  Then the reads govern, as a disk reads whole pages: the shorter runs of a ledger
  are (``--run``), the less is written.  Batch reads before and after.
- ``beside``: a bookie as a process.  Rate and 99th percentile of adds with 1,000 in flight, in phases alone and in
  phases beside a major compaction that writes with a limit, in turn.
- ``unlimited``: the same beside a compaction without a limit.
- ``speed``: a compaction without a limit, with nothing else at work.  Right before it the same bytes are copied raw,
  with nothing done to them: so much the disk gives at that moment.

With ``--apache`` Apache's bookie does all but ``limits`` in turn with ours, on the same data and settings.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from ..compare.stage import OURS
from ..shared.apache import NoApacheError, ZooKeeper
from ..shared.loads import Figures
from ..shared.processes import ROOT
from .compaction_bookies import SIZE, CompactedBookie, Compaction, bookies, settings

MIB = 1 << 20
_APACHE = "java"
_WARM = 300_000
_SETTLE = 1.0
_SHORT_RUN = 64  # entries: longer ones are read by few reads before a compaction, too


@attrs.frozen
class Bar:
    """A figure and what it has to be.

    :ivar low, high: bounds; None where there is none.
    """

    name: str
    figure: float
    low: float | None = None
    high: float | None = None

    @property
    def held(self) -> bool:
        """Whether it is."""
        return (self.low is None or self.figure >= self.low) and (self.high is None or self.figure <= self.high)

    def __str__(self) -> str:
        bounds = [f">= {self.low:g}"] if self.low is not None else []
        bounds += [f"<= {self.high:g}"] if self.high is not None else []
        return f"{self.name}: {self.figure:.3f} ({', '.join(bounds)}: {'held' if self.held else 'MISSED'})"


@attrs.define
class Report:
    """What was found: everything for a reader of JSON, and what is judged."""

    figures: dict[str, Any] = attrs.field(factory=dict)
    bars: list[Bar] = attrs.field(factory=list)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- limits --


def limits(options: argparse.Namespace, directory: Path, report: Report) -> None:
    """How exactly limits are kept, and batch reads before and after."""
    words = {"limit": options.limit, "seconds": options.seconds, "run": options.run, "directory": directory}
    command = [sys.executable, "-m", "benchmarks", "compaction_alone"]
    command += [str(word) for name, value in words.items() for word in (f"--{name}", value)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    found = report.figures["limits"] = json.loads(done.stdout)
    for share in found["shares"]:
        for name, governs in (("reads", "reads" in share["bound"]), ("writes", share["bound"] == "writes")):
            if name in share["bound"]:
                low = 0.95 if governs else None
                report.bars.append(Bar(f"{name} over the limit of {share['bound']}", share[name], low, 1.05))
    ratio = found["after"]["rate"] / found["before"]["rate"]
    least = 2.0 if options.run <= _SHORT_RUN else 1.0
    report.bars.append(Bar("batch reads after a compaction over before", ratio, least))


# -- beside adds --


def _phase(bookie: CompactedBookie, count: int, compact: bool) -> Figures:
    """Adds for some seconds, perhaps beside a compaction, which is ended with them.

    :returns: rate and latencies; ``to_the_end`` is 1 if the compaction was still at work; ``copied_mib`` a second.
    """
    os.sync()
    time.sleep(_SETTLE)
    ledger = bookie.new_ledgers(1)
    before = bookie.copied
    figures = bookie.add(ledger, count, bookie.force if compact else lambda: None)
    if compact:
        figures["copied_mib"] = (bookie.copied - before) / MIB * figures["rate"] / count
        figures["to_the_end"] = float(bookie.compacting)
        bookie.cancel()
    bookie.delete(ledger)
    bookie.collect()
    return figures


def _pair(bookie: CompactedBookie, count: int) -> dict[str, Figures]:
    found = {"idle": _phase(bookie, count, False), "compacting": _phase(bookie, count, True)}
    text = "; ".join(f"{name} {each['rate']:,.0f}/s, p99 {each['p99_ms']:.2f} ms" for name, each in found.items())
    _say(f"{bookie.name}: {text}; {found['compacting']['copied_mib']:.0f} MiB/s copied")
    return found


def _count(bookie: CompactedBookie, seconds: float) -> int:
    """How many adds take so long, once the bookie is warm."""
    _phase(bookie, _WARM, False)
    return int(_phase(bookie, _WARM, False)["rate"] * seconds)


def ratios(rounds: Sequence[Mapping[str, Figures]]) -> Figures:
    """Medians over rounds of pairs: compacting over idle."""
    found = {
        key: median(pair["compacting"][key] / pair["idle"][key] for pair in rounds) for key in ("rate", "p99_ms")
    }
    return {**found, "to_the_end": min(pair["compacting"]["to_the_end"] for pair in rounds)}


def beside(options: argparse.Namespace, directory: Path, report: Report) -> None:
    """Adds beside a limited compaction, the bookies in turn."""
    with _started(options, directory, options.limit * MIB) as running:
        for bookie in running:
            bookie.fill(options.mib * MIB)
        counts = {bookie.name: _count(bookie, options.phase) for bookie in running}
        rounds = [
            {bookie.name: _pair(bookie, counts[bookie.name]) for bookie in running} for _ in range(options.rounds)
        ]
    found = {name: ratios([each[name] for each in rounds]) for name in counts}
    report.figures["beside"] = {"rounds": rounds, "ratios": found}
    report.bars += [
        Bar("adds beside a limited compaction over idle: rate", found[OURS]["rate"], 0.8),
        Bar("adds beside a limited compaction over idle: p99", found[OURS]["p99_ms"], high=1.5),
    ]


# -- speed --


def _alone(bookie: CompactedBookie, n_bytes: int) -> Compaction:
    """The compaction of fresh data; what is left can be read."""
    kept = bookie.fill(n_bytes)
    found = bookie.compact()
    bookie.read(kept[0], n_bytes // SIZE // 1000)
    raw = f", a raw copy {found.raw_rate / MIB:.0f} MiB/s" if found.raw_rate else ""
    _say(f"{bookie.name}: {found.live_bytes / MIB:.0f} MiB in {found.seconds:.2f} s, {found.rate / MIB:.0f} MiB/s{raw}")
    return found


def speed(options: argparse.Namespace, directory: Path, report: Report) -> None:
    """A compaction without a limit and with nothing else at work, the bookies in turn."""
    found: dict[str, list[Compaction]] = {}
    with _started(options, directory, 0) as running:
        for bookie in running:
            _alone(bookie, options.mib * MIB)  # what is compiled while it runs is compiled now
        for _ in range(options.rounds):
            for bookie in running:
                found.setdefault(bookie.name, []).append(_alone(bookie, options.mib * MIB))
    share = median(each.rate / each.raw_rate for each in found[OURS])
    _say(f"bytes/s without a limit over a raw copy of the same bytes: {share:.2f}")
    report.figures["speed"] = {
        **{name: [attrs.asdict(each) for each in compactions] for name, compactions in found.items()},
        "over_raw_copy": share,
    }
    if _APACHE in found:
        ratio = median(ours.rate / theirs.rate for ours, theirs in zip(found[OURS], found[_APACHE], strict=True))
        report.bars.append(Bar("bytes/s without a limit over Apache's", ratio, 3.0))


def unlimited(options: argparse.Namespace, directory: Path, report: Report) -> None:
    """Adds beside a compaction without a limit, the bookies in turn."""
    pairs: dict[str, list[dict[str, Figures]]] = {}
    with _started(options, directory, 0) as running:
        counts = {bookie.name: _count(bookie, options.phase) for bookie in running}
        for _ in range(options.rounds):
            for bookie in running:
                bookie.fill(options.mib * MIB)
                pairs.setdefault(bookie.name, []).append(_pair(bookie, counts[bookie.name]))
                bookie.collect(major=True)
    report.figures["unlimited"] = {name: {"rounds": each, "ratios": ratios(each)} for name, each in pairs.items()}


@contextlib.contextmanager
def _started(options: argparse.Namespace, directory: Path, limit: int) -> Iterator[list[CompactedBookie]]:
    values = {**settings(limit), "majorCompactionMaxTimeMillis": str(int(options.phase * 1500)) if limit else "-1"}
    if not options.apache:
        with bookies([OURS], directory, None, values) as running:
            yield running
        return
    zookeeper = ZooKeeper.start(options.jars)
    with contextlib.closing(zookeeper), bookies([OURS, _APACHE], directory, zookeeper, values) as running:
        yield running


PARTS: dict[str, Callable[[argparse.Namespace, Path, Report], None]] = {
    "limits": limits, "beside": beside, "unlimited": unlimited, "speed": speed,
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run and print; returns 1 if a bar was missed."""
    p = argparse.ArgumentParser(
        prog="python -m benchmarks compaction", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (all)")
    p.add_argument("--limit", type=int, default=10, help="of the limited compactions, in MiB/s (10)")
    p.add_argument("--seconds", type=float, default=20.0, help="of each measurement of limits (20)")
    p.add_argument("--run", type=int, default=32, help="entries of a ledger written at once, for limits (32)")
    p.add_argument("--mib", type=int, default=768, help="of entries, half of which are deleted (768)")
    p.add_argument("--phase", type=float, default=3.0, help="seconds of adds in a phase (3)")
    p.add_argument("--rounds", type=int, default=5, help="of phases (5); medians are judged")
    p.add_argument("--apache", action="store_true", help="Apache's bookie in turn with ours, both on a ZooKeeper")
    p.add_argument("--jars", type=Path, default=None, help="folder of Apache's jars (else Maven fetches them)")
    p.add_argument("--directory", default="/var/tmp", help="where the files are made: the disk that is measured")
    options = p.parse_args(arguments)
    report = Report()
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            try:
                PARTS[part](options, Path(directory), report)
            except NoApacheError as error:
                _say(f"no Apache bookie: {error}")
                return 2
    for bar in report.bars:
        _say(str(bar))
    print(json.dumps(report.figures, indent=1))
    return 0 if all(bar.held for bar in report.bars) else 1

"""The quick self-check: our bookie alone, its figures and the targets that need no other bookie."""

import argparse
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..shared.loads import Figures, Generator, Ledgers, measure
from ..shared.processes import Bookie, start_ours
from ..shared.workloads import WORKLOADS, Workload, chosen
from .targets import IDLE_MIB, SERVING_SECONDS, SYNCS_PER_1000, WRITES_PER_1000

KINDS = ("add", "read", "batch")
SCALE = 0.5
HEAD = (
    f"{'workload':<24} {'entries/s':>11} {'MB/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU s/M':>8} {'syncs/k':>8} "
    f"{'writes/k':>9}"
)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="python -m benchmarks check", description=__doc__)
    p.add_argument("patterns", nargs="*", metavar="PATTERN", help="workloads to run, with wildcards; all if left out")
    p.add_argument("--list", action="store_true", help="print the names of the workloads and end")
    p.add_argument("--json", action="store_true", help="one JSON line for each workload instead of a table")
    p.add_argument("--rounds", type=int, default=3, help="rounds of each workload (3); medians are shown")
    p.add_argument("--raw", type=Path, help="an external generator on a bare socket, instead of ours")
    p.add_argument("--scale", type=float, default=SCALE, help=f"share of the work ({SCALE:g})")
    p.add_argument("--work", metavar="DIR", help="where the bookie keeps its files (a new folder under /tmp)")
    return p.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Runs the check; returns 1 if a target was missed."""
    options = parse(arguments)
    workloads = [workload for workload in chosen(options.patterns) if workload.kind in KINDS]
    if options.list or not workloads:
        print("\n".join(workload.name for workload in WORKLOADS if workload.kind in KINDS))
        return 0 if options.list else 2
    lost = []
    with tempfile.TemporaryDirectory(prefix="bookkeeper-bench-", dir=options.work) as folder:
        bookie = start_ours(Path(folder) / "bookie", {})
        try:
            lost += _serving(bookie, options.json)
            ledgers = Ledgers(options.scale)
            for workload in workloads:
                rounds = [run(options, workload, bookie, ledgers) for _ in range(options.rounds)]
                figures = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
                lost += _judge(workload, figures, options.json)
        finally:
            bookie.stop()
    summary = f"{len(lost)} of the targets missed" + (f": {', '.join(lost)}" if lost else "")
    print(json.dumps({"summary": summary, "missed": lost}) if options.json else summary)
    return 1 if lost else 0


def run(options: argparse.Namespace, whole: Workload, bookie: Bookie, ledgers: Ledgers) -> Figures:
    """One round of a workload."""
    w, generator = whole.scaled(options.scale), Generator(options.raw.resolve() if options.raw else None)
    if w.apache_wire is not None:
        generator = Generator()
    if w.kind == "add":
        return measure(generator.add(w, [bookie], w.wire, ledgers.fresh(w.ledgers)), [bookie])
    ledger, entries = ledgers.filled(bookie, w.size, generator), ledgers.entries(w.size)
    return measure(generator.read(w, bookie, w.wire, ledger, min(w.entries or entries, entries)), [bookie])


def _serving(bookie: Bookie, as_json: bool) -> list[str]:
    """Time to serve and memory without load."""
    mib = bookie.resident_mib()
    lost = over({"seconds to serving": (bookie.started, SERVING_SECONDS), "MiB idle": (mib, IDLE_MIB)})
    if as_json:
        print(json.dumps({"seconds": bookie.started, "idle_mib": mib, "missed": lost}))
    else:
        print(f"serves after {bookie.started:.2f} s (<= {SERVING_SECONDS:g}), {mib:.0f} MiB idle (<= {IDLE_MIB:g})")
        print(HEAD)
    return lost


def over(figures: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names of those figures that are above their limits."""
    return [name for name, (found, limit) in figures.items() if found > limit]


def _judge(w: Workload, figures: Figures, as_json: bool) -> list[str]:
    limits = {}
    if w.kind == "add" and w.inflight == 1000 and w.ledgers == 1:
        limits[f"{w.name} socket writes"] = (figures["writes_per_1000"], WRITES_PER_1000)
        limits[f"{w.name} syncs"] = (figures["syncs_per_1000"], SYNCS_PER_1000)
    lost = over(limits)
    if as_json:
        print(json.dumps({"workload": w.name, **figures, "missed": lost}), flush=True)
        return lost
    print(
        f"{w.name:<24} {figures['rate']:>11,.0f} {figures['rate'] * w.size / 1e6:>8.1f} {figures['p50_ms']:>8.3f} "
        f"{figures['p99_ms']:>8.3f} {figures['cpu']:>8.2f} {figures['syncs_per_1000']:>8.2f} "
        f"{figures['writes_per_1000']:>9.2f}{'  MISSED' if lost else ''}",
        flush=True,
    )
    return lost

"""``python -m benchmarks figures``: write the table of ``README.rst`` and ``results.svg`` from the kept results.

A comparison keeps its rows as ``benchmarks/results/HOST.json``, one file for each kind of processor.
"""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from ..shared.processes import ROOT
from .chart import svg
from .comparison import Row
from .pieces import Circumstances
from .results import figure
from .targets import TARGETS

README = ROOT / "README.rst"
BENCHMARKS = ROOT / "benchmarks"

_LOADS = {
    ("add-100B-1000-v2", "rate"): "adds of 100 B, 1,000 in flight: entries/s",
    ("add-1K-1000-v2", "rate"): "adds of 1 KiB, 1,000 in flight: entries/s",
    ("add-1K-1000-v2", "cpu"): "the same: seconds of CPU for a million",
    ("add-1K-1000-v2", "p99_ms"): "the same: 99th percentile, ms",
    ("add-1K-1-v2", "p50_ms"): "adds of 1 KiB, one at a time: median, ms",
    ("add-1K-E3W3A2-v2", "rate"): "adds of 1 KiB to three bookies: entries/s",
    ("read-1K-sequential-v2", "rate"): "reads of 1 KiB in order: entries/s",
    ("batch-1K-x100", "rate"): "batch reads of 100 entries of 1 KiB: entries/s",
    ("client-batch-100B-x500", "rate"): "the clients, batches of 500 of 100 B: entries/s",
    ("tail-read", "p50_ms"): "from append to a reader that follows: median, ms",
    ("start", "seconds"): "start of a bookie: seconds",
    ("start", "idle_mib"): "memory of an idle bookie: MiB",
}
"""The rows of the table of the README, by workload and figure; what was missed is among them."""

_BEGIN, _END = "\n.. begin of the figures\n\n", "\n.. end of the figures\n"


@attrs.frozen
class Published:
    """The results of one host.

    :ivar host: a name of its processor, without marks and numbers.
    :ivar machine: its cores, memory and kernel, in words.
    :ivar versions: by name of the software.
    :ivar commands: command and date (ISO 8601) of each run that is part of the results; the last one is the newest.
    """

    host: str
    machine: str
    versions: Mapping[str, str]
    commands: Sequence[Mapping[str, str]]
    rows: Sequence[Row]

    @classmethod
    def of(cls, facts: Sequence[Circumstances], rows: Sequence[Row]) -> "Published":
        """Return the results of a comparison whose pieces, at least one, were run on one machine."""
        machine = facts[0].machine
        host = " ".join(re.sub(r"\([^)]*\)|\b(?:Processor|CPU)\b.*|\d.*", "", machine.cpu).split())
        text = f"{machine.cores} cores ({machine.cpu}), {machine.memory_gib:.0f} GiB, Linux {machine.kernel}"
        return cls(host, text, facts[0].versions, [{"command": f.command, "date": f.date} for f in facts], rows)

    @property
    def date(self) -> str:
        """The day of the newest run."""
        return self.commands[-1]["date"][:10]

    def keep(self, folder: Path) -> Path:
        """Write the results to a file in ``folder``, which is made if it is missing; return its path."""
        rows = [_row_facts(row) for row in self.rows]
        path = folder / f"{self.host.lower().replace(' ', '_')}.json"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**attrs.asdict(self, recurse=False), "rows": rows}, indent=1) + "\n")
        return path

    @classmethod
    def kept(cls, path: Path) -> "Published":
        """Return the results in a file; figures whose target has gone are left out."""
        found: dict[str, Any] = json.loads(path.read_text())
        by_name = {(row["workload"], row["figure"], row["against"]): row for row in found.pop("rows")}
        rows = []
        for target in TARGETS:
            if row := by_name.get((target.workload, target.figure, target.against)):
                rows.append(Row(target, *(row[name] for name in ("ours", "apache", "ratio", "low", "high"))))
        return cls(**found, rows=rows)


def _row_facts(row: Row) -> dict[str, Any]:
    facts = attrs.asdict(row, recurse=False)
    target = facts.pop("target")
    return {"workload": target.workload, "figure": target.figure, "against": target.against, **facts}


def all_kept(folder: Path) -> list[Published]:
    """Return the results of all hosts, the newest first."""
    return sorted((Published.kept(path) for path in folder.glob("*.json")), key=lambda each: each.date, reverse=True)


def table(found: Sequence[Published]) -> str:
    """Return the table of the README: of each host ours, Apache's, and the median of the ratios of all rounds."""
    by_host = [
        {(row.target.workload, row.target.figure): row for row in each.rows if row.target.beside_apache}
        for each in found
    ]
    head = ["ours : Apache's (ratio)", *(f"{each.host}, {each.date}" for each in found)]
    rows = [[text, *(_cell(rows.get(key)) for rows in by_host)] for key, text in _LOADS.items()]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, ""])


def _cell(row: Row | None) -> str:
    return "not measured" if row is None else f"{figure(row.ours)} : {figure(row.apache)} ({row.ratio:.2f})"


def figures_of(readme: str) -> str:
    """Return the part of a README that is made from the results."""
    return readme.partition(_BEGIN)[2].partition(_END)[0]


def with_figures(readme: str, made: str) -> str:
    """Return a README with ``made`` in the place of that part.

    :raises ValueError: the README has no such part.
    """
    before, begin, rest = readme.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError("the README has no comments at the begin and the end of the figures")
    return f"{before}{begin}{made}{end}{after}"


def main(arguments: Sequence[str]) -> int:
    """Write the table and the picture; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks figures", description=__doc__)
    parser.parse_args(arguments)
    found = all_kept(BENCHMARKS / "results")
    README.write_text(with_figures(README.read_text(), table(found)))
    (BENCHMARKS / "results.svg").write_text(svg(found[0].rows))
    return 0

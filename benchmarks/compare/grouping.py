"""What it wins that all replies of a journal group leave by one write: our bookie beside one that writes each."""

import contextlib
import statistics
from collections.abc import Iterator
from pathlib import Path

import attrs

from ..shared.loads import Figures, Generator, Ledgers, measure
from ..shared.processes import Bookie, start_ours
from ..shared.workloads import Workload
from .syscalls import Counts, trace

WIRES = (2, 3)
GROUPED, ONE_BY_ONE = "grouped", "one by one"
_MODULES = {GROUPED: "twisted", ONE_BY_ONE: "benchmarks.compare.ungrouped_bookie"}
_WORK = Workload("", "add", 1024, 1000, 50_000, 300_000)


@attrs.frozen
class Grouping:
    """Adds of 1 KiB, 1,000 in flight, to a bookie that groups its replies or does not.

    :ivar rate: entries per second, median.
    :ivar cpu: seconds of the bookie for a million entries, median.
    """

    rate: float
    cpu: float
    counts: Counts


def compare_grouping(folder: Path, generator: Generator, rounds: int, scale: float) -> dict[str, dict[str, Grouping]]:
    """By wire protocol and way of replying; the two bookies in turn, and the traces at the end."""
    ledgers, work = Ledgers(), _WORK.scaled(scale)
    with _both(folder) as bookies:
        found = {}
        for wire in WIRES:
            runs: dict[str, list[Figures]] = {name: [] for name in bookies}
            for _ in range(rounds):
                for name, bookie in bookies.items():
                    runs[name].append(measure(generator.add(work, [bookie], wire, ledgers.fresh()), [bookie]))
            found[f"V{wire}"] = {
                name: Grouping(
                    statistics.median(each["rate"] for each in runs[name]),
                    statistics.median(each["cpu"] for each in runs[name]),
                    trace(bookie, generator, ledgers, wire, folder),
                )
                for name, bookie in bookies.items()
            }
        return found


@contextlib.contextmanager
def _both(folder: Path) -> Iterator[dict[str, Bookie]]:
    with contextlib.ExitStack() as stack:
        bookies = {}
        for name, module in _MODULES.items():
            bookies[name] = start_ours(folder / name.replace(" ", "-"), {}, module=module)
            stack.callback(bookies[name].stop)
        yield bookies

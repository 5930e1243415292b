"""A comparison with invented figures."""

from benchmarks.compare.comparison import Runs
from benchmarks.compare.pieces import Circumstances
from benchmarks.shared.loads import Figures
from benchmarks.shared.machine import Machine


def _rounds(*rates: float) -> list[Figures]:
    return [{"rate": rate, "cpu": 1.0, "p50_ms": 1.0, "p99_ms": 1000 / rate} for rate in rates]


RUNS: Runs = {
    "add-1K-1000-v2": {"ours": _rounds(100, 400, 300), "java": _rounds(100, 100, 100)},
    "bp62-headline-b100": {"ours": _rounds(3000), "java": _rounds(300)},
    "bp62-headline-b500": {"ours": _rounds(5000), "java": _rounds(300)},
    "bp62-headline-single": {"ours": _rounds(200), "java": _rounds(10)},
}

BESIDE_OLD: Runs = {
    "add-1K-1000-v2": {
        "ours": _rounds(100, 400, 300), "old": _rounds(200, 200, 200), "java": _rounds(100, 100, 100)
    },
}  # fmt: skip
"""One workload that another source tree was run with."""

FACTS = Circumstances(
    "python -m benchmarks compare", "2026-01-01", 1.0, "our generator",
    Machine("a CPU", 2, 8, "3.11", "6.1", 0.2, 1500.0), {"Python": "3.11"}, 0.5, 0.01,
)  # fmt: skip

"""A comparison with invented figures."""

from benchmarks.comparison import Runs
from benchmarks.loads import Figures


def _rounds(*rates: float) -> list[Figures]:
    return [{"rate": rate, "cpu": 1.0, "p50_ms": 1.0, "p99_ms": 1000 / rate} for rate in rates]


RUNS: Runs = {
    "add-1K-1000-v2": {"ours": _rounds(100, 400, 300), "java": _rounds(100, 100, 100)},
    "bp62-headline-b100": {"ours": _rounds(3000), "java": _rounds(300)},
    "bp62-headline-b500": {"ours": _rounds(5000), "java": _rounds(300)},
    "bp62-headline-single": {"ours": _rounds(200), "java": _rounds(10)},
}

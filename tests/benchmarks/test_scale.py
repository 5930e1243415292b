"""The rounds of ``python -m benchmarks scale``."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.bookie.scale import warm
from benchmarks.shared.workloads import Workload


class WarmTests(SynchronousTestCase):
    """Loads in turns."""

    def test_first_round(self) -> None:
        """Of a process whose first load is dear, only the rounds behind the first are counted."""
        loads = {name: Workload(name, "add", 100, 1000, 1, 1) for name in ("one", "turns")}
        costs = iter([90.0, 2.0, 1.0, 3.0, 4.0, 5.0])
        self.assertEqual(warm(loads, 2, lambda load: next(costs)), {"one": [1.0, 4.0], "turns": [3.0, 5.0]})
        self.assertEqual(list(costs), [])

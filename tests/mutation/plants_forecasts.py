"""Mistakes in what the console expects: when a disk is full, when a job ends, for what requests wait."""

from .plant import Plant

_HISTORY, _GROWS = "bookie/lifecycle/disk_history.py", ["tests.bookie.lifecycle.test_disk_history"]

PLANTS = (
    Plant(
        "a growth that has ended goes on", _HISTORY, "min(_slope(samples), _slope(_newest(samples, NEWER)))",
        "_slope(samples)", _GROWS, where="_growth",
    ),
    Plant(
        "a disk that has just been emptied is soon full", _HISTORY, "min(growth.speed, 0.0)", "growth.speed", _GROWS,
        where="DiskHistory.recent",
    ),
    Plant(
        "a suspension does not hold in the wait for writes", "bookie/maintenance/compactor.py",
        "await self._idle(self.suspension.passed())", "pass",
        ["tests.bookie.maintenance.test_suspended_compaction"], where="Compactor._compact",
    ),
    Plant(
        "a suspension holds only before a rest", "bookie/maintenance/compactor.py",
        "await self._idle(self.suspension.passed())", "pass",
        ["tests.bookie.maintenance.test_rests"], where="Compactor._admitted",
    ),
    Plant(
        "nobody learns that a requested collection waits for a suspended one", "http/console/bookie_parts.py",
        "', which is suspended' if suspended else ''", "''", ["tests.http.console.test_bookie_pages"],
        where="_waiting",
    ),
    Plant(
        "the growth of some hours counts more than a last hour without", "http/console/diagnosis.py", "_FEW_HOURS",
        "_HOUR", ["tests.http.console.test_diagnosis"], where="full_forecast",
    ),
)  # fmt: skip

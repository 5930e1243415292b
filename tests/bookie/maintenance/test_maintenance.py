"""The background services of a bookie as one."""

from functools import partial

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance.maintenance import COMPACTION_WRITE, SCRUB, MaintenanceOptions
from bookkeeper_twisted.errors import DamageError
from bookkeeper_twisted.limits.throttle import Rate

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..crash_life import Parts
from .crash_case import MaintainedLife


class MaintenanceTests(SynchronousTestCase):
    """What the services share."""

    def setUp(self) -> None:
        facts: Facts = []
        self.options = MaintenanceOptions(rates={COMPACTION_WRITE: Rate(1000)}, latency_bound=5.0)
        self.life = MaintainedLife(SimDisk(), facts, Parts(), options=self.options)
        self.maintenance = self.life.maintenance
        self.adds, self.reads = self.life.engine.context.metrics.add, self.life.engine.context.metrics.read

    def test_checks_the_index(self) -> None:
        """An index that was opened before it was checked is checked at once; what is found is logged."""
        checked = []

        def check(index: SimIndex) -> None:
            checked.append(index)
            raise DamageError("hidden rows")

        self.patch(SimIndex, "check", check)
        self.maintenance.start()
        self.life.drain()
        self.assertEqual(checked, [])
        self.patch(SimIndex, "checked", False)
        with capturedLogs() as events:
            self.maintenance.start()
            self.life.drain()
        self.assertEqual(len(checked), 1)
        self.assertIn("DAMAGE: hidden rows", str(formatEvent(events[0])))

    def _second(self) -> float:
        """The factor after one more second with background work."""
        self.maintenance.throttles.get(SCRUB).acquire(1)
        self.life.clock.advance(1)
        return self.maintenance.adaptive.status.factor

    def test_yields(self) -> None:
        """All limiters yield to adds, and to reads, that succeed slower than the bound."""
        self.adds.success.record(2.0, 1000)
        self.assertEqual(self._second(), 1)
        self.reads.success.record(50.0)
        self.assertEqual(self._second(), 0.8)
        self.assertEqual(self.maintenance.adaptive.status.latency, 50)
        self.assertEqual(self.maintenance.throttles.get(COMPACTION_WRITE).rate, Rate(800))
        self.adds.success.record(50.0)
        self.assertEqual(self._second(), 0.4)
        self.adds.failure.record(50.0)
        self.assertEqual(self._second(), 0.8)

    def test_changed(self) -> None:
        """Limits whose options differ are set, others stay as they are; the bound likewise."""
        throttles = self.maintenance.throttles
        throttles.get(COMPACTION_WRITE).change(Rate(7))
        throttles.get(SCRUB).change(Rate(8))
        self.maintenance.change(attrs.evolve(self.options, over_replicated_wait=3.0))
        self.assertEqual((throttles.get(COMPACTION_WRITE).limit, throttles.get(SCRUB).limit), (Rate(7), Rate(8)))
        self.assertEqual(self.maintenance.adaptive.status.bound, 5)
        self.maintenance.change(attrs.evolve(self.options, rates={COMPACTION_WRITE: Rate(9)}, latency_bound=0.0))
        self.assertEqual((throttles.get(COMPACTION_WRITE).limit, throttles.get(SCRUB).limit), (Rate(9), Rate(8)))
        self.assertEqual(self.maintenance.adaptive.status.bound, 0)

    def test_stop(self) -> None:
        """A stop leaves no timer, and ends the check of an index, which may be long."""
        interrupted: list[object] = []
        for directory in self.maintenance.directories:
            index = directory.storage.index
            self.patch(index, "interrupt", partial(interrupted.append, index))
        stopped = Deferred.fromCoroutine(self.maintenance.stop())
        self.life.drain()
        self.successResultOf(stopped)
        self.assertEqual(self.life.clock.getDelayedCalls(), [])
        self.assertEqual(interrupted, [directory.storage.index for directory in self.maintenance.directories])

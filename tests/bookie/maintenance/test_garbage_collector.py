"""When garbage is collected and logs are compacted, and how an operator steps in."""

import errno
import math
from collections.abc import Callable
from functools import partialmethod
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance import maintained
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import COMPACTION_READ, COMPACTION_WRITE, MaintenanceOptions
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.storage.maintenance.row_reader import RowReader, Step

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import SimDisk
from ..crash_life import Parts
from .crash_case import MaintainedLife, steps
from .test_maintenance_crash import for_several_targets

MAJOR = CompactionKind(0.9, 1000)
MINOR = CompactionKind(0.3, 200)


class CollectorCase(SynchronousTestCase):
    """A bookie in whose logs half is dead."""

    options = CollectorOptions(100, MINOR, MAJOR)

    def setUp(self) -> None:
        self.disk = SimDisk()
        self.facts: Facts = []
        self.start(self.options)
        steps(self.life, range(3))
        self.life.delete(1, 2)

    def start(self, options: CollectorOptions, rate: Rate = Rate()) -> None:  # noqa: B008
        """A new process."""
        self.disk.kill()
        rates = {COMPACTION_READ: rate, COMPACTION_WRITE: rate}
        self.life = MaintainedLife(self.disk, self.facts, Parts(), options=MaintenanceOptions(options, rates))
        self.collector = self.life.maintenance.collector
        self.state = self.collector.state

    def wait(self, seconds: float) -> None:
        """Lets time pass, and what it brings happen."""
        self.life.wait(seconds)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Runs, major and minor compactions so far."""
        return self.state.runs, self.state.majors, self.state.minors


class TimingTests(CollectorCase):
    """Intervals."""

    def test_runs(self) -> None:
        """A run begins ``gcWaitTime`` after the start, and after the end of the run before."""
        self.wait(99)
        self.assertEqual(self.counts, (0, 0, 0))
        self.wait(1)
        self.assertEqual(self.counts, (1, 0, 0))
        self.wait(99)
        self.assertEqual(self.counts, (1, 0, 0))
        self.wait(1)
        self.assertEqual(self.counts, (2, 0, 1))

    def test_major(self) -> None:
        """When a major compaction is due, it takes the place of a minor one and counts as one."""
        for _ in range(10):
            self.wait(100)
        self.assertEqual(self.counts, (10, 1, 4))
        self.assertEqual(self.state.last_minor, self.state.last_major)
        self.wait(100)
        self.assertEqual(self.counts, (11, 1, 4))

    def test_changed(self) -> None:
        """Other options hold from the next run on; another ``gcWaitTime`` counts from its change."""
        self.wait(60)
        self.collector.change(CollectorOptions(50, CompactionKind(0.0, 0), CompactionKind(0.9, 10)))
        self.wait(49)
        self.assertEqual(self.counts, (0, 0, 0))
        self.wait(1)
        self.assertEqual(self.counts, (1, 1, 0))

    def test_disabled(self) -> None:
        """A threshold or an interval of 0 disables a compaction, also for a forced run."""
        for kind in (CompactionKind(0.0, 200), CompactionKind(0.3, 0)):
            self.start(CollectorOptions(100, kind, CompactionKind(0.0, 1000)))
            for _ in range(5):
                self.wait(100)
            self.life.collect()
            self.assertEqual(self.counts, (6, 0, 0))

    def test_force_allowed(self) -> None:
        """With ``forceAllowCompaction``, a forced run compacts although no interval is set."""
        self.start(CollectorOptions(100, CompactionKind(0.3, 0), CompactionKind(0.9, 0), force_allowed=True))
        self.wait(1000)
        self.life.collect()
        self.assertEqual(self.counts, (2, 1, 0))

    def test_stop(self) -> None:
        """A stop ends the run at work and sets no timer; a run that waits is cancelled."""
        running, waiting = self.collector.force(), self.collector.force()
        self.life.executor.step()
        stopped = Deferred.fromCoroutine(self.life.maintenance.stop())
        self.failureResultOf(waiting, CancelledError)
        self.life.drain()
        self.successResultOf(stopped)
        self.successResultOf(running)
        self.assertEqual(self.life.clock.getDelayedCalls(), [])


class ForceTests(CollectorCase):
    """Forced runs."""

    def test_force(self) -> None:
        """A forced run does a major compaction at once, and its Deferred fires at the end."""
        forced = self.collector.force()
        self.assertNoResult(forced)
        self.assertTrue(self.state.forced)
        self.life.drain()
        self.successResultOf(forced)
        self.assertEqual(self.counts, (1, 1, 0))
        self.assertEqual((self.state.phase, self.state.forced), ("idle", False))

    def test_minor_alone(self) -> None:
        """A run can be forced with a minor compaction alone, or with none."""
        self.collector.force(major=False)
        self.life.drain()
        self.assertEqual(self.counts, (1, 0, 1))
        self.collector.force(major=False, minor=False)
        self.life.drain()
        self.assertEqual(self.counts, (2, 0, 1))

    def test_in_turn(self) -> None:
        """A run that is forced during another one follows it."""
        both = [self.collector.force(), self.collector.force(major=False)]
        self.life.drain()
        for each in both:
            self.successResultOf(each)
        self.assertEqual(self.counts, (2, 1, 1))

    def test_joined(self) -> None:
        """Runs that are forced during another one are one run, with each compaction that one of them forces."""
        forced = [self.collector.force(False, False)]
        forced += [self.collector.force(False, minor) for minor in (False, True, False) for _ in range(10)]
        self.life.drain()
        for each in forced:
            self.successResultOf(each)
        self.assertEqual(self.counts, (2, 0, 1))

    def test_joined_with_a_timed_one(self) -> None:
        """A run for which the time has come during another one joins a forced one, and does what is due."""
        self.wait(100)
        self.wait(99)
        self.collector.force(False, False)
        self.life.clock.advance(1)
        forced = self.collector.force(False, False)
        self.life.drain()
        self.successResultOf(forced)
        self.assertEqual(self.counts, (3, 0, 1))


class CompactionTests(CollectorCase):
    """The compaction at work."""

    def _begin(self, rate: Rate) -> None:
        """A forced run up to the first step that waits for the speed limit."""
        self.start(self.options, rate)
        self.life.maintenance.throttles.find(COMPACTION_READ).acquire(10_000)
        self.collector.force()
        self.life.drain()
        self.assertEqual(self.state.phase, "major compaction")

    def test_progress(self) -> None:
        """Done and left add up, and the time to the end follows from the speed."""
        self._begin(Rate(bytes=1000))
        (progress,) = self.collector.progress()
        assert progress is not None
        total = progress.left
        self.assertGreater(total, 2000)
        self.assertGreater(progress.entries_left, 0)
        self.assertEqual(progress.eta(self.life.clock.seconds()), 10.0)  # its only step waits for all that was granted
        self.assertEqual(self.collector._eta(), 10.0)
        limits, progress.limits = progress.limits, ()
        self.assertIsNone(progress.eta(self.life.clock.seconds()))
        self.assertTrue(math.isnan(self.collector._eta()))
        progress.limits = limits
        self.wait(10)
        self.assertEqual(progress.done + progress.left, total)
        self.assertEqual(self.collector._eta(), progress.eta(self.life.clock.seconds()))
        for _ in range(100):
            self.wait(1)
        self.assertEqual((progress.done, progress.left, progress.entries_left), (total, 0, 0))
        self.assertEqual((self.collector.progress(), self.collector._eta()), ([None], 0))

    def test_reads_ahead(self) -> None:
        """The reads of a step are begun before the step in front of it is verified."""
        self.patch(maintained, "STEP_BYTES", 1000)
        names: list[str] = []

        def noted(reader: RowReader, step: Step, name: str, work: Callable[[RowReader, Step], Any]) -> Any:
            names.append(name)
            return work(reader, step)

        for name in ("begin", "verified"):
            self.patch(RowReader, name, partialmethod(noted, name=name, work=getattr(RowReader, name)))
        self.collector.force()
        self.life.drain()
        begun = [at for at, name in enumerate(names) if name == "begin"]
        verified = [at for at, name in enumerate(names) if name == "verified"]
        self.assertGreater(len(begun), 2)
        self.assertEqual(len(begun), len(verified))
        for following, taken in zip(begun[1:], verified, strict=False):
            self.assertLess(following, taken)

    def test_reclaimed(self) -> None:
        """What a compaction gave back is the logs that went, less what was copied."""
        before = sum(self.life.log_sizes())
        self.life.collect()
        metrics = self.collector._metrics
        copied, freed = metrics.compacted_bytes.value, metrics.reclaimed_by_compaction.value
        *kept, _ = self.life.log_sizes()
        self.assertGreater(min(copied, freed), 0)
        self.assertEqual(before - copied - freed, sum(kept))

    def test_suspend(self) -> None:
        """A suspended compaction does nothing until it is resumed, then ends well."""
        self._begin(Rate(bytes=1000))
        self.collector.suspend_compaction()
        for _ in range(20):
            self.wait(1)
        self.assertEqual(self.counts, (1, 0, 0))
        self.collector.resume_compaction()
        for _ in range(20):
            self.wait(1)
        self.assertEqual(self.counts, (1, 1, 0))

    def test_suspended_for_long(self) -> None:
        """A compaction suspended for ``gcWaitTime`` ends, so that runs go on; it is due when it is resumed."""
        self._begin(Rate(bytes=1000))
        self.collector.suspend_compaction(minor=False)
        self.wait(99)
        self.life.delete(3)
        self.assertEqual((self.state.phase, self.state.runs), ("major compaction", 1))
        self.wait(1)
        self.assertEqual((self.state.phase, self.state.runs), ("idle", 2))
        self.assertEqual(self.state.deleted_ledgers, 3)
        self.assertIsNone(self.state.last_major)

    def test_stopped_while_suspended(self) -> None:
        """A stop ends a suspended compaction, and its timer."""
        self._begin(Rate(bytes=1000))
        self.collector.suspend_compaction()
        self.wait(1)
        stopped = Deferred.fromCoroutine(self.life.maintenance.stop())
        self.life.drain()
        self.successResultOf(stopped)
        self.assertEqual(self.life.clock.getDelayedCalls(), [])

    def test_other_kind_after_a_suspended_one(self) -> None:
        """A major compaction that was suspended and cancelled does not hold up a minor one."""
        self._begin(Rate(bytes=1000))
        self.collector.suspend_compaction(minor=False)
        self.collector.cancel()
        self.life.drain()
        self.collector.change(CollectorOptions(100, CompactionKind(0.9, 200), CompactionKind(0.95, 1000)))
        self.collector.force()
        for _ in range(20):
            self.wait(1)
        self.assertEqual((self.state.phase, self.state.minors), ("idle", 1))

    def test_runtime(self) -> None:
        """The time of a compaction that failed is not among those of the others."""
        self.life.collect()
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and "compacting" in op.path)
        steps(self.life, range(3, 6))
        self.life.collect()
        runtime = self.collector._metrics.compaction
        self.assertEqual((runtime.success.count, runtime.failure.count), (1, 1))

    def test_suspended_kind(self) -> None:
        """While major compactions are suspended, a forced run does a minor one; ledgers and logs go on."""
        self.collector.suspend_compaction(minor=False)
        self.life.collect()
        self.assertEqual(self.counts, (1, 0, 1))
        self.assertEqual(self.state.deleted_ledgers, 2)

    def test_cancel(self) -> None:
        """A cancelled compaction leaves no file and every log; the next one does all of it."""
        self._begin(Rate(bytes=1000))
        before = self.life.logs()
        self.collector.cancel()
        self.life.drain()
        names = self.disk.list("/ledgers0/current")
        self.assertEqual([name for name in names if name.endswith(".compacting")], [])
        self.assertEqual(self.life.logs(), before)
        self.assertEqual(self.state.phase, "idle")
        self.life.maintenance.throttles.find(COMPACTION_READ).change(Rate())
        self.life.maintenance.throttles.find(COMPACTION_WRITE).change(Rate())
        self.life.collect()
        self.assertNotEqual(self.life.logs(), before)

    def _between_commits(self) -> None:
        """A compaction that writes its second log, while the commit of the first one waits."""
        self.start(self.options)
        for_several_targets(self.life)
        self.life.collect_with_late_commits(lambda: self.life.is_copying() and len(self.life.new_logs()) == 1)
        self.assertIn("flush-0", self.life.executor.busy_threads())

    def test_cancelled_beside_a_commit(self) -> None:
        """A cancelled compaction keeps the log that is durable, and ends when the index has its rows."""
        self._between_commits()
        (log_id,) = self.life.new_logs()
        self.collector.cancel()
        while self.life.step_beside_flushes():
            pass
        self.assertFalse(self.life.is_copying())
        self.assertEqual(self.state.phase, "major compaction")
        self.life.drain()
        self.assertEqual(self.state.phase, "idle")
        self.assertIn(log_id, self.life.store.storage.directories[0].index.live())

    def test_failed_beside_a_commit(self) -> None:
        """A commit that fails ends the compaction: the log at work goes, all that was copied stays where it was."""
        self._between_commits()
        live = self.life.store.storage.directories[0].index.live()
        self.disk.fail(errno.EIO, when=lambda operation: operation.name == "commit", times=2)
        self.life.drain()
        self.assertFalse(self.life.is_copying())
        self.assertEqual((self.state.phase, self.state.failures), ("idle", 2))
        self.assertEqual(self.life.store.storage.directories[0].index.live(), live)

    def test_disk_full(self) -> None:
        """A full disk ends the compaction at work and allows no other until there is space again."""
        self._begin(Rate(bytes=1000))
        self.collector.disk_changed(almost_full=True, full=True)
        self.life.drain()
        self.assertEqual(self.state.phase, "idle")
        self.life.collect()
        self.assertEqual(self.state.majors + self.state.minors, 0)
        self.collector.disk_changed(almost_full=False, full=False)
        self.life.maintenance.throttles.find(COMPACTION_READ).change(Rate())
        self.life.maintenance.throttles.find(COMPACTION_WRITE).change(Rate())
        self.life.collect()
        self.assertEqual(self.state.majors, 1)

    def test_almost_full(self) -> None:
        """A disk that is almost full allows minor compactions only."""
        self.collector.disk_changed(almost_full=True, full=False)
        self.life.collect()
        self.assertEqual(self.counts, (1, 0, 1))

    def test_full_during_a_minor_compaction(self) -> None:
        """A minor compaction goes on while a disk is almost full; one that is full ends it."""
        self.start(CollectorOptions(100, CompactionKind(0.9, 200), MAJOR), Rate(bytes=1000))
        self.life.maintenance.throttles.find(COMPACTION_READ).acquire(10_000)
        self.collector.force(major=False)
        self.life.drain()
        before = self.life.logs()
        for full, phase in ((False, "minor compaction"), (True, "idle")):
            self.collector.disk_changed(almost_full=True, full=full)
            self.life.drain()
            self.assertEqual(self.state.phase, phase)
        self.assertEqual(self.life.logs(), before)

    def test_forced_when_full(self) -> None:
        """With ``isForceGCAllowWhenNoSpace`` a full disk forces a run, compaction included."""
        self.start(CollectorOptions(100, MINOR, MAJOR, forced_when_full=True))
        self.collector.disk_changed(almost_full=True, full=False)
        self.life.drain()
        self.assertEqual(self.counts, (1, 1, 0))

    def test_forced_when_full_from_now_on(self) -> None:
        """The option holds at once where it is set for a disk that is full already."""
        self.collector.disk_changed(almost_full=True, full=True)
        self.life.collect()
        self.collector.change(CollectorOptions(100, MINOR, MAJOR, forced_when_full=True))
        self.collector.disk_changed(almost_full=True, full=True)
        self.life.drain()
        self.assertEqual(self.counts, (2, 1, 0))

    def test_no_space_for_the_copy(self) -> None:
        """A compaction that finds no space leaves no file, and is counted as a failure."""
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and "compacting" in op.path, times=2)
        with capturedLogs() as events:
            self.life.collect()
            self.life.collect()
        self.assertEqual(self.state.failures, 2)
        self.assertEqual((self.counts, self.state.ended_major), ((2, 0, 0), None), "none of them has ended")
        self.assertIn("/ledgers0/current", self.state.last_failure)
        failed = [event for event in events if "failed" in str(formatEvent(event))]
        self.assertEqual(len(failed), 1, "a failure is logged once, not with every run")
        names = self.disk.list("/ledgers0/current")
        self.assertEqual([name for name in names if name.endswith(".compacting")], [])

    def _most_files(self, free: int) -> int:
        """Compacts eleven logs, half of them garbage, on a disk with little space.

        :returns: the number of files by which there were more than before, at most.
        """
        steps(self.life, range(3, 12), (3, 4, 5, 6))
        self.life.delete(3, 5)
        self.disk.capacity = (1 << 20, free)
        most = before = len(self.disk.list("/ledgers0/current"))
        self.collector.force()
        while self.life.executor.step():
            most = max(most, len(self.disk.list("/ledgers0/current")))
        return most - before

    def test_little_space(self) -> None:
        """Where space is scarce the old logs of each group go before the next one is begun."""
        self.assertEqual(self._most_files(3000), 1)
        self.assertEqual((self.state.failures, self.counts), (0, (1, 1, 0)))
        self.assertEqual(set(range(11)) & set(self.life.logs()[0]), set())
        self.assertGreater(self.collector._metrics.reclaimed_by_compaction.value, 11 * 4096 // 2)

    def test_little_space_for_the_first_group(self) -> None:
        """Nothing was compacted yet that old logs could go for: logs are looked through before later groups only."""
        (logs,), before = self.collector._logs, list[list[int]]()
        run = logs.run

        async def noted() -> int:
            before.append(self.life.logs()[0])
            return await run()

        self.patch(logs, "run", noted)
        self._most_files(3000)
        at_start, first_group, *_ = before
        self.assertGreater(len(before), 3)
        self.assertNotEqual(first_group, at_start, "the first group is copied by then")

    def test_much_space(self) -> None:
        """Where it is not, they go together at the end."""
        self.assertGreater(self._most_files(1 << 20), 1)

    def test_no_space_for_a_log(self) -> None:
        """Where the copy of no log would fit, none is begun."""
        self.assertEqual(self._most_files(500), 0)
        self.assertIn("500 bytes free are too few", self.state.last_failure)

    def test_time_limit(self) -> None:
        """No group of logs is begun after the time limit."""
        self.start(CollectorOptions(100, MINOR, CompactionKind(0.9, 1000, max_time=0.0)))
        before = self.life.logs()
        self.life.collect()
        self.assertEqual(self.life.logs(), before)

    def test_damaged_log(self) -> None:
        """A damaged log is reported and kept as it is; the others are compacted."""
        file = self.disk.open("/ledgers0/current/0.log")
        file.pwrite(b"\xff" * 40, 2200)  # among entries of ledger 3
        size = file.size()
        self.life.collect()
        (damaged,) = self.life.maintenance.directories[0].damaged.items()
        self.assertEqual(damaged[0], 0)
        self.assertIn("/0.log offset", damaged[1])
        self.assertEqual(self.disk.open("/ledgers0/current/0.log").size(), size)
        self.assertNotIn(1, self.life.logs()[0])
        self.life.collect()
        self.assertIn(0, self.life.logs()[0])

    def test_damaged_log_without_live_entries(self) -> None:
        """A damaged log goes as soon as nothing refers to it."""
        self.disk.open("/ledgers0/current/0.log").pwrite(b"\xff" * 40, 2200)
        damaged = self.life.maintenance.directories[0].damaged
        self.life.collect()
        self.assertEqual(list(damaged), [0])
        self.life.delete(3, 4)
        self.life.collect()
        self.assertEqual((damaged, 0 in self.life.logs()[0]), ({}, False))


class DirectoryTests(SynchronousTestCase):
    """Two ledger directories."""

    def test_one_fails(self) -> None:
        """A directory that cannot be read does not keep the other from being collected and compacted."""
        disk = SimDisk()
        facts: Facts = []
        parts = Parts(n_ledger_dirs=2)
        life = MaintainedLife(disk, facts, parts, options=MaintenanceOptions(CollectorOptions(100, MINOR, MAJOR)))
        steps(life, range(3))
        life.delete(1, 2)
        before = life.logs()
        disk.fail(errno.EIO, when=lambda op: op.name == "list" and op.path.startswith("/ledgers0"), times=100)
        life.collect()
        disk.heal()
        after = life.logs()
        self.assertEqual(after[0], before[0])
        self.assertNotEqual(after[1], before[1])
        self.assertGreater(life.maintenance.collector.state.failures, 0)
        self.assertEqual(life.maintenance.collector.state.majors, 1, "the other was compacted")

"""Compactions of several ledger directories on one disk, which is all but full."""

import errno

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import MaintenanceOptions

from ...simulated_disk.crash import Facts
from ...simulated_disk.sim_disk import SimDisk
from ..crash_life import Parts, found_entry
from .crash_case import MaintainedLife, steps

OPTIONS = MaintenanceOptions(CollectorOptions(100, CompactionKind(0.2, 1e9), CompactionKind(0.9, 1e9)))


class SmallDisk(SimDisk):
    """A disk whose free space is what entry logs leave.

    :ivar total: bytes.
    """

    total = 1 << 30

    def usage(self, path: str) -> tuple[int, int]:
        return self.total, self.total - self.used()

    def used(self) -> int:
        """The bytes of all entry logs, those included that are being written."""
        directories = [f"{path}/current" for path in ("/ledgers0", "/ledgers1", "/ledgers2")]
        paths = [f"{directory}/{name}" for directory in directories for name in self.list(directory) if ".log" in name]
        return sum(self.open(path).size() for path in paths)


class SharedDiskTests(SynchronousTestCase):
    """Three directories with logs of which half is dead."""

    def setUp(self) -> None:
        self.disk, self.facts = SmallDisk(), Facts()
        self.life = MaintainedLife(self.disk, self.facts, Parts(n_ledger_dirs=3), options=OPTIONS)
        steps(self.life, range(30), range(6))
        self.life.delete(0, 1, 2)

    def collect(self) -> tuple[int, int]:
        """Forces a run that compacts all logs.

        :returns: the least free space meanwhile, and the most directories in which logs were written at the same time.
        """
        least, most, before = self.disk.total, 0, self.life.logs()
        forced = self.life.maintenance.collector.force()
        while self.life.executor.step():
            least = min(least, self.disk.total - self.disk.used())
            most = max(most, sum(self._writes(f"/ledgers{number}/current") for number in range(3)))
        self.successResultOf(forced)
        self.assertEqual(self.life.maintenance.collector.state.failures, 0)
        for old, new in zip(before, self.life.logs(), strict=True):
            self.assertEqual(set(old) & set(new), {old[-1]})  # that is not sealed
        for ledger_id in (3, 4, 5):
            self.assertIsNotNone(found_entry(self.life, ledger_id, 89))
        return least, most

    def _writes(self, path: str) -> bool:
        return any(name.endswith(".compacting") for name in self.disk.list(path))

    def test_little_space(self) -> None:
        """One after the other has what is free, with what the one before gave back: together they would fill it."""
        self.disk.total = self.disk.used() + 6000
        least, most = self.collect()
        self.assertGreaterEqual(least, 0)
        self.assertEqual(most, 1)

    def test_other_disks(self) -> None:
        """Directories on disks of their own are compacted at the same time."""
        self.disk.mounted = ("/ledgers1", "/ledgers2")
        self.assertEqual(self.collect()[1], 3)

    def test_one_fails(self) -> None:
        """A directory that cannot be compacted does not keep the next from its turn."""
        self.disk.fail(errno.EIO, when=lambda op: op.path.startswith("/ledgers1/") and "compacting" in op.path)
        before = self.life.logs()
        self.life.collect()
        self.assertEqual(self.life.maintenance.collector.state.failures, 1)
        self.assertIn("/ledgers1/", self.life.maintenance.collector.state.last_failure)
        after = self.life.logs()
        self.assertEqual(
            [old[0] in new for old, new in zip(before, after, strict=True)], [False, True, False]
        )  # fmt: skip

    def test_cancelled(self) -> None:
        """A cancelled compaction leaves the directories that wait for their turn as they are."""
        self.life.maintenance.collector.force()
        while not self._writes("/ledgers0/current"):
            self.life.executor.step()
        before = self.life.logs()
        self.life.maintenance.collector.cancel()
        self.life.drain()
        self.assertEqual(self.life.logs()[1:], before[1:])
        self.assertFalse(any(self._writes(f"/ledgers{number}/current") for number in range(3)))

    def test_cancelled_later(self) -> None:
        """What the directory before had given back counts, though the compaction was cancelled."""
        self.life.maintenance.collector.force()
        while not self._writes("/ledgers1/current"):
            self.life.executor.step()
        self.life.maintenance.collector.cancel()
        self.life.drain()
        self.assertGreater(self.life.maintenance.collector._metrics.reclaimed_by_compaction.value, 0)

"""A rebuilt index names the newest copy of each entry, whenever an entry was repaired beside a compaction."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter

from ...simulated_disk.sim_disk import SimDisk
from ..crash_life import STORAGE, Parts, entry, found_entry, run
from .crash_case import MaintainedLife
from .test_maintenance_crash import for_several_targets

REBUILD = Parts(storage=attrs.evolve(STORAGE, rebuild_index=True))


class RepairedBesideCompactionTests(SynchronousTestCase):
    """A client adds an entry again, in another size, and a checkpoint flushes it after each step of a compaction."""

    def repaired_after(self, n_steps: int, ledger_id: int, entry_id: int) -> bool:
        """Check the entry after a rebuild.

        :returns: whether the compaction still had work when the entry was repaired.
        """
        disk = SimDisk()
        life = MaintainedLife(disk, [], Parts())
        for_several_targets(life)
        life.drain()
        life.maintenance.collector.force()
        for _ in range(n_steps):
            life.executor.step()
        works = bool(life.executor.queued)
        life.add(run(ledger_id, entry_id, size=90), recovery=True)
        life.engine.checkpointer.checkpoint()
        life.drain()
        life.checkpoint()
        self.assertEqual(found_entry(life, ledger_id, entry_id), entry(ledger_id, entry_id, 90))
        disk.kill()
        rebuilt = MaintainedLife(disk, [], REBUILD)
        self.assertEqual(found_entry(rebuilt, ledger_id, entry_id), entry(ledger_id, entry_id, 90), (n_steps, entry_id))
        return works

    def check_all(self) -> None:
        for ledger_id, entry_id in ((2, 0), (4, 11)):
            n_steps = 0
            while self.repaired_after(n_steps, ledger_id, entry_id):
                n_steps += 1
            self.assertGreater(n_steps, 20)

    def test_newest(self) -> None:
        """The repaired copy is found, whether the first or a later new log of the compaction has the old one."""
        self.check_all()

    def test_more_logs_than_expected(self) -> None:
        """The same where a compaction has fewer ids than it needs logs: it begins again with what is left."""
        reserve = EntryLogWriter.reserve
        calls: list[int] = []

        def one(writer: EntryLogWriter, count: int = 1) -> list[int]:
            calls.append(count)
            return reserve(writer, 1)

        self.patch(EntryLogWriter, "reserve", one)
        self.check_all()
        self.assertGreater(max(calls), 1)

"""States of ledgers made anew from journals and entry logs."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.ledger_rebuild import directory_map_of_logs, journal_states, rebuild_ledgers
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_dirs import DirectoryMap, journal_bytes

from ...simulated_disk.sim_disk import SimDisk
from ...simulated_disk.sim_index import SimIndex
from ..crash_life import KEY, Life, Parts, check_promises, run


class LedgerRebuildTests(SynchronousTestCase):
    """A bookie that was killed with entries in an entry log and in its journal."""

    def setUp(self) -> None:
        self.disk, self.facts, self.parts = SimDisk(), [], Parts()  # type: ignore[var-annotated]
        life = Life(self.disk, self.facts, self.parts)
        life.add(run(1, 0, 3))
        life.drain()
        life.checkpoint()
        life.add(run(2, 0, 2))
        life.fence(9)
        life.drain()
        self.disk.kill()

    def test_all_fenced(self) -> None:
        """Ledgers of both are fenced, with their keys; a start has every entry then."""
        states = journal_states(self.disk, self.parts.paths)
        self.assertEqual(states, {i: LedgerRow(i, KEY, True) for i in (1, 2, 9)})
        rebuilt = rebuild_ledgers(self.disk, self.parts.paths, 0, states, DirectoryMap(1), SimIndex.open)
        self.assertEqual(([*rebuilt.index.ledgers()], rebuilt.entries), ([states[1], states[2], states[9]], 3))
        rebuilt.index.close()
        check_promises(Life(self.disk, [], self.parts), self.facts)

    def test_progress(self) -> None:
        """How far the journals are read is known group by group, and in the end all bytes of the files are passed."""
        passed: list[int] = []
        journal_states(self.disk, self.parts.paths, passed.append)
        self.assertEqual(sum(passed), journal_bytes(self.disk, "/journal0/current"))
        self.assertGreater(len(passed), 2)

    def test_joined_directory(self) -> None:
        """Ledgers stay in the directory of their entries, also where another one has joined since."""
        parts = Parts(n_ledger_dirs=2, expands=True)
        Life(self.disk, self.facts, parts).stop()
        states, directory_map = journal_states(self.disk, parts.paths), directory_map_of_logs(self.disk, parts.paths)
        self.assertEqual(directory_map, DirectoryMap(2, {1: 0}))
        for number in range(2):
            rebuild_ledgers(self.disk, parts.paths, number, states, directory_map, SimIndex.open).index.close()
        check_promises(Life(self.disk, [], parts), self.facts)

    def test_without_journals(self) -> None:
        """What no journal knows any more is fenced with an unknown key."""
        rebuilt = rebuild_ledgers(self.disk, self.parts.paths, 0, {}, DirectoryMap(1), SimIndex.open)
        self.assertEqual([*rebuilt.index.ledgers()], [LedgerRow(1, b"", True)])

"""A sync of the journal fails, the bookie is started again, the power is cut at every file operation from then on."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.testing.disk.crash import enumerate_crashes
from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

from .crash_life import Parts, after_failure, verifier, workload
from .test_bookie_crash import rotation, second_start


class FailedSyncTests(SynchronousTestCase):
    """After a failed sync pages count as clean that never reached the disk (S10)."""

    def _survives(self, suffix: str, least: int, name: str = "sync") -> None:
        intact = SimDisk()
        workload(rotation, Parts())(intact, [])
        syncs = [op.number for op in intact.operations if op.name == name and op.path.endswith(suffix)]
        self.assertGreaterEqual(len(syncs), least)
        for number in syncs:
            self._survives_failure(number)

    def _survives_failure(self, number: int) -> None:
        work = after_failure(rotation, number, second_start)
        report = enumerate_crashes(
            work, verifier(Parts()), seed=1, subsets=1, second_every=0, points=lambda op: op.number > number
        )
        self.assertEqual(report.violations, [], f"operation {number}: {report}")
        self.flushLoggedErrors(OSError)

    def test_spares(self) -> None:
        """Of a file that was being made ready: it starts, and everything acknowledged is there (S1-S5)."""
        self._survives(".spare", 6)

    def test_journal_files(self) -> None:
        """Of a group of records: what the start reads again counts as durable only once it is (S1-S5)."""
        self._survives(".txn", 10)

    def test_names(self) -> None:
        """Of the name of a journal file: no mark begins to refer to a file that the power cut may take (S7)."""
        self._survives("/journal0/current", 5, "sync_directory")

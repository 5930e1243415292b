"""A sync fails, or the process is killed before it; the bookie is started again, and the power is cut from then on."""

from twisted.trial.unittest import SynchronousTestCase

from ..silence import forget_failures
from ..simulated_disk.crash import enumerate_crashes
from ..simulated_disk.sim_disk import SimDisk
from .crash_life import Life, Parts, after_failure, after_kill, run, verifier, workload
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

    def test_spares(self) -> None:
        """Of a file that was being made ready: it starts, and everything acknowledged is there (S1-S5)."""
        self._survives(".spare", 6)

    def test_journal_files(self) -> None:
        """Of a group of records: what the start reads again counts as durable only once it is (S1-S5)."""
        self._survives(".txn", 10)

    def test_names(self) -> None:
        """Of the name of a journal file: no log mark begins to refer to a file that the power cut may take (S7)."""
        self._survives("/journal0/current", 5, "sync_directory")


def stored(life: Life) -> None:
    """Checkpoints, and groups after the last one, the newest of them in another file of the journal."""
    for turn in range(3):
        life.add(run(1 + turn % 2, turn * 4, 4, size=1200))
        life.drain()
        if not turn:
            life.fence(9)
            life.drain()
            life.checkpoint()


def replayed(life: Life) -> None:
    """A start."""


def added(life: Life) -> None:
    """A group of a new journal file."""
    life.add(run(3, 30, 2))
    life.drain()


LIVES = (stored, replayed)


class KilledTests(SynchronousTestCase):
    """What a start reads may be in the page cache only, as the process before had not synced it."""

    def _survives(self, suffix: str, least: int) -> None:
        intact = SimDisk()
        workload(stored, Parts(), [replayed])(intact, [])
        syncs = [op for op in intact.operations if op.name.startswith("sync") and op.path.endswith(suffix)]
        self.assertGreaterEqual(len(syncs), least)
        for operation in syncs:
            work = after_kill(LIVES, operation.number, added)
            report = enumerate_crashes(
                work, verifier(Parts()), seed=1, subsets=1, second_every=0,
                points=lambda op, number=operation.number: op.number >= number,  # type: ignore[misc]
            )  # fmt: skip
            self.assertEqual(report.violations, [], f"{operation}: {report}")
            forget_failures(self)

    def test_ledger_directory(self) -> None:
        """Names in a ledger directory: no journal file goes that the log mark needs which the power cut leaves (S7)."""
        self._survives("/ledgers0/current", 7)

    def test_entry_logs(self) -> None:
        """Entry logs."""
        self._survives(".log", 4)

    def test_journal(self) -> None:
        """Journal files and their names."""
        self._survives(".txn", 4)
        self._survives(".spare", 2)
        self._survives("/journal0/current", 2)

"""Lives drawn by chance on a disk without a free byte: deletions bring the space back, and no restart is needed."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from ...silence import forget_failures
from ...simulated_disk.crash import CrashReport, Facts, Violation
from ...simulated_disk.small_disk import SmallDisk
from ..crash_life import Parts, run
from .crash_case import MaintainedLife, check_live

DISK = 400_000
LOG = 20_000
ROUNDS = 12
"""Checkpoints and collections within which the space has to be back."""

SETTINGS = StorageSettings(log_size_limit=LOG, reserve_bytes=LOG, write_cache_bytes=1 << 20, read_cache_bytes=1 << 16)


class FullDiskLife:
    """The life that a seed draws.

    :ivar index_elsewhere: whether indexes have a disk of their own.
    :ivar in_turns: whether the ledgers were written in turns.
    :param reserved: bytes that the disk keeps for privileged processes, as ext4 does.
    """

    def __init__(self, seed: int, reserved: int = 0) -> None:
        self._chance = chance = Random(seed)
        self.index_elsewhere, self.in_turns = chance.random() < 0.5, chance.random() < 0.5
        self._parts = Parts(storage=SETTINGS, index_elsewhere=self.index_elsewhere)
        self._disk = SmallDisk({"/ledgers0": DISK, "/indexes0": DISK} if self.index_elsewhere else {"/ledgers0": DISK})
        self._disk.reserved = reserved
        self._facts: Facts = []
        self._ledgers = list(range(1, chance.randint(6, 21)))
        self._restarts = {chance.choice(("none", "full", "deleted", "collecting", "collected")) for _ in range(2)}
        self._life = self._start()

    def _start(self) -> MaintainedLife:
        life = MaintainedLife(self._disk, self._facts, self._parts)
        life.drain()
        return life

    def _may_restart(self, moment: str) -> None:
        """End the process, by a kill or by a power cut, if that was drawn for this moment."""
        if moment not in self._restarts:
            return
        self._restarts.discard(moment)
        before, odds = self._life, self._chance.choice((0.0, 0.5, 1.0, 1.0))  # a kill leaves what a cut does at best
        kept = [index for index in range(self._disk.pending_count()) if self._chance.random() < odds]
        after = self._disk.crash(kept)
        assert isinstance(after, SmallDisk)
        self._disk = after
        before.drain()  # on the disk that is gone, so that nothing of it is left at work
        self._life = self._start()

    def _checkpoint(self) -> bool:
        before = self._life.store.storage.failed_checkpoints  # type: ignore[attr-defined]
        self._life.checkpoint()
        return bool(self._life.store.storage.failed_checkpoints == before)  # type: ignore[attr-defined]

    def fill(self) -> None:
        """By clients, then by another file to the last byte, or nearly so."""
        chance, life = self._chance, self._life
        wanted = DISK * chance.choice((0.4, 0.7, 1.0))
        used = lambda: DISK - self._disk.free("/ledgers0")  # noqa: E731
        turns = [(each, first) for first in range(0, 3000, 3) for each in self._ledgers]
        if not self.in_turns:
            count = int(wanted // len(self._ledgers) // 2400) + 2
            turns = [(each, 3 * turn) for each in self._ledgers for turn in range(count)]
        for number, (ledger_id, first) in enumerate(turns):
            life.add(run(ledger_id, first, 3, size=800))
            life.drain()
            if number % 5 == 4 and not self._checkpoint():
                break
            if used() >= wanted:
                break
        if chance.random() < 0.5:
            self._checkpoint()
        for mount in self._disk.sizes:
            if mount == "/ledgers0" or chance.random() < 0.5:
                self._disk.fill(mount, chance.choice((0, 0, 512, 1500)))
        if chance.random() < 0.3:
            life.fence(chance.choice(self._ledgers))
            life.drain()
        if chance.random() < 0.5:
            self._checkpoint()
        self._may_restart("full")

    def delete(self) -> None:
        """All ledgers but a few, in order or not, at once or with collections between."""
        chance, ledgers = self._chance, list(self._ledgers)
        if chance.random() < 0.5:
            chance.shuffle(ledgers)
        doomed = ledgers[chance.randint(1, max(len(ledgers) // 4, 1)) :]
        step = chance.choice((len(doomed), 4, 1))
        for begin in range(0, len(doomed), step):
            self._life.delete(*doomed[begin : begin + step])
            if step < len(doomed) and chance.random() < 0.3:
                self._collect()
        self._may_restart("deleted")

    def _collect(self) -> None:
        life = self._life
        if "collecting" in self._restarts:
            life.maintenance.collector.force()
            for _ in range(self._chance.randint(1, 60)):
                life.executor.step()
            self._may_restart("collecting")
            life = self._life
        life.collect()
        self._may_restart("collected")

    def recover(self) -> int:
        """Collect until the bookie takes entries again.

        :returns: the rounds that it took.
        :raises AssertionError: it never does, or something is lost.
        """
        for number in range(ROUNDS):
            self._collect()
            if number == 2 and self.index_elsewhere:
                self._disk.foreign["/indexes0"] = 0  # nothing that a bookie deletes makes room on a disk of indexes
            self._life.add(run(1000 + number, 0, 3, size=800))
            self._life.drain()
            if self._checkpoint() and self._checkpoint():
                self._check()
                return number + 1
        raise AssertionError(f"{self._disk.free('/ledgers0')} bytes are free after {ROUNDS} collections")

    def _check(self) -> None:
        storage = self._life.store.storage
        check_live(self._life, self._facts)
        (directory,) = storage.directories
        if directory.reserve.missing or storage.undeleted():
            raise AssertionError("the reserve was not taken back, or a deletion is not durable")


def check_lives(first: int, count: int, reserved: int = 0) -> tuple[CrashReport, set[tuple[bool, bool]]]:
    """Check the lives of some seeds.

    :returns: what was tried, and which kinds were among them: the index elsewhere, the ledgers in turns.
    """
    report, kinds = CrashReport(), set[tuple[bool, bool]]()
    for seed in range(first, first + count):
        life = FullDiskLife(seed, reserved)
        kinds.add((life.index_elsewhere, life.in_turns))
        report.states += 1
        try:
            life.fill()
            life.delete()
            life.recover()
        except Exception as error:
            error.add_note(f"seed {seed}")
            report.violations.append(Violation(None, (), 0, error))
    return report, kinds


class FullDiskLivesTests(SynchronousTestCase):
    """``python -m tests.bookie.maintenance`` checks many more of them."""

    def test_lives(self) -> None:
        """In every life the bookie takes entries again, and nothing acknowledged is lost (S1, S3, S8)."""
        report, kinds = check_lives(1, 60)
        forget_failures(self)
        self.assertEqual([(str(each), each.error.__notes__) for each in report.violations], [])
        self.assertEqual(len(kinds), 4)

    def test_reserved_blocks(self) -> None:
        """So it is where the file system keeps a twentieth of its blocks for root, whose files took those, too."""
        report, _ = check_lives(101, 40, DISK // 20)
        forget_failures(self)
        self.assertEqual([(str(each), each.error.__notes__) for each in report.violations], [])

"""Lives drawn by chance: ledger disks that are full or fail, kills and power cuts, within a start too."""

import contextlib
import errno
from collections import Counter
from random import Random

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.mixed_runs import RunSequence

from ...silence import forget_failures
from ...simulated_disk.crash import CrashReport, Facts, Violation
from ...simulated_disk.sim_disk import Operation, SimDisk
from ..crash_life import EXPECTED_FAILURES, Killed, Parts, kill_before, mixed, run
from .crash_case import MaintainedLife, maintained_verifier

LEDGERS = range(1, 6)
CUTS = 5
LIKELY = 0.4
"""Share of the starts after a crash that are cut off themselves."""

_FAILING = (("pwrite", "create"), ("commit",), ("pwrite", "create", "commit"), ("sync",), ("rename",))


@attrs.frozen
class Trouble:
    """The trouble with the ledger disks in one life.

    :ivar at_start: whether it begins before the process.
    :ivar ends: whether it ends before the process.
    """

    where: str
    names: tuple[str, ...]
    error: int
    at_start: bool
    ends: bool

    @classmethod
    def drawn(cls, chance: Random, n_ledger_dirs: int) -> "Trouble":
        """One or all of the directories."""
        where = chance.choice(("/ledgers", *[f"/ledgers{number}" for number in range(n_ledger_dirs)]))
        error = chance.choice((errno.ENOSPC, errno.ENOSPC, errno.EIO))
        return cls(where, chance.choice(_FAILING), error, chance.random() < 0.5, chance.random() < 0.5)

    def begin(self, disk: SimDisk) -> None:
        def strikes(operation: Operation) -> bool:
            return operation.name in self.names and operation.path.startswith(self.where)

        disk.fail(self.error, when=strikes, times=1 << 30)


class Actions:
    """What happens in one life; every life writes other entries."""

    def __init__(self, life: MaintainedLife, chance: Random, first: int) -> None:
        self._life = life
        self._chance = chance
        self._next = dict.fromkeys(LEDGERS, first)

    def some(self) -> None:
        """A few of them."""
        actions = {
            self._add: 45, self._add_in_turn: 10, self._fence: 10, self._write_lac: 5, self._checkpoint: 10,
            self._life.collect: 5, self._delete: 3, self._give_away: 3,
        }  # fmt: skip
        for _ in range(self._chance.randint(2, 10)):
            (action,) = self._chance.choices(list(actions), list(actions.values()))
            action()
            if self._chance.random() < 0.6:
                self._life.drain()
            if self._life.failures:
                return

    def _ledger(self) -> int:
        return self._chance.choice(LEDGERS)

    def _known(self) -> int | None:
        ledger_id = self._ledger()
        self._life.drain()  # nothing of it is on its way
        return ledger_id if self._life.store.storage.ledger(ledger_id) is not None else None

    def _add(self) -> None:
        ledger_id, count = self._ledger(), self._chance.randint(1, 3)
        recovery, size = self._chance.random() < 0.4, self._chance.randint(10, 900)
        self._life.add(run(ledger_id, self._next[ledger_id], count, size), recovery)
        self._next[ledger_id] += count

    def _add_in_turn(self) -> None:
        ledgers, size = self._chance.sample(LEDGERS, 3), self._chance.randint(10, 500)
        count = self._chance.randint(1, 3)
        if count == 1:
            self._life.add(mixed(*[(each, self._next[each]) for each in ledgers], size=size))
        else:
            self._life.add(RunSequence([run(each, self._next[each], count, size) for each in ledgers]))
        for each in ledgers:
            self._next[each] += count

    def _fence(self) -> None:
        self._life.fence(self._ledger())

    def _write_lac(self) -> None:
        self._life.write_lac(self._ledger(), self._chance.randint(0, 500))

    def _checkpoint(self) -> None:
        self._life.engine.checkpointer.checkpoint()

    def _delete(self) -> None:
        ledger_id = self._known()
        if ledger_id is not None:
            self._life.delete(ledger_id)

    def _give_away(self) -> None:
        ledger_id = self._known()
        if ledger_id is not None and not self._life.failures:
            self._life.replace(ledger_id)


class DrawnLives:
    """The lives that a seed draws, and the checks of what crashes leave of them.

    :ivar counts: how often a start was refused, or found a disk full.
    """

    def __init__(self, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = chance = Random(seed)
        n_dirs = chance.choice((1, 1, 2))
        self._parts = Parts(n_journals=chance.choice((1, n_dirs)), n_ledger_dirs=n_dirs)
        self._lives = [
            (Trouble.drawn(chance, n_dirs) if chance.random() < 0.6 else None, chance.getrandbits(32))
            for _ in range(chance.randint(2, 4))
        ]

    def work(self, disk: SimDisk, facts: Facts) -> None:
        """The lives, one after the other; each is killed at its end."""
        for number, (trouble, seed) in enumerate(self._lives):
            with contextlib.suppress(Killed):
                try:
                    self._live(disk, facts, number, trouble, Random(seed))
                except EXPECTED_FAILURES:
                    self.counts["refused"] += 1
            disk.kill()

    def _live(self, disk: SimDisk, facts: Facts, number: int, trouble: Trouble | None, chance: Random) -> None:
        if trouble is not None and trouble.at_start:
            trouble.begin(disk)
        life = MaintainedLife(disk, facts, self._parts)
        self.counts["full"] += bool(life.store.no_space)
        actions = Actions(life, chance, 1000 * number)
        if trouble is not None and not trouble.at_start:
            actions.some()
            trouble.begin(disk)
        actions.some()
        if trouble is not None and trouble.ends:
            disk.heal()
            actions.some()

    def check(self) -> int:
        """Crash at drawn operations, and check each disk that may be left.

        :returns: disks that were checked.
        :raises AssertionError: something that was promised is lost.
        """
        intact = SimDisk()
        self.work(intact, [])
        renamed = [op.number + 1 for op in intact.operations if op.name == "rename"]  # and not yet durable
        last = len(intact.operations) + 1
        for cut in range(CUTS):
            disk, facts = SimDisk(), Facts()
            kill_before(disk, (last, self._chance.randint(1, last), self._chance.choice(renamed or [last]))[cut % 3])
            self.work(disk, facts)
            disk.observer = None
            for odds in (0.0, 1.0, 0.5):
                self._check(self._after(disk, odds), list(facts))
            self._check(disk, facts)  # the process was killed, and no power was lost
        return 4 * CUTS

    def _after(self, disk: SimDisk, odds: float) -> SimDisk:
        """The disk after a power cut that kept each pending change by chance."""
        return disk.crash([index for index in range(disk.pending_count()) if self._chance.random() < odds])

    def _check(self, disk: SimDisk, facts: Facts) -> None:
        """Starts that are cut off, by a kill or by a power cut, before the one that has to succeed."""
        recover = maintained_verifier(self._parts)
        while self._chance.random() < LIKELY:
            kill_before(disk, len(disk.operations) + self._chance.randint(1, 40))
            with contextlib.suppress(Killed, AssertionError, *EXPECTED_FAILURES):
                recover(disk, list(facts))
            disk.observer = None
            disk.kill()
            if self._chance.random() < 0.5:
                disk = self._after(disk, self._chance.choice((0.0, 0.5, 1.0)))
        recover(disk, list(facts))


def check_lives(first: int, count: int) -> tuple[CrashReport, "Counter[str]"]:
    """Check the lives of some seeds.

    :returns: what was tried, and the counts of all of them.
    """
    report, counts = CrashReport(), Counter[str]()
    for seed in range(first, first + count):
        lives = DrawnLives(seed)
        try:
            report.states += lives.check()
        except Exception as error:
            error.add_note(f"seed {seed}")
            report.violations.append(Violation(None, (), 0, error))
        counts += lives.counts
    return report, counts


class DrawnLivesTests(SynchronousTestCase):
    """``python -m tests.bookie.maintenance`` checks many more of them."""

    def test_lives(self) -> None:
        """No entry, fence or deletion is lost, and every start succeeds once the disks are well again (S1-S8)."""
        report, counts = check_lives(1, 30)
        forget_failures(self)
        self.assertEqual([(str(each), each.error.__notes__) for each in report.violations], [])
        self.assertGreater(counts["full"], 10)
        self.assertGreater(counts["refused"], 20)

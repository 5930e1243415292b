"""The power is cut at every file operation of deletion, collection and compaction; planted bugs are noticed."""

import errno
from functools import partial

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.entry_log.format import HEADER_SIZE

from ...silence import forget_failures
from ...simulated_disk.crash import CrashReport, Facts, Workload, enumerate_crashes
from ...simulated_disk.sim_disk import Operation, SimDisk
from ...simulated_disk.small_disk import SmallDisk
from ..crash_life import STORAGE, Parts, run
from .crash_case import MaintainedLife, maintained, maintained_verifier, steps


def delete_and_collect(life: MaintainedLife) -> None:
    """A ledger is deleted, one is fenced and deleted, logs go, the others are compacted."""
    steps(life, range(3))
    life.fence(2)
    life.drain()
    life.delete(1, 2)
    life.collect()
    steps(life, range(3, 4), (3, 4))
    life.delete(3)
    life.collect()


def overwritten(life: MaintainedLife) -> None:
    """Entries are written again, with other bytes, as by a recovery, while their older copies are compacted."""
    steps(life, range(3), (1, 2))
    life.delete(2)
    life.add(run(1, 2, 4, size=160), recovery=True)
    life.drain()
    life.checkpoint()
    life.maintenance.collector.force()
    while not life.is_copying():
        assert life.executor.step()
    life.executor.step()  # the copy has its rows
    assert life.is_copying()
    life.add(run(1, 0, 2, size=170), recovery=True)
    while life.executor.step("journal-0"):
        pass
    life.checkpoint()  # no replay repairs what the compaction does next


def for_several_targets(life: MaintainedLife) -> None:
    """What is live fills more than one new log."""
    for turn in range(2):
        for ledger_id in range(1, 6):
            life.add(run(ledger_id, turn * 6, 6, size=220))
        life.drain()
        life.checkpoint()
    life.delete(1, 5)


def several_targets(life: MaintainedLife) -> None:
    """A compaction into more than one new log, which the next collection compacts again."""
    for_several_targets(life)
    life.collect()
    life.delete(3)
    life.collect()


def late_commits(life: MaintainedLife) -> None:
    """The same, where the index gets the rows of a new log as late as can be: the next log has its own then."""
    for_several_targets(life)
    life.collect_with_late_commits()
    life.delete(3)
    life.collect_with_late_commits()


def taken_again(life: MaintainedLife) -> None:
    """A fenced ledger is deleted that other bookies keep, and is given back by recovery adds before and after that is
    durable."""
    steps(life, range(2), (1, 2))
    life.fence(2)
    life.drain()
    life.replace(2)
    life.add(run(2, 1, 2, size=150), recovery=True)
    life.drain()
    life.checkpoint()
    life.replace(2)
    life.drain()
    life.checkpoint()
    life.add(run(2, 3, 2, size=150), recovery=True)
    life.drain()
    life.collect()
    life.add(run(2, 0, 3, size=150), recovery=True)
    life.drain()


def second_life(life: MaintainedLife) -> None:
    """The next process collects what the one before had not."""
    life.add(run(4, 40, 2))
    life.drain()
    life.collect()
    life.maintenance.scrubber.force()
    life.drain()


def little_space(life: MaintainedLife) -> None:
    """The old logs of a group are removed before the next group is begun."""
    steps(life, range(4))
    life.delete(1, 3)
    life.disk.capacity = 1 << 20, 3000
    life.collect()


def full_disk(life: MaintainedLife) -> None:
    """Deletions on a full disk, and a compaction in the space of the reserve; then there is space again."""
    disk = life.disk
    assert isinstance(disk, SmallDisk)
    steps(life, range(2))
    life.fence(2)
    life.add(run(3, 6, 3, size=150))
    life.drain()
    disk.fill("/ledgers0")
    life.checkpoint()
    life.delete(1, 2)
    life.collect()
    disk.foreign["/ledgers0"] = 0
    steps(life, range(3, 6), (3, 4))


def two_disks(life: MaintainedLife) -> None:
    """Directories that are compacted at the same time."""
    life.disk.mounted = ("/ledgers1",)
    delete_and_collect(life)


def unreadable(life: MaintainedLife) -> None:
    """A compaction meets a place that the disk cannot read: what is known of it is durable before it is marked."""
    steps(life, range(3))
    life.delete(1, 2)

    def is_copied(operation: Operation) -> bool:
        is_read = operation.name == "pread" and operation.path.endswith("/0.log") and operation.size != HEADER_SIZE
        return is_read and life.maintenance.collector.state.phase == "major compaction"

    life.disk.fail(errno.EIO, when=is_copied, times=2)
    life.collect()
    assert life.locks.marks


def joined(life: MaintainedLife) -> None:
    """Old ledgers, in a directory of the time before another one joined, and new ones go on and are deleted."""
    steps(life, range(4, 6), (4, 5, 6, 7))
    life.fence(5)
    life.fence(4)
    life.drain()
    life.delete(5)
    life.collect()
    life.delete(4)
    life.collect()


JOINED = Parts(n_ledger_dirs=2, expands=True)
RESERVED = Parts(storage=attrs.evolve(STORAGE, log_size_limit=8192, reserve_bytes=16384))
DISK = 20 * 16384
"""Bytes of the ledger disk where there is a reserve."""

SCRIPTS = {
    "delete and collect": ((delete_and_collect, second_life), Parts()),
    "two directories": ((delete_and_collect,), Parts(n_journals=2, n_ledger_dirs=2)),
    "two disks": ((two_disks,), Parts(n_journals=2, n_ledger_dirs=2)),
    "overwritten": ((overwritten,), Parts()),
    "several targets": ((several_targets,), Parts()),
    "late commits": ((late_commits,), Parts()),
    "little space": ((little_space,), Parts()),
    "full disk": ((full_disk,), RESERVED),
    "full disk, index elsewhere": ((full_disk,), attrs.evolve(RESERVED, index_elsewhere=True)),
    "unreadable": ((unreadable,), Parts()),
    "taken again": ((taken_again, second_life), Parts()),
    "a directory joins": ((delete_and_collect, joined, second_life), JOINED),
}


def enumerate_script(name: str, whole: bool) -> CrashReport:
    """Cut the power in a script.

    :param whole: everywhere, and more often inside of recoveries; else at operations in ledger directories.
    """
    scripts, parts = SCRIPTS[name]
    first = Parts() if parts is JOINED else None
    build = partial(SmallDisk, {"/ledgers0": DISK}) if parts.storage.reserve_bytes else SimDisk
    points = None if whole else lambda operation: operation.path.startswith("/ledgers")
    return enumerate_crashes(
        maintained(*scripts, parts=parts, first=first), maintained_verifier(parts), seed=1,
        build=build, subsets=8 if whole else 1, second_every=10 if whole else 150, points=points,
    )  # fmt: skip


class MaintenanceCrashTests(SynchronousTestCase):
    """Power cuts (safety 5.6); ``python -m tests.bookie.maintenance`` tries many more of them."""

    def _check(self, name: str) -> None:
        report = enumerate_script(name, whole=False)
        self.assertEqual([str(violation) for violation in report.violations[:1]], [])
        self.assertGreater(report.states, 200)

    def test_delete_and_collect(self) -> None:
        """Deletion, removal of logs and compaction lose nothing live and leave nothing behind (S3, S8)."""
        self._check("delete and collect")

    def test_two_directories(self) -> None:
        """The same with two journals and two ledger directories on one disk."""
        self._check("two directories")

    def test_two_disks(self) -> None:
        """The same with each ledger directory on a disk of its own."""
        self._check("two disks")

    def test_overwritten(self) -> None:
        """A compaction never puts an older copy in the place of a newer one (S9)."""
        self._check("overwritten")

    def test_little_space(self) -> None:
        """Groups of a compaction that make room for each other."""
        self._check("little space")

    def test_full_disk(self) -> None:
        """Deletions that are committed alone, and a compaction in the reserve, where there is no byte beside it."""
        self._check("full disk")

    def test_unreadable(self) -> None:
        """What a compaction has found damaged is known in the next process."""
        self._check("unreadable")

    def test_taken_again(self) -> None:
        """A ledger that is kept elsewhere stays fenced, and keeps what it was given after its deletion (S1, S3)."""
        self._check("taken again")

    def test_expansion(self) -> None:
        """A directory joins wherever the power was cut before; ledgers stay where they are, and nothing is lost."""
        self._check("a directory joins")

    def test_several_targets(self) -> None:
        """A compaction into several logs, compacted again."""
        self._check("several targets")

    def test_late_commits(self) -> None:
        """A log that the index does not know yet beside the next one, which is being written."""
        self._check("late commits")


def with_failed_commit(number: int, times: int) -> Workload:
    """A deletion, collection and compaction in which a commit of the index fails, and the process goes on.

    :param number: of the first operation that fails.
    :param times: how many fail; the index answers the first failure by another commit.
    """

    def work(disk: SimDisk, facts: Facts) -> None:
        life = MaintainedLife(disk, facts, Parts())
        disk.fail(errno.EIO, when=lambda op: op.name == "commit" and op.number >= number, times=times)
        delete_and_collect(life)

    return work


class FailedCommitTests(SynchronousTestCase):
    """A commit that failed may be found by the next process all the same."""

    def _survives(self, times: int) -> None:
        intact = SimDisk()
        maintained(delete_and_collect)(intact, [])
        commits = [op.number for op in intact.operations if op.name == "commit" and op.path.startswith("/ledgers")]
        self.assertGreater(len(commits), 8)
        for number in commits[1:]:  # the first one is of the start
            report = enumerate_crashes(
                with_failed_commit(number, times), maintained_verifier(Parts()), seed=1, subsets=1, second_every=0,
                points=lambda op, number=number: op.number > number and op.path.startswith("/ledgers"),  # type: ignore[misc]
            )  # fmt: skip
            self.assertEqual([str(violation) for violation in report.violations[:1]], [], f"commit {number}")
            forget_failures(self)

    def test_overwritten(self) -> None:
        """Logs are removed by what a restart finds, too (S8)."""
        self._survives(1)

    def test_in_doubt(self) -> None:
        """No log is removed as long as that is not known (S8)."""
        self._survives(2)

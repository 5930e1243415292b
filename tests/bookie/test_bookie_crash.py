"""The power is cut at every file operation of a whole bookie; five planted bugs show that it would be noticed."""

import contextlib
import errno
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import Engine
from bookkeeper_twisted.bookie.lifecycle.store import Store, StorePaths
from bookkeeper_twisted.bookie.records import fence_record
from bookkeeper_twisted.entries.mixed_runs import RunSequence
from bookkeeper_twisted.storage.index import rows
from bookkeeper_twisted.storage.interfaces import ICheckpoint, JournalPosition
from bookkeeper_twisted.storage.journal.journal import Journal
from bookkeeper_twisted.storage.journal.log_mark import LogMark

from ..silence import forget_failures
from ..simulated_disk.crash import Facts, enumerate_crashes
from ..simulated_disk.sim_disk import SimDisk
from ..storage.journal.planted_journals import AcksBeforeSync, NoDirectorySync, SyncsOnlyTheNewFile
from .crash_life import EXPECTED_FAILURES, Life, Parts, Script, check_promises, mixed, run, verifier, workload


def append(life: Life) -> None:
    """Groups of one and of many entries, of one and of several ledgers."""
    for ledger_id in (1, 2):
        life.add(run(ledger_id, 0))
    life.drain()
    life.add(run(1, 1, 5))
    life.add(run(2, 1, 2, size=700))
    life.add(run(3, 0, 3))
    life.drain()
    life.add(run(1, 6, 3, size=300))
    life.drain()


def fences(life: Life) -> None:
    """A full, an empty and an unknown ledger, twice at once, in one group with an add."""
    life.add(run(1, 0, 3))
    life.drain()
    life.add(run(1, 3))
    life.fence(1)
    life.fence(1)
    life.fence(9, denied=0)
    life.drain()
    life.add(run(1, 4, 2), recovery=True)
    life.write_lac(1, 3)
    life.fence(4, denied=5)
    life.drain()
    life.write_lac(4, 7)
    life.drain()


def rotation(life: Life) -> None:
    """The journal goes through several files, with the next one prepared and not."""
    for entry_id in range(14):
        life.add(run(1 + entry_id % 2, entry_id // 2, size=900))
        life.drain()
        if entry_id == 4:
            life.store.journals[0].prepare()
    life.fence(2)
    life.drain()


def checkpoints(life: Life) -> None:
    """Entry logs fill and rotate, log marks move, journal files go and come back."""
    for turn in range(5):
        for ledger_id in (1, 2, 3):
            life.add(run(ledger_id, turn * 4, 4, size=250))
        life.drain()
        if turn == 2:
            life.fence(3, denied=100)
            life.write_lac(1, 7)
        life.drain()
        if turn % 2 == 1:
            life.checkpoint()
    life.add(run(2, 20, 2))
    life.drain()


def adds_during_a_checkpoint(life: Life) -> None:
    """What arrives between the swap and the log mark is in the next checkpoint, or in the journal."""
    for turn in range(3):
        life.add(run(1, turn * 6, 6, size=200))
        life.drain()
        life.engine.checkpointer.checkpoint()
        life.add(run(1, turn * 6 + 4, 2, size=200))  # once more, as a writer that was not answered sends it
        life.add(run(2, turn, size=50))
        life.fence(10 + turn, denied=1)
        life.executor.run_one("journal-0")
        life.executor.deliver()
        life.drain()


def in_turn(life: Life) -> None:
    """Ledgers take turns: new ones, known ones, a fenced one among them, across checkpoints and a journal file."""
    ledgers = (1, 2, 3, 4)
    for turn in range(5):
        life.add(mixed(*[(ledger, turn * 2 + i) for i in range(2) for ledger in ledgers], size=200))
        life.drain()
        if turn == 1:
            life.engine.checkpointer.checkpoint()
            life.add(mixed((1, 3), (2, 3), (1, 4), (5, 0), size=200))  # some once more, and a new ledger
        if turn == 2:
            life.fence(3, denied=6)
            life.add(mixed((5, 1), (4, 6), (1, 6), size=200))
        life.drain()
    life.checkpoint()
    life.add(mixed((5, 2), (2, 10), (5, 3)), deferred=True)
    life.force(5)
    life.drain()


def runs_in_turn(life: Life) -> None:
    """Each ledger gets a run in its turn: new ones, known ones, a fenced one among them, across a checkpoint."""
    for turn in range(4):
        life.add(RunSequence([run(ledger, turn * 3, 3, size=150) for ledger in (1, 2, 3)]))
        life.drain()
        if turn == 1:
            life.engine.checkpointer.checkpoint()
            life.add(RunSequence([run(1, 5, 2, size=150), run(5, 0, 2), run(5, 2)]))  # some once more, and a new one
        if turn == 2:
            life.fence(3, denied=9)
            life.add(RunSequence([run(5, 3, 2), run(2, 9, 1, size=150)]))
        life.drain()
    life.add(RunSequence([run(5, 5, 2), run(2, 12, 2)]), deferred=True)
    life.force(5)
    life.drain()


def first_start(life: Life) -> None:
    """Directories, locks, cookies, index, first journal file, first entry, an orderly stop."""
    life.add(run(1, 0))
    life.drain()
    life.stop()


def second_start(life: Life) -> None:
    life.add(run(1, 30, 2, size=600))
    life.fence(2)
    life.drain()
    life.checkpoint()
    life.add(run(3, 30, 2))
    life.drain()


def third_start(life: Life) -> None:
    """Entry ids differ from life to life: an entry has one truth."""
    life.fence(1)
    life.add(run(1, 60, 2), recovery=True)
    life.add(run(4, 0, 2, size=500))
    life.drain()
    life.fence(4, denied=2)
    life.drain()


def deferred_sync(life: Life) -> None:
    """Adds that are acknowledged early, made durable by a force, across two journal files."""
    for turn in range(4):
        life.add(run(1, turn * 3, 3, size=700), deferred=True)
        life.drain()
        life.add(run(2, turn, size=400), deferred=True)
        life.drain()
    life.force(1)
    life.drain()
    life.add(run(1, 12, 2, size=900), deferred=True)
    life.add(run(3, 0))
    life.force(2)
    life.drain()


def seeded(seed: int, first: int = 0) -> Script:
    """A script of many small steps, decided by a seed.

    :param first: the first entry id: every process writes other entries.
    """

    def script(life: Life) -> None:
        state, last = seed * 2654435761 % (1 << 32), dict.fromkeys(range(1, 5), first - 1)
        for step in range(18):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            ledger_id, choice, size = 1 + state % 4, state >> 8 & 15, 20 + (state >> 12) % 700
            if choice < 3:
                others = [other for other in last if other != ledger_id]
                life.add(mixed(*[(i, last[i] + 1) for i in (ledger_id, *others[: 1 + choice])], size=size))
                for i in (ledger_id, *others[: 1 + choice]):
                    last[i] += 1
            elif choice < 10:
                life.add(run(ledger_id, last[ledger_id] + 1, 1 + choice % 3, size), recovery=step > 9)
                last[ledger_id] += 1 + choice % 3
            elif choice < 12:
                life.write_lac(ledger_id, last[ledger_id] + 1)
            elif choice == 12:
                life.fence(ledger_id)
            elif choice == 13:
                life.engine.checkpointer.checkpoint()
            if choice % 3:
                life.drain()
        life.drain()

    return script


class CrashTests(SynchronousTestCase):
    """Every operation is a crash point; every state starts; nothing promised is lost (S1-S9)."""

    timeout = 300

    def _survives(self, script: Script, least: int, parts: Parts | None = None, lives: Sequence[Script] = ()) -> None:
        parts = parts or Parts()
        report = enumerate_crashes(workload(script, parts, lives), verifier(parts), seed=1)
        self.assertEqual(report.violations, [], str(report))
        self.assertGreaterEqual(report.states, least, str(report))

    def test_append_and_group_commit(self) -> None:
        """Adds of several ledgers in groups (S1)."""
        self._survives(append, 100)

    def test_fences_and_lacs(self) -> None:
        """Fences and LACs are durable with their keys, also of ledgers without entries (S2-S4)."""
        self._survives(fences, 90)

    def test_rotation(self) -> None:
        """Journal files follow each other (S1)."""
        self._survives(rotation, 100)

    def test_checkpoints(self) -> None:
        """Entry log, index, log mark and the end of journal files (S7, S8)."""
        self._survives(checkpoints, 100)

    def test_packed_rows(self) -> None:
        """Checkpoints that pack the rows of all their runs (S7, S8)."""
        self.patch(rows, "MANY_ROWS", 1)
        self._survives(checkpoints, 100)

    def test_adds_during_a_checkpoint(self) -> None:
        """The swap is no gap (S7)."""
        self._survives(adds_during_a_checkpoint, 100)

    def test_ledgers_in_turn(self) -> None:
        """Mixed runs: every entry that was acknowledged is there, of every ledger (S1-S4, S7)."""
        self._survives(in_turn, 100)

    def test_ledgers_in_turn_over_several_directories(self) -> None:
        """A mixed run is divided among two journals and two ledger directories (S1, S7)."""
        self._survives(in_turn, 100, Parts(n_journals=2, n_ledger_dirs=2))

    def test_runs_in_turn(self) -> None:
        """Runs of several ledgers that are one item, divided among two journals and two ledger directories (S1-S4)."""
        self._survives(runs_in_turn, 100, Parts(n_journals=2, n_ledger_dirs=2))

    def test_first_start_and_orderly_stop(self) -> None:
        """From empty directories to the first entry, to the stop, to the next start (S6)."""
        self._survives(first_start, 50, lives=(first_start, append))

    def test_several_lives(self) -> None:
        """Kills between starts; replays of replays (safety 3.8)."""
        self._survives(checkpoints, 200, lives=(second_start, third_start))

    def test_several_directories(self) -> None:
        """Two journals and two ledger directories: no log mark ahead of its journal (S7)."""
        self._survives(checkpoints, 200, Parts(n_journals=2, n_ledger_dirs=2), (second_start,))

    def test_deferred_sync(self) -> None:
        """A force makes durable what was acknowledged early, over the end of a journal file too (S1)."""
        self._survives(deferred_sync, 200)

    def test_seeded_scripts(self) -> None:
        """Mixtures drawn by chance: 20,000 disks, and a start on each."""
        states = seed = 0
        while states < 20_000:
            seed += 1
            work = workload(seeded(seed), Parts(), (seeded(seed + 1000, 1000),))
            report = enumerate_crashes(work, verifier(Parts()), seed=seed)
            self.assertEqual(report.violations, [], f"seed {seed}: {report}")
            states += report.states


SCRIPTS = (append, fences, rotation, checkpoints, adds_during_a_checkpoint, in_turn, deferred_sync, first_start)


class FaultTests(SynchronousTestCase):
    """EIO and ENOSPC at every operation: nothing is acknowledged that depends on what failed (S1, S10)."""

    def _fails_safely(self, script: Script, error: int) -> None:
        intact = SimDisk()
        workload(script, Parts())(intact, [])
        for number in range(1, len(intact.operations) + 1):
            disk, facts = SimDisk(), Facts()
            disk.fail(error, at=number)
            with contextlib.suppress(*EXPECTED_FAILURES):
                script(Life(disk, facts, Parts()))
            forget_failures(self)
            for kept in ((), None):
                after = disk.crash(kept)
                try:
                    check_promises(Life(after, [], Parts()), facts)
                except AssertionError as broken:
                    raise AssertionError(f"{script.__name__}, operation {number}: {broken}") from broken

    def test_input_output_error(self) -> None:
        """EIO, then the power goes."""
        for script in SCRIPTS:
            self._fails_safely(script, errno.EIO)

    def test_no_space(self) -> None:
        """ENOSPC, then the power goes."""
        for script in SCRIPTS:
            self._fails_safely(script, errno.ENOSPC)

    def test_a_failed_journal_acknowledges_nothing_more(self) -> None:
        """After a failed sync of the journal every later add fails, though the disk works again (S10)."""
        disk, facts = SimDisk(), Facts()
        life = Life(disk, facts, Parts())
        life.add(run(1, 0))
        life.drain()
        disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path.endswith(".txn"))
        with capturedLogs() as events:
            life.add(run(1, 1))
            life.drain()
            life.add(run(1, 2))
            life.fence(1)
            life.drain()
        self.assertEqual(sum("nothing more is acknowledged" in formatEvent(event) for event in events), 1)
        self.assertEqual([fact for fact in facts if fact[0] in ("acked", "fenced")], [("acked", 1, 0)])
        self.assertEqual(len(life.failures), 1)


class _LogMarksFirst:
    """A checkpoint that moves the log marks before the data is durable."""

    def __init__(
        self, checkpoint: ICheckpoint, log_marks: Sequence[LogMark], positions: Sequence[JournalPosition]
    ) -> None:
        self._checkpoint = checkpoint
        self._log_marks = list(zip(log_marks, positions, strict=True))
        self.paths = checkpoint.paths
        self.persist_log_marks = checkpoint.persist_log_marks
        self.finish = checkpoint.finish

    def write(self, directory: int) -> None:
        for log_mark, position in self._log_marks:
            log_mark.advance(position)
        self._checkpoint.write(directory)


def with_journal(planted: type[Journal]) -> Parts:
    def open_store(*args: Any) -> Store:
        store = Store.open(*args)
        for journal in store.journals:
            journal.__class__ = planted
        return store

    return Parts(open_store=open_store)


def open_with_marks_first(*args: Any) -> Store:
    """Planted bug: the log mark runs ahead of the data."""
    store = Store.open(*args)
    begin = store.storage.begin_checkpoint

    def begin_checkpoint(positions: Sequence[JournalPosition]) -> object:
        checkpoint = begin(positions)
        return None if checkpoint is None else _LogMarksFirst(checkpoint, store.log_marks, positions)

    store.storage.begin_checkpoint = begin_checkpoint  # type: ignore[method-assign,assignment]
    return store


def open_without_directory_syncs(fs: SimDisk, paths: StorePaths, make_index: Any, *args: Any) -> Store:
    """Planted bug: names are used before they are durable."""
    lazy: Any = NoDirectorySync(fs)
    return Store.open(lazy, paths, lambda _, *rest: make_index(fs, *rest), *args)


class ForgetsFences(Engine):
    """Planted bug: a fence is acknowledged with its key, but without its record."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        for commit in self.commits:
            commit.append = partial(self._append, commit.append)  # type: ignore[method-assign]

    @staticmethod
    def _append(append: Callable[..., None], records: bytes, *args: Any) -> None:
        fences = [fence_record(ledger_id) for ledger_id in range(20)]
        for fence in fences:
            records = records.removesuffix(fence)
        append(records, *args)


class PlantedBugTests(SynchronousTestCase):
    """The enumeration finds what it is there to find."""

    def _is_caught(self, script: Script, parts: Parts) -> None:
        # Recovery is by the intact bookie: what was lost was lost before.
        report = enumerate_crashes(workload(script, parts), verifier(Parts()), seed=1)
        self.assertNotEqual(report.violations, [], f"not noticed in {report}")

    def test_ack_before_sync(self) -> None:
        """Acknowledged groups that were only written get lost (S1)."""
        self._is_caught(append, with_journal(AcksBeforeSync))

    def test_ack_before_sync_of_a_mixed_run(self) -> None:
        """The same for ledgers that take turns (S1)."""
        self._is_caught(in_turn, with_journal(AcksBeforeSync))

    def test_ack_before_sync_of_runs(self) -> None:
        """The same for runs in turn (S1)."""
        self._is_caught(runs_in_turn, with_journal(AcksBeforeSync))

    def test_mark_ahead_of_data(self) -> None:
        """Replay begins after entries that no log holds (S7)."""
        self._is_caught(checkpoints, Parts(open_store=open_with_marks_first))

    def test_fence_not_journaled(self) -> None:
        """A fence that lives in memory only does not survive (S2)."""
        self._is_caught(fences, Parts(engine=ForgetsFences))

    def test_directory_not_synced(self) -> None:
        """A file whose name is not durable is gone with all that was synced into it (safety 3.2)."""
        self._is_caught(append, Parts(open_store=open_without_directory_syncs))

    def test_rotation_syncs_only_the_new_file(self) -> None:
        """What was left unsynced in the old journal file is lost (S1, safety 3.5)."""
        self._is_caught(deferred_sync, with_journal(SyncsOnlyTheNewFile))

"""Checkpoints: order, failures at every operation, power cuts at every operation."""

import contextlib
import errno
from collections.abc import Callable, Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageError
from bookkeeper_twisted.storage.entry_log.writer import EntryLogWriter
from bookkeeper_twisted.storage.interfaces import ICheckpoint, IndexRow, JournalPosition, LedgerRow
from bookkeeper_twisted.storage.journal.log_mark import LogMark
from bookkeeper_twisted.storage.ledger_storage import LedgerStorage, StorageSettings

from ..simulated_disk.crash import Facts, enumerate_crashes
from ..simulated_disk.sim_disk import SimDisk
from .entries import run, uneven
from .ledger_storages import DIRECTORIES, CheckpointCase, checkpoint, make_directories, open_storage, read, write

TINY = StorageSettings(log_size_limit=1900, write_cache_bytes=1 << 20)


class CheckpointTests(CheckpointCase):
    """One checkpoint."""

    def test_interface(self) -> None:
        """It has what the interface names."""
        verifyObject(ICheckpoint, self.begin())

    def test_one_at_a_time(self) -> None:
        """No second checkpoint begins before the first is finished."""
        begun = self.begin()
        self.assertIsNone(self.storage.begin_checkpoint([]))
        write(begun)
        self.assertIsNone(self.storage.begin_checkpoint([]))
        begun.finish()
        self.assertIsNotNone(self.storage.begin_checkpoint([]))

    def test_memory_of_what_was_written(self) -> None:
        """A cache that was written is found no more; its memory goes as entries come, or with the next checkpoint."""
        directory = self.storage.directories[1]
        for _ in range(2):
            self.storage.add(run(1, 0, 10))
            checkpoint(self.storage)
            self.assertIsNone(self.storage.cached(1, 0))
            self.assertIsNotNone(directory.active.outgoing)
        self.storage.add(run(3, 0, 5))
        self.assertIsNone(directory.active.outgoing)
        checkpoint(self.storage)
        begun = self.begin()
        self.assertIsNone(directory.active.outgoing or directory.flushing.outgoing)
        write(begun)
        begun.finish()

    def test_marks_come_last(self) -> None:
        """When the log marks are written, every entry and state of both directories is durable (S7)."""
        seen = []

        def persist(_: Sequence[JournalPosition]) -> None:
            after = open_storage(self.disk.crash(()))
            seen.append((after.entry_ranges(0), after.entry_ranges(1), after.ledger(1)))

        storage = open_storage(self.disk, persist)
        storage.put_ledger(LedgerRow(1, b"key", True))
        storage.add(run(0, 0, 10))
        storage.add(run(1, 0, 20))
        checkpoint(storage)
        self.assertEqual(seen, [([(0, 9)], [(0, 19)], LedgerRow(1, b"key", True))])

    def test_marks_without_entries(self) -> None:
        """The log marks move even if there is nothing else to write, and no log is made for it."""
        checkpoint(self.storage, 5)
        self.assertEqual(self.log_marks.written, [(JournalPosition(1, 5),)])
        self.assertEqual([n for n in self.disk.list("/l0") if n.endswith(".log")], [])

    def test_failed_log_marks(self) -> None:
        """If only the log marks could not be written the entries count as written; a full disk is told apart."""
        for error, expected in (
            (OSError(errno.EIO, "x"), StorageError),
            (OSError(errno.ENOSPC, "x"), NoWritableDirectoryError),
        ):
            self.storage.add(run(1, 0, 10))
            self.log_marks.error = error
            begun = self.begin()
            self.assertRaises(expected, write, begun)
            begun.finish()
            self.assertEqual(self.storage.pending_bytes(), 0)
            self.assertEqual(self.storage.entry_ranges(1), [(0, 9)])
        self.assertEqual((self.storage.checkpoints, self.storage.failed_checkpoints), (0, 2))

    def test_one_directory_fails(self) -> None:
        """What one directory wrote is done; what the other did not is kept and written by the next one."""
        self.storage.add(run(0, 0, 10))
        self.storage.add(run(1, 0, 10))
        self.storage.put_ledger(LedgerRow(1, b"key", True))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path == "/l1/0.log")
        begun = self.begin()
        self.assertRaises(StorageError, write, begun)
        begun.finish()
        self.assertEqual(self.log_marks.written, [])
        self.assertEqual(self.storage.pending_bytes(), 560)
        checkpoint(self.storage)
        after = open_storage(self.disk.crash(()))
        self.assertEqual([after.entry_ranges(i) for i in (0, 1)], [[(0, 9)], [(0, 9)]])
        self.assertEqual(after.ledger(1), LedgerRow(1, b"key", True))

    def test_mark_after_a_failure(self) -> None:
        """The checkpoint after a failed one writes what that one did not, before its log mark (trap 12)."""
        self.storage.add(run(1, 0, 10))
        self.disk.fail(errno.EIO, when=lambda op: op.name == "sync")
        begun = self.begin(1)
        self.storage.add(run(1, 5, 10, salt=1))
        self.assertRaises(StorageError, write, begun)
        begun.finish()
        checkpoint(self.storage, 2)
        self.assertEqual(self.log_marks.written, [(JournalPosition(1, 2),)])
        after = open_storage(self.disk.crash(()))
        for entry_id in range(15):
            expected = run(1, entry_id, salt=1 if entry_id >= 5 else 0).entry(entry_id)
            self.assertEqual(read(after, 1, entry_id), expected)

    def test_directories_do_not_wait(self) -> None:
        """Directories are written in any order, and the log marks not before all of them are (S7)."""
        self.storage.add(run(0, 0, 10))
        self.storage.add(run(1, 0, 10))
        begun = self.begin()
        begun.write(1)
        self.assertRaises(StorageError, begun.persist_log_marks)
        self.assertEqual(self.log_marks.written, [])
        begun.write(0)
        begun.persist_log_marks()
        begun.finish()
        self.assertEqual(len(self.log_marks.written), 1)
        self.assertEqual(self.storage.pending_bytes(), 0)

    def test_dropped(self) -> None:
        """A checkpoint that never wrote keeps everything."""
        self.storage.add(run(1, 0, 10))
        self.begin().finish()
        self.assertEqual(self.storage.pending_bytes(), 560)


@attrs.define
class Promised:
    """What a storage was given up to a checkpoint."""

    number: int
    entries: dict[tuple[int, int], bytes]
    states: dict[int, LedgerRow]


class Work:
    """A workload: adds, overlaps, fences and checkpoints over two directories, with rotations.

    :ivar promised: what each checkpoint that began would make durable.
    """

    def __init__(self, disk: SimDisk, began: Callable[[Promised], None], ended: Callable[[int], None]) -> None:
        self.log_mark = LogMark(disk, DIRECTORIES, "lastMark")
        self.storage = open_storage(disk, self._persist, TINY)
        self.entries: dict[tuple[int, int], bytes] = {}
        self.states: dict[int, LedgerRow] = {}
        self._began = began
        self._ended = ended
        self._number = 0

    def _persist(self, log_marks: Sequence[JournalPosition]) -> None:
        self.log_mark.advance(log_marks[0], [directory.index.commits for directory in self.storage.directories])

    def add(self, entries: EntryRun) -> None:
        self.storage.add(entries)
        for i, data in enumerate(entries.entries()):
            self.entries[entries.ledger_id, entries.first + i] = data

    def put(self, row: LedgerRow) -> None:
        self.storage.put_ledger(row)
        self.states[row.ledger_id] = row

    def checkpoint(self, meanwhile: Sequence[EntryRun] = ()) -> None:
        self._number += 1
        self._began(Promised(self._number, dict(self.entries), dict(self.states)))
        begun = self.storage.begin_checkpoint([JournalPosition(1, self._number)])
        assert begun is not None
        for each in meanwhile:
            self.add(each)
        try:
            write(begun)
            self._ended(self._number)
        finally:
            begun.finish()

    def all(self) -> None:
        """The steps; between them, each may be repeated."""
        for step in self.steps():
            step()

    def steps(self) -> Sequence[Callable[[], None]]:
        """Adds and checkpoints by turns."""
        return (
            lambda: self.put(LedgerRow(1, b"key")),
            lambda: self.add(run(1, 0, 8)),
            lambda: self.add(uneven(2, 0, [5, 80, 0])),
            lambda: self.checkpoint([run(1, 8, 4), run(4, 0, 2)]),
            lambda: self.put(LedgerRow(1, b"key", fenced=True)),
            lambda: self.checkpoint(),
            lambda: self.add(run(1, 6, 10, salt=1)),
            lambda: self.add(run(2, 3, 8)),
            lambda: self.put(LedgerRow(3, b"other", True, b"lac")),
            lambda: self.checkpoint([run(2, 1, 1, salt=2)]),
            lambda: self.checkpoint(),
            lambda: self.checkpoint(),
        )


def check_promised(test: SynchronousTestCase, storage: LedgerStorage, promised: Promised) -> None:
    """The storage serves what was promised: each entry as it was, or as a later add made it."""
    for (ledger_id, entry_id), data in promised.entries.items():
        test.assertEqual(read(storage, ledger_id, entry_id), data, (ledger_id, entry_id))
    for ledger_id, row in promised.states.items():
        test.assertEqual(storage.ledger(ledger_id), row)


class FaultTests(SynchronousTestCase):
    """EIO and ENOSPC at every operation of the workload."""

    def test_every_operation(self) -> None:
        """Nothing is lost from memory, the log mark stays true, and the next checkpoint succeeds."""
        for error in (errno.EIO, errno.ENOSPC):
            number, failed = 0, True
            while failed:
                number += 1
                failed = self._run_with_fault(error, number)
            self.assertGreater(number, 60)

    def _run_with_fault(self, error: int, number: int) -> bool:
        disk = make_directories(SimDisk())
        promised: list[Promised] = []
        work = Work(disk, promised.append, lambda n: None)
        disk.fail(error, at=len(disk.operations) + number)
        failed = False
        for step in work.steps():
            try:
                step()
            except StorageError:
                self.assertFalse(failed, "one fault fails one checkpoint")
                failed = True
                self._check_memory(work)
                self._check_log_mark(disk, promised)
        disk.heal()
        work.checkpoint()
        after = disk.crash(())
        self.assertEqual(LogMark(after, DIRECTORIES, "lastMark").position, JournalPosition(1, promised[-1].number))
        check_promised(self, open_storage(after, settings=TINY), promised[-1])
        return failed

    def _check_memory(self, work: Work) -> None:
        for (ledger_id, entry_id), data in work.entries.items():
            self.assertEqual(read(work.storage, ledger_id, entry_id), data)

    def _check_log_mark(self, disk: SimDisk, promised: list[Promised]) -> None:
        """A power cut now: the log mark is one whose data is there (S7)."""
        after = disk.crash(())
        position = LogMark(after, DIRECTORIES, "lastMark").position
        storage = open_storage(after, settings=TINY)
        for each in promised:
            if each.number <= position.offset:
                for ledger_id, entry_id in each.entries:
                    self.assertIsNotNone(read(storage, ledger_id, entry_id))


class _Unsynced(EntryLogWriter):
    """Claims to sync."""

    def append(self, run: EntryRun) -> list[IndexRow]:
        rows = super().append(run)
        assert self._log is not None
        self._log.file.sync = lambda metadata=False: None  # type: ignore[method-assign]
        return rows


class CrashTests(SynchronousTestCase):
    """A power cut at every operation of the workload (safety 5.6)."""

    def test_power_cuts(self) -> None:
        """Whatever survives, each directory's log mark names a checkpoint whose data is all there (S7, S9)."""
        report = enumerate_crashes(self._work, self._recover, seed=1)
        self.assertEqual(report.violations[:1], [])
        self.assertGreater(report.states, 200)

    def test_power_cuts_while_rows_are_refused(self) -> None:
        """The same where each commit of an index fails twice before it succeeds, so that its rows wait in memory."""

        def work(disk: SimDisk, facts: Facts) -> None:
            make_directories(disk)
            refused = Work(disk, facts.append, facts.append)
            for number, step in enumerate(refused.steps()):
                disk.heal()
                if number % 3:
                    disk.fail(errno.EIO, when=lambda op: op.name == "commit", times=2)
                for _ in range(2):
                    with contextlib.suppress(StorageError):
                        step()
            disk.heal()
            for _ in range(2):
                refused.checkpoint()

        report = enumerate_crashes(work, self._recover, seed=1)
        self.assertEqual(report.violations[:1], [])
        self.assertGreater(report.states, 200)

    def test_plant_no_sync(self) -> None:
        """A storage that does not sync its entry logs is caught."""

        def work(disk: SimDisk, facts: Facts) -> None:
            make_directories(disk)
            planted = Work(disk, facts.append, facts.append)
            for directory in planted.storage.directories:
                directory.log = _Unsynced.open(disk, directory.path, TINY.log_size_limit)
            planted.all()

        self.assertTrue(enumerate_crashes(work, self._recover, seed=1, second_every=0).violations)

    def test_plant_early_log_mark(self) -> None:
        """A log mark that is written before its data is caught (S7)."""

        def work(disk: SimDisk, facts: Facts) -> None:
            make_directories(disk)

            def began(promised: Promised) -> None:
                facts.append(promised)
                planted.log_mark.advance(JournalPosition(1, promised.number))

            planted = Work(disk, began, facts.append)
            planted.all()

        self.assertTrue(enumerate_crashes(work, self._recover, seed=1, second_every=0).violations)

    def _work(self, disk: SimDisk, facts: Facts) -> None:
        make_directories(disk)
        Work(disk, facts.append, facts.append).all()

    def _recover(self, disk: SimDisk, facts: Facts) -> None:
        make_directories(disk)
        storage = open_storage(disk, settings=TINY)
        log_mark = LogMark(disk, DIRECTORIES, "lastMark").position.offset
        finished = max((fact for fact in facts if isinstance(fact, int)), default=0)
        self.assertGreaterEqual(log_mark, finished)
        begun = {fact.number: fact for fact in facts if isinstance(fact, Promised)}
        if log_mark:
            self._check_log_marked(storage, begun[log_mark], begun)
        storage.add(run(1, 100, 3))
        checkpoint(storage)
        self.assertEqual(read(storage, 1, 102), run(1, 100, 3).entry(102))

    def _check_log_marked(self, storage: LedgerStorage, marked: Promised, begun: dict[int, Promised]) -> None:
        """An entry may be there in a newer form already, that of a checkpoint which was cut off."""
        for key, data in marked.entries.items():
            newer = {later.entries[key] for later in begun.values() if later.number >= marked.number}
            self.assertIn(read(storage, *key), {data, *newer})
        for ledger_id, row in marked.states.items():
            newer_rows = [later.states[ledger_id] for later in begun.values() if later.number >= marked.number]
            self.assertIn(storage.ledger(ledger_id), [row, *newer_rows])

"""Checkpoints."""

import errno
import sqlite3
from unittest.mock import patch

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import FAILED, NO_SPACE
from bookkeeper_twisted.storage.files.space_reserve import ReserveShortageError
from bookkeeper_twisted.storage.index.index_file import storage_errors
from bookkeeper_twisted.storage.interfaces import NO_INODES, IndexBatch, JournalPosition

from .rig import Rig, run


class CheckpointTests(SynchronousTestCase):
    """When, up to where, and what follows."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.checkpointer = self.rig.engine.checkpointer
        self.log_mark = self.rig.store.log_marks[0]

    def test_timer(self) -> None:
        """The timer checkpoints again and again, and ends with the stop."""
        self.checkpointer.start(10)
        self.addCleanup(self.checkpointer.stop)
        for first in (0, 1):
            self.rig.add(run(1, first))
            self.rig.drain()
            before = self.log_mark.position
            self.rig.clock.advance(10)
            self.rig.drain()
            self.assertGreater(self.log_mark.position, before)
        self.successResultOf(self.checkpointer.stop())
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])

    def test_mark_is_of_the_swap(self) -> None:
        """S7: what completes while a checkpoint is written is above its log mark."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        at_swap = self.rig.engine.commits[0].log_mark
        checkpointing = self.checkpointer.checkpoint()
        self.rig.add(run(1, 1))
        self.rig.executor.step("journal-0")
        self.assertGreater(self.rig.engine.commits[0].log_mark, at_swap)
        for thread in ("flush-0", "flush"):
            self.rig.executor.step(thread)
        self.assertTrue(self.successResultOf(checkpointing))
        self.assertEqual(self.log_mark.position, at_swap)

    def test_unsynced_is_not_marked(self) -> None:
        """S7: a log mark never stands beyond what the journal itself has on disk."""
        self.rig.add(run(1, 0), deferred=True)
        self.rig.drain()
        self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertEqual(self.log_mark.position, JournalPosition())

    def test_one_at_a_time(self) -> None:
        """A checkpoint that is asked for while one is written is that one."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        both = [self.checkpointer.checkpoint(), self.checkpointer.checkpoint()]
        self.checkpointer.make_room()
        self.assertEqual(self.rig.executor.busy_threads(), ["flush-0"])
        stopping = self.checkpointer.stop()
        self.assertNoResult(stopping)
        self.rig.drain()
        self.assertEqual([self.successResultOf(d) for d in (*both, stopping)], [True] * 3)

    def test_of_everything(self) -> None:
        """A checkpoint of everything begins behind the one under way, which may have left something out."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        self.checkpointer.checkpoint()
        self.rig.executor.step("flush-0")
        self.rig.engine.bookie.forget([1], 0)
        whole = Deferred.fromCoroutine(self.checkpointer.checkpoint_all())
        self.rig.executor.step("flush")
        self.assertNoResult(whole)
        (directory,) = self.rig.store.storage.directories
        self.assertEqual(len(list(directory.index.rows(1))), 1)
        self.rig.drain()
        self.assertTrue(self.successResultOf(whole))
        self.assertEqual(list(directory.index.rows(1)), [])

    def test_failure(self) -> None:
        """One that fails moves no log mark and loses nothing; the next one makes good."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        self.rig.fail("pwrite", "/ledger0/")
        failing = self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertFalse(self.successResultOf(failing))
        failed = f"{FAILED}: /ledger0: EIO (errno 5)"
        self.assertEqual((self.log_mark.position, self.rig.checkpointed), (JournalPosition(), [failed]))
        self.assertIsNotNone(self.rig.bookie.cached(1, 0))
        again = self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertTrue(self.successResultOf(again))
        self.assertGreater(self.log_mark.position, JournalPosition())

    def test_size(self) -> None:
        """The bytes of a checkpoint that wrote entries are recorded, those of an empty one are not."""
        size = self.checkpointer._metrics.flush_size.success
        self.rig.add(run(1, 0))
        self.rig.drain()
        held = self.rig.store.storage.pending_bytes()
        for _ in range(2):
            self.checkpointer.checkpoint()
            self.rig.drain()
        self.assertEqual((size.count, size.sum), (1, held))

    def test_no_space(self) -> None:
        """A full disk is told, and told again when there is space; the bookie goes on meanwhile."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        self.rig.disk.fail(
            errno.ENOSPC, when=lambda op: op.name == "pwrite" and op.path.startswith("/ledger0/"), times=100
        )
        with capturedLogs() as events:
            for _ in range(3):
                self.checkpointer.checkpoint()
                self.rig.drain()
            self.assertEqual(len(events), 1, "a state is logged now and then, not with every attempt")
            self.rig.clock.advance(60)
            self.checkpointer.checkpoint()
            self.rig.drain()
        self.assertEqual(self.rig.checkpointed, [f"{NO_SPACE}: /ledger0"] * 4)
        self.assertEqual([event["n"] for event in events], [1, 4])
        self.assertEqual(self.checkpointer._metrics.flush_without_space.value, 4)
        self.rig.disk.heal()
        done = self.rig.add(run(1, 1))
        self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertEqual((done, self.rig.checkpointed[4:], self.rig.failures), ([None], [""], []))

    def test_little_space(self) -> None:
        """Where a checkpoint needs more than is free, its log line says which disk, how much it needs and has, also
        after the numbers have changed; the reason stays the same."""
        storage = self.rig.store.storage
        with capturedLogs() as events:
            for entry_id, free in enumerate((25_000_000, 24_000_000)):
                self.rig.add(run(1, entry_id))
                self.rig.drain()
                error = ReserveShortageError("/ledger0/current", 31_457_280, free)
                with patch.object(storage.directories[0], "reserve") as reserve:
                    reserve.check.side_effect = error
                    for _ in range(2):
                        self.checkpointer.checkpoint()
                        self.rig.drain()
                self.rig.clock.advance(60)
        self.assertEqual(self.rig.checkpointed, [f"{NO_SPACE}: /ledger0"] * 4)
        why = "/ledger0/current: no space beside the reserve for deletions and compactions: 31,457,280 bytes are needed"
        self.assertEqual(
            [formatEvent(event).partition("tried again: ")[2] for event in events],
            [f"{why}, 25,000,000 are free", f"{why}, 24,000,000 are free"],
        )

    def test_refusing_index(self) -> None:
        """The reason that a failed commit gives names the directory of the index, and what SQLite said."""
        said = (
            ("SQLITE_IOERR", "disk I/O error", f"{FAILED}: /i: disk I/O error (SQLITE_IOERR)"),
            ("SQLITE_READONLY", "readonly", f"{FAILED}: /i: readonly (SQLITE_READONLY)"),
            ("SQLITE_FULL", "database or disk is full", f"{NO_SPACE}: /i"),
        )
        for number, (name, text, _) in enumerate(said):
            self.rig.add(run(1, number))
            self.rig.drain()
            error = sqlite3.OperationalError(text)
            error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name

            def refuse(batch: IndexBatch, error: Exception = error) -> None:
                with storage_errors("/i/current/index.sqlite"):
                    raise error

            with patch.object(self.rig.store.storage.directories[0].index, "commit", refuse):
                self.checkpointer.checkpoint()
                self.rig.drain()
        self.assertEqual(self.rig.checkpointed, [reason for *_, reason in said])

    def test_no_inodes(self) -> None:
        """A disk that can have no more files is told as such: its space may be free."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        error = OSError(errno.ENOSPC, NO_INODES, "/ledger0/current/lastId.tmp")
        with patch.object(self.rig.disk, "open", side_effect=error):
            self.checkpointer.checkpoint()
            self.rig.drain()
        self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertEqual(self.rig.checkpointed, [f"{NO_INODES}: /ledger0", ""])

    def test_no_descriptors(self) -> None:
        """Without file descriptors a checkpoint fails, and no disk is blamed; the next one makes good."""
        self.rig.add(run(1, 0))
        self.rig.drain()
        for name in ("create", "sync_directory"):
            self.rig.disk.fail(errno.EMFILE, when=lambda op, name=name: op.name == name)  # type: ignore[misc]
            with capturedLogs() as events:
                failing = self.checkpointer.checkpoint()
                self.rig.drain()
            self.assertFalse(self.successResultOf(failing))
            self.assertEqual((self.rig.checkpointed, self.rig.failures, len(events)), ([], [], 1))
        again = self.checkpointer.checkpoint()
        self.rig.drain()
        self.assertEqual((self.successResultOf(again), self.rig.checkpointed), (True, [""]))


class DirectoryTests(SynchronousTestCase):
    """Two ledger directories."""

    def setUp(self) -> None:
        self.rig = Rig(ledger_dirs=2)
        self.executor = self.rig.executor
        for ledger_id in (0, 1):
            self.rig.add(run(ledger_id, 0))
        self.rig.drain()
        self.checkpointing = self.rig.engine.checkpointer.checkpoint()

    def test_threads(self) -> None:
        """Each directory is written in a thread of its own, and the log marks move when the last one is done."""
        self.assertEqual(self.executor.busy_threads(), ["flush-0", "flush-1"])
        self.executor.step("flush-1")
        self.assertEqual(self.executor.busy_threads(), ["flush-0"])
        self.executor.step("flush-0")
        self.assertEqual(self.executor.busy_threads(), ["flush"])
        self.executor.step("flush")
        self.assertTrue(self.successResultOf(self.checkpointing))

    def test_one_fails(self) -> None:
        """A directory that fails doesn't keep the other one from being written; no log mark moves."""
        self.rig.fail("pwrite", "/ledger0/")
        self.executor.step("flush-0")
        self.assertNoResult(self.checkpointing)
        self.executor.step("flush-1")
        self.assertFalse(self.successResultOf(self.checkpointing))
        self.assertEqual(self.rig.store.log_marks[0].position, JournalPosition())
        self.assertIsNotNone(self.rig.bookie.cached(0, 0))
        self.assertIsNone(self.rig.bookie.cached(1, 0))

    def test_full_beside_a_failed_one(self) -> None:
        """If one disk is full and another one has failed, the reason tells of the failed one."""
        self.rig.disk.fail(errno.ENOSPC, when=lambda op: op.path.startswith("/ledger0/"), times=100)
        self.rig.disk.fail(errno.EIO, when=lambda op: op.path.startswith("/ledger1/"), times=100)
        self.rig.drain()
        self.assertEqual(self.rig.checkpointed, [f"{FAILED}: /ledger1: EIO (errno 5)"])

    def test_beside_no_descriptors(self) -> None:
        """A full or failed disk is the reason, too, if another directory could not be written without descriptors."""
        full, failed = f"{NO_SPACE}: /ledger1", f"{FAILED}: /ledger1: EIO (errno 5)"
        for number, reason in ((errno.ENOSPC, full), (errno.EIO, failed)):
            self.rig.checkpointed.clear()
            self.rig.disk.fail(errno.EMFILE, when=lambda op: op.path.startswith("/ledger0/"), times=100)
            self.rig.disk.fail(number, when=lambda op: op.path.startswith("/ledger1/"), times=100)
            self.rig.drain()
            self.rig.disk.heal()
            self.assertEqual(self.rig.checkpointed, [reason])
            self.rig.engine.checkpointer.checkpoint()

    def test_reasons_of_all(self) -> None:
        """The reason names all directories whose disks are full, or which have failed, with their causes."""
        for number, reason in (
            (errno.ENOSPC, f"{NO_SPACE}: /ledger0, /ledger1"),
            (errno.EIO, f"{FAILED}: /ledger0: EIO (errno 5); /ledger1: EIO (errno 5)"),
        ):  # fmt: skip
            self.rig.disk.fail(number, when=lambda op: op.path.startswith("/ledger"), times=100)
            self.rig.drain()
            self.assertEqual(self.rig.checkpointed, [reason])
            self.rig.disk.heal()
            self.rig.checkpointed.clear()
            self.rig.engine.checkpointer.checkpoint()

    def test_all_fail(self) -> None:
        """Directories that stay broken are told of once, in one line, though each attempt writes other files; one whose
        reason changes is told of again, and so are all after a while."""
        broken = {"/ledger0/", "/ledger1/"}
        self.rig.disk.fail(
            errno.EIO, when=lambda op: op.path.endswith(".log") and op.path[:9] in broken, times=100
        )
        with capturedLogs() as events:
            self.rig.drain()
            for _ in range(3):
                self.rig.clock.advance(10)
                self.rig.engine.checkpointer.checkpoint()
                self.rig.drain()
            texts = [formatEvent(event) for event in events]
            self.assertEqual(len(texts), 1, texts)
            self.assertIn("/ledger0/current/0.log: EIO; /ledger1/current/0.log: EIO", texts[0])
            broken.remove("/ledger0/")
            for seconds in (0, 0, 60):
                self.rig.clock.advance(seconds)
                self.rig.engine.checkpointer.checkpoint()
                self.rig.drain()
        self.assertEqual([event["n"] for event in events], [1, 5, 7])
        self.assertNotIn("ledger0", formatEvent(events[-1]))

    def test_unforeseen(self) -> None:
        """An error that no disk makes is logged with its traceback, once."""
        self.rig.drain()
        storage = self.rig.store.storage
        with patch.object(storage.directories[0], "write", side_effect=KeyError("nobody's")), capturedLogs() as events:
            for _ in range(3):
                self.rig.engine.checkpointer.checkpoint()
                self.rig.drain()
        self.assertEqual(["log_failure" in event for event in events], [False, True])
        self.flushLoggedErrors(KeyError)

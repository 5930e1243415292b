"""A bookie and its directories: status files, directories that vanish."""

import errno
from unittest.mock import patch

from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.errors import NoWritableDirectoryError, StorageFailedError, WriteOnReadOnlyBookieError
from bookkeeper_twisted.storage.interfaces import NO_INODES, IFile

from ...simulated_disk.sim_disk import Operation
from ..rig import KEY, run
from .test_service import StepTestCase


class DirectoryTests(StepTestCase):
    """Files and directories beside what is stored."""

    def test_persisted_status(self) -> None:
        """A bookie that an administrator set read-only starts so, its reasons are in the file; else it forgets."""
        for persisted in (True, False):
            service, executor = self.start(persist_bookie_status_enabled=persisted)
            service.admin.set_read_only(True)
            self.settle(executor)
            stopping = service.stop()
            self.settle(executor)
            self.successResultOf(stopping)
            if persisted:
                text = self.world.disk.open("/l/current/BOOKIE_STATUS").pread(200, 0).decode()
                self.assertRegex(text, r"1,READ_ONLY,\d+,true\nan administrator has set it read-only\n")
            again, executor = self.start(persist_bookie_status_enabled=persisted)
            self.assertEqual(again.admin.state().read_only, persisted)
            again.admin.set_read_only(False)
            stopping = again.stop()
            self.settle(executor)
            self.successResultOf(stopping)

    def test_persisted_time(self) -> None:
        """After restarts, a bookie is read-only since an administrator has set it so, also if a disk is full since."""
        reactor = self.world.reactor
        service, executor = self.start(persist_bookie_status_enabled=True)
        reactor.advance(5)
        service.admin.set_read_only(True)
        set_at = reactor.seconds()
        for full in (True, False):
            reactor.advance(100)
            stopping = service.stop()
            self.settle(executor)
            self.successResultOf(stopping)
            self.patch(self.world.disk, "usage", lambda path, full=full: (100 << 40, (4 if full else 90) << 40))
            service, executor = self.start(persist_bookie_status_enabled=True)
            state = service.admin.state()
            self.assertAlmostEqual(state.since[0], set_at, 2)
            self.assertEqual(len(state.reasons), 1 + full)
            self.assertEqual(state.began_before, {"a disk is full: that of /l"} if full else frozenset())

    def test_vanished_ledger_directory(self) -> None:
        """A ledger directory that is gone makes the bookie read-only, for recovery adds too, until it is back."""
        service, executor = self.start(disk_check_interval=1000)
        self.world.disk.fail(errno.ENOENT, when=lambda op: op.name == "list" and op.path.startswith("/l/"), times=3)
        with capturedLogs() as events:
            self.world.reactor.advance(1)
            self.settle(executor)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))
        assert service.engine is not None
        self.assertFalse(service.engine.bookie.mode.high_priority)
        refused = [text for text in map(str, map(formatEvent, events)) if text.startswith("recovery adds")]
        self.assertEqual(
            refused, ["recovery adds are refused while the bookie is read-only: /l/current cannot be used: [Errno 2] "
                      "ENOENT: '/l/current'"]
        )  # fmt: skip
        self.assertEqual(service.admin.state().reasons, ("the ledger directory /l cannot be used",))
        self.world.disk.heal()
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual((self.registered()[0], self.world.failures), (frozenset({"me:3181"}), []))
        self.assertTrue(service.engine.bookie.mode.high_priority)

    def test_full_after_a_checkpoint(self) -> None:
        """Disks are looked at after each checkpoint: clients cannot use up, until the next regular look, what is kept
        for recovery."""
        service, executor = self.start(
            flush_interval=1000, disk_check_interval=1_000_000, min_usable_size_for_high_priority_writes=1000
        )
        assert service.engine is not None
        with capturedLogs() as events:
            for free, state in ((4, (True, True)), (0, (True, False)), (90, (False, True))):
                self.patch(self.world.disk, "usage", lambda path, free=free: (100 << 40, free << 40))
                self.world.reactor.advance(1)
                self.settle(executor)
                mode = service.engine.bookie.mode
                self.assertEqual((mode.read_only, mode.high_priority), state, service.admin.state().reasons)
        refused = [text for text in map(str, map(formatEvent, events)) if text.startswith("recovery adds are refused")]
        self.assertEqual([text.partition(": ")[2] for text in refused],
                         ["less than minUsableSizeForHighPriorityWrites is free"])  # fmt: skip

    def test_full_with_what_is_in_memory(self) -> None:
        """Entries that no checkpoint has written yet count: a bookie does not say that it has space which they take."""
        service, executor = self.start(flush_interval=1_000_000, disk_check_interval=1000)
        assert service.engine is not None
        self.patch(self.world.disk, "usage", lambda path: (1 << 40, (1 << 40) // 20 + 600))
        for first, reasons in ((0, ()), (10, ("a disk is full: that of /l",))):
            service.engine.bookie.add(run(7, first, 10), KEY, False, False, False, lambda part, error: None)
            self.settle(executor)
            self.world.reactor.advance(1)
            self.settle(executor)
            self.assertEqual(service.admin.state().reasons, reasons)

    def test_which_disk_is_full(self) -> None:
        """The reason says which disk is full; when another one is full instead, the bookie is not writable between."""
        service, executor = self.start(disk_check_interval=1000, ledger_directories=("/l", "/m"))
        full: list[str] = []
        self.patch(self.world.disk, "usage", lambda path: (100 << 40, 0 if path[:2] in full else 90 << 40))
        with capturedLogs() as events:
            for full[:], told in (
                (["/l"], ("a disk is full: that of /l",)), (["/m"], ("a disk is full: that of /m",)),
                (["/l", "/m"], ("a disk is full: that of /m", "a disk is full: that of /l")), ([], ()),
            ):  # fmt: skip
                self.world.reactor.advance(1)
                self.settle(executor)
                self.assertEqual(service.admin.state().reasons, told)
        texts = [str(formatEvent(event)) for event in events]
        self.assertEqual(len([text for text in texts if "the bookie is writable again" in text]), 1)

    def test_start_on_a_full_disk(self) -> None:
        """A start that has no space for what it replayed says in the log which file, or which disk, it had none for."""
        service, executor = self.start()
        assert service.engine is not None
        service.engine.bookie.fence(7, b"key")  # something to replay
        self.settle(executor)
        self.kill()
        self.world.disk.fail(errno.ENOSPC, when=lambda op: op.name == "commit" and op.path.startswith("/l/"))
        with capturedLogs() as events:
            service, executor = self.start()
        texts = [text for text in map(str, map(formatEvent, events)) if "no space for them" in text]
        self.assertEqual([text.partition(": ")[2] for text in texts], ["/l/current/index.sim: ENOSPC"])
        self.assertEqual(service.admin.state().reasons, ("a checkpoint found no space: /l",))

    def test_no_inodes(self) -> None:
        """With a disk that can have no more files, recovery adds, which would fill the journal, are refused until a
        checkpoint succeeds; a start says so, too."""
        disk = self.world.disk
        opened = disk.open

        def refuse(path: str, create: bool = False, direct: bool = False) -> IFile:
            if path.startswith("/l/") and path.endswith(".log") and create:
                raise OSError(errno.ENOSPC, NO_INODES, path)
            return opened(path, create, direct)

        service, executor = self.start(flush_interval=1000, disk_check_interval=1000)
        added: list[Exception | None] = []
        for restarts in (False, True):
            assert service.engine is not None
            entries = run(7, int(restarts))
            service.engine.bookie.add(entries, KEY, False, False, False, lambda part, error: added.append(error))
            self.settle(executor)
            with patch.object(disk, "open", refuse):
                if restarts:
                    self.kill()
                    service, executor = self.start(flush_interval=1000, disk_check_interval=1000)
                else:
                    self.world.reactor.advance(1)
                    self.settle(executor)
                assert service.engine is not None
                self.assertEqual(service.admin.state().reasons, (f"{NO_INODES}: /l",))
                self.assertFalse(service.engine.bookie.mode.high_priority)
            for _ in range(3):
                self.world.reactor.advance(1)
                self.settle(executor)
            self.assertEqual((service.admin.state().reasons, service.engine.bookie.mode.high_priority), ((), True))
        self.assertEqual(added, [None, None])

    def test_failed_disk(self) -> None:
        """A bookie whose ledger disk fails takes no adds, recovery adds included, until a checkpoint succeeds again."""
        service, executor = self.start(flush_interval=1000, disk_check_interval=1000)
        assert service.engine is not None
        service.engine.bookie.fence(7, b"key")  # something to write
        self.world.disk.fail(errno.EIO, when=lambda op: op.path == "/l/current/index.sim", times=1000)
        self.world.reactor.advance(1)
        self.settle(executor)
        failed = "a checkpoint failed: /l: EIO (errno 5)"
        self.assertEqual(service.admin.state().reasons, (failed,))
        self.assertEqual(
            service.admin.background().collection().major.obstacles[0],
            f"{failed}; a compaction writes to the same disks: it is tried, and probably fails there",
        )
        (since,) = service.admin.state().since
        self.world.disk.heal()
        self.world.disk.fail(errno.EROFS, when=lambda op: op.path == "/l/current/index.sim", times=1000)
        self.world.reactor.advance(1)
        self.settle(executor)
        failed = "a checkpoint failed: /l: EROFS (errno 30)"
        self.assertEqual(service.admin.state().reasons, (failed,))
        self.assertEqual(service.admin.state().since, (since,), "another text is not another failure")
        self.world.reactor.advance(1)  # the disks have space
        self.settle(executor)
        self.assertFalse(service.engine.bookie.mode.high_priority)
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))
        self.world.disk.heal()
        self.world.reactor.advance(1)
        self.settle(executor)
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual((self.registered()[0], self.world.failures), (frozenset({"me:3181"}), []))
        self.assertTrue(service.engine.bookie.mode.high_priority)

    def test_recovery_adds_beside_failing_checkpoints(self) -> None:
        """Recovery adds are refused while no checkpoint can succeed though there is space, as without inodes: they
        would fill the journal.  If a checkpoint lacked space, the space that is left decides."""
        service, executor = self.start()
        assert service.engine is not None
        for reason, accepted in (
            ("no inodes are left: /l", False), ("", True), ("a checkpoint found no space: /l", True),
            ("a checkpoint failed: /l: EIO (errno 5)", False),
        ):  # fmt: skip
            service._checkpointed(reason)
            self.settle(executor)
            self.assertIs(service.engine.bookie.mode.high_priority, accepted, reason)

    def test_obstacles(self) -> None:
        """A checkpoint that found no space, and a ledger directory that is gone, are obstacles of compactions."""
        service, executor = self.start(flush_interval=1000, disk_check_interval=1000)
        assert service.engine is not None
        collection = service.admin.background().collection
        self.assertEqual((collection().major.obstacles, collection().minor.obstacles), ((), ()))
        service.engine.bookie.fence(7, b"key")  # something to write
        for operation, number, obstacle in (
            ("commit", errno.ENOSPC, "a checkpoint found no space: /l; a compaction writes to the same disks: it is "
                                     "tried, with the space reserve"),
            ("list", errno.ENOENT, "/l/current: [Errno 2] ENOENT: '/l/current'; its entry logs cannot be compacted"),
        ):  # fmt: skip

            def hits(op: Operation, name: str = operation) -> bool:
                return op.name == name and op.path.startswith("/l/")

            self.world.disk.fail(number, when=hits, times=1000)
            self.world.reactor.advance(1)
            self.settle(executor)
            self.assertEqual(collection().major.obstacles, (obstacle,))
            self.assertEqual(collection().minor.obstacles, (obstacle,))
            self.world.disk.heal()
            for _ in range(2):
                self.world.reactor.advance(1)
                self.settle(executor)
            self.assertEqual(collection().major.obstacles, ())

    def test_read_only_journal_directory(self) -> None:
        """A journal whose disk takes no writes makes the bookie read-only; nothing that a client asks for, no
        checkpoint and no stop ends it; it is writable again when that disk is, not when another one is there."""
        service, executor = self.start(flush_interval=1000, disk_check_interval=1000, journal_directories=("/j", "/k"))
        assert service.engine is not None
        bookie, disk = service.engine.bookie, self.world.disk
        added: list[Exception | None] = []
        bookie.add(run(7, 0, 10), KEY, False, False, False, lambda part, error: added.append(error))
        self.settle(executor)
        start = "the journal directory /k takes no writes: "
        repair, replaced = (
            f"{start}once its file system is repaired, restart the bookie",
            f"{start}another file system is mounted there now, and the open files of the bookie are not on it: "
            "restart the bookie",
        )
        with capturedLogs() as events:
            for read_only, mounted, reasons in (
                (("/k",), (), (repair,)), (("/k",), ("/k",), (repair,)), ((), ("/k",), (replaced,)), ((), (), ()),
                (("/k",), (), (repair,)),
            ):  # fmt: skip
                disk.read_only, disk.mounted = read_only, mounted
                self.world.reactor.advance(1)
                self.settle(executor)
                mode = bookie.mode
                self.assertEqual(service.admin.state().reasons, reasons)
                self.assertEqual((mode.read_only, mode.high_priority), (bool(reasons), not reasons))
                self.assertEqual(list(mode.refusing), [1] if reasons else [])
        texts = [str(formatEvent(event)) for event in events if event.get("is_change")]
        now, again = f"the bookie is read-only now: {repair}", "the bookie is writable again; it was read-only because "
        self.assertEqual(texts, [now, again + replaced, now])
        for high_priority in (False, True):
            bookie.add(run(7, 10), KEY, True, False, high_priority, lambda part, error: added.append(error))
        for asking in (bookie.fence(7, KEY), bookie.force(7)):
            self.failureResultOf(asking, WriteOnReadOnlyBookieError)
        self.assertEqual([type(error) for error in added], [type(None), *[WriteOnReadOnlyBookieError] * 2])
        fencing = bookie.fence(8, KEY)
        for _ in range(3):
            self.world.reactor.advance(1)
            self.settle(executor)
        self.assertIsNone(self.successResultOf(fencing))
        self.assertEqual((self.world.failures, service.admin.state().reasons), ([], (repair,)))
        with capturedLogs() as events:
            self.stop(service, executor)
        self.assertEqual([event for event in events if "log_failure" in event], [])
        disk.read_only = ()
        self.assertTrue(self.start(journal_directories=("/j", "/k"))[0].engine)

    def test_journal_that_must_not_be_read_only(self) -> None:
        """A bookie that may not be read-only ends when its journal takes no writes."""
        _, executor = self.start(disk_check_interval=1000, read_only_mode_enabled=False)
        self.world.disk.read_only = ("/j",)
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual([failure.type for failure in self.world.failures], [NoWritableDirectoryError])

    def test_index_directory(self) -> None:
        """An index directory of its own that takes no writes, or is gone, makes the bookie read-only until it is back,
        and is an obstacle of compactions."""
        service, executor = self.start(disk_check_interval=1000, index_directories=("/i",))
        assert service.engine is not None
        collection = service.admin.background().collection
        reason = "the index directory /i cannot be used"
        for read_only, said in ((True, "its file system is read-only: what it has can be read"),
                                (False, "[Errno 2] ENOENT: '/i/current'")):  # fmt: skip
            self.world.disk.read_only = ("/i",) if read_only else ()
            if not read_only:
                self.world.disk.fail(errno.ENOENT, when=lambda op: op.name == "list" and op.path == "/i/current")
            self.world.reactor.advance(1)
            self.settle(executor)
            self.assertEqual(service.admin.state().reasons, (reason,))
            self.assertFalse(service.engine.bookie.mode.high_priority)
            obstacle = f"/i/current: {said}; the entry logs whose index it has cannot be compacted"
            self.assertEqual(collection().major.obstacles, (obstacle,))
        self.world.disk.heal()
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual((service.admin.state().reasons, collection().major.obstacles), ((), ()))
        self.assertTrue(service.engine.bookie.mode.high_priority)
        self.assertEqual(self.world.failures, [])

    def test_full_disk_of_an_index(self) -> None:
        """A full disk that only an index directory is on makes the bookie read-only, and is named and measured."""
        self.world.disk.mounted = ("/i",)
        service, executor = self.start(disk_check_interval=1000, index_directories=("/i",))
        for free, reasons in ((1 << 40, ("a disk is full: that of /i",)), (90 << 40, ())):
            self.patch(self.world.disk, "usage", lambda path, n=free: (100 << 40, n if path[:2] == "/i" else 90 << 40))
            self.world.reactor.advance(1)
            self.settle(executor)
            self.assertEqual(service.admin.state().reasons, reasons)
            measuring = service.admin.index_disks()
            self.settle(executor)
            self.assertEqual([(each.directory, each.free) for each in self.successResultOf(measuring)], [("/i", free)])

    def test_lost_journal_directory(self) -> None:
        """S1: a bookie whose journal directory is gone stops: what it writes there no start would find."""
        _, executor = self.start(disk_check_interval=1000)
        self.world.disk.fail(errno.ENOENT, when=lambda op: op.name == "list" and op.path.startswith("/j/"))
        self.world.reactor.advance(1)
        self.settle(executor)
        self.assertEqual([failure.type for failure in self.world.failures], [StorageFailedError])
        self.assertEqual(self.registered(), (frozenset(), frozenset()))

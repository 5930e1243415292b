"""The administration of a bookie in this process."""

import errno
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import LogLevel, PredicateResult, capturedLogs, formatEvent

from bookkeeper_twisted.bookie.admin import ADMINISTRATOR, Phase
from bookkeeper_twisted.bookie.lifecycle.admin import BookieAdmin
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import BookieRegisteredError, ConfigError, InvalidCookieError
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.logs.levels import LogLevels
from bookkeeper_twisted.masking import MASK
from bookkeeper_twisted.storage.cookies import COOKIE_NAME
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.testing.contracts import admin_contract

from ...simulated_disk.sim_disk import SimDisk
from ...storage.entries import run
from .test_service import StepTestCase


class BookieAdminTests(StepTestCase, admin_contract.BookieAdminContract):
    """The contract on a bookie, and what only a bookie can show."""

    def setUp(self) -> None:
        super().setUp()
        self.service, self.executor = self.start(zk_auth="digest:me:secret")
        self.admin = self.service.admin

    def stop_bookie(self) -> None:
        self.stop(self.service, self.executor)

    def fill_disk(self) -> None:
        self.service._set_read_only("a disk is full", True)

    def store_entries(self) -> None:
        assert self.service.engine is not None
        storage = self.service._store.storage
        storage.put_ledger(LedgerRow(1, b"k"))
        storage.add(run(1, 0, 10))
        self.service.engine.checkpointer.checkpoint()
        self.settle()

    def test_space_of_a_sealed_log(self) -> None:
        """The ledgers map of a log counts what the index has forgotten, too."""
        self.store_entries()
        work = self.admin.background()
        logs = self.settled(work.entry_logs())
        (log,) = [log for log in logs if self.settled(work.ledgers_of(log.directory, log.log_id))]
        before = self.settled(work.ledgers_of(log.directory, log.log_id))
        self.stop_bookie()
        self.service, self.executor = self.start()
        work = self.service.admin.background()
        self.assertEqual(self.settled(work.ledgers_of(log.directory, log.log_id)), before)
        self.admin = self.service.admin

    def settle(self, executor: Any = None) -> None:
        super().settle(executor or self.executor)

    def settled(self, deferred: "Deferred[Any]") -> Any:
        self.executor.drain()
        if not deferred.called:
            self.world.reactor.advance(0.01)  # the limit of reads of metadata
            self.settle()
        return self.successResultOf(deferred)

    def test_starting(self) -> None:
        """A bookie that starts says so, and a read-only setting is kept until there is a mode to change."""
        self.stop_bookie()
        service, executor = self.world.service()
        starting = service.start()
        self.assertEqual((service.admin.state().phase, service.admin.bookie_id), (Phase.STARTING, ""))
        disks: Deferred[Any] = service.admin.disks()
        self.assertEqual(self.successResultOf(disks), ())
        service.admin.set_read_only(True)
        self.settle(executor)
        self.successResultOf(starting)
        self.assertEqual(service.admin.state().reasons, (ADMINISTRATOR,))
        self.assertEqual(self.registered(), (frozenset(), frozenset({"me:3181"})))

    def test_stopping(self) -> None:
        """A bookie that stops says so until it has stopped."""
        peer = self.connect()
        stopping = self.service.stop()
        self.assertIs(self.admin.state().phase, Phase.STOPPING)
        peer.leave()
        self.settle(self.executor)
        self.successResultOf(stopping)
        self.assertIs(self.admin.state().phase, Phase.STOPPED)

    def test_did_not_start(self) -> None:
        """A bookie that could not start has failed, for the reason that its start gives."""
        self.world.disk, self.world.store.cookies = SimDisk(), {}
        service, executor = self.world.service()
        starting = service.start()
        self.settle(executor)
        error = self.failureResultOf(starting, BookieRegisteredError)
        state = service.admin.state()
        self.assertEqual((state.phase, state.reasons), (Phase.FAILED, (error.getErrorMessage(),)))
        self.successResultOf(service.stop())
        self.assertIs(service.admin.state().phase, Phase.FAILED)

    def test_failed(self) -> None:
        """S10: a bookie whose journal failed has failed, for that reason, and its stop does not hide it."""
        self.world.disk.fail(errno.EIO, when=lambda op: op.name == "sync" and op.path.startswith("/j/"))
        assert self.service.engine is not None
        self.service.engine.bookie.fence(1, b"k").addErrback(lambda _: None)
        self.settle(self.executor)
        state = self.admin.state()
        self.assertIs(state.phase, Phase.FAILED)
        self.assertIn("EIO: '/j/current", state.reasons[0])

    def test_what_is_stored(self) -> None:
        """Files are listed and log marks read as they are on disk."""
        assert self.service.engine is not None
        self.service.engine.bookie.fence(1, b"k").addErrback(lambda _: None)
        self.settle()
        for name in ("b.log", "a.log", "10.log", "index.sqlite", "index.sqlite-wal"):
            self.world.disk.open(f"/l/current/{name}", create=True)
        (log_mark,) = self.settled(self.admin.log_marks())
        files = self.settled(self.admin.files())
        self.assertEqual((files.entry_logs, files.indexes), (("a.log", "b.log", "10.log"), ("index.sqlite",)))
        self.assertEqual(len(files.journals), 1)
        self.assertEqual(log_mark.offset, 0)
        checkpointed: Deferred[Any] = self.service.engine.checkpointer.checkpoint()
        self.settle()
        self.successResultOf(checkpointed)
        (log_mark,) = self.settled(self.admin.log_marks())
        self.assertEqual(f"{log_mark.file_id:x}.txn", files.journals[0])

    def test_marks_of_a_vanished_directory(self) -> None:
        """Where a ledger directory is gone there is no log mark, not one of 0."""
        self.world.disk.fail(errno.ENOENT, when=lambda op: op.name == "list" and op.path.startswith("/l/"))
        log_marks = self.admin.log_marks()
        self.settle()
        self.failureResultOf(log_marks, FileNotFoundError)

    def test_foreign_directory(self) -> None:
        """A directory whose cookie has gone is reported."""
        self.world.disk.unlink(f"/l/current/{COOKIE_NAME}")
        checked = self.admin.check_directories()
        self.settle()
        self.failureResultOf(checked, InvalidCookieError)

    def test_configured(self) -> None:
        """Changed keys reach the work that goes on; a limit that was changed by hand stays where its key did not."""
        work = self.admin.background()
        work.set_limits({"gc-metadata": Rate(77)})
        self.admin.configure(
            {"isThrottleByBytes": "true", "compactionRateByBytes": "5000", "backgroundLatencyBoundMs": "2.5"}
        )
        limits = work.limits()
        found = {each.name: each.limit for each in limits.throttles}
        self.assertEqual((found["compaction-write"], found["gc-metadata"]), (Rate(bytes=5000), Rate(77)))
        self.assertEqual(limits.adaptive.bound, 2.5)
        self.admin.configure({"gcWaitTime": "5000", "minorCompactionInterval": "5"})
        self.world.reactor.advance(5)
        self.settle()
        self.assertEqual(work.collection().minor.total, 1)

    def test_disks_configured(self) -> None:
        """A changed threshold counts for the disks at once."""
        before = self.admin.state().read_only
        self.admin.configure(
            {"diskUsageThreshold": "0.4", "diskUsageWarnThreshold": "0.4", "diskUsageLwmThreshold": "0.4"}
        )
        self.settle()
        self.assertEqual((before, self.admin.state().reasons), (False, ("a disk is full: that of /l",)))

    def test_stop_is_logged(self) -> None:
        """A bookie that begins to stop says why, before its last checkpoint: it was asked to, or it has failed."""
        for failure, said in (("", "because its process ends"), ("a disk is gone", "a disk is gone")):
            admin = BookieAdmin(BookieConfig(), self.service.instruments)
            admin.bookie_id = "b"
            with capturedLogs() as events:
                admin.enter(Phase.SERVING)
                if failure:
                    admin.fail(failure)
                    admin.fail("later")
                admin.enter(Phase.STOPPING)
                admin.enter(Phase.STOPPED)
            (line,) = [str(formatEvent(event)) for event in events]
            self.assertTrue(line.startswith("bookie b is stopping") and line.endswith(said), line)

    def test_slow_requests_configured(self) -> None:
        """The threshold of slow requests is that of the configuration, at the start and when it changes."""
        assert self.service.engine is not None
        slow = self.service.engine.context.slow
        self.assertEqual(slow.threshold, float("inf"))
        self.admin.configure({"slowRequestThresholdMs": "250"})
        self.assertEqual(slow.threshold, 250)

    def test_levels_configured(self) -> None:
        """Changed levels count for the log of the process; other keys leave these levels as they are."""
        levels = LogLevels()
        admin = BookieAdmin(BookieConfig(), self.service.instruments, levels)
        admin.take(attrs.evolve(admin.config, log_levels=("a.b:error",)))
        event = {"log_level": LogLevel.warn, "log_namespace": "a.b.c"}
        self.assertIs(levels(event), PredicateResult.no)
        levels.set({"default": "info"})
        admin.take(attrs.evolve(admin.config, gc_wait_time=5))
        self.assertIs(levels(event), PredicateResult.maybe)

    def test_refused_configuration(self) -> None:
        """A refusal says which keys can be changed, or which rule is broken; values of a start stay."""
        error = self.assertRaises(ConfigError, self.admin.configure, {"bookiePort": "1"})
        self.assertIn("bookiePort cannot be changed, changed by an administrator: it holds until", str(error))
        self.assertIn("compactionRateByBytes", str(error))
        error = self.assertRaises(ConfigError, self.admin.configure, {"minorCompactionInterval": "100000"})
        self.assertIn("must be below that of major compactions", str(error))
        self.assertEqual(self.admin.configuration()["minorCompactionInterval"], "3600")

    def test_forced_once(self) -> None:
        """However often a collection is asked for, one waits behind the one at work."""
        work = self.admin.background()
        for _ in range(50):
            work.collect()
        self.settle()
        self.assertEqual(work.collection().runs, 2)

    def test_secrets(self) -> None:
        """Credentials are masked; one that is not set is shown as empty."""
        self.assertEqual(self.admin.configuration()["zkAuth"], MASK)
        self.assertEqual(self.admin.configuration()["bookiePort"], "3181")
        self.stop_bookie()
        service, _ = self.world.service()
        self.assertEqual(service.admin.configuration()["zkAuth"], "")

"""The test suite for a bookie's administration interface.

Test modules should import this module and not its class: a test runner would run an imported class as a test case.
"""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from ...bookie.admin import ADMINISTRATOR, IBackgroundWork, IBookieAdmin, Phase
from ...errors import ConfigError, IncorrectParameterError, NoSuchThrottleError, NotServingError
from ...limits.ratelimit import Rate


class BookieAdminContract(SynchronousTestCase):
    """The tests that each administration interface passes; a subclass makes the bookie, stops it, and fills its disk.

    :ivar admin: the interface of a bookie that serves, is writable, and has at least one ledger directory.
    """

    admin: Any

    def stop_bookie(self) -> None:
        """Stop the bookie in an orderly way."""
        raise NotImplementedError

    def fill_disk(self) -> None:
        """Make the bookie read-only for another reason than the administrator's request."""
        raise NotImplementedError

    def store_entries(self) -> None:
        """Store entries in an entry log."""
        raise NotImplementedError

    def settle(self) -> None:
        """Run all requested background work until it has ended."""

    def settled(self, deferred: "Deferred[Any]") -> Any:
        """Let the work end that a ``deferred`` waits for, if any is left, and return the result of the ``deferred``."""
        return self.successResultOf(deferred)

    def test_interface(self) -> None:
        """The tested objects provide all names of ``IBookieAdmin`` and ``IBackgroundWork``."""
        verifyObject(IBookieAdmin, self.admin)
        verifyObject(IBackgroundWork, self.admin.background())
        self.assertTrue(self.admin.bookie_id)
        self.assertRegex(self.admin.address, r".+:\d+$")

    def test_serving(self) -> None:
        """A bookie that serves is writable, and has no reason to be read-only."""
        state = self.admin.state()
        self.assertEqual((state.phase, state.read_only, state.reasons), (Phase.SERVING, False, ()))
        self.assertTrue(state.high_priority_writes)

    def test_read_only(self) -> None:
        """An administrator makes a bookie read-only and writable again; a second call has no effect."""
        for _ in range(2):
            self.admin.set_read_only(True)
            state = self.admin.state()
            self.assertEqual((state.read_only, state.reasons), (True, (ADMINISTRATOR,)))
        for _ in range(2):
            self.admin.set_read_only(False)
            self.assertEqual((self.admin.state().read_only, self.admin.state().reasons), (False, ()))

    def test_other_reason(self) -> None:
        """After the administrator's request is withdrawn, a bookie stays read-only if it has another reason."""
        self.fill_disk()
        self.admin.set_read_only(True)
        self.assertEqual(len(self.admin.state().reasons), 2)
        self.admin.set_read_only(False)
        state = self.admin.state()
        self.assertTrue(state.read_only)
        self.assertEqual(len(state.reasons), 1)
        self.assertNotIn(ADMINISTRATOR, state.reasons)

    def test_disks(self) -> None:
        """``disks()`` reports, for each ledger directory, the size and the free bytes of its disk.

        So do ``journal_disks()`` for journal directories, and ``index_disks()`` for index directories on other disks.
        """
        usage = self.settled(self.admin.disks())
        self.assertTrue(usage)
        others = (*self.settled(self.admin.journal_disks()), *self.settled(self.admin.index_disks()))
        for disk in (*usage, *others):
            self.assertTrue(disk.directory)
            self.assertTrue(0 <= disk.free <= disk.total, disk)

    def test_since(self) -> None:
        """For each reason to be read-only, the bookie reports since when it holds.

        A second request of an operator to be read-only does not change this time.
        """
        self.admin.set_read_only(True)
        before = self.admin.state()
        self.assertEqual(len(before.since), 1)
        self.admin.set_read_only(True)
        self.assertEqual(self.admin.state(), before)

    def test_recent(self) -> None:
        """The admin interface returns the newest group commits of each journal, and the newest slow requests."""
        self.assertTrue(self.admin.journal_groups())
        for ring in (*self.admin.journal_groups(), self.admin.slow_requests()):
            self.assertEqual(len(ring.after(0)), ring.count)

    def test_present_waits(self) -> None:
        """While nothing waits, the admin interface reports no wait that lasts."""
        self.assertEqual([wait for wait in self.admin.present_waits() if wait.seconds], [])

    def test_long_delays(self) -> None:
        """The admin interface reports no delay of the event loop before one."""
        self.assertEqual(list(self.admin.long_delays()), [])

    def test_slowest_peer(self) -> None:
        """Without clients, the admin interface names none that delays its replies."""
        self.assertIsNone(self.admin.slowest_peer())

    def test_files(self) -> None:
        """The listing of files contains the names of files of each kind."""
        files = self.settled(self.admin.files())
        for names, suffix in ((files.journals, ".txn"), (files.entry_logs, ".log"), (files.indexes, ".sqlite")):
            self.assertTrue(all(name.endswith(suffix) and "/" not in name for name in names), names)

    def test_log_marks(self) -> None:
        """Each journal has a log mark."""
        log_marks = self.settled(self.admin.log_marks())
        self.assertTrue(log_marks)
        for log_mark in log_marks:
            self.assertGreaterEqual(min(log_mark.file_id, log_mark.offset), 0)

    def test_directories(self) -> None:
        """The check of directories succeeds for a bookie that serves."""
        self.assertIsNone(self.settled(self.admin.check_directories()))

    def test_configuration(self) -> None:
        """The configuration maps keys to values as text."""
        values = self.admin.configuration()
        self.assertIn("bookiePort", values)
        for key, value in values.items():
            self.assertIsInstance(key, str)
            self.assertIsInstance(value, str)

    def test_configure(self) -> None:
        """A call changes keys that may be changed; if it has any other key or a wrong value, it changes nothing."""
        self.admin.configure({"gcWaitTime": "700000"})
        self.assertEqual(self.admin.configuration()["gcWaitTime"], "700000")
        port = self.admin.configuration()["bookiePort"]
        for wrong in ({"bookiePort": "1"}, {"prop1": "value1"}, {"gcWaitTime": "soon"}, {"gcWaitTime": ""}):
            self.assertRaises(ConfigError, self.admin.configure, {"gcWaitTime": "800000", **wrong})
            values = self.admin.configuration()
            self.assertEqual((values["gcWaitTime"], values["bookiePort"]), ("700000", port))

    def test_log_levels(self) -> None:
        """The levels of the log can be changed; levels of a wrong form change nothing."""
        self.admin.configure({"logLevels": "a.b:DEBUG"})
        self.assertEqual(self.admin.configuration()["logLevels"], "a.b:debug")
        self.assertRaises(ConfigError, self.admin.configure, {"logLevels": "a.b"})
        self.assertEqual(self.admin.configuration()["logLevels"], "a.b:debug")

    def test_metrics(self) -> None:
        """The interface exports the bookie's metrics in Prometheus's text format."""
        text = b"".join(self.admin.metrics())
        self.assertTrue(text.startswith(b"# TYPE "), text[:80])
        self.assertTrue(text.endswith(b"\n"))

    def test_collection(self) -> None:
        """A requested garbage collection runs, with the requested kinds of compaction."""
        work = self.admin.background()
        before = work.collection()
        self.assertEqual((before.phase, before.forced, before.major.at_work), ("idle", False, False))
        self.assertTrue(before.directories)
        self.assertEqual((before.major.last, before.minor.last), (None, None))
        for major, minor in ((True, True), (False, True), (False, False)):
            work.collect(major, minor)
            self.settle()
        after = work.collection()
        self.assertEqual(after.runs - before.runs, 3)
        self.assertEqual((after.major.total, after.minor.total, after.failures), (1, 1, 0))
        self.assertTrue(all(kind.last is not None and kind.last >= after.began for kind in (after.major, after.minor)))

    def test_suspension(self) -> None:
        """Major and minor compaction can be suspended and resumed separately; while suspended, they do not run."""
        work = self.admin.background()

        def suspended() -> tuple[bool, bool]:
            status = work.collection()
            return status.major.suspended, status.minor.suspended

        work.suspend_compaction(minor=False)
        self.assertEqual(suspended(), (True, False))
        work.suspend_compaction(major=False)
        self.assertEqual(suspended(), (True, True))
        self.assertTrue(all((work.collection().major.obstacles, work.collection().minor.obstacles)))
        self.assertTrue(all((work.collection().major.refusals, work.collection().minor.refusals)))
        work.collect()
        self.settle()
        self.assertEqual((work.collection().major.total, work.collection().minor.total), (0, 0))
        work.resume_compaction(major=False)
        self.assertEqual(suspended(), (True, False))
        work.resume_compaction()
        self.assertEqual(suspended(), (False, False))
        self.assertEqual((work.collection().major.obstacles, work.collection().minor.obstacles), ((), ()))
        self.assertEqual((work.collection().major.refusals, work.collection().minor.refusals), ((), ()))
        work.cancel_compaction()

    def test_space(self) -> None:
        """The number of bytes of each ledger in an entry log can be read; an unknown log is an error."""
        self.store_entries()
        work = self.admin.background()
        logs = self.settled(work.entry_logs())
        own = [log for log in logs if log.directory == logs[0].directory]
        self.assertEqual(self.settled(work.entry_logs(logs[0].directory)), own)
        self.assertEqual(list(self.settled(work.entry_logs("/elsewhere"))), [])
        usage = [self.settled(work.ledgers_of(log.directory, log.log_id)) for log in logs]
        self.assertTrue(any(usage))
        for log, ledgers in zip(logs, usage, strict=True):
            self.assertLess(sum(ledgers.values()), log.n_bytes)
        for directory, log_id in (("/elsewhere", logs[0].log_id), (logs[0].directory, 999_999)):
            refused = work.ledgers_of(directory, log_id)
            self.settle()
            self.failureResultOf(refused, IncorrectParameterError)

    def test_live_space(self) -> None:
        """No entry log has more live bytes than bytes in total."""
        self.store_entries()
        for log in self.settled(self.admin.background().log_space()).logs:
            self.assertTrue(0 <= log.live <= log.n_bytes, log)

    def test_scrub(self) -> None:
        """A requested scrub runs, unless scrubs are suspended."""
        work = self.admin.background()
        self.assertEqual((work.scrub().passes, work.scrub().last_pass, work.scrub().findings), (0, None, ()))
        work.start_scrub()
        self.settle()
        status = work.scrub()
        self.assertEqual((status.passes, status.failures, status.suspended), (1, 0, False))
        self.assertIsNotNone(status.last_pass)
        work.suspend_scrub()
        self.assertTrue(work.scrub().suspended)
        work.start_scrub()
        self.settle()
        work.cancel_scrub()
        self.settle()
        self.assertIsNone(work.scrub().progress)
        work.resume_scrub()
        self.assertFalse(work.scrub().suspended)

    def test_limits(self) -> None:
        """Speed limits change immediately; a call with the name of an unknown limiter changes nothing."""
        work = self.admin.background()
        work.set_limits({"scrub": Rate(7, 9)}, 20.0)
        self.assertRaises(NoSuchThrottleError, work.set_limits, {"scrub": Rate(1), "none": Rate(1)}, 30.0)
        limits = work.limits()
        found = {each.name: each for each in limits.throttles}
        self.assertEqual((found["scrub"].limit, found["scrub"].in_force), (Rate(7, 9), Rate(7, 9)))
        self.assertEqual((found["gc-metadata"].limit, limits.adaptive.bound), (Rate(1000), 20.0))
        self.assertEqual(list(found), sorted(found))
        work.set_limits({})
        self.assertEqual(work.limits().adaptive.bound, 20.0)

    def test_stopped(self) -> None:
        """A stopped bookie reports that it is stopped, measures no disks, and does no more work."""
        self.stop_bookie()
        self.assertIs(self.admin.state().phase, Phase.STOPPED)
        self.assertEqual(list(self.settled(self.admin.disks())), [])
        self.assertEqual(list(self.settled(self.admin.journal_disks())), [])
        self.assertEqual(list(self.settled(self.admin.index_disks())), [])
        self.assertRaises(NotServingError, self.admin.background)
        self.assertRaises(NotServingError, self.admin.configure, {"gcWaitTime": "700000"})
        for ask in (self.admin.files, self.admin.log_marks, self.admin.check_directories):
            refused: list[Any] = []
            ask().addErrback(refused.append)
            self.assertEqual([failure.check(NotServingError) for failure in refused], [NotServingError])

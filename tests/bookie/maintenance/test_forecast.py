"""What a compaction will copy is known before it begins."""

import errno
from collections.abc import Sequence

from twisted.internet.defer import Deferred

from bookkeeper_twisted.bookie.admin import DeletedLedgers, EntryLogSpace, MeasuredDirectory, SpaceForecast
from bookkeeper_twisted.bookie.maintenance.control import BackgroundControl
from bookkeeper_twisted.bookie.maintenance.forecast import KNOWN_SECONDS
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.latest_reading import PATIENCE, LatestReading
from bookkeeper_twisted.bookie.maintenance.maintenance import SCRUB
from bookkeeper_twisted.bookie.maintenance.progress import Progress
from bookkeeper_twisted.errors import MetadataError, StorageError
from bookkeeper_twisted.limits.ratelimit import Rate

from .test_garbage_collector import MAJOR, CollectorCase

EMPTY = CompactionKind(0.01, 200)
NONE = CompactionKind(0.0, 0)


class ForecastTests(CollectorCase):
    """What an operator is told about a compaction that has not begun."""

    def setUp(self) -> None:
        super().setUp()
        self.control = BackgroundControl(self.life.maintenance, self.life.clock, ())

    def _forecast(self) -> SpaceForecast:
        """What is told, after the longest wait for metadata if these do not answer."""
        measured = self.control.log_space()
        self.life.drain()
        if not measured.called:
            self.life.wait(PATIENCE)
        return self.successResultOf(measured)

    def _told(self) -> Sequence[EntryLogSpace]:
        """What is told about the sealed logs."""
        return self._forecast().logs

    def _check(self, number: int, options: CollectorOptions) -> None:
        """A major compaction copies as many logs as are to be copied before it begins, and no others."""
        self.collector.change(options)
        told = self._told()
        chosen = {log.log_id for log in told if log.major}
        self.assertEqual((len(chosen), [log for log in told if log.minor]), (number, []))
        self.life.collect()
        self.assertEqual({log.log_id for log in told if log.live} - set(self.life.logs()[0]), chosen)

    def _delete(self) -> None:
        """Delete the ledgers, and compact nothing."""
        self.collector.force(False, False)
        self.life.drain()

    def test_choice(self) -> None:
        """A target size and damage change what a compaction will copy, as they change what it copies."""
        for options, damaged, number in (
            (CollectorOptions(100, NONE, MAJOR), (), 2),
            (CollectorOptions(100, NONE, MAJOR), (1,), 1),
            (CollectorOptions(100, NONE, EMPTY), (), 0),
            (CollectorOptions(100, NONE, EMPTY, target_size=1 << 20), (), 2),
        ):
            with self.subTest(options=options, damaged=damaged):
                self.setUp()
                self._delete()
                self.life.maintenance.directories[0].damaged.update(dict.fromkeys(damaged, "broken"))
                self._check(number, options)

    def test_unreadable(self) -> None:
        """A log that cannot be read is not compacted, although the target size makes its unknown size a small one."""
        self.disk.fail(errno.EIO, when=lambda op: op.name == "pread" and op.path.endswith("/1.log"), times=100)
        self._check(1, CollectorOptions(100, NONE, MAJOR, target_size=1 << 20))

    def test_end(self) -> None:
        """Work ends by its recent speed, not before its limit allows it, and not at a known time while suspended."""
        maintenance, clock = self.life.maintenance, self.life.clock
        control = BackgroundControl(maintenance, clock, ())
        maintenance.scrubber.state.progress = progress = Progress(
            clock.seconds(), [maintenance.throttles.get(SCRUB)], left=2_000_000
        )  # fmt: skip

        def end() -> float | None:
            found = control.scrub().progress
            assert found is not None
            return found.eta

        control.set_limits({SCRUB: Rate()})
        self.assertIsNone(end())
        control.set_limits({SCRUB: Rate(bytes=400_000)})
        self.assertEqual(end(), 5.0)
        clock.advance(1)
        progress.advance(100_000, clock.seconds())
        self.assertAlmostEqual(end() or 0.0, 19.0)
        control.set_limits({SCRUB: Rate(bytes=1000)})
        self.assertEqual(end(), 1900.0)
        control.suspend_scrub()
        self.assertIsNone(end())
        control.resume_scrub()
        self.assertEqual(end(), 1900.0)

    def test_kinds(self) -> None:
        """Each kind of compaction has its own logs."""
        self._delete()
        self.collector.change(CollectorOptions(100, MAJOR, NONE))
        self.assertEqual([(log.major, log.minor) for log in self._told()], [(False, True)] * 2)

    def test_deleted(self) -> None:
        """What a run frees is known before it begins, although nothing here knows yet which ledgers are deleted."""
        self.collector.change(CollectorOptions(100, NONE, MAJOR))
        told = self._forecast()
        self.assertEqual(told.deleted, DeletedLedgers(2, self.life.clock.seconds()))
        live = sum(log.live for log in told.logs if log.major)
        freed = sum(log.n_bytes for log in told.logs if log.major or not log.live) - live
        self.assertGreater(live, 0)
        self._delete()
        self.assertEqual(self._told(), told.logs)
        self.assertEqual(self._forecast().deleted.count, 0)
        before = sum(log.n_bytes for log in self._told())
        self.life.collect()
        # the copy ends with some bytes to align it
        self.assertTrue(0 <= freed - (before - sum(log.n_bytes for log in self._told())) < 512)

    def test_deletion_refused(self) -> None:
        """Ledgers whose deletion is not durable, as on a disk that takes no writes, count as dead as before."""
        self.collector.change(CollectorOptions(100, NONE, MAJOR))
        told = self._forecast()
        self.disk.fail(errno.EROFS, when=lambda op: op.name == "commit", times=100)
        self.life.collect()
        self.assertEqual(self.life.store.storage.undeleted(), 2)
        found = self._forecast()
        self.assertEqual((found.logs[: len(told.logs)], found.deleted.count), (told.logs, 2))

    def test_deleted_once_more(self) -> None:
        """The list of deleted ledgers is used again for some seconds, then read anew."""
        self._forecast()
        calls = len(self.life.ledgers.calls)
        self.life.delete(3)
        self.assertEqual((self._forecast().deleted.count, len(self.life.ledgers.calls)), (2, calls))
        self.life.wait(KNOWN_SECONDS)
        self.assertEqual(self._forecast().deleted, DeletedLedgers(3, KNOWN_SECONDS))

    def test_all_deleted(self) -> None:
        """A log whose ledgers are all deleted is one without live bytes."""
        self.life.delete(3, 4)
        self.assertEqual({(log.live, log.major) for log in self._told()}, {(0, False)})

    def test_other_cluster(self) -> None:
        """A store of another cluster lists none of the ledgers here: none is said to be deleted."""
        self.life.cluster_id = "other"
        found = self._forecast().deleted
        self.assertEqual((found.count, found.read_at, found.unread_since), (0, None, 0.0))
        self.assertIn("cluster other", found.reason)

    def test_unread(self) -> None:
        """While metadata cannot be read, the last list is used; it is said since when, and why."""

        async def fail() -> None:
            raise MetadataError("away")

        self._forecast()
        self.life.wait(10)
        self.life.ledgers.sync = fail  # type: ignore[method-assign]
        self.assertEqual(self._forecast().deleted, DeletedLedgers(2, 0.0, 10.0, "away"))
        self.life.wait(10)
        self.assertEqual(self._forecast().deleted, DeletedLedgers(2, 0.0, 10.0, "away"))
        del self.life.ledgers.sync  # type: ignore[method-assign]
        self.assertEqual(self._forecast().deleted, DeletedLedgers(2, 20.0))

    def test_late(self) -> None:
        """Metadata that do not answer are not waited for; one request to them is enough for all who ask meanwhile."""
        calls: list[Deferred[None]] = []

        async def wait() -> None:
            calls.append(Deferred())
            await calls[-1]

        self.life.ledgers.sync = wait  # type: ignore[method-assign]
        for seconds in (PATIENCE, 2 * PATIENCE):
            found = self._forecast()
            reason = f"no answer for {seconds:.0f} s, of the store or of the speed limit gc-metadata"
            self.assertEqual(found.deleted, DeletedLedgers(0, None, 0.0, reason))
            self.assertTrue(found.logs)
        (late,) = calls
        late.callback(None)
        self.assertEqual(self._forecast().deleted, DeletedLedgers(2, 2 * PATIENCE))

    def test_silent_disk(self) -> None:
        """A disk that does not answer is not waited for: what was last measured is told, and how long it is silent."""
        known, path = self._forecast(), self.life.maintenance.directories[0].path
        self.assertEqual(known.directories, (MeasuredDirectory(path, 0.0),))
        self.life.wait(1)
        for seconds in (PATIENCE, 2 * PATIENCE):
            measured = self.control.log_space()
            while self.life.step_beside_flushes():
                pass
            self.assertNoResult(measured)
            self.life.clock.advance(PATIENCE)
            found = self.successResultOf(measured)
            silent = MeasuredDirectory(path, 0.0, f"the disk has not answered for {seconds:.0f} s")
            self.assertEqual((found.logs, found.directories), (known.logs, (silent,)))
        self.assertEqual(self.life.executor.busy_threads(), ["flush-0"])
        self.assertEqual(len(self.life.executor.queued), 1)
        self.life.drain()
        self.assertEqual(self._forecast().directories, (MeasuredDirectory(path, self.life.clock.seconds()),))

    def test_begun_by_others(self) -> None:
        """A reading that another caller has just begun is not one that takes long."""
        answer: Deferred[int] = Deferred()

        async def read() -> int:
            return await answer

        reading = LatestReading(read, self.life.clock)
        self.assertIsNone(reading.overdue)
        waiting = Deferred.fromCoroutine(reading.latest())
        self.life.clock.advance(PATIENCE - 1)
        self.assertIsNone(reading.overdue)
        self.life.clock.advance(1)
        self.assertEqual((self.successResultOf(waiting), reading.overdue), (None, PATIENCE))
        answer.callback(7)
        self.assertEqual((reading.result, reading.overdue), (7, None))

    def test_unread_index(self) -> None:
        """An index that cannot be read is said, with the last measurement of its directory."""
        known, directory = self._forecast(), self.life.maintenance.directories[0]

        def fail() -> None:
            raise StorageError("broken")

        directory.space.sealed_logs = fail  # type: ignore[method-assign,assignment]
        found = self._forecast()
        told = MeasuredDirectory(directory.path, 0.0, "broken")
        self.assertEqual((found.logs, found.directories), (known.logs, (told,)))

"""A compaction that is suspended while it waits."""

from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.bookie.maintenance.control import BackgroundControl
from bookkeeper_twisted.bookie.maintenance.maintenance import COMPACTION_WRITE
from bookkeeper_twisted.limits.ratelimit import Rate

from .test_garbage_collector import CollectorCase


class SuspendedCompactionTests(CollectorCase):
    """A compaction of one step, which waits for its speed limit of writes."""

    def setUp(self) -> None:
        super().setUp()
        self.life.maintenance.throttles.find(COMPACTION_WRITE).change(Rate(bytes=1000))
        self.life.maintenance.throttles.find(COMPACTION_WRITE).acquire(10_000)
        self.forced = self.collector.force()
        self.life.drain()
        self.assertEqual(self.state.phase, "major compaction")
        self.before = self.life.logs()
        self.collector.suspend_compaction()
        self.wait(60)

    def test_resumed(self) -> None:
        """It writes nothing when the limit would allow it, until it is resumed, and then ends well."""
        self.assertFalse(self.life.is_copying())
        self.assertEqual((self.counts, self.life.logs()), ((1, 0, 0), self.before))
        self.collector.resume_compaction()
        self.life.drain()
        self.assertEqual(self.counts, (1, 1, 0))
        self.successResultOf(self.forced)

    def test_cancelled(self) -> None:
        """It can be cancelled; no file of it is left, and it is none that was done, until another one has ended."""
        control = BackgroundControl(self.life.maintenance, self.life.clock, ())
        with capturedLogs() as events:
            self.collector.cancel()
            self.life.drain()
        self.assertEqual((self.state.phase, self.life.is_copying()), ("idle", False))
        self.assertEqual(self.life.logs(), self.before)
        found, now = control.collection().major, self.life.clock.seconds()
        self.assertEqual((found.total, found.last, found.cancelled), (0, None, now))
        self.assertIn("major compaction: 0 bytes were copied, then it was cancelled", map(formatEvent, events))
        self.collector.resume_compaction()
        self.life.maintenance.throttles.find(COMPACTION_WRITE).change(Rate())
        self.life.collect()
        found = control.collection().major
        self.assertEqual((found.total, found.last, found.cancelled), (1, now, None))
        runtime = self.collector._metrics.compaction
        self.assertEqual((runtime.success.count, runtime.failure.count), (1, 1))

    def test_due(self) -> None:
        """One whose turn comes meanwhile was requested by nobody."""
        control = BackgroundControl(self.life.maintenance, self.life.clock, ())
        self.life.clock.advance(self.collector.options.wait_time - self.life.clock.seconds())
        self.assertIsNotNone(self.collector._waiting)
        self.assertFalse(control.collection().has_waiting)
        self.life.drain()

    def test_followed(self) -> None:
        """A collection that is requested meanwhile waits for its end, which is told."""
        control = BackgroundControl(self.life.maintenance, self.life.clock, ())
        self.assertFalse(control.collection().has_waiting)
        following = self.collector.force()
        self.assertTrue(control.collection().has_waiting)
        self.collector.cancel()
        self.life.drain()
        self.assertFalse(control.collection().has_waiting)
        self.successResultOf(following)

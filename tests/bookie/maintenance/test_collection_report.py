"""What is said of a garbage collection that an operator has requested."""

import errno

from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import COMPACTION_READ
from bookkeeper_twisted.limits.throttle import Rate

from .test_garbage_collector import MAJOR, MINOR, CollectorCase


class ReportTests(CollectorCase):
    """What is said of a forced run at its end."""

    PREFIX = "a forced garbage collection has ended: "

    def said(self, major: bool = True, minor: bool = True, wait: float = 0.0) -> str:
        """The line about a forced run."""
        with capturedLogs() as events:
            self.collector.force(major, minor)
            self.wait(wait)
        texts = [str(formatEvent(event)) for event in events if "GarbageCollector" in event["log_namespace"]]
        (text,) = [text for text in texts if text.startswith(self.PREFIX)]
        return text.removeprefix(self.PREFIX)

    def test_done(self) -> None:
        """What it has deleted, compacted, removed and freed."""
        before = sum(self.life.log_sizes())
        text = self.said()
        freed = before - sum(self.life.log_sizes())
        self.assertRegex(text, "^2 ledgers were deleted, 2 entry logs compacted and 2 removed, [0-9,]+ bytes freed$")
        self.assertLess(abs(int(text.split()[-3].replace(",", "")) - freed), 4096)
        nothing = "0 ledgers were deleted, 0 entry logs compacted and 0 removed, 0 bytes freed; "
        self.assertEqual(self.said(), nothing + "the major compaction found no entry log below its threshold")
        self.assertEqual(self.said(False, False), nothing + "no compaction was requested")

    def test_full(self) -> None:
        """A full disk is named as the reason of no compaction, and an almost full one as that of no major one."""
        self.collector.disk_changed(almost_full=True, full=True, text="/l is full")
        why = "/l is full; isForceGCAllowWhenNoSpace is false"
        self.assertIn(f"0 bytes freed; no major compaction: {why}; no minor compaction: {why}", self.said())
        self.collector.disk_changed(almost_full=True, full=False, text="/l is almost full")
        text = self.said()
        self.assertIn("no major compaction: /l is almost full; isForceGC", text)
        self.assertNotIn("no minor compaction", text)
        self.collector.disk_changed(almost_full=False, full=False, text="")
        self.assertNotIn("is almost full", self.said())

    def test_suspended(self) -> None:
        """A suspension and settings that disable a compaction are reasons, all of which are said."""
        self.collector.suspend_compaction(minor=False)
        self.collector.change(CollectorOptions(100, CompactionKind(0.0, 0), CompactionKind(0.9, 0)))
        self.assertTrue(self.said().endswith(
            "; no major compaction: an operator has suspended major compactions, until they are resumed and "
            "majorCompactionInterval is 0; forceAllowCompaction is false; no minor compaction: "
            "minorCompactionThreshold is 0"
        ))  # fmt: skip
        self.collector.change(CollectorOptions(100, MINOR, CompactionKind(0.9, 0), force_allowed=True))
        self.assertEqual([len(found) for found in self.collector.obstacles().values()], [1, 0])

    def test_refusing_index(self) -> None:
        """While an index takes no changes, it is said that no collection and no compaction frees anything."""
        self.life.disk.fail(errno.EIO, when=lambda op: op.name == "commit", times=1 << 30)
        self.assertIn("0 bytes freed", self.said())
        (why,) = self.collector.refusals()
        self.assertRegex(why, "^/ledgers.*/current/index.sim: EIO: the index takes no changes, .*no space is freed")
        self.assertTrue(all(why in found for found in self.collector.obstacles().values()))
        self.life.disk.heal()
        self.assertNotIn(" 0 bytes freed", self.said())
        self.assertEqual(self.collector.refusals(), ())

    def test_ended(self) -> None:
        """A compaction that a full disk ends is said to have been ended, and why; so is a failure."""
        self.start(CollectorOptions(100, MINOR, MAJOR), Rate(bytes=1))
        self.life.maintenance.throttles.find(COMPACTION_READ).acquire(10_000)
        with capturedLogs() as events:
            self.collector.force()
            self.life.drain()
            self.assertEqual(self.state.phase, "major compaction")
            self.collector.disk_changed(almost_full=True, full=True, text="/l is full")
            self.life.drain()
        text = "\n".join(str(formatEvent(event)) for event in events)
        self.assertIn("; the major compaction was cancelled: /l is full; isForceGCAllowWhenNoSpace is false", text)
        self.disk.fail(errno.EIO, when=lambda op: op.name == "list", times=1)
        self.assertIn("; a part ended with an error: ", self.said())

    def test_full_again(self) -> None:
        """Of runs that a full disk forces, one after the other, nothing is said."""
        self.collector.change(CollectorOptions(100, MINOR, MAJOR, forced_when_full=True))
        with capturedLogs() as events:
            self.collector.disk_changed(almost_full=True, full=True)
            self.life.drain()
        self.assertEqual(self.counts, (1, 1, 0))
        self.assertFalse([event for event in events if "forced" in str(formatEvent(event))])

    def test_timed(self) -> None:
        """Of a run that nobody has requested, nothing is said."""
        with capturedLogs() as events:
            self.wait(100)
        self.assertEqual(self.state.runs, 1)
        self.assertFalse([event for event in events if "forced" in str(formatEvent(event))])


class CountTests(CollectorCase):
    """What counts as a compaction."""

    def test_failed_is_not_due_at_once(self) -> None:
        """After a compaction that failed, the next one is due when its interval has passed, not at the next run."""
        self.disk.fail(errno.ENOSPC, when=lambda op: op.name == "pwrite" and "compacting" in op.path)
        self.life.collect()
        self.assertEqual((self.counts, self.state.failures), ((1, 0, 0), 1))
        self.wait(100)
        self.assertEqual(self.counts, (2, 0, 0))
        self.wait(100)
        self.assertEqual(self.counts, (3, 0, 1))

    def test_failed_before(self) -> None:
        """A compaction that had nothing to do in a collection that failed before is none, and none that has ended."""
        self.life.collect()
        self.disk.fail(errno.EIO, when=lambda op: op.name == "list", times=1)
        for minors in (0, 1):
            self.collector.force(major=False, minor=True)
            self.life.drain()
            self.assertEqual((self.state.failures, self.counts), (1, (2 + minors, 1, minors)))
            self.assertEqual(self.state.ended_minor is not None, bool(minors))

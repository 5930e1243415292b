"""The times of checkpoints, and the log lines about those that last very long."""

from typing import Any

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.checkpoint_times import LINE_INTERVAL, VERY_LONG, CheckpointTimes

from .rig import Rig, run


class TimesTests(SynchronousTestCase):
    """Of checkpoints that begin and end when the test says so."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.full = False
        self.times = CheckpointTimes(self.clock, lambda: self.full, ", ".join)

    def checkpoint(self, seconds: float, is_full: bool = False) -> None:
        """A checkpoint that lasts so long."""
        self.times.begin(["/l/current"])
        self.full = is_full
        self.clock.advance(seconds)
        self.times.end()
        self.full = False

    def test_seconds(self) -> None:
        """A checkpoint lasts from its begin to its end; adds wait for it if the write cache is full."""
        self.clock.advance(5)
        self.assertEqual((self.times.seconds, self.times.is_blocking), (0.0, False))
        self.times.begin(["/l/current"])
        self.clock.advance(3)
        self.assertEqual((self.times.seconds, self.times.is_blocking), (3.0, False))
        self.full = True
        self.assertTrue(self.times.is_blocking)
        self.times.end()
        self.assertEqual((self.times.seconds, self.times.is_blocking), (0.0, False))

    def test_blocked(self) -> None:
        """The seconds that count are those, between the two times, of checkpoints at whose end the cache was full."""
        self.checkpoint(10)  # from 0 to 10
        self.checkpoint(10, True)  # from 10 to 20
        self.clock.advance(10)
        self.times.begin(["/l/current"])  # at 30
        self.clock.advance(10)
        self.assertEqual(self.times.blocked_seconds(0, 40), 10)
        self.assertEqual(self.times.blocked_seconds(12, 15), 3)
        self.full = True
        self.assertEqual(self.times.blocked_seconds(15, 35), 10)
        self.assertEqual(self.times.blocked_seconds(21, 29), 0)
        self.times.end()

    def test_lines(self) -> None:
        """A checkpoint that lasts very long is one line, and its end another; the quick ones are none."""
        with capturedLogs() as events:
            self.checkpoint(VERY_LONG - 1)
            self.clock.advance(1000)
            self.times.begin(["/l/current", "/m/current", "/n/current"])
            self.times.written("/m/current")
            self.clock.advance(VERY_LONG)
            self.clock.advance(3600)
            self.times.end()
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "a checkpoint has lasted for 30 s: it waits for /l/current, /n/current: the disk does not answer, or "
                "is slow; adds wait as soon as the write cache is full",
                "the checkpoint that has lasted very long ended after 3630 s",
            ],
        )
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn, LogLevel.info])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_bounded(self) -> None:
        """Many long checkpoints in a row have a line now and then, and one that never ends has its line, too."""
        with capturedLogs() as events:
            for _ in range(30):
                self.checkpoint(60)
        self.assertEqual(len(events), 2 * 30 * 60 // LINE_INTERVAL)
        with capturedLogs() as events:
            self.checkpoint(40)
            self.times.begin(["/l/current"])
            self.clock.advance(LINE_INTERVAL)
        self.assertIn("a checkpoint has lasted for 600 s", str(formatEvent(events[-1])))
        self.times.end()

    def test_stuck(self) -> None:
        """The line of a bookie's checkpoint names the directories whose disks may hang, and of which kind they are."""
        rig = Rig(ledger_dirs=2)
        for ledger_id in (0, 1):
            rig.add(run(ledger_id, 0))
        rig.drain()
        before = "the journal directory /journal0/current, where old files are deleted or recycled, or the next one is "
        for steps, where in (
            ((), "the ledger directories /ledger0/current, /ledger1/current"),
            (("flush-1",), "the ledger directory /ledger0/current"),
            (("flush-0", "flush-1"), before + "prepared"),
        ):
            rig.clock.advance(LINE_INTERVAL)
            checkpointing = rig.engine.checkpointer.checkpoint()
            for thread in steps:
                rig.executor.step(thread)
            with capturedLogs() as events:
                rig.clock.advance(VERY_LONG)
                rig.drain()
            self.assertTrue(self.successResultOf(checkpointing))
            first, second = [str(formatEvent(event)) for event in events]
            self.assertIn(f"a checkpoint has lasted for 30 s: it waits for {where}: the disk ", first)
            self.assertEqual(second, "the checkpoint that has lasted very long ended after 30 s")

    def test_log_marks(self) -> None:
        """While the log marks of the journals are written, a checkpoint waits for the ledger directory of the mark."""
        rig, seen = Rig(journals=2, ledger_dirs=2), list[str]()
        times = rig.engine.checkpointer.times

        def look(op: Any) -> bool:
            seen.append(f"{op.path} {times.waits_for}")
            return False

        for ledger_id in (0, 1):
            rig.add(run(ledger_id, 0))
        rig.drain()
        self.assertEqual(times.waits_for, "")
        rig.engine.checkpointer.checkpoint()
        rig.executor.step("flush-0")
        rig.executor.step("flush-1")
        rig.disk.fail(5, when=look)
        rig.executor.step("flush")
        marks = [text for text in seen if "lastMark" in text]
        self.assertEqual({text.split("/")[1] for text in marks}, {"ledger0", "ledger1"})
        for text in marks:
            directory = text.split("/")[1]
            self.assertTrue(text.endswith(
                f" the ledger directory /{directory}/current, where it writes the log marks of the journals"), text)
        rig.drain()
        self.assertEqual(times.waits_for, "")

    def test_index(self) -> None:
        """The index of a ledger directory may be on another disk, which is named, too."""
        rig = Rig(index_dirs="/index")
        rig.add(run(0, 0))
        rig.drain()
        rig.engine.checkpointer.checkpoint()
        self.assertEqual(rig.engine.checkpointer.times.waits_for,
                         "the ledger directory /ledger0/current with its index in /index0/current")
        rig.drain()

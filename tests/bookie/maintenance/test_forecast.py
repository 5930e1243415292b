"""What a compaction will copy is known before it begins."""

import errno
from collections.abc import Sequence

from bookkeeper_twisted.bookie.admin import EntryLogSpace
from bookkeeper_twisted.bookie.maintenance.control import BackgroundControl
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind
from bookkeeper_twisted.bookie.maintenance.maintenance import SCRUB
from bookkeeper_twisted.bookie.maintenance.progress import Progress
from bookkeeper_twisted.limits.ratelimit import Rate

from .test_garbage_collector import MAJOR, CollectorCase

EMPTY = CompactionKind(0.01, 200)
NONE = CompactionKind(0.0, 0)


class ForecastTests(CollectorCase):
    """What an operator is told about a compaction that has not begun."""

    def _told(self) -> Sequence[EntryLogSpace]:
        """What is told about the sealed logs."""
        found: list[EntryLogSpace] = []
        BackgroundControl(self.life.maintenance, self.life.clock, ()).log_space().addCallback(found.extend)
        self.life.drain()
        return found

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
        maintenance.scrubber.state.progress = progress = Progress(clock.seconds(), left=2_000_000)

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

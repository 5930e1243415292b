"""What a compaction will copy is known before it begins."""

import errno
from collections.abc import Sequence

from bookkeeper_twisted.bookie.admin import EntryLogSpace
from bookkeeper_twisted.bookie.maintenance.control import BackgroundControl
from bookkeeper_twisted.bookie.maintenance.garbage_collector import CollectorOptions, CompactionKind

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

    def test_kinds(self) -> None:
        """Each kind of compaction has its own logs."""
        self._delete()
        self.collector.change(CollectorOptions(100, MAJOR, NONE))
        self.assertEqual([(log.major, log.minor) for log in self._told()], [(False, True)] * 2)

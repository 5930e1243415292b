"""A compaction beside clients that add."""

from collections import deque

from bookkeeper_twisted.bookie.group_commit import GroupCommit
from bookkeeper_twisted.bookie.maintenance import maintained
from bookkeeper_twisted.bookie.maintenance.compactor import REST
from bookkeeper_twisted.storage.maintenance.row_reader import RowReader, Step, VerifiedRow

from .test_garbage_collector import CollectorCase

_WORK = 2.0  # seconds


class RestTests(CollectorCase):
    """A compaction of several steps."""

    def setUp(self) -> None:
        super().setUp()
        verified = RowReader.verified

        def slowly(reader: RowReader, step: Step) -> list[VerifiedRow]:
            self.life.clock.advance(_WORK)
            return verified(reader, step)

        self.patch(RowReader, "verified", slowly)
        self.patch(maintained, "STEP_BYTES", 300)
        self.patch(GroupCommit, "is_busy", True)
        self.collector.force()
        self.life.drain()

    def test_rests(self) -> None:
        """It rests after each step, for a part of the time that the step has taken, and no more without clients."""
        for _ in range(2):
            self.assertEqual(self.state.phase, "major compaction")
            self.life.clock.advance(_WORK * REST * 0.9)
            self.assertEqual(self.life.executor.queued, deque())
            self.life.clock.advance(_WORK * REST * 0.2)
            self.assertNotEqual(self.life.executor.queued, deque())
            self.life.drain()
        self.patch(GroupCommit, "is_busy", False)
        self.wait(_WORK * REST)
        self.assertEqual(self.counts, (1, 1, 0))

    def test_suspended(self) -> None:
        """One that is suspended while it rests does nothing after that, until it is resumed."""
        self.collector.suspend_compaction()
        self.life.clock.advance(_WORK * REST * 1.1)
        self.assertEqual(self.life.executor.queued, deque())
        self.collector.resume_compaction()
        self.assertNotEqual(self.life.executor.queued, deque())

    def test_cancelled(self) -> None:
        """One that rests can be cancelled, and leaves nothing behind."""
        for _ in range(3):
            self.wait(_WORK * REST)
        self.assertEqual((self.state.phase, self.life.is_copying()), ("major compaction", True))
        self.collector.cancel()
        self.life.drain()
        self.assertEqual((self.state.phase, self.life.is_copying()), ("idle", False))

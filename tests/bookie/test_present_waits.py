"""What a bookie waits for at present, before anything has ended."""

from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import SYNC, CommitOptions
from bookkeeper_twisted.bookie.requests.slow_requests import CHECKPOINT, DISK, ROOM, ROOM_ON_DISK, THREAD
from bookkeeper_twisted.http.console.diagnosis import bottleneck
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .rig import Rig, run


class PresentWaitsTests(SynchronousTestCase):
    """A bookie whose disks hang."""

    def setUp(self) -> None:
        self.rig = Rig()

    def waits(self) -> dict[str, float]:
        """The waits that last."""
        return {wait.waited_for: wait.seconds for wait in self.rig.engine.present_waits() if wait.seconds}

    def verdict(self) -> str:
        """What the console answers; no request was slow."""
        return bottleneck((), (), 0.0, "200", None, self.rig.engine.present_waits()).text

    def test_journal(self) -> None:
        """The write of a journal that hangs is a wait from its begin to its end."""
        self.rig.add(run(1, 0))
        self.assertEqual(self.rig.executor.busy_threads(), ["journal-0"])
        self.rig.clock.advance(12)
        self.assertEqual(self.waits(), {SYNC: 12})
        self.assertEqual(self.verdict(), "the disk: the write and the sync of the journal have lasted for 12 s")
        self.rig.drain()
        self.assertEqual(self.waits(), {})

    def test_reads(self) -> None:
        """The oldest of the reads that hang counts, until each has ended."""
        self.rig.add(run(1, 0, 10))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        for entry_id in (1, 2):
            self.rig.bookie.load([(1, entry_id, 0)])
            self.rig.clock.advance(2)
        self.assertEqual(self.waits(), {DISK: 4})
        self.assertEqual(self.verdict(), "the disk: a read of the disk has lasted for 4 s")
        self.rig.executor.step("read")
        self.assertEqual(self.waits(), {DISK: 2})
        self.rig.drain()
        self.assertEqual(self.waits(), {})

    def test_read_threads(self) -> None:
        """Reads that wait behind many short ones wait for a read thread; behind one that takes long, for the disk."""
        self.rig.add(run(1, 0, 10))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        for took, expected in ((0.05, {THREAD: 3.0}), (0.5, {DISK: 3.0})):
            self.rig = self.rig.restart()
            for _ in range(61):
                self.rig.bookie.load([(1, 1, 0)])
            load = self.rig.storage.load
            self.patch(self.rig.storage, "load", partial(self.slowly, took, load))
            for _ in range(round(3 / took)):
                self.rig.executor.step("read")
            self.assertEqual({name: round(seconds, 6) for name, seconds in self.waits().items()}, expected)
        self.assertEqual(self.verdict(), "the disk: a read of the disk has lasted for 3 s")

    def slowly(self, seconds: float, load: Callable[..., Any], *args: Any) -> Any:
        """A read that takes some time."""
        self.rig.clock.advance(seconds)
        return load(*args)

    def test_running_read(self) -> None:
        """A read that hangs on its thread is a wait for the disk, and so are the reads behind it."""
        self.rig.add(run(1, 0, 10))
        self.rig.drain()
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        seen = []

        def hang(*args: Any) -> None:
            self.rig.clock.advance(7)
            seen.append(self.waits())
            self.rig.clock.advance(1)

        self.patch(self.rig.storage, "load", hang)
        for number in range(2):
            self.rig.bookie.load([(1, number, 0)])
            self.rig.clock.advance(2)
        self.rig.executor.step("read")
        self.assertEqual((seen, self.waits()), ([{DISK: 9.0}], {DISK: 10.0}))

    def test_checkpoint(self) -> None:
        """Adds wait for the disk while a checkpoint hangs; a checkpoint that lasts very long counts without adds."""
        self.rig = Rig(storage=StorageSettings(write_cache_bytes=4000))
        for number in range(3):
            self.rig.clock.advance(2)
            self.rig.add(run(7, 100 * number, 60))
            while self.rig.executor.step("journal-0"):
                pass
        self.rig.clock.advance(8)
        self.assertEqual(self.waits(), {ROOM_ON_DISK: 8})
        where = ": it waits for the ledger directory /ledger0/current"
        self.assertEqual(self.verdict(), f"the disk: adds have waited for 8 s for {ROOM_ON_DISK}{where}")
        self.rig.clock.advance(17)
        self.assertEqual(self.waits(), {})
        self.rig.clock.advance(10)
        self.assertEqual(self.waits(), {CHECKPOINT: 37})
        self.assertEqual(self.verdict(), f"the disk: {CHECKPOINT} has lasted for 37 s{where}")
        self.rig.drain()
        self.assertEqual(self.waits(), {})

    def test_queue(self) -> None:
        """Adds that wait for the queue of a journal that writes wait for room, with no disk to blame."""
        self.rig = Rig(options=EngineOptions(commit=CommitOptions(max_queued_bytes=0)))
        self.rig.add(run(1, 0))
        self.rig.clock.advance(2)
        self.assertEqual(self.waits(), {ROOM: 2})
        self.assertEqual(self.verdict(), f"the queue: adds have waited for 2 s for {ROOM}")

    def test_held_up(self) -> None:
        """The time in which the process was stopped is no wait for a disk."""
        slow = self.rig.engine.context.slow
        slow.limit(200)
        self.addCleanup(slow.stop)
        self.rig.add(run(1, 0))
        self.assertEqual(self.rig.executor.busy_threads(), ["journal-0"])
        self.rig.clock.advance(12)
        self.assertLess(self.waits()[SYNC], 0.1)
        self.rig.clock.pump([1 / 128] * 256)
        self.assertApproximates(self.waits()[SYNC], 2.0, 0.1)

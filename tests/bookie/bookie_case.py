"""A test case with a bookie."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun

from .rig import Rig


class BookieTestCase(SynchronousTestCase):
    """A bookie."""

    def setUp(self) -> None:
        self.rig = Rig()
        self.bookie = self.rig.bookie

    def stored(self, entries: EntryRun) -> None:
        """Adds entries that are durable when it returns."""
        done = self.rig.add(entries)
        self.rig.drain()
        self.assertEqual(done, [None])

    def checkpoint(self) -> None:
        """Everything to disk, and out of the write caches."""
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()

    def refused(self, done: list[Exception | None], error: type[Exception]) -> None:
        self.assertEqual([type(e) for e in done], [error])

    def result(self, running: "Deferred[Any]") -> Any:
        self.rig.drain()
        return self.successResultOf(running)

"""What a reader knows of the end of its ledger."""

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.ledger_view import LedgerView
from bookkeeper_twisted.errors import LedgerClosedError, NoSuchLedgerMetadataError
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment

OPEN = LedgerMetadata(1, 1, 1, (Segment(0, ("b0",)),))
CLOSED = attrs.evolve(OPEN, state=LedgerState.CLOSED, last_entry_id=9, length=100)


class LedgerViewTests(SynchronousTestCase):
    """A view of an open ledger."""

    def setUp(self) -> None:
        """Nothing is known but the metadata."""
        self.view = LedgerView(3, Versioned(OPEN, 4))
        self.news = 0
        self.stop = self.view.listen(self.heard)

    def heard(self) -> None:
        """Something changed."""
        self.news += 1

    def known(self) -> tuple[int, int]:
        """LAC and length."""
        return self.view.last_add_confirmed, self.view.length

    def test_closed_ledger(self) -> None:
        """Of a closed ledger everything is known."""
        view = LedgerView(3, Versioned(CLOSED, 5))
        self.assertEqual((view.last_add_confirmed, view.length, view.closed, view.ended), (9, 100, True, True))

    def test_lac(self) -> None:
        """The LAC only rises (S13), and so does the length."""
        for lac, length, expected in ((3, 40, (3, 40)), (2, 30, (3, 40)), (7, 0, (7, 40)), (-1, 0, (7, 40))):
            self.view.confirmed(lac, length)
            self.assertEqual(self.known(), expected)
        self.assertEqual(self.news, 2)

    def test_new_ensemble(self) -> None:
        """What is before a new ensemble is confirmed."""
        self.view.stored(Versioned(attrs.evolve(OPEN, segments=(*OPEN.segments, Segment(6, ("b1",)))), 5))
        self.assertEqual((self.view.last_add_confirmed, self.view.metadata.ensemble_at(6)), (5, ("b1",)))
        self.assertFalse(self.view.ended)

    def test_close(self) -> None:
        """With the end everything is known, and nothing that bookies say changes it (S14)."""
        self.view.confirmed(5, 60)
        self.view.stored(Versioned(CLOSED, 5))
        self.view.confirmed(20, 300)
        self.assertEqual(self.known(), (9, 100))
        self.assertTrue(self.view.closed)
        self.view.check_growing()

    def test_old_news(self) -> None:
        """Metadata that is older than what is known is ignored."""
        self.view.stored(Versioned(CLOSED, 5))
        self.view.stored(Versioned(OPEN, 5))
        self.view.stored(Versioned(OPEN, 4))
        self.assertTrue(self.view.closed)
        self.assertEqual(self.news, 1)

    def test_moved(self) -> None:
        """The bookies of a closed ledger may change."""
        self.view.stored(Versioned(CLOSED, 5))
        self.view.stored(Versioned(attrs.evolve(CLOSED, segments=(Segment(0, ("b7",)),)), 6))
        self.assertEqual(self.view.metadata.ensemble_at(0), ("b7",))

    def test_deleted(self) -> None:
        """There is nothing to wait for in a ledger that was deleted; what is known stays."""
        self.view.confirmed(5)
        self.view.stored(None)
        self.assertTrue(self.view.ended)
        self.assertRaises(NoSuchLedgerMetadataError, self.view.check_growing)
        self.view.check()
        self.assertEqual(self.view.last_add_confirmed, 5)

    def test_handle_closed(self) -> None:
        """A closed handle is good for nothing."""
        self.view.check()
        self.view.close()
        self.assertRaises(LedgerClosedError, self.view.check)
        self.assertRaises(LedgerClosedError, self.view.check_growing)
        self.assertEqual(self.news, 1)

    def test_stop_listening(self) -> None:
        """A listener that was removed is not called any more; removing it twice is harmless."""
        self.stop()
        self.stop()
        self.view.confirmed(5)
        self.assertEqual(self.news, 0)


class CountedWatches:
    """Counts the watches that were not ended.

    :ivar watches: how many.
    """

    def __init__(self, ledgers: Any) -> None:
        self.watches = 0
        self._ledgers = ledgers

    def watch(self, ledger_id: int, listener: Callable[..., None]) -> Callable[[], None]:
        """See :meth:`~bookkeeper_twisted.metadata.interfaces.ILedgerManager.watch`."""

        def end() -> None:
            self.watches -= 1
            stop()

        stop = self._ledgers.watch(ledger_id, listener)
        self.watches += 1
        return end


class FollowTests(SynchronousTestCase):
    """A view that follows the stored metadata."""

    def setUp(self) -> None:
        """Stores the ledger."""
        self.clock = Clock()
        self.driver: Any = MemoryStore().driver(self.clock)
        self.do(self.driver.open())
        stored = self.do(self.driver.ledgers.create(3, OPEN))
        self.view = LedgerView(3, stored)
        self.ledgers = CountedWatches(self.driver.ledgers)
        self.follow(self.view)

    def follow(self, view: LedgerView) -> None:
        """Begins to follow."""
        ledgers: Any = self.ledgers
        view.follow(ledgers)

    def do(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def write(self, metadata: LedgerMetadata) -> None:
        """Stores other metadata."""
        version = self.do(self.driver.ledgers.read(3)).version
        self.do(self.driver.ledgers.write(3, metadata, version))
        self.clock.pump([0] * 5)

    def watched(self) -> bool:
        """Whether the driver still watches anything."""
        return self.ledgers.watches > 0

    def test_until_closed(self) -> None:
        """New ensembles and the end arrive; then the watch is removed."""
        self.write(attrs.evolve(OPEN, segments=(*OPEN.segments, Segment(6, ("b1",)))))
        self.assertEqual(self.view.last_add_confirmed, 5)
        self.assertTrue(self.watched())
        self.write(CLOSED)
        self.assertEqual(self.view.last_add_confirmed, 9)
        self.assertFalse(self.watched())

    def test_deleted(self) -> None:
        """A deletion arrives, and ends it."""
        self.do(self.driver.ledgers.remove(3))
        self.clock.pump([0] * 5)
        self.assertTrue(self.view.ended)
        self.assertFalse(self.watched())

    def test_handle_closed(self) -> None:
        """Closing the handle removes the watch."""
        self.clock.pump([0] * 5)
        self.view.close()
        self.assertFalse(self.watched())

    def test_closed_ledger(self) -> None:
        """A closed ledger is not followed."""
        self.view.close()
        view = LedgerView(3, Versioned(CLOSED, 9))
        self.follow(view)
        self.assertFalse(self.watched())

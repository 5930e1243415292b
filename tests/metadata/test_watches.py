"""When watches read, and what goes wrong in between."""

from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.watches import RETRY_SECONDS, Bookies, StoredLedger, Watches
from bookkeeper_twisted.testing.contracts.metadata.metadata_suites import OPEN


class _Unreadable(dict[int, StoredLedger]):
    """Ledgers of a store that fails."""

    def get(self, key: int, default: object = None) -> StoredLedger:
        raise ZeroDivisionError


class WatchesTests(SynchronousTestCase):
    """:class:`Watches` over readings that the test gives."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.reads: list[str] = []
        self.revision = 0
        self.bookies: Bookies = frozenset(), frozenset()
        self.ledgers: dict[int, StoredLedger] = {1: Versioned(OPEN, 0)}
        self.hold: Deferred[None] | None = None
        self.watches = self._make(0.25)

    def _make(self, interval: float | None) -> Watches:
        return Watches(self.clock, interval, self._read_revision, self._read_bookies, self._read_ledger)

    async def _read_revision(self) -> object:
        self.reads.append("revision")
        return self.revision

    async def _read_bookies(self) -> Bookies:
        self.reads.append("bookies")
        if self.hold is not None:
            await self.hold
        return self.bookies

    async def _read_ledger(self, ledger_id: int) -> StoredLedger:
        self.reads.append(f"ledger {ledger_id}")
        return self.ledgers.get(ledger_id)

    def test_reads_only_what_may_have_changed(self) -> None:
        """Ledgers are read again only after a write, bookies always: they die without one."""
        told: list[object] = []
        self.watches.watch_ledger(1, told.append)
        self.watches.watch_bookies(lambda *news: told.append(news))
        self.clock.advance(0)
        self.reads.clear()
        self.clock.advance(0.25)
        self.assertEqual(self.reads, ["bookies", "revision"])
        self.revision, self.ledgers[1] = 1, Versioned(OPEN, 1)
        self.clock.advance(0.25)
        self.assertEqual(self.reads[2:], ["bookies", "revision", "ledger 1"])
        self.assertEqual(told, [self.bookies, Versioned(OPEN, 0), Versioned(OPEN, 1)])

    def test_new_watch_reads_its_own(self) -> None:
        """A new watch is told although nothing was written; the other ledgers are not read for it."""
        self.watches.watch_ledger(1, lambda news: None)
        self.clock.advance(0)
        self.reads.clear()
        told: list[object] = []
        self.watches.watch_ledger(2, told.append)
        self.clock.advance(0)
        self.assertEqual(self.reads, ["revision", "ledger 2"])
        self.assertEqual(told, [None])

    def test_failed_reading_of_a_ledger(self) -> None:
        """A change that could not be read is told by the next round, which has nothing newer to look for."""
        told: list[object] = []
        self.watches.watch_ledger(1, told.append)
        self.clock.advance(0)
        self.revision, good = 1, Versioned(OPEN, 1)
        self.ledgers = _Unreadable()
        self.clock.advance(0.25)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.ledgers = {1: good}
        self.clock.advance(0.25)
        self.assertEqual(told, [Versioned(OPEN, 0), good])

    def test_failed_round(self) -> None:
        """A failed reading is logged, and what it missed is told by the next round."""
        told: list[object] = []
        self.watches.watch_bookies(lambda *news: None)
        self.watches.watch_ledger(1, told.append)
        self.clock.advance(0)
        self.revision, self.ledgers[1] = 1, Versioned(OPEN, 1)
        self.hold = Deferred()
        self.hold.errback(ZeroDivisionError())
        self.clock.advance(0.25)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.hold = None
        self.clock.advance(0.25)
        self.assertEqual(told, [Versioned(OPEN, 0), Versioned(OPEN, 1)])

    def test_rounds_do_not_overlap(self) -> None:
        """Woken while a round waits, another one follows it at once."""
        self.watches.watch_bookies(lambda *news: None)
        self.hold = Deferred()
        self.clock.advance(0)
        self.watches.wake()
        self.clock.advance(10)
        self.assertEqual(self.reads, ["bookies"])
        hold, self.hold = self.hold, None
        hold.callback(None)
        self.clock.advance(0)
        self.assertEqual(self.reads, ["bookies", "revision", "bookies", "revision"])

    def test_store_that_tells(self) -> None:
        """Without an interval there is a round when it is woken, and no other."""
        self.watches = self._make(None)
        self.watches.watch_bookies(lambda *news: None)
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.watches.wake()
        self.clock.advance(0)
        self.assertEqual(self.reads, ["bookies", "revision"] * 2)

    def test_failed_round_of_a_store_that_tells(self) -> None:
        """A failed reading is made again although nobody wakes it: a deletion is told once, but it is told."""
        self.watches = self._make(None)
        told: list[object] = []
        self.watches.watch_bookies(lambda *news: None)
        self.watches.watch_ledger(1, told.append)
        self.hold = fail(MetadataError("the connection was lost"))
        with capturedLogs() as events:
            self.clock.advance(0)
            for _ in range(3):
                self.hold = fail(MetadataError("the connection was lost"))
                self.clock.advance(RETRY_SECONDS)
            self.hold, self.ledgers = None, {}
            self.clock.advance(RETRY_SECONDS)
        self.assertEqual(told, [None])
        self.assertEqual([event["log_level"].name for event in events], ["warn", "info"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop_during_a_round(self) -> None:
        """A round in progress when the watches are stopped calls no listener and logs nothing."""
        told: list[object] = []
        self.watches.watch_bookies(lambda *news: told.append(news))
        self.hold = Deferred()
        self.clock.advance(0)
        self.watches.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(told, [])
        self.assertRaises(MetadataError, self.watches.watch_ledger, 1, told.append)

    def test_listener_ends_another(self) -> None:
        """A watch that a listener ends is not told any more, not even the same news."""
        told: list[str] = []
        self.watches.watch_bookies(lambda *news: end())
        end = self.watches.watch_bookies(lambda *news: told.append("ended"))
        self.clock.advance(0)
        self.assertEqual(told, [])

    def test_listener_stops_all(self) -> None:
        """A listener may close the driver it was told by."""
        self.watches.watch_bookies(lambda *news: self.watches.stop())
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

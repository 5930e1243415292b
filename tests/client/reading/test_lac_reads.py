"""Asking for the LAC: by coverage, by the first that knows more, by waiting."""

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.lac_reads import Confirmed, LacReads
from bookkeeper_twisted.client.reading.ledger_view import LedgerView
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    DigestMatchError,
    LedgerClosedError,
    NoSuchLedgerError,
    ReadError,
    RequestTimeoutError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.batch_support import REMEMBERED
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.sealing import sealed

from .reading_case import make_context

LEDGER = 2
NAMES = ("b0", "b1", "b2")
OPEN = LedgerMetadata(3, 3, 2, (Segment(0, NAMES),))
CLOSED = attrs.evolve(OPEN, state=LedgerState.CLOSED, last_entry_id=9, length=100)


class LacCase(SynchronousTestCase):
    """Three bookies that know different things."""

    ensemble = OPEN

    def setUp(self) -> None:
        """Bookies know the LACs 3, 5 and 4, by the entry after each."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.digester = Digester(DigestType.CRC32C, b"")
        context = make_context(self.clock, self.bookies)
        self.support = context.poll_support
        self.view = LedgerView(LEDGER, Versioned(self.ensemble, 1))
        schedule = Schedule(3, self.ensemble.write_quorum_size, 2)
        self.reads = LacReads(context, self.digester, self.view, context.read_order(schedule))
        for name, lac in zip(NAMES, (3, 5, 4), strict=True):
            self.put(name, lac)

    def put(self, name: str, lac: int) -> None:
        """Give a bookie a LAC."""
        for entry_id in range(lac + 2):
            entry = sealed(self.digester, LEDGER, entry_id, entry_id - 1, entry_id, [b"x"]).entry(entry_id)
            self.bookies[name].entries.setdefault(LEDGER, {})[entry_id] = entry
        self.bookies[name].wake()

    def settled(self, work: Any, seconds: float = 0.0) -> "Deferred[Any]":
        """With all answers there."""
        deferred: Deferred[Any] = Deferred.fromCoroutine(work)
        self.clock.pump([seconds / 20] * 20)
        return deferred

    def result(self, work: Any, seconds: float = 0.0) -> Any:
        """What it gives."""
        return self.successResultOf(self.settled(work, seconds))

    def asked(self, operation: str) -> list[str]:
        """Bookies that got such requests."""
        return [name for name in NAMES for asked, *_ in self.bookies[name].requests if asked == operation]


class CoverageTests(LacCase):
    """Coverage, and the first that knows more."""

    def test_coverage(self) -> None:
        """The highest of answers that cover the ensemble is remembered; lower ones later change nothing (S13)."""
        self.assertEqual(self.result(self.reads.read()), 5)
        self.assertEqual((self.view.last_add_confirmed, self.view.length), (5, 7))
        self.bookies["b1"].up = False
        self.assertEqual(self.result(self.reads.read()), 5)

    def test_changed_meanwhile(self) -> None:
        """Bookies that were replaced while they were asked need not know the last entries: the new ones are asked."""
        for name in NAMES:
            self.bookies[name].delay = 1.0
        self.put("b3", 8)
        reading: Deferred[Any] = Deferred.fromCoroutine(self.reads.read())
        self.clock.advance(0.5)
        segments = (Segment(0, NAMES), Segment(6, ("b3", "b0", "b2")))
        self.view.stored(Versioned(attrs.evolve(OPEN, segments=segments), 2))
        self.clock.pump([0.5] * 6)
        self.assertEqual(self.successResultOf(reading), 8)
        self.assertEqual(self.asked("read_lac"), ["b0", "b0", "b1", "b2", "b2"])

    def test_uncovered(self) -> None:
        """One answer is not enough."""
        self.bookies["b1"].up = self.bookies["b2"].up = False
        self.failureResultOf(self.settled(self.reads.read()), ReadError)

    def test_any(self) -> None:
        """The first that knows more is believed."""
        self.bookies["b1"].delay = 1.0
        self.assertIn(self.result(self.reads.read_any()), (3, 4))

    def test_any_without_news(self) -> None:
        """If no bookie has more, all are waited for, and what is known stands; one answer is enough for that."""
        self.view.confirmed(8)
        self.assertEqual(self.result(self.reads.read_any()), 8)
        self.bookies["b1"].up = False
        self.bookies["b2"].fail("read", BookieIOError)
        self.assertEqual(self.result(self.reads.read_any()), 8)
        self.bookies["b0"].damage(LEDGER, 4)
        error = self.failureResultOf(self.settled(self.reads.read_any()), ReadError).value
        text = "bookie b0: .* digest .*; no connection to b1; I/O error at the bookie: bookie b2$"
        self.assertRegex(str(error), f"^too few bookies know the last add of ledger {LEDGER}: {text}")

    def test_any_without_answers(self) -> None:
        """Time-outs, a wrong password and the end of the client keep their own errors, whatever else failed."""
        self.bookies["b0"].up = False
        for name in ("b1", "b2"):
            self.bookies[name].silent = True
        error = self.failureResultOf(self.settled(self.reads.read_any(), 40.0), RequestTimeoutError).value
        self.assertRegex(str(error), ": no connection to b0; bookie b1 gave no reply in 5 s to .*; bookie b2 gave no")
        self.bookies["b1"].silent = False
        self.bookies["b1"].fail("read", lambda: UnauthorizedAccessError(LEDGER))
        error = self.failureResultOf(self.settled(self.reads.read_any(), 40.0), UnauthorizedAccessError).value
        self.assertEqual(str(error), f"unauthorized access: ledger {LEDGER}, bookie b1")
        self.bookies.close()
        self.failureResultOf(self.settled(self.reads.read_any()), ClientClosedError)

    def test_any_of_nothing(self) -> None:
        """That no bookie has an entry is an answer."""
        for name in NAMES:
            del self.bookies[name].entries[LEDGER]
        self.assertEqual(self.result(self.reads.read_any()), -1)

    def test_closed_ledger(self) -> None:
        """No bookie is asked about a ledger that is closed."""
        self.view.stored(Versioned(CLOSED, 2))
        self.assertEqual(self.result(self.reads.read()), 9)
        self.assertEqual(self.result(self.reads.read_any()), 9)
        self.assertEqual([self.bookies[name].requests for name in NAMES], [[], [], []])


class WaitTests(LacCase):
    """Waiting for an entry."""

    def wait(self, entry_id: int, timeout: float = 4.0) -> "Deferred[Any]":
        """A wait that has begun."""
        return self.settled(self.reads.wait(entry_id, timeout))

    def test_there_already(self) -> None:
        """An entry that is confirmed comes at once."""
        found = self.successResultOf(self.wait(2))
        self.assertEqual((found.entry.entry_id, found.entry.data), (2, b"x"))
        self.assertGreaterEqual(found.last_add_confirmed, 2)

    def test_comes(self) -> None:
        """One that is not comes with the news of it."""
        waiting = self.wait(6)
        self.assertNoResult(waiting)
        self.put("b1", 6)
        found = self.successResultOf(waiting)
        self.assertEqual((found.last_add_confirmed, found.entry.entry_id), (6, 6))

    def test_time_is_up(self) -> None:
        """Without news there is no entry, and no error."""
        waiting = self.wait(6, 4.0)
        self.clock.pump([0.1] * 39)
        self.assertNoResult(waiting)
        self.clock.pump([0.1] * 2)
        self.assertEqual(self.successResultOf(waiting), Confirmed(5, None))
        self.assertEqual([self.bookies[name].waiting for name in NAMES], [{}, {}, {}])

    def test_slow_company(self) -> None:
        """When a bookie does not answer for a while, another one is asked as well and gives the LAC."""
        for name in NAMES:
            self.bookies[name].silent = name != "b2"
        waiting = self.wait(5)
        self.clock.pump([0.1] * 35)
        self.put("b2", 5)
        self.clock.pump([0.1] * 10)
        self.assertEqual(self.successResultOf(waiting).last_add_confirmed, 5)

    def test_entry_elsewhere(self) -> None:
        """A bookie that learns the LAC without having the entry answers with the LAC."""
        for name in NAMES:
            self.bookies[name].entries[LEDGER].pop(6, None)
            self.bookies[name].up = name == "b1"
        waiting = self.wait(6)
        entry = sealed(self.digester, LEDGER, 7, 6, 7, [b"x"]).entry(7)
        self.bookies["b1"].entries[LEDGER][7] = entry
        self.bookies["b1"].wake()
        self.settled(self.reads.read_any())
        self.assertEqual(self.successResultOf(waiting), Confirmed(6, None))

    def test_damaged(self) -> None:
        """An entry that does not verify is not given (S18): the next bookie is asked."""
        self.put("b1", 6)
        self.bookies["b1"].damage(LEDGER, 6)
        self.put("b2", 6)
        self.assertEqual(self.successResultOf(self.wait(6)).entry.data, b"x")
        self.put("b0", 6)
        for name in ("b0", "b2"):
            self.bookies[name].damage(LEDGER, 6)
        self.failureResultOf(self.wait(6), DigestMatchError)

    def test_errors(self) -> None:
        """The next bookie is asked after an error; if there is none left the most telling one is reported."""
        self.bookies["b1"].fail("long_poll", BookieHandleNotAvailableError)
        self.assertEqual(self.successResultOf(self.wait(2)).entry.entry_id, 2)
        self.bookies["b0"].fail("long_poll", BookieIOError)
        self.bookies["b2"].fail("long_poll", NoSuchLedgerError)
        self.failureResultOf(self.wait(2), BookieIOError)

    def test_end_of_the_ledger(self) -> None:
        """The wait ends when the ledger is closed, or has other bookies."""
        for change in (attrs.evolve(OPEN, segments=(*OPEN.segments, Segment(6, NAMES))), CLOSED):
            waiting = self.wait(20)
            self.view.stored(Versioned(change, self.view._version + 1))
            self.assertIsNone(self.successResultOf(waiting).entry)
            self.assertEqual([self.bookies[name].waiting for name in NAMES], [{}, {}, {}])
        self.assertEqual(self.view.last_add_confirmed, 9)

    def test_deleted(self) -> None:
        """It ends when the ledger is deleted."""
        waiting = self.wait(20)
        self.view.stored(None)
        self.assertIsNone(self.successResultOf(waiting).entry)

    def test_handle_closed(self) -> None:
        """It fails when the handle is closed."""
        waiting = self.wait(20)
        self.view.close()
        self.failureResultOf(waiting, LedgerClosedError)


class BatchWaitTests(LacCase):
    """Waiting for entries, as many as come together."""

    def wait(self, first: int, timeout: float = 4.0, max_size: int = 1 << 16) -> "Deferred[Any]":
        """A wait that has begun."""
        return self.settled(self.reads.wait_for_batch(first, timeout, max_size))

    def ids(self, waiting: "Deferred[Any]") -> list[int]:
        """What came."""
        batch = self.successResultOf(waiting)
        return [] if batch is None else list(batch.ids)

    def test_all_that_is_confirmed(self) -> None:
        """What is confirmed comes, and never more, although the bookie gives what it has (S12)."""
        self.bookies["b0"].up = self.bookies["b2"].up = False
        self.assertEqual(self.ids(self.wait(2)), [2, 3, 4, 5])
        waiting = self.wait(6)
        self.assertNoResult(waiting)
        self.put("b1", 9)
        self.assertEqual(self.ids(waiting), [6, 7, 8, 9])
        self.assertEqual(self.view.last_add_confirmed, 9)

    def test_size(self) -> None:
        """A batch has at most so many bytes."""
        self.bookies["b0"].up = self.bookies["b2"].up = False
        self.assertEqual(self.ids(self.wait(2, max_size=1)), [2])

    def test_time_is_up(self) -> None:
        """Without news there is nothing, whether the entry is not there or not confirmed."""
        for name in NAMES:
            self.bookies[name].up = name == "b1"
        for first in (7, 6):
            waiting = self.wait(first)
            self.assertNoResult(waiting)
            self.clock.pump([0.1] * 41)
            self.assertEqual(self.ids(waiting), [])
        self.assertEqual(self.view.last_add_confirmed, 5)

    def test_old_bookie(self) -> None:
        """A bookie that does not know such a batch read gives one entry; this is remembered, for polls only."""
        self.bookies["b1"].fail("poll_batch", BadRequestError)
        self.bookies["b0"].up = self.bookies["b2"].up = False
        for first in (2, 3):
            self.assertEqual(self.ids(self.wait(first)), [first])
        self.assertEqual(self.asked("poll_batch").count("b1"), 1)
        self.assertEqual(self.asked("long_poll").count("b1"), 2)
        self.assertFalse(self.support.is_expected("b1"))
        self.clock.advance(REMEMBERED)
        self.assertTrue(self.support.is_expected("b1"))

    def test_outage(self) -> None:
        """That a bookie cannot be reached, or is late, says nothing of what it knows."""
        for error in (BookieHandleNotAvailableError, RequestTimeoutError):
            self.bookies["b1"].fail("poll_batch", error, times=1)
            self.assertTrue(self.ids(self.wait(2)))
            self.assertTrue(self.support.is_expected("b1"))

    def test_missing_at_one(self) -> None:
        """A bookie that missed the entry is followed by one that has it."""
        self.put("b1", 8)
        self.put("b2", 8)
        self.put("b0", 8)
        del self.bookies["b1"].entries[LEDGER][6]
        self.assertEqual(self.ids(self.wait(6)), [6, 7, 8])

    def test_damaged(self) -> None:
        """What verifies before a damaged entry is given; if that is the first, another bookie is asked (S18)."""
        for name in NAMES:
            self.put(name, 8)
            self.bookies[name].damage(LEDGER, 7)
        self.assertEqual(self.ids(self.wait(6)), [6])
        self.bookies["b2"].damage(LEDGER, 7)
        self.assertEqual(self.ids(self.wait(7)), [7, 8])


class StripedWaitTests(LacCase):
    """Where no bookie has everything."""

    ensemble = attrs.evolve(OPEN, write_quorum_size=2)

    def test_one_entry(self) -> None:
        """One entry comes; no batch is asked for."""
        batch = self.result(self.reads.wait_for_batch(2, 4.0, 1 << 16))
        self.assertEqual((list(batch.ids), list(batch.payloads)), ([2], [b"x"]))
        self.assertEqual(self.asked("poll_batch"), [])

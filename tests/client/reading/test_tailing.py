"""Following a ledger while it is written."""

from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client import BookKeeper, LedgerReader, LedgerWriter
from bookkeeper_twisted.client.reading.tailing import FIRST_PAUSE, LONGEST_PAUSE, POLL_TIME, PROMPT_TIME
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    IncorrectParameterError,
    LedgerClosedError,
    NoSuchLedgerMetadataError,
)
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import BookieServiceInfo, Entry
from bookkeeper_twisted.testing.bookies import MemoryBookies

NAMES = ("b0", "b1", "b2", "b3")


class TailCase(SynchronousTestCase):
    """A writer, and a reader that follows it."""

    quorums = (3, 3, 2)
    config = ClientConfig(explicit_lac_interval=0)

    def setUp(self) -> None:
        """Creates a ledger and opens it."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.store = MemoryStore()
        cluster: Any = self.store.driver(self.clock)
        self.do(cluster.open())
        for name in NAMES:
            self.do(cluster.registration.register_bookie(name, False, BookieServiceInfo()))
        self.bk = self.client()
        self.writer: LedgerWriter = self.do(self.bk.create_ledger(*self.quorums))
        self.ledger_id = self.writer.ledger_id
        self.reader: LedgerReader = self.do(self.client().open_ledger(self.ledger_id, recover=False))
        self.seen: list[Entry] = []

    def client(self) -> BookKeeper:
        """A client."""
        driver = self.store.driver(self.clock)
        self.do(driver.open())
        return BookKeeper(self.clock, driver, self.bookies, Random(3), self.config)

    def settle(self) -> None:
        """Everything goes its way, without time."""
        for _ in range(20):
            self.clock.advance(0)

    def do(self, work: Any) -> Any:
        """The result of a Deferred or coroutine."""
        deferred = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.settle()
        return self.successResultOf(deferred)

    def append(self, n: int = 1) -> None:
        """Appends one by one, so that each tells of the one before."""
        for _ in range(n):
            self.do(self.writer.append(b"%d" % (self.writer.last_add_pushed + 1)))

    def tail(self, start: int = 0) -> "Deferred[None]":
        """Begins to follow."""

        async def work() -> None:
            async for entry in self.reader.tail(start):
                self.assertLessEqual(entry.entry_id, self.reader.last_add_confirmed)
                self.seen.append(entry)

        running = Deferred.fromCoroutine(work())
        self.addCleanup(self._end, running)
        self.settle()
        return running

    @staticmethod
    def _end(running: "Deferred[None]") -> None:
        """Stops following, where the test did not."""
        running.addErrback(lambda _: None)
        running.cancel()

    def ids(self) -> list[int]:
        """Ids of what came, whose data are right."""
        self.settle()
        for entry in self.seen:
            self.assertEqual(entry.data, b"%d" % entry.entry_id)
        return [entry.entry_id for entry in self.seen]

    def requests(self) -> int:
        """How many there were."""
        return sum(len(self.bookies[name].requests) for name in NAMES)


class DefaultTests(TailCase):
    """The client as it is configured by default."""

    config = ClientConfig()

    def test_last_append(self) -> None:
        """An append that nothing follows reaches readers, each time, while its ledger stays open."""
        self.tail()
        for n in range(5):
            self.append()
            self.clock.pump([0.005] * 10)
            self.assertEqual(self.ids(), list(range(n + 1)))
            self.clock.pump([0.1] * 30)

    def test_last_of_a_striped_ledger(self) -> None:
        """Also where a bookie that has the next entry has not the last one."""
        self.quorums = (4, 2, 2)
        self.setUp()
        self.test_last_append()


class TailTests(TailCase):
    """From the first entry to the end of the ledger."""

    def test_as_they_come(self) -> None:
        """An entry comes as soon as a later one tells that it is confirmed, without time passing."""
        self.append()
        following = self.tail()
        for n in range(5):
            self.assertEqual(self.ids(), list(range(n)))
            self.append()
        self.assertNoResult(following)

    def test_batches(self) -> None:
        """What was confirmed before comes in few batches."""
        self.append(50)
        self.do(self.writer.close())
        found = list[list[int]]()

        async def follow() -> None:
            async for batch in self.reader.tail_batches(10):
                found.append([entry.entry_id for entry in batch])

        self.do(follow())
        self.assertEqual([entry_id for batch in found for entry_id in batch], list(range(10, 50)))
        self.assertLessEqual(len(found), 3)

    def test_end(self) -> None:
        """The end of the ledger brings the last entry, and ends the iteration."""
        following = self.tail()
        self.append(3)
        self.do(self.writer.close())
        self.assertEqual(self.ids(), [0, 1, 2])
        self.assertIsNone(self.successResultOf(following))
        self.assertTrue(self.reader.is_closed)

    def test_what_was_there(self) -> None:
        """What was written before comes first, from where it was asked to begin."""
        self.append(50)
        following = self.tail(45)
        self.assertEqual(self.ids(), [45, 46, 47, 48])
        self.do(self.writer.close())
        self.assertEqual(self.ids(), [45, 46, 47, 48, 49])
        self.successResultOf(following)

    def test_closed_ledger(self) -> None:
        """A closed ledger is read to its end; from beyond that there is nothing."""
        self.append(3)
        self.do(self.writer.close())
        self.successResultOf(self.tail())
        self.assertEqual(self.ids(), [0, 1, 2])
        self.successResultOf(self.tail(7))

    def test_recovered(self) -> None:
        """A recovery ends it as well as the writer does."""
        following = self.tail()
        self.append(3)
        self.do(self.client().open_ledger(self.ledger_id))
        self.clock.pump([0.1] * 30)
        self.assertEqual(self.ids(), [0, 1, 2])
        self.successResultOf(following)

    def test_ensemble_change(self) -> None:
        """New bookies are asked as soon as the writer has them."""
        following = self.tail()
        self.append(3)
        self.bookies[self.writer.metadata.segments[-1].bookies[0]].up = False
        self.append(5)
        self.clock.pump([0.1] * 100)
        self.assertEqual(len(self.reader.metadata.segments), 2)
        self.assertEqual(self.ids(), list(range(7)))
        self.do(self.writer.close())
        self.assertEqual(self.ids(), list(range(8)))
        self.successResultOf(following)

    def test_start(self) -> None:
        """Entries begin at 0."""
        self.assertRaises(IncorrectParameterError, self.reader.tail, -1)


class IdleWriterTests(TailCase):
    """A writer that pauses."""

    config = ClientConfig()

    def test_last_entry(self) -> None:
        """The last entry is given although no other follows, by default within 50 ms, whatever bookies have it."""
        for quorums in ((3, 3, 2), (4, 2, 2)):
            self.quorums = quorums
            self.setUp()
            self.append()
            self.tail()
            for n in range(1, 5):
                self.append(3)
                for _ in range(5):
                    self.clock.advance(0.01)
                    self.settle()
                self.assertEqual(self.ids(), list(range(3 * n + 1)))


class StripedTailTests(TailTests):
    """The same where no bookie has everything."""

    quorums = (3, 2, 2)


class RoundTripTests(TailCase):
    """What an entry costs."""

    def test_with_the_news(self) -> None:
        """What was confirmed together comes with the news of it, and is not asked for again."""
        self.append()
        self.tail()
        self.do(self.writer.append_many([b"%d" % n for n in range(1, 30)]))
        self.append()
        self.assertEqual(self.ids(), list(range(30)))
        asked = {operation for name in NAMES for operation, *_ in self.bookies[name].requests}
        self.assertEqual(asked & {"read_batch", "read_many", "long_poll", "poll_batch"}, {"poll_batch"})


class PatienceTests(TailCase):
    """What happens while nothing happens."""

    def test_no_busy_loop(self) -> None:
        """A quiet ledger costs a few polls for each poll time."""
        self.append(3)
        following = self.tail()
        before = self.requests()
        self.clock.pump([0.05] * int(10 * POLL_TIME / 0.05))
        self.assertLess(self.requests() - before, 10 * 4)
        self.assertNoResult(following)

    def test_no_busy_loop_on_nothing(self) -> None:
        """Nor does an empty ledger, after some time: its bookies answer at once that they have nothing."""
        following = self.tail()
        self.clock.pump([0.05] * int(PROMPT_TIME / 0.05))
        before = self.requests()
        self.clock.pump([0.05] * 600)
        self.assertLess(self.requests() - before, 3 * 30 / LONGEST_PAUSE + 20)
        self.append(2)
        self.clock.pump([0.05] * int(LONGEST_PAUSE / 0.05))
        self.assertEqual(self.ids(), [0])
        self.assertNoResult(following)

    def test_no_busy_loop_when_fenced(self) -> None:
        """Nor one that is fenced and not closed: its bookies answer at once that there is no news."""
        self.append(3)
        following = self.tail()
        for name in NAMES:
            self.bookies[name].fenced.add(self.ledger_id)
            self.bookies[name].wake()
        before = self.requests()
        self.clock.pump([0.05] * 600)
        self.assertLess(self.requests() - before, 3 * 30 / LONGEST_PAUSE + 20)
        self.assertNoResult(following)
        self.do(self.writer.close())
        self.assertEqual(self.ids(), [0, 1, 2])
        self.successResultOf(following)

    def test_pause_grows(self) -> None:
        """The pauses between polls without news begin short."""
        self.assertLess(FIRST_PAUSE, LONGEST_PAUSE)
        self.tail()
        before = self.requests()
        self.clock.advance(FIRST_PAUSE)
        self.assertGreater(self.requests(), before)

    def test_pause_after_news(self) -> None:
        """Each piece of news makes the next pause short again."""
        self.append(3)
        self.tail()
        self._fence(True)
        self.clock.pump([0.05] * 200)
        self._fence(False)
        self.append()
        self.clock.pump([0.05] * 50)
        self.assertEqual(self.ids(), [0, 1, 2])
        before = self.requests()
        self._fence(True)
        self.clock.pump([FIRST_PAUSE] * 4)
        polls = (self.requests() - before) / len(NAMES)
        self.assertGreaterEqual(polls, 1)

    def _fence(self, fenced: bool) -> None:
        """Makes all bookies answer polls at once, or wait for news."""
        for name in NAMES:
            holders = self.bookies[name].fenced
            holders.add(self.ledger_id) if fenced else holders.discard(self.ledger_id)
            self.bookies[name].wake()

    def test_slow_bookie(self) -> None:
        """A bookie that hangs does not hold it up longer than its patience."""
        self.append(3)
        for name in NAMES:
            self.bookies[name].silent = name == self.reader.metadata.segments[-1].bookies[0]
        following = self.tail()
        for _ in range(4):
            self.append()
            self.clock.pump([0.1] * 30)
        self.assertEqual(self.ids(), list(range(6)))
        self.assertNoResult(following)


class EndingTests(TailCase):
    """Ways to stop."""

    def setUp(self) -> None:
        """Three entries were written, two seen."""
        super().setUp()
        self.append(3)
        self.following = self.tail()
        self.assertEqual(self.ids(), [0, 1])

    def assert_quiet(self) -> None:
        """Nothing is asked any more."""
        self.settle()
        before = self.requests()
        self.clock.pump([1.0] * 20)
        self.assertEqual(self.requests(), before)
        self.assertEqual([len(self.bookies[name].waiting) for name in NAMES], [0] * 4)

    def test_cancel(self) -> None:
        """Cancelling ends the polls."""
        self.following.cancel()
        self.failureResultOf(self.following, CancelledError)
        self.assert_quiet()

    def test_handle_closed(self) -> None:
        """Closing the handle ends the iteration with an error, and its watch."""
        self.do(self.reader.close())
        self.failureResultOf(self.following, LedgerClosedError)
        self.assert_quiet()

    def test_deleted(self) -> None:
        """So does the end of the ledger by deletion."""
        self.do(self.bk.delete_ledger(self.ledger_id))
        self.settle()
        self.failureResultOf(self.following, NoSuchLedgerMetadataError)
        self.assert_quiet()

    def test_nobody_there(self) -> None:
        """When no bookie can be reached the caller is told."""
        for name in NAMES:
            self.bookies[name].up = False
        self.clock.pump([0.5] * 60)
        self.failureResultOf(self.following, BookieHandleNotAvailableError)
        self.assert_quiet()

    def test_disconnected(self) -> None:
        """A bookie that is lost during the poll is followed by another."""
        for name in NAMES:
            self.bookies[name].fail("poll_batch", BookieHandleNotAvailableError, times=1)
        self.clock.pump([0.5] * 20)
        self.append()
        self.clock.pump([0.5] * 4)
        self.assertEqual(self.ids(), [0, 1, 2])
        self.assertNoResult(self.following)

    def test_unreadable(self) -> None:
        """An entry that no replica gives ends it with the reason; what came before was given."""
        for name in NAMES:
            for operation in ("read_batch", "read_many"):
                self.bookies[name].fail(operation, BookieIOError, first=2)
            self.bookies[name].fail("poll_batch", BookieIOError)
        self.append(2)
        self.clock.pump([0.5] * 20)
        self.failureResultOf(self.following, BookieIOError)
        self.assertLessEqual(set(self.ids()), {0, 1, 2})

    def test_left(self) -> None:
        """A loop that is left asks no more."""
        self.following.cancel()
        self.failureResultOf(self.following, CancelledError)

        async def first() -> int:
            async for entry in self.reader.tail():
                return entry.entry_id
            return -1

        self.assertEqual(self.do(first()), 0)
        self.assert_quiet()

"""The reader: argument checks, ranges, batches, iteration."""

from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.lac_reads import Confirmed
from bookkeeper_twisted.client.reading.read_handle import LedgerReader
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    IncorrectParameterError,
    LedgerClosedError,
    NoSuchEntryError,
    ReadError,
)
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.model import DigestType, Entry, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.testing.bookies import MemoryBookies
from bookkeeper_twisted.testing.sealing import sealed

from .reading_case import make_context

LEDGER = 2
COUNT = 50


class LedgerReaderTests(SynchronousTestCase):
    """A closed ledger of fifty entries on one bookie, which has more than were confirmed."""

    def setUp(self) -> None:
        """Stores the entries."""
        self.clock = Clock()
        self.bookies = MemoryBookies(self.clock)
        self.driver: Any = MemoryStore().driver(self.clock)
        self.result(Deferred.fromCoroutine(self.driver.open()))
        self.ledgers = self.driver.ledgers
        self.digester = Digester(DigestType.CRC32C, b"")
        self.payloads = [b"%d" % n * 10 for n in range(COUNT)]
        run = sealed(self.digester, LEDGER, 0, -1, 0, [*self.payloads, b"never confirmed"])
        self.bookies["b0"].entries[LEDGER] = dict(enumerate(run.entries()))
        self.reader = self.make(COUNT - 1)

    def make(self, lac: int, read_ahead: int = 4096, frame: int = 1 << 20) -> LedgerReader:
        """A reader up to an entry."""
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("b0",)),), LedgerState.CLOSED, 500, lac)
        context = make_context(
            self.clock, self.bookies, self.ledgers, read_ahead_bytes=read_ahead, netty_max_frame_size_bytes=frame
        )
        return LedgerReader(context, LEDGER, Versioned(metadata, 0), self.digester)

    def settled(self, deferred: "Deferred[Any]") -> "Deferred[Any]":
        """With all answers there."""
        for _ in range(20):
            self.clock.advance(0)
        return deferred

    def result(self, deferred: "Deferred[Any]") -> Any:
        """What it gives."""
        return self.successResultOf(self.settled(deferred))

    def error(self, deferred: "Deferred[Any]", kind: type[Exception]) -> None:
        """It fails with this."""
        self.failureResultOf(self.settled(deferred), kind)

    def collect(self, iterator: Any) -> "Deferred[list[Any]]":
        """All that an iterator gives."""

        async def work() -> list[Any]:
            return [item async for item in iterator]

        return self.settled(Deferred.fromCoroutine(work()))

    def test_facts(self) -> None:
        """The handle knows its ledger's end."""
        reader = self.reader
        self.assertEqual((reader.ledger_id, reader.last_add_confirmed, reader.length), (LEDGER, COUNT - 1, 500))
        self.assertTrue(reader.is_closed)

    def test_read(self) -> None:
        """A range gives its entries in order, both ends included."""
        entries = self.result(self.reader.read(3, 6))
        self.assertEqual([(e.entry_id, e.data) for e in entries], [(n, self.payloads[n]) for n in range(3, 7)])
        self.assertIsInstance(entries[0], Entry)
        self.assertEqual(self.result(self.reader.read_entry(49)).data, self.payloads[49])

    def test_read_in_pieces(self) -> None:
        """A range that one reply does not hold is read on."""
        reader = self.make(COUNT - 1, frame=1024)
        entries = self.result(reader.read(0, COUNT - 1))
        self.assertEqual([e.data for e in entries], self.payloads)
        self.assertGreater(len(self.bookies["b0"].requests), 2)

    def test_read_overlaps(self) -> None:
        """A range of several replies is requested ahead of the one that is verified, within ``readAheadBytes``."""
        self.bookies["b0"].delay = 1.0
        running = self.make(COUNT - 1, 1200, 1024).read(0, COUNT - 1)
        under_way = []
        for _ in range(20):
            under_way.append(len(self.clock.getDelayedCalls()))
            self.clock.advance(1.0)
        self.assertEqual([e.data for e in self.successResultOf(running)], self.payloads)
        self.assertEqual((under_way[0], max(under_way)), (1, 3))

    def test_cancelled_read(self) -> None:
        """Cancelling a read of a range ends all requests of it that are under way."""
        self.bookies["b0"].delay = 1.0
        running = self.make(COUNT - 1, 1200, 1024).read(0, COUNT - 1)
        self.clock.pump([1.0, 1.0, 0.5])
        self.assertGreater(len(self.clock.getDelayedCalls()), 1)
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_failing_entry(self) -> None:
        """One entry that cannot be read fails the range."""
        del self.bookies["b0"].entries[LEDGER][5]
        self.error(self.reader.read(0, 9), NoSuchEntryError)
        self.assertEqual(len(self.result(self.reader.read(0, 4))), 5)

    def test_ranges(self) -> None:
        """Ranges that are none are refused, and so is what is beyond the LAC."""
        self.error(self.reader.read(-1, 3), IncorrectParameterError)
        self.error(self.reader.read(4, 3), IncorrectParameterError)
        self.error(self.reader.read(-5, -1), IncorrectParameterError)
        self.error(self.reader.read(0, COUNT), ReadError)
        self.error(self.reader.read_entry(COUNT), ReadError)
        self.error(self.make(-1).read_entry(0), ReadError)
        self.assertEqual(self.bookies["b0"].requests, [])

    def test_closed_client(self) -> None:
        """Beyond the LAC, too, it is the closed client that is reported."""
        self.bookies.close()
        self.error(self.reader.read_entry(COUNT), ClientClosedError)
        self.error(self.reader.read_batch(COUNT), ClientClosedError)
        self.assertRaises(ClientClosedError, self.reader.batches, 0, COUNT)

    def test_batch(self) -> None:
        """A batch begins where asked and has at most as many entries."""
        batch = self.result(self.reader.read_batch(10, 7))
        self.assertEqual((batch.first, batch.last), (10, 16))
        self.assertEqual(list(batch.payloads), self.payloads[10:17])

    def test_batch_is_clamped(self) -> None:
        """What is beyond the LAC is not asked for, whatever the count."""
        for count in (0, 100, 1 << 40):
            self.assertEqual(self.result(self.reader.read_batch(45, count)).last, COUNT - 1)
        self.assertEqual([count for *_, count in self.bookies["b0"].requests], [5, 5, 5])

    def test_batch_size(self) -> None:
        """Sizes: small gives one entry, none or too much give what a frame holds."""
        self.assertEqual(len(self.result(self.reader.read_batch(0, 0, 1))), 1)
        for size in (0, -7, 1 << 62):
            self.assertEqual(len(self.result(self.reader.read_batch(0, 0, size))), COUNT)

    def test_batch_arguments(self) -> None:
        """A negative start or count is refused, a start beyond the LAC is an error."""
        self.error(self.reader.read_batch(-1), IncorrectParameterError)
        self.error(self.reader.read_batch(0, -1), IncorrectParameterError)
        self.error(self.reader.read_batch(COUNT), ReadError)

    def test_entries(self) -> None:
        """Iterating gives every entry once, in order."""
        entries = self.successResultOf(self.collect(self.reader.entries()))
        self.assertEqual([e.data for e in entries], self.payloads)
        some = self.successResultOf(self.collect(self.reader.entries(5, 8)))
        self.assertEqual([e.entry_id for e in some], [5, 6, 7, 8])

    def test_batches(self) -> None:
        """Batches cover the range without gap or overlap, whatever the budget."""
        for budget in (1, 300, 1 << 20):
            batches = self.successResultOf(self.collect(self.make(COUNT - 1, budget).batches()))
            self.assertEqual([e for batch in batches for e in batch.ids], list(range(COUNT)))

    def test_nothing_to_iterate(self) -> None:
        """An empty ledger has no entries, nor has a range that begins after its end."""
        self.assertEqual(self.successResultOf(self.collect(self.make(-1).entries())), [])
        self.assertEqual(self.successResultOf(self.collect(self.reader.entries(10, 9))), [])

    def test_iteration_arguments(self) -> None:
        """Iterating from a negative id, or beyond the LAC, is refused."""
        self.assertRaises(IncorrectParameterError, self.reader.batches, -1)
        self.assertRaises(ReadError, self.reader.batches, 0, COUNT)
        self.assertRaises(IncorrectParameterError, self.reader.entries, -1)

    def test_iteration_error(self) -> None:
        """An error ends the iteration after what came before it."""
        self.bookies["b0"].fail("read_batch", BookieIOError, first=20)
        seen: list[int] = []

        async def work() -> None:
            async for entry in self.make(COUNT - 1, 300).entries():
                seen.append(entry.entry_id)

        self.failureResultOf(self.settled(Deferred.fromCoroutine(work())), BookieIOError)
        self.assertEqual(seen, list(range(len(seen))))
        self.assertTrue(seen)

    def test_abandoned_iteration(self) -> None:
        """A loop that is left stops reading at once: requests under way are cancelled, none follows."""
        self.bookies["b0"].delay = 1.0
        ended: list[str] = []

        async def work() -> None:
            async for _ in self.make(COUNT - 1, 400).entries():
                break
            ended.append("left")

        running = Deferred.fromCoroutine(work())
        self.clock.pump([1.0, 0.0, 0.0])
        self.successResultOf(running)
        asked = len(self.bookies["b0"].requests)
        self.assertEqual((ended, asked > 1), (["left"], True))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.clock.pump([1.0] * 5)
        self.assertEqual(len(self.bookies["b0"].requests), asked)

    def test_cancelled_iteration(self) -> None:
        """Cancelling what iterates ends the requests under way."""
        self.bookies["b0"].delay = 1.0
        running = self.collect(self.make(COUNT - 1, 400).entries())
        self.clock.pump([1.0, 0.0])
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_close(self) -> None:
        """A closed handle reads no more."""
        self.successResultOf(self.reader.close())
        self.error(self.reader.read(0, 1), LedgerClosedError)
        self.error(self.reader.read_batch(0), LedgerClosedError)

    def test_context_manager(self) -> None:
        """Leaving the context closes the handle."""

        async def work() -> bytes:
            async with self.reader as reader:
                return (await reader.read_entry(0)).data

        self.assertEqual(self.result(Deferred.fromCoroutine(work())), self.payloads[0])
        self.error(self.reader.read_entry(0), LedgerClosedError)

    def test_unconfirmed(self) -> None:
        """What is beyond the LAC can be read by those who know what it is."""
        (entry,) = self.result(self.reader.read_unconfirmed(COUNT, COUNT))
        self.assertEqual(entry.data, b"never confirmed")
        self.error(self.reader.read_unconfirmed(3, 2), IncorrectParameterError)
        self.error(self.reader.read_unconfirmed(-1, 2), IncorrectParameterError)
        self.error(self.reader.read_unconfirmed(COUNT, COUNT + 1), NoSuchEntryError)

    def test_last_add_confirmed(self) -> None:
        """Of a closed ledger everything is known without asking."""
        self.assertEqual(self.result(self.reader.read_last_add_confirmed()), COUNT - 1)
        self.assertEqual(self.result(self.reader.try_read_last_add_confirmed()), COUNT - 1)
        found = self.result(self.reader.read_last_add_confirmed_and_entry(COUNT, 5.0))
        self.assertEqual(found, Confirmed(COUNT - 1, None))
        found = self.result(self.reader.read_last_add_confirmed_and_entry(4, 5.0))
        self.assertEqual((found.last_add_confirmed, found.entry.data), (COUNT - 1, self.payloads[4]))
        self.error(self.reader.read_last_add_confirmed_and_entry(-1, 5.0), IncorrectParameterError)

    def test_open_ledger(self) -> None:
        """Of an open one its bookies are asked, or waited for."""
        reader = self.make_open()
        self.assertEqual(self.result(reader.read_last_add_confirmed()), 20)
        self.assertEqual((reader.last_add_confirmed, reader.is_closed), (20, False))
        waiting = reader.read_last_add_confirmed_and_entry(21, 60.0)
        self.settled(waiting)
        self.assertNoResult(waiting)
        run = sealed(self.digester, LEDGER, 23, 22, 0, [b"news"])
        self.bookies["b0"].entries[LEDGER] = {21: self.stored(21), 23: run.entry(23)}
        self.bookies["b0"].wake()
        found = self.result(waiting)
        self.assertEqual((found.last_add_confirmed, found.entry.data), (22, self.payloads[21]))
        self.assertEqual(reader.last_add_confirmed, 22)

    def test_closed_handle(self) -> None:
        """A closed handle waits for nothing."""
        reader = self.make_open()
        self.successResultOf(reader.close())
        self.error(reader.read_last_add_confirmed_and_entry(21, 60.0), LedgerClosedError)

    def stored(self, entry_id: int) -> bytes:
        """An entry as its bookie has it."""
        return sealed(self.digester, LEDGER, entry_id, -1, 0, [self.payloads[entry_id]]).entry(entry_id)

    def make_open(self) -> LedgerReader:
        """A reader of an open ledger whose LAC is 20."""
        self.bookies["b0"].entries[LEDGER] = {21: sealed(self.digester, LEDGER, 21, 20, 0, [b"x"]).entry(21)}
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("b0",)),))
        context = make_context(self.clock, self.bookies, self.ledgers)
        return LedgerReader(context, LEDGER, Versioned(metadata, 0), self.digester)

    def test_moved(self) -> None:
        """Entries that re-replication moved are found where they are now; without news the error stands."""
        self.bookies["b0"].up = False
        self.error(self.reader.read_entry(3), BookieHandleNotAvailableError)
        self.bookies["b1"].entries = self.bookies["b0"].entries
        moved = attrs.evolve(self.reader.metadata, segments=(Segment(0, ("b1",)),))
        self.result(Deferred.fromCoroutine(self.ledgers.create(LEDGER, moved)))
        self.error(self.reader.read_entry(3), BookieHandleNotAvailableError)  # the version says it is no newer
        self.result(Deferred.fromCoroutine(self.ledgers.write(LEDGER, moved, 0)))
        self.assertEqual(self.result(self.reader.read_entry(3)).data, self.payloads[3])
        self.assertEqual(self.reader.metadata.segments[0].bookies, ("b1",))

"""Reads, LACs and pressure, on the real storage over a simulated disk."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import BookieOptions
from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.group_commit import CommitOptions
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieIOError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    StorageFailedError,
    TooManyRequestsError,
    UnauthorizedAccessError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.storage.interfaces import LedgerRow
from bookkeeper_twisted.storage.ledger_storage import StorageSettings

from .bookie_case import BookieTestCase
from .rig import KEY, Rig, entry, run


class ReadTests(BookieTestCase):
    """Reads."""

    def setUp(self) -> None:
        super().setUp()
        self.stored(run(1, 0, 5))

    def on_disk(self) -> Rig:
        """The bookie after a restart: nothing is in memory."""
        self.checkpoint()
        after = self.rig.restart()
        self.rig, self.bookie = after, after.bookie
        return after

    def test_load(self) -> None:
        """Many reads are one hand-over; each gets its run or its error."""
        self.on_disk()
        loading = self.bookie.load([(1, 3, 0), (1, 0, 10_000), (1, 9, 0), (7, 0, 0)])
        self.assertEqual(self.rig.executor.busy_threads(), ["read"])
        third, first, missing, unknown = self.result(loading)
        self.assertEqual((third.first, third.entry(3)), (3, entry(1, 3)))
        self.assertEqual((first.first, first.count), (0, 5))
        self.assertIsInstance(missing, NoSuchEntryError)
        self.assertIsInstance(unknown, NoSuchLedgerError)
        self.assertIsNotNone(self.bookie.cached(1, 4))

    def test_damage_is_no_negative(self) -> None:
        """S5: what cannot be read is an I/O error, never "no such entry"."""
        self.on_disk()
        self.rig.fail("pread", "/ledger0/")
        (error,) = self.result(self.bookie.load([(1, 3, 0)]))
        self.assertIsInstance(error, BookieIOError)

    def test_last_entry(self) -> None:
        """The last entry is known from memory and from disk, whichever is higher."""
        self.assertEqual(self.result(self.bookie.last_entry(1)), 4)
        self.on_disk()
        self.assertEqual(self.result(self.bookie.last_entry(1)), 4)
        self.stored(run(1, 5))
        self.assertEqual(self.successResultOf(self.bookie.last_entry(1)), 5)
        self.checkpoint()
        self.assertEqual(self.successResultOf(self.bookie.last_entry(1)), 5)

    def test_last_entry_while_it_moves_to_disk(self) -> None:
        """S5: an entry that leaves the cache between question and answer is not lost."""
        rig = self.on_disk()
        rig.add(run(1, 5))
        rig.drain()
        asking = self.bookie.last_entry(1)
        rig.executor.run_one("read")
        rig.engine.checkpointer.checkpoint()
        rig.executor.step("flush-0")
        self.assertEqual(self.result(asking), 5)

    def test_last_entry_in_a_cache(self) -> None:
        """S5: an entry that no flush has written yet is the last one, also of a ledger whose handle was forgotten."""
        rig = self.on_disk()
        rig.add(run(1, 5))
        rig.drain()
        rig.bookie._handles._handles.clear()
        asking = rig.bookie.last_entry(1)
        rig.drain()
        self.assertEqual(self.successResultOf(asking), 5)

    def test_known_last(self) -> None:
        """S5: memory alone knows the last entry only once the index was asked, or has nothing of the ledger."""
        self.assertEqual([self.bookie.known_last(ledger_id) for ledger_id in (1, 2)], [4, -1])
        self.on_disk()
        self.assertEqual(self.bookie.known_last(1), -1)
        self.stored(run(1, 2))
        self.assertEqual(self.bookie.known_last(1), -1)
        self.result(self.bookie.last_entry(1))
        self.assertEqual(self.bookie.known_last(1), 4)

    def test_no_last_entry(self) -> None:
        """A ledger that was only fenced has no last entry; an unknown one is unknown."""
        self.result(self.bookie.fence(2, KEY))
        self.failureResultOf(self.bookie.last_entry(2), NoSuchEntryError)
        self.failureResultOf(self.bookie.last_entry(3), NoSuchLedgerError)

    def test_beyond_the_end(self) -> None:
        """Beyond the last entry memory alone knows that there is nothing: no hand-over."""
        self.successResultOf(self.bookie.last_entry(1))
        (error,) = self.successResultOf(self.bookie.load([(1, 5, 0)]))
        self.assertIsInstance(error, NoSuchEntryError)

    def test_entry_ranges(self) -> None:
        """Ranges come from disk and memory."""
        self.checkpoint()
        self.stored(run(1, 8, 2))
        self.assertEqual(self.result(self.bookie.entry_ranges(1)), [(0, 4), (8, 9)])
        self.failureResultOf(self.bookie.entry_ranges(2), NoSuchLedgerError)

    def test_too_many(self) -> None:
        """S11: reads that wait for the disk are limited."""
        rig = Rig(options=EngineOptions(bookie=BookieOptions(max_waiting_reads=2)))
        rig.storage.put_ledger(LedgerRow(1, KEY))
        first = rig.bookie.load([(1, 0, 0), (1, 1, 0)])
        self.failureResultOf(rig.bookie.load([(1, 2, 0)]), TooManyRequestsError)
        rig.drain()
        self.successResultOf(first)
        self.assertNoResult(rig.bookie.load([(1, 2, 0)]))


class LacTests(BookieTestCase):
    """Last add confirmed."""

    def lac_packet(self, ledger_id: int, lac: int) -> bytes:
        return ledger_id.to_bytes(8, "big") + lac.to_bytes(8, "big", signed=True) + b"digest"

    def test_of_entries(self) -> None:
        """The highest LAC of the entries counts."""
        self.assertEqual(self.bookie.last_add_confirmed(1), -1)
        self.rig.add(run(1, 0, lac=-1))
        self.rig.add(run(1, 5, lac=4))
        self.rig.add(run(1, 1, lac=0))
        self.assertEqual(self.bookie.last_add_confirmed(1), 4)

    def test_explicit(self) -> None:
        """S1: an explicit LAC is durable when it is acknowledged, byte for byte."""
        packet = self.lac_packet(1, 7)
        setting = self.bookie.set_explicit_lac(1, KEY, packet)
        self.assertNoResult(setting)
        self.result(setting)
        self.assertEqual((self.bookie.explicit_lac(1), self.bookie.last_add_confirmed(1)), (packet, 7))
        self.assertEqual(self.rig.restart().bookie.explicit_lac(1), packet)

    def test_never_falls(self) -> None:
        """S13: an older explicit LAC does not replace a newer one, not in replay either."""
        packet = self.lac_packet(1, 7)
        self.result(self.bookie.set_explicit_lac(1, KEY, packet))
        self.result(self.bookie.set_explicit_lac(1, KEY, self.lac_packet(1, 3)))
        self.assertEqual(self.bookie.explicit_lac(1), packet)
        self.assertEqual(self.rig.restart().bookie.explicit_lac(1), packet)

    def test_explicit_below_what_is_stored(self) -> None:
        """S13: an explicit LAC below the one found in the last entry on disk, and that below this, lower nothing."""
        self.stored(run(1, 5, lac=4))
        for explicit, expected in ((2, 4), (4, 4), (9, 9)):
            for early in (True, False):
                after = self.rig.restart()
                waiting = after.bookie.wait_lac(1, 20, 60)  # has the last entry read
                if not early:
                    after.drain()
                setting = after.bookie.set_explicit_lac(1, KEY, self.lac_packet(1, explicit))
                after.drain()
                self.successResultOf(setting)
                self.assertEqual(after.bookie.last_add_confirmed(1), expected)
                self.assertNoResult(waiting)
                self.assertIsNone(self.successResultOf(after.bookie.wait_lac(1, expected - 1, 60)))

    def test_refused(self) -> None:
        """Another ledger's packet, a short one, a wrong key and a read-only bookie are refused."""
        self.stored(run(1, 0))
        for key, packet, error in (
            (KEY, self.lac_packet(2, 1), BadRequestError),
            (KEY, b"short", BadRequestError),
            (b"x" * 20, self.lac_packet(1, 1), UnauthorizedAccessError),
        ):
            self.failureResultOf(self.bookie.set_explicit_lac(1, key, packet), error)
        self.bookie.mode.read_only = True
        packet = self.lac_packet(1, 1)
        self.failureResultOf(self.bookie.set_explicit_lac(1, KEY, packet), WriteOnReadOnlyBookieError)

    def test_deleted_when_fenced(self) -> None:
        """S3: no explicit LAC makes a ledger known again that was deleted when it was fenced."""
        self.stored(run(1, 0))
        self.result(self.bookie.fence(1, KEY))
        self.assertEqual(self.bookie.forget([1], 1), [1])
        self.failureResultOf(self.bookie.set_explicit_lac(1, KEY, self.lac_packet(1, 3)), LedgerFencedError)
        self.assertEqual((self.bookie.explicit_lac(1), self.rig.storage.ledger(1)), (b"", None))

    def test_wait(self) -> None:
        """A wait ends when the LAC passes what the waiter knows, with the time of that."""
        self.rig.clock.advance(1000)
        self.stored(run(1, 0, lac=-1))
        waiting = self.bookie.wait_lac(1, 0, 60)
        self.rig.add(run(1, 1, lac=0))
        self.assertNoResult(waiting)
        self.rig.add(run(1, 2, lac=1))
        self.assertEqual(self.successResultOf(waiting), 1_000_000)

    def test_nothing_to_wait_for(self) -> None:
        """A LAC that has passed already, and an unknown ledger, are answered at once."""
        self.stored(run(1, 5, lac=4))
        self.assertIsNone(self.successResultOf(self.bookie.wait_lac(1, 3, 60)))
        self.failureResultOf(self.bookie.wait_lac(9, 3, 60), NoSuchLedgerError)

    def test_wait_on_what_is_stored(self) -> None:
        """A wait begun after a restart looks at the stored LAC."""
        self.stored(run(1, 5, lac=4))
        after = self.rig.restart()
        waiting = after.bookie.wait_lac(1, 3, 60)
        after.drain()
        self.assertIsNone(self.successResultOf(waiting))
        self.assertEqual(after.clock.getDelayedCalls(), [])

    def test_wait_ends_otherwise(self) -> None:
        """A fence and the time end a wait without a time stamp; a cancelled one leaves nothing behind."""
        self.stored(run(1, 0))
        fenced, timed, cancelled = (self.bookie.wait_lac(ledger_id, 0, 60) for ledger_id in (1, 1, 1))
        cancelled.cancel()
        self.failureResultOf(cancelled)
        self.rig.clock.advance(60)
        self.assertIsNone(self.successResultOf(timed))
        self.assertIsNone(self.successResultOf(fenced))
        waiting = self.bookie.wait_lac(1, 0, 60)
        self.bookie.fence(1, KEY)
        self.assertIsNone(self.successResultOf(waiting))
        self.rig.executor.end_turn()  # what is left then would be of a wait; the fence is with the journal
        self.assertEqual(self.rig.clock.getDelayedCalls(), [])


class PressureTests(SynchronousTestCase):
    """S11: more than fits."""

    small = StorageSettings(write_cache_bytes=2000)

    def full(self, options: EngineOptions | None = None) -> Rig:
        """A bookie whose two caches are full, with a checkpoint under way."""
        rig = Rig(storage=self.small, options=options)
        rig.add(run(1, 0, 30))
        rig.add(run(1, 30, 30))
        self.assertEqual(rig.executor.busy_threads(), ["flush-0", "journal-0"])
        return rig

    def test_full_cache_is_swapped(self) -> None:
        """An add that finds the write cache full begins a checkpoint, and goes into the other one at once."""
        rig = self.full()
        self.assertEqual(self.successResultOf(rig.bookie.last_entry(1)), 59)

    def test_waits_for_a_checkpoint(self) -> None:
        """Adds that find no room wait for the checkpoint under way, and are done in order."""
        rig = self.full()
        done = [rig.add(run(1, first, 30)) for first in range(60, 360, 30)]
        self.assertEqual(self.successResultOf(rig.bookie.last_entry(1)), 59)
        rig.drain()
        self.assertEqual(done, [[None]] * 10)
        self.assertEqual(self.successResultOf(rig.bookie.last_entry(1)), 359)

    def test_waits_for_the_journal(self) -> None:
        """Adds that find the journal's queue full wait for the next group."""
        rig = Rig(options=EngineOptions(commit=CommitOptions(max_queued_bytes=100)))
        done = [rig.add(run(1, first, 10)) for first in range(0, 50, 10)]
        self.assertLess(rig.engine.commits[0].queued_bytes, 2 * run(1, 0, 10).size)
        rig.drain()
        self.assertEqual(done, [[None]] * 5)

    def test_bounded_in_time(self) -> None:
        """An add that waited too long fails."""
        rig = self.full()
        done = rig.add(run(1, 60))
        rig.clock.advance(10)
        self.assertEqual([type(error) for error in done], [TooManyRequestsError])

    def test_bounded_in_bytes(self) -> None:
        """Adds beyond what may wait fail at once."""
        rig = self.full(EngineOptions(bookie=BookieOptions(max_waiting_bytes=500)))
        done = [rig.add(run(1, first, 10)) for first in range(60, 90, 10)]
        self.assertEqual([[type(e) for e in d] for d in done], [[], [TooManyRequestsError], [TooManyRequestsError]])

    def test_failed_checkpoint(self) -> None:
        """Adds that wait for a checkpoint that fails are told to come again; later ones are taken."""
        rig = self.full()
        rig.fail("pwrite", "/ledger0/")
        done = rig.add(run(1, 60))
        rig.executor.step("flush-0")
        self.assertEqual([type(error) for error in done], [TooManyRequestsError])
        again = rig.add(run(1, 60))
        rig.drain()
        self.assertEqual(again, [None])

    def test_failed_journal(self) -> None:
        """S10: when a journal fails, adds that wait fail, and everything after them."""
        rig = Rig(options=EngineOptions(commit=CommitOptions(max_queued_bytes=100)))
        rig.fail("sync", "/journal0/")
        done = [rig.add(run(1, first, 10)) for first in range(0, 50, 10)]
        rig.drain()
        self.assertEqual({type(error) for errors in done for error in errors}, {StorageFailedError})
        self.assertEqual([len(errors) for errors in done], [1] * 5)
        self.assertEqual(len(rig.failures), 1)

    def test_failed_journal_and_full_cache(self) -> None:
        """S10: adds that wait for a checkpoint fail with the journal, of other journals too, without a checkpoint."""
        rig = Rig(storage=self.small, journals=2)
        rig.add(run(1, 0, 30))
        rig.add(run(1, 30, 30))
        rig.fail("sync", "/journal1/")
        done = [rig.add(run(ledger_id, 60)) for ledger_id in (1, 2)]
        rig.executor.step("journal-1")
        self.assertEqual([[type(error) for error in each] for each in done], [[StorageFailedError]] * 2)

    def test_not_overtaken(self) -> None:
        """An add that comes when a group is complete, before those that waited for it, is behind them."""
        rig = Rig(options=EngineOptions(commit=CommitOptions(max_queued_bytes=100)))
        order: list[int] = []

        def add(first: int) -> None:
            rig.bookie.add(run(1, first, 10), KEY, False, False, False, lambda part, error: completed(first))

        def completed(first: int) -> None:
            order.append(first)
            if first == 0:
                add(20)

        add(0)
        add(10)
        rig.drain()
        self.assertEqual(order, [0, 10, 20])

"""Reads in the read threads."""

from twisted.internet.defer import CancelledError
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.disk_reads import DiskReads
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import BookieIOError, DataUnknownError, NoSuchEntryError, TooManyRequestsError
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import BookieMetrics

from .rig import Rig, run


class DiskReadsTests(SynchronousTestCase):
    """A bookie with two ledgers on disk."""

    def setUp(self) -> None:
        self.rig = Rig()
        for ledger_id in (1, 2):
            self.rig.add(run(ledger_id, 0, 10))
        self.rig.engine.checkpointer.checkpoint()
        self.rig.drain()
        self.rig = self.rig.restart()
        self.events: list[object] = []
        self.metrics = BookieMetrics(Instruments())
        self.reads = DiskReads(
            self.rig.storage, self.rig.executor, lambda: self.events.append("flush"), self.metrics,
            self.rig.clock.seconds, limit=3,
        )  # fmt: skip

    def test_order(self) -> None:
        """Results come in the order asked for, whatever order the disk was read in."""
        loading = self.reads.load([(2, 5, 0), (1, 3, 0), (2, 1, 0)])
        self.rig.drain()
        found = [(run.ledger_id, run.first) for run in self.successResultOf(loading) if isinstance(run, EntryRun)]
        self.assertEqual(found, [(2, 5), (1, 3), (2, 1)])
        self.assertEqual(self.metrics.read_bytes.value, 3 * run(1, 0).size)

    def test_lines_of_failures(self) -> None:
        """S11: entries that cannot be read are one line a minute and ledger, however often they are asked for."""
        self.rig.fail("pread", "/ledger0/", times=100)
        with capturedLogs() as events:
            for ledger_id in (1, 1, 2, 1, 1):
                loading = self.reads.load([(ledger_id, 3, 0)])
                self.rig.drain()
                self.assertIsInstance(self.successResultOf(loading)[0], BookieIOError)
            self.assertEqual([event["peer"] for event in events], ["1", "2"])
            self.rig.clock.advance(61)
            self.reads.load([(1, 3, 0)])
            self.rig.drain()
        self.assertEqual([event["left_out"] for event in events], [0, 1, 2])

    def test_flush_behind_the_result(self) -> None:
        """The outbox is flushed once, behind what the result has caused."""
        self.reads.load([(1, 0, 0)]).addCallback(lambda _: self.events.append("result"))
        self.rig.drain()
        self.assertEqual(self.events, ["result", "flush"])

    def test_kept(self) -> None:
        """What was loaded is in memory afterwards."""
        self.reads.load([(1, 0, 10_000)])
        self.rig.drain()
        held = self.rig.storage.cached(1, 9)
        assert held is not None
        self.assertEqual(held.count, 10)

    def test_lists_in_turn(self) -> None:
        """Ledgers are listed one at a time, so that reads find a thread; what is withdrawn before is not listed, and
        the next one waits for what was withdrawn in between."""
        lists = [self.reads.entry_ranges(ledger_id) for ledger_id in (1, 2, 1)]
        self.assertEqual(self.rig.executor.busy_threads(), ["read"])
        self.failureResultOf(self.reads.entry_ranges(1), TooManyRequestsError)
        self.rig.executor.run_one("read")
        for each in lists[:2]:
            each.cancel()
            self.failureResultOf(each, CancelledError)
        self.assertEqual(self.rig.executor.busy_threads(), [])
        self.rig.executor.deliver()
        self.assertEqual([work.args[1] for _, work in self.rig.executor.queued], [1])
        self.rig.drain()
        self.assertEqual((self.successResultOf(lists[2]), self.reads.waiting), ([(0, 9)], 0))
        again = self.reads.entry_ranges(2)
        self.rig.drain()
        self.assertEqual(self.successResultOf(again), [(0, 9)])

    def test_limit(self) -> None:
        """S11: only so many wait; those that ended, or were withdrawn, make room."""
        first = self.reads.load([(1, 0, 0), (1, 1, 0)])
        self.failureResultOf(self.reads.load([(1, 2, 0), (1, 3, 0)]), TooManyRequestsError)
        first.cancel()
        self.failureResultOf(first, CancelledError)
        again = self.reads.load([(1, 2, 0), (1, 3, 0), (1, 4, 0)])
        self.rig.drain()
        self.successResultOf(again)
        self.rig.drain()
        self.assertNoResult(self.reads.load([(1, 2, 0)]))

    def test_counts(self) -> None:
        """Reads are counted when they end, refused ones when they are; a withdrawn one has not failed."""
        counts = self.metrics.reads
        withdrawn, loading = self.reads.load([(1, 0, 0)]), self.reads.load([(1, 1, 0), (1, 2, 0)])
        self.failureResultOf(self.reads.load([(1, 3, 0), (1, 4, 0)]), TooManyRequestsError)
        self.failureResultOf(self.reads.last_entry(1), TooManyRequestsError)
        self.failureResultOf(self.reads.entry_ranges(1), TooManyRequestsError)
        withdrawn.cancel()
        self.failureResultOf(withdrawn, CancelledError)
        self.assertEqual((counts.completed, counts.failed, counts.refused), (1, 0, 4))
        self.rig.drain()
        self.successResultOf(loading)
        self.assertEqual((counts.completed, counts.failed), (3, 0))

        def broken(ledger_id: int) -> int:
            raise ValueError(ledger_id)

        self.rig.storage.last_entry = broken  # type: ignore[method-assign]
        asked = self.reads.last_entry(1)
        self.rig.drain()
        self.failureResultOf(asked, ValueError)
        self.assertEqual((counts.completed, counts.failed, counts.refused), (4, 1, 4))

    def test_errors(self) -> None:
        """S5: a read that fails is an I/O error, an entry the index does not have is none."""
        self.rig.fail("pread", "/ledger0/")
        loading = self.reads.load([(1, 0, 0), (1, 99, 0), (2, 0, 0)])
        self.rig.drain()
        failed, missing, good = self.successResultOf(loading)
        self.assertIsInstance(failed, BookieIOError)
        self.assertIsInstance(missing, NoSuchEntryError)
        self.assertIsInstance(good, EntryRun)

    def test_lost_log(self) -> None:
        """S5: the state of entries in a log that is gone is unknown; what the index does not have is not there."""
        for name in self.rig.disk.list("/ledger0/current"):
            if name.endswith(".log"):
                self.rig.disk.unlink(f"/ledger0/current/{name}")
        loading = self.reads.load([(1, 0, 0), (1, 99, 0)])
        self.rig.drain()
        lost, missing = self.successResultOf(loading)
        self.assertIsInstance(lost, DataUnknownError)
        self.assertIsInstance(missing, NoSuchEntryError)

    def test_other_questions(self) -> None:
        """Last entry and ranges come from a read thread as well."""
        last, ranges = self.reads.last_entry(1), self.reads.entry_ranges(2)
        self.assertEqual(self.rig.executor.busy_threads(), ["read", "read"])
        self.rig.drain()
        self.assertEqual((self.successResultOf(last), self.successResultOf(ranges)), (9, [(0, 9)]))

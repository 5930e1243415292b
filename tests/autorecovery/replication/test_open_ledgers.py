"""The replication worker and ledgers whose writer may be alive."""

from typing import Any

from twisted.logger import LogLevel, capturedLogs, formatEvent

from bookkeeper_twisted.errors import LedgerClosedError, LedgerLockedError

from ...client.cluster_case import BOOKIES
from .worker_case import GRACE, WorkerCase


class OpenLedgerTests(WorkerCase):
    """Ledgers with a writer."""

    def open_ledger(self) -> Any:
        """A writer of twenty entries, of which all but the last are known to be confirmed."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)[:19]))
        self.do(writer.append(self.payloads(20)[19]))
        return writer

    def test_watch_that_lags(self) -> None:
        """A bookie that a mark names is gone, whatever the watch shows, where a ledger has no entry to be read."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))  # no bookie knows that they are confirmed
        lost = self.metadata(writer.ledger_id).segments[0].bookies[0]
        worker = self.worker()
        worker._context.watcher._stop_watching()
        self.kill(lost)
        self.mark(writer.ledger_id, lost)
        self.pass_time(1)
        self.assertEqual(self.status(worker).state, "grace")
        self.pass_time(GRACE + 5)
        self.assertEqual((self.marked(), self.metadata(writer.ledger_id).last_entry_id), ([], 19))
        self.assert_complete(writer.ledger_id, self.payloads(20))

    def test_alive_and_whole(self) -> None:
        """A ledger with a writer that has all its bookies is left as it is."""
        writer = self.open_ledger()
        self.mark(writer.ledger_id)
        self.worker()
        self.pass_time(GRACE * 2)
        self.assertEqual(self.marked(), [])
        self.assertEqual(self.do(writer.append(b"more")), 20)

    def test_writer_replaces_the_bookie(self) -> None:
        """A writer that replaces its bookie within the grace period is not fenced; what it left behind is copied."""
        writer = self.open_ledger()
        lost = self.metadata(writer.ledger_id).segments[0].bookies[0]
        self.kill(lost)
        self.mark(writer.ledger_id, lost)
        worker = self.worker(ledgers=1)
        self.pass_time(GRACE / 2)
        self.assertEqual((self.status(worker).state, self.metadata(writer.ledger_id).closed), ("grace", False))
        other = self.write(self.payloads(5), (1, 1, 1))
        self.mark(other)
        self.pass_time(1)
        self.assertEqual(self.marked(), [writer.ledger_id])
        self.assertEqual(self.do(writer.append(b"more")), 20)
        self.pass_time(GRACE)
        self.assertEqual((self.marked(), self.metadata(writer.ledger_id).closed), ([], False))
        self.assertEqual(self.do(writer.append(b"still")), 21)
        for segment in self.metadata(writer.ledger_id).segments:
            self.assertNotIn(lost, segment.bookies)
        self.do(writer.close())
        self.assert_complete(writer.ledger_id, [*self.payloads(20), b"more", b"still"])

    def test_recovered_after_the_grace_period(self) -> None:
        """A ledger whose writer does not replace its bookie is recovered after the grace period, not before."""
        writer = self.open_ledger()
        lost = self.metadata(writer.ledger_id).segments[0].bookies[0]
        self.kill(lost)
        self.mark(writer.ledger_id, lost)
        self.worker()
        self.pass_time(GRACE - 1)
        self.assertFalse(self.metadata(writer.ledger_id).closed)
        with capturedLogs() as events:
            self.pass_time(5)
        self.assertEqual((self.marked(), self.metadata(writer.ledger_id).last_entry_id), ([], 19))
        self.assert_complete(writer.ledger_id, self.payloads(20))
        self.error(writer.append(b"late"), LedgerClosedError)
        # the event tells the owner of the writer who has fenced it, and why
        lines = [str(formatEvent(event)) for event in events if event["log_level"] >= LogLevel.info]
        (line,) = [line for line in lines if "fenced" in line]
        self.assertIn(f"ledger {writer.ledger_id} is closed after entry 19", line)
        self.assertIn(f"did not replace {lost} (gone) in the grace period", line)

    def lose_two(self) -> tuple[Any, str]:
        """Lose a bookie of an open ledger, and the only one that could take its place; return writer and the latter."""
        writer = self.open_ledger()
        ensemble = self.metadata(writer.ledger_id).segments[0].bookies
        (spare,), lost = {*BOOKIES} - {*ensemble}, ensemble[0]
        self.kill(spare)
        self.kill(lost)
        self.mark(writer.ledger_id, lost)
        return writer, spare

    def test_no_bookie_to_spare(self) -> None:
        """A writer that goes on without a bookie that none can take the place of is not fenced before one can."""
        writer, spare = self.lose_two()
        worker = self.worker()
        self.pass_time(3 * GRACE)
        self.assertEqual((self.status(worker).state, self.metadata(writer.ledger_id).closed), ("impossible", False))
        self.assertIn("left to its writer", self.status(worker).reason)
        self.assertEqual(self.do(writer.append(b"more")), 20)
        self.revive(spare)
        self.pass_time(2 * GRACE)
        self.assertEqual((self.marked(), self.metadata(writer.ledger_id).closed), ([], True))

    def test_shortage_in_the_grace_period(self) -> None:
        """In each grace period, the reason names the shortage of bookies, until a bookie can take the place."""
        self.lose_two()
        worker, seen = self.worker(), []
        for _ in range(int(6 * GRACE)):
            self.pass_time(1)
            seen += [each for each in worker.status() if each.state == "grace"]
        begins = {each.next_attempt for each in seen}
        self.assertGreater(len(begins), 1)
        for each in seen:
            self.assertRegex(each.reason, "its writer may .*; no other bookie can take their place: .*0 are available")

    def test_shortage_of_older_fragments(self) -> None:
        """In the grace period of the newest fragment, the reason names also why an older one cannot be repaired."""
        writer = self.open_ledger()
        ensemble = self.metadata(writer.ledger_id).segments[0].bookies
        self.kill(ensemble[0])
        self.assertEqual(self.do(writer.append(b"more")), 20)  # onto the last spare bookie
        self.kill(ensemble[1])
        self.mark(writer.ledger_id, *ensemble[:2])
        worker = self.worker()
        self.pass_time(1)
        status = self.status(worker)
        self.assertEqual(status.state, "grace")
        self.assertIn("; older fragments cannot be repaired: ", status.reason)

    def test_spare_in_the_grace_period(self) -> None:
        """While a bookie can take the place of a lost one, the reason names no shortage."""
        writer = self.open_ledger()
        lost = self.metadata(writer.ledger_id).segments[0].bookies[0]
        self.kill(lost)
        self.mark(writer.ledger_id, lost)
        worker = self.worker()
        self.pass_time(1)
        self.assertEqual(self.status(worker).reason, "its writer may replace the bookies that it lost")

    def test_entries_on_their_way(self) -> None:
        """What a bookie of a writer lacked at one check only is no reason to fence the writer."""
        writer = self.open_ledger()
        bookie = self.bookie(writer.ledger_id, 2)
        held = bookie.entries[writer.ledger_id].pop(10)
        self.mark(writer.ledger_id)
        worker = self.worker()
        self.assertEqual(self.status(worker).state, "grace")
        bookie.entries[writer.ledger_id][10] = held
        bookie.entries[writer.ledger_id].pop(11)
        self.pass_time(GRACE + 1)
        self.assertEqual((self.status(worker).state, self.metadata(writer.ledger_id).closed), ("grace", False))
        self.assertEqual(self.do(writer.append(b"more")), 20)

    def test_one_entry_is_lost(self) -> None:
        """A single entry that a bookie of a writer lacks at both checks has the ledger recovered, and is copied."""
        writer = self.open_ledger()
        self.bookie(writer.ledger_id, 2).entries[writer.ledger_id].pop(10)
        self.mark(writer.ledger_id)
        self.worker()
        self.pass_time(GRACE + 5)
        self.assertEqual((self.marked(), self.metadata(writer.ledger_id).last_entry_id), ([], 19))
        self.assert_complete(writer.ledger_id, self.payloads(20))

    def test_cannot_be_closed(self) -> None:
        """A ledger that cannot be recovered, since too many of its bookies are gone, is reported so."""
        writer = self.open_ledger()
        ensemble = self.metadata(writer.ledger_id).segments[0].bookies
        for bookie_id in ensemble[:2]:
            self.kill(bookie_id)
        self.mark(writer.ledger_id, *ensemble[:2])
        worker = self.worker()
        self.pass_time(GRACE + 5)
        self.assertEqual(self.status(worker).state, "impossible")
        self.assertIn("it cannot be closed", self.status(worker).reason)
        self.revive(ensemble[0])
        self.pass_time(GRACE * 2 + 20)
        self.assertEqual(self.marked(), [])
        self.assert_complete(writer.ledger_id, self.payloads(20))

    def test_locked_error(self) -> None:
        """A lock of this process is refused to it a second time, so one worker never takes a ledger twice."""
        self.do(self.cluster.underreplication.lock(5, "x"))
        self.error(self.cluster.underreplication.lock(5, "x"), LedgerLockedError)

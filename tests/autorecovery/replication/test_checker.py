"""The checker of ledgers, over bookies in memory."""

import attrs
from zope.interface.verify import verifyObject

from bookkeeper_twisted.autorecovery.interfaces import ILedgerChecker
from bookkeeper_twisted.autorecovery.limits import CHECKER_READ
from bookkeeper_twisted.errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    BookieIOError,
    TooManyRequestsError,
)
from bookkeeper_twisted.instruments import render
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.metrics import new_registry

from ..recovery_case import DIGESTS, RecoveryCase


class CheckTests(RecoveryCase):
    """What a check finds."""

    def asked(self, operation: str) -> int:
        """How many requests of a kind all bookies got since the last call."""
        count = 0
        for bookie_id in ("b0:1", "b1:1", "b2:1", "b3:1"):
            count += sum(one[0] == operation for one in self.bookies[bookie_id].requests)
            self.bookies[bookie_id].requests.clear()
        return count

    def test_whole(self) -> None:
        """A ledger that is whole is found whole, whatever digest and password it has."""
        verifyObject(ILedgerChecker, self.checker())
        for digest_type in DIGESTS:
            for percentage in (0, 30, 100):
                ledger_id = self.write(self.payloads(40), digest_type=digest_type, password=b"secret")
                report = self.check(ledger_id, percentage=percentage)
                self.assertTrue(report.is_whole, report)
                self.assertGreaterEqual(report.entries, 6)

    def test_gone(self) -> None:
        """A bookie in neither set of registered ones is gone without a read, a read-only one is not."""
        ledger_id = self.write(self.payloads(10))
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.do(self.cluster.registration.unregister_bookie(ensemble[1]))
        self.bookies[ensemble[1]].requests.clear()
        report = self.check(ledger_id)
        self.assertEqual(self.losses(report), [(1, "gone", ((0, 9),))])
        self.assertEqual([loss.bookie_id for loss in report.losses()], [ensemble[1]])
        self.assertEqual(self.bookies[ensemble[1]].requests, [])
        self.do(self.cluster.registration.register_bookie(ensemble[1], True, self.service_info()))
        self.clock.advance(1)
        self.assertTrue(self.check(ledger_id).is_whole)

    def test_watch_that_knows_nothing_yet(self) -> None:
        """A client that has not heard of any bookie yet takes none for gone."""
        ledger_id = self.write(self.payloads(10))
        metadata = self.metadata(ledger_id)
        self.bk = self.client()
        self.assertEqual(self.bk.context.watcher.writable, frozenset())
        self.assertTrue(self.finish(self.checker().check(ledger_id, metadata)).is_whole)

    def test_gone_from_empty_fragments(self) -> None:
        """The bookie of a ledger without entries is gone, and no entry is lost."""
        ledger_id = self.write([])
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        self.assertEqual(self.losses(self.check(ledger_id)), [(0, "gone", ())])

    def test_ends(self) -> None:
        """A lost first or last entry is found with any percentage, and then exactly what is lost."""
        for lost in ((0,), (99,), (0, 1, 2, 50)):
            ledger_id = self.write([b"x" * 2000] * 100)
            for entry_id in lost:
                del self.bookie(ledger_id, 2).entries[ledger_id][entry_id]
            report = self.check(ledger_id)
            (loss,) = report.losses()
            self.assertEqual((loss.position, loss.kind.value), (2, "missing"))
            self.assertEqual([n for first, last in loss.ranges for n in range(first, last + 1)], list(lost))

    def test_lost_tail_of_one_entry(self) -> None:
        """The only entry of the last fragment of a closed ledger is missed, even if no bookie has it."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many([b"a", b"b"]))
        ledger_id = writer.ledger_id
        self.bookies[self.metadata(ledger_id).segments[0].bookies[0]].up = False
        self.do(writer.append(b"c"))
        self.do(writer.close())
        metadata = self.metadata(ledger_id)
        self.assertEqual((len(metadata.segments), metadata.last_entry_id), (2, 2))
        for bookie_id in metadata.segments[1].bookies:
            self.bookies[bookie_id].entries[ledger_id].pop(2, None)
        report = self.check(ledger_id)
        self.assertEqual([one.position for one in report.fragments[1].losses], [0, 1, 2])

    def test_damage(self) -> None:
        """Digests are verified: damage is found where it is read, and with a suspect everywhere."""
        ledger_id = self.write([b"x" * 2000] * 100)
        bookie_id = self.metadata(ledger_id).segments[0].bookies[1]
        self.bookies[bookie_id].damage(ledger_id, 50)
        self.assertTrue(self.check(ledger_id).is_whole)
        for report in (self.check(ledger_id, [bookie_id]), self.check(ledger_id, percentage=100)):
            self.assertEqual(self.losses(report), [(1, "damaged", ((50, 50),))])
        self.bookies[bookie_id].fail("read_batch", lambda: BookieIOError(), first=50, last=50)
        self.bookies[bookie_id].fail("read_many", lambda: BookieIOError(), first=50, last=50)
        self.assertEqual(self.losses(self.check(ledger_id, [bookie_id])), [(1, "damaged", ((50, 50),))])

    def test_overload_is_no_loss(self) -> None:
        """A bookie that is overloaded is asked again later, and if it stays so, nothing is said of its entries."""
        ledger_id = self.write([b"x" * 2000] * 100)
        bookie = self.bookie(ledger_id, 0)
        for operation in ("read_many", "read_batch"):
            fault = bookie.fail(operation, TooManyRequestsError, times=1)
            self.assertTrue(self.check(ledger_id, percentage=100 if operation == "read_batch" else 0).is_whole)
            self.assertEqual(fault.times, 0)
            bookie.fail(operation, TooManyRequestsError)
            report = self.check(ledger_id, percentage=100 if operation == "read_batch" else 0)
            self.assertEqual((self.losses(report), report.is_conclusive, report.is_whole), ([], False, False))
            self.assertIn("too many requests", report.fragments[0].inconclusive[0].cause)
            bookie.faults.clear()
        self.assertIn("ledger_checker_retries 6", render(new_registry(self.instruments)).decode())

    def test_silence_is_no_loss(self) -> None:
        """A registered bookie that does not answer, or cannot be reached, says nothing of its entries."""
        ledger_id = self.write(self.payloads(10))
        bookie = self.bookie(ledger_id, 0)
        bookie.silent = True
        report = self.check(ledger_id)
        self.assertEqual((self.losses(report), len(report.fragments[0].inconclusive)), ([], 1))
        bookie.silent, bookie.up = False, False
        report = self.check(ledger_id)
        self.assertEqual((self.losses(report), len(report.fragments[0].inconclusive)), ([], 1))

    def test_striped(self) -> None:
        """Of a striped ledger each position is asked for its own entries only."""
        ledger_id = self.write(self.payloads(100), (4, 2, 2))
        self.assertTrue(self.check(ledger_id, percentage=100).is_whole)
        held = sum(len(self.bookies[b].entries[ledger_id]) for b in self.metadata(ledger_id).segments[0].bookies)
        self.assertEqual((held, self.check(ledger_id, percentage=100).entries), (200, 200))
        del self.bookie(ledger_id, 1).entries[ledger_id][5]
        self.assertEqual(self.losses(self.check(ledger_id, percentage=100)), [(1, "missing", ((5, 5),))])

    def test_requests(self) -> None:
        """All entries cost a request for each replica, first and last of many two; of few all are read by one."""
        large = self.write([b"x" * 2000] * 100)
        self.asked("")
        self.check(large, percentage=100)
        self.assertEqual((self.asked("read_batch"), self.asked("read_many")), (3, 0))
        report = self.check(large)
        self.assertEqual((report.requests, report.entries), (6, 6))
        report = self.check(self.write(self.payloads(50)))
        self.assertEqual((report.requests, report.entries), (3, 150))

    def test_after_a_repair(self) -> None:
        """What an earlier check found whole is not read again, but of suspects and of what it found bad."""
        ledger_id = self.write([b"x" * 2000] * 100)
        metadata, first, second = self.metadata(ledger_id), self.bookie(ledger_id, 0), self.bookie(ledger_id, 1)
        lost = dict(second.entries[ledger_id])
        del second.entries[ledger_id][0]
        before = self.check(ledger_id)
        second.entries[ledger_id].update(lost)
        checker = self.checker()
        again = self.finish(checker.check(ledger_id, metadata, (), before))
        self.assertEqual((again.requests, again.is_whole), (2, True))
        (segment,) = metadata.segments
        suspect = checker.check(ledger_id, metadata, segment.bookies[:1], again)
        self.assertEqual(self.finish(suspect).entries, 100)
        del first.entries[ledger_id][0]
        moved = attrs.evolve(metadata, segments=(attrs.evolve(segment, bookies=segment.bookies[::-1]),))
        self.assertFalse(self.finish(checker.check(ledger_id, moved, (), again)).is_whole)

    def test_bookies_without_batch_reads(self) -> None:
        """A bookie that refuses batch reads, or closes the connection on one, is asked for single entries."""
        ledger_id = self.write([b"x" * 2000] * 100)
        for error in (BadRequestError, lambda: BookieHandleNotAvailableError("closed")):
            self.bk = self.client()
            bookie = self.bookie(ledger_id, 0)
            bookie.fail("read_batch", error)
            del bookie.entries[ledger_id][50]
            self.assertEqual(self.losses(self.check(ledger_id, percentage=100)), [(0, "missing", ((50, 50),))])
            bookie.faults.clear()
            bookie.entries[ledger_id][50] = self.bookie(ledger_id, 1).entries[ledger_id][50]

    def test_missing_entries_are_free(self) -> None:
        """What a bookie was asked for and does not have is not paid for."""
        ledger_id = self.write([b"x" * 2000] * 200)
        entries = self.bookie(ledger_id, 0).entries[ledger_id]
        for entry_id in list(entries):
            del entries[entry_id]
        self.throttles.get(CHECKER_READ).change(Rate(bytes=100_000.0))
        start = self.clock.seconds()
        report = self.check(ledger_id, percentage=100)
        self.assertEqual(self.losses(report), [(0, "missing", ((0, 199),))])
        elapsed = self.clock.seconds() - start
        self.assertTrue(0.95 <= elapsed * 100_000 / report.n_bytes <= 1.05, elapsed)

    def test_limits(self) -> None:
        """Entries and bytes are paid for as they were read, and no more are asked for at a time than wanted."""
        ledger_id = self.write([b"x" * 2000] * 100)
        self.throttles.get(CHECKER_READ).change(Rate(bytes=100_000.0))
        start = self.clock.seconds()
        report = self.check(ledger_id, percentage=100)
        self.assertEqual((report.entries, report.is_whole), (300, True))
        self.assertGreater(report.n_bytes, 600_000)
        elapsed = self.clock.seconds() - start
        self.assertTrue(0.95 <= elapsed * 100_000 / report.n_bytes <= 1.05, elapsed)
        self.throttles.get(CHECKER_READ).change(Rate())
        bookie = self.bookie(ledger_id, 0)
        bookie.delay = 1.0
        bookie.fail("read_batch", BadRequestError)
        bookie.requests.clear()
        self.assertTrue(self.check(ledger_id, percentage=100, max_in_flight=7).is_whole)
        most = [count for operation, _, _, count in bookie.requests if operation == "read_many"]
        self.assertEqual((max(most), sum(most)), (7, 100))

    def test_cancelled(self) -> None:
        """A cancelled check ends its reads."""
        ledger_id = self.write(self.payloads(10))
        self.clock.pump([1.0] * 3)  # until the writer has told its bookies its last add confirmed
        self.bookie(ledger_id, 0).silent = True
        metadata = self.metadata(ledger_id)
        work = self.start(self.checker().check(ledger_id, metadata))
        self.settle()
        work.cancel()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class OpenLedgerTests(RecoveryCase):
    """Ledgers with a writer."""

    def test_alive(self) -> None:
        """A check of an open ledger reads up to the LAC and fences nothing."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(19)))
        self.do(writer.append(b"of their LAC"))
        report = self.check(writer.ledger_id, percentage=100)
        (one,) = report.fragments
        self.assertEqual((one.fragment.closed, one.fragment.last, report.is_whole), (False, 18, True))
        self.assertEqual(self.do(writer.append(b"more")), 20)

    def test_changed_ensemble(self) -> None:
        """What is before the newest ensemble is final, even if the newest has no entry yet."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))
        first = self.metadata(writer.ledger_id).segments[0].bookies
        self.bookies[first[0]].up = False
        self.do(writer.append(b"more"))
        for bookie_id in ("b0:1", "b1:1", "b2:1", "b3:1"):
            self.bookies[bookie_id].entries[writer.ledger_id].pop(20, None)
        self.kill(first[0])
        report = self.check(writer.ledger_id)
        self.assertEqual([(one.fragment.closed, one.fragment.count) for one in report.fragments],
                         [(True, 20), (False, 0)])  # fmt: skip
        self.assertEqual(self.losses(report), [(0, "gone", ((0, 19),))])

    def test_size_of_entries(self) -> None:
        """Of entries whose size nothing says a few are asked for first, then as many as one request may return."""
        writer = self.do(self.bk.create_ledger(4, 2, 2))
        self.do(writer.append_many([b"x" * 20_000] * 200))
        self.do(writer.append(b"of their LAC"))
        bookie_id = self.metadata(writer.ledger_id).segments[0].bookies[0]
        self.bookies[bookie_id].requests.clear()
        self.assertTrue(self.check(writer.ledger_id, percentage=100).is_whole)
        counts = [count for operation, *_, count in self.bookies[bookie_id].requests if operation == "read_many"]
        self.assertEqual((counts[:2], sum(counts)), ([32, 52], 100))

    def test_unknown_end(self) -> None:
        """Where too few bookies say how far a ledger came, its end is inconclusive, and what is final is checked."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))
        ensemble = self.metadata(writer.ledger_id).segments[0].bookies
        for bookie_id in ensemble[:2]:
            self.kill(bookie_id)
        report = self.check(writer.ledger_id)
        self.assertEqual([loss[:2] for loss in self.losses(report)], [(0, "gone"), (1, "gone")])
        self.assertIn("last add confirmed", report.fragments[0].inconclusive[0].cause)

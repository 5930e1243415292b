"""The replicator, over bookies in memory."""

from itertools import product

from bookkeeper_twisted.autorecovery.limits import REPLICATION_READ, REPLICATION_WRITE
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    DigestMatchError,
    EntriesLostError,
    IllegalOperationError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    RequestTimeoutError,
    SecurityError,
    TooManyRequestsError,
    UnauthorizedAccessError,
    WriteError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.limits.throttle import Rate
from bookkeeper_twisted.model import WriteFlag

from ...client.cluster_case import BOOKIES
from ..recovery_case import DIGESTS, RecoveryCase


class LostBookieTests(RecoveryCase):
    """A bookie that is gone is replaced."""

    def test_replaced(self) -> None:
        """Another bookie gets what the lost one kept, as it is stored, whatever digest, password and flags it has."""
        for digest_type in DIGESTS:
            for flags in (WriteFlag.NONE, WriteFlag.DEFERRED_SYNC):
                payloads = self.payloads(30)
                ledger_id = self.write(payloads, digest_type=digest_type, password=b"secret", write_flags=flags)
                before = self.metadata(ledger_id)
                old = before.segments[0].bookies[1]
                stored = dict(self.bookies[old].entries[ledger_id])
                self.kill(old)
                self.repair(ledger_id, window_entries=7)
                after = self.metadata(ledger_id)
                (new,) = set(after.segments[0].bookies) - set(before.segments[0].bookies)
                self.assertEqual(after.segments[0].bookies.index(new), 1)
                self.assertEqual(self.bookies[new].entries[ledger_id], stored)
                self.assertEqual((after.state, after.last_entry_id, after.length),
                                 (before.state, before.last_entry_id, before.length))  # fmt: skip
                self.assert_complete(ledger_id, payloads)
                self.revive(old)

    def test_empty(self) -> None:
        """The bookie of a ledger without entries is replaced without a copy, and the flow of the replicator ends."""
        ledger_id = self.write([])
        opened = len(self.bookies.flows)
        old = self.metadata(ledger_id).segments[0].bookies[0]
        self.kill(old)
        self.repair(ledger_id)
        self.assertEqual([flow.end is None for flow in self.bookies.flows[opened:]], [False])
        self.assertNotIn(old, self.metadata(ledger_id).segments[0].bookies)
        self.assertEqual(sum(one[0] == "add" for b in BOOKIES for one in self.bookies[b].requests), 0)

    def test_striped(self) -> None:
        """Of a striped ledger the new bookie gets the entries of the position, by few writes, and no others."""
        ledger_id = self.write(self.payloads(90), (3, 2, 2))
        old = self.metadata(ledger_id).segments[0].bookies[0]
        self.kill(old)
        spare = next(b for b in BOOKIES if b not in self.metadata(ledger_id).segments[0].bookies)
        report = self.check(ledger_id)
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].requests.clear()
        self.finish(self.replicator().repair(self.do(self.bk.context.ledgers.read(ledger_id)), report.damaged[0]))
        reads = [one for b in BOOKIES for one in self.bookies[b].requests if one[0] == "read_many"]
        self.assertLessEqual(len(reads), 4)  # the lost bookie, and those that have the entries
        schedule = Schedule(3, 2, 2)
        self.assertEqual(set(self.bookies[spare].entries[ledger_id]), {n for n in range(90) if schedule.keeps(0, n)})
        self.assert_complete(ledger_id, self.payloads(90))

    def test_all_segments(self) -> None:
        """Every fragment that names the bookie gets another one, each entry where its fragment says."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))
        first = self.metadata(writer.ledger_id).segments[0].bookies
        self.bookies[first[0]].up = False
        self.do(writer.append(b"more"))
        self.do(writer.close())
        self.bookies[first[0]].up = True
        self.kill(first[1])
        self.repair(writer.ledger_id)
        for segment in self.metadata(writer.ledger_id).segments:
            self.assertNotIn(first[1], segment.bookies)
        self.assert_complete(writer.ledger_id, [*self.payloads(20), b"more"])

    def test_two_bookies(self) -> None:
        """Two lost bookies are replaced by one copy if there are enough, else as many as there are bookies for."""
        payloads = self.payloads(30)
        ledger_id = self.write(payloads, (3, 3, 2))
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.kill(ensemble[0])
        self.kill(ensemble[2])
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        with self.assertRaises(NotEnoughBookiesError) as raised:
            self.finish(self.replicator().repair(stored, report.damaged[0]))
        (left,) = {loss.bookie_id for loss in self.check(ledger_id).losses()}
        self.assertIn(f"no bookie can take the place of {left}: ", str(raised.exception))
        self.do(self.cluster.registration.register_bookie("b4:1", False, self.service_info()))
        self.repair(ledger_id)
        self.assert_complete(ledger_id, payloads)

    def test_metadata_last(self) -> None:
        """Metadata change after the last copy is acknowledged, not before."""
        ledger_id = self.write(self.payloads(30))
        before = self.metadata(ledger_id)
        self.kill(before.segments[0].bookies[0])
        spare = next(b for b in BOOKIES if b not in before.segments[0].bookies)
        self.bookies[spare].delay = 3.0
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        work = self.start(self.replicator(window_entries=10).repair(stored, report.damaged[0]))
        for _ in range(3):
            self.settle()
            self.assertEqual(self.metadata(ledger_id), before)
            self.clock.advance(3.0)
        self.settle()
        self.assertEqual(len(self.bookies[spare].entries[ledger_id]), 30)
        self.assertNotEqual(self.metadata(ledger_id), before)
        self.successResultOf(work)

    def test_cancelled(self) -> None:
        """A repair that is cancelled leaves the metadata as they were, and nothing under way."""
        ledger_id = self.write(self.payloads(30))
        before = self.metadata(ledger_id)
        self.kill(before.segments[0].bookies[0])
        spare = next(b for b in BOOKIES if b not in before.segments[0].bookies)
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        for limits in (Rate(), Rate(bytes=10)):
            self.throttles.get(REPLICATION_READ).change(limits)
            self.throttles.get(REPLICATION_WRITE).change(limits)
            self.bookies[spare].delay = 3.0
            work = self.start(self.replicator(window_entries=10).repair(stored, report.damaged[0]))
            self.settle()
            work.cancel()
            self.successResultOf(work)
            self.clock.advance(4)
            self.settle()
            self.assertEqual((self.clock.getDelayedCalls(), self.metadata(ledger_id)), ([], before))

    def test_deleted_meanwhile(self) -> None:
        """A ledger that is deleted during the copy stays deleted."""
        ledger_id = self.write(self.payloads(30))
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        self.do(self.bk.delete_ledger(ledger_id))
        with self.assertRaises(NoSuchLedgerMetadataError):
            self.finish(self.replicator().repair(stored, report.damaged[0]))
        self.error(self.bk.context.ledgers.read(ledger_id), NoSuchLedgerMetadataError)

    def test_other_worker(self) -> None:
        """What another worker put in place meanwhile stays in place."""
        ledger_id = self.write(self.payloads(30))
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        for _ in range(2):
            self.finish(self.replicator().repair(stored, report.damaged[0]))
            self.assert_complete(ledger_id, self.payloads(30))
            self.assertEqual(self.do(self.bk.context.ledgers.read(ledger_id)).version, stored.version + 1)


class DamagedBookieTests(RecoveryCase):
    """A bookie that is there gets back what it lacks."""

    def test_in_place(self) -> None:
        """A writable bookie gets its missing and damaged entries, and the metadata stay as they are."""
        payloads = [b"%04d" % n * 500 for n in range(100)]
        for sizes in ((3, 3, 2), (3, 2, 2)):
            ledger_id = self.write(payloads, sizes)
            stored = self.do(self.bk.context.ledgers.read(ledger_id))
            bookie_id = stored.value.segments[0].bookies[1]
            held = self.bookies[bookie_id].entries[ledger_id]
            whole = dict(held)
            ids = sorted(held)
            for n in (ids[10], ids[11], ids[40]):
                del held[n]
            self.bookies[bookie_id].damage(ledger_id, ids[20])
            self.bookies[bookie_id].requests.clear()
            self.repair(ledger_id, [bookie_id])
            self.assertEqual(held, whole)
            added = [one for one in self.bookies[bookie_id].requests if one[0] == "add"]
            self.assertEqual(sum(count for *_, count in added), 4)
            self.assertEqual(self.do(self.bk.context.ledgers.read(ledger_id)), stored)
            self.assert_complete(ledger_id, payloads)

    def test_read_only(self) -> None:
        """A read-only bookie that lacks an entry is replaced by one that gets everything."""
        ledger_id = self.write(self.payloads(30))
        bookie_id = self.metadata(ledger_id).segments[0].bookies[1]
        del self.bookies[bookie_id].entries[ledger_id][3]
        self.do(self.cluster.registration.register_bookie(bookie_id, True, self.service_info()))
        self.settle()
        self.repair(ledger_id, [bookie_id])
        self.assertNotIn(bookie_id, self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(30))

    def test_target_fails(self) -> None:
        """A target that is overloaded is tried again; one that refuses is replaced."""
        ledger_id = self.write(self.payloads(30))
        bookie_id = self.metadata(ledger_id).segments[0].bookies[1]
        bookie = self.bookies[bookie_id]
        del bookie.entries[ledger_id][3]
        bookie.fail("add", TooManyRequestsError, times=1)
        self.repair(ledger_id, [bookie_id])
        self.assertIn(3, bookie.entries[ledger_id])
        del bookie.entries[ledger_id][3]
        bookie.fail("add", WriteOnReadOnlyBookieError)
        self.repair(ledger_id, [bookie_id])
        self.assertNotIn(bookie_id, self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(30))

    def test_one_target_of_a_striped_ledger_fails(self) -> None:
        """When one target refuses its entries of a striped ledger, the other one still gets all of its own."""
        ledger_id = self.write(self.payloads(90), (3, 2, 2))
        one, other, _ = self.metadata(ledger_id).segments[0].bookies
        for entry_id in range(90):
            if entry_id % 3 < 2:
                del self.bookies[(one, other)[entry_id % 3]].entries[ledger_id][entry_id]
        self.bookies[other].fail("add", WriteOnReadOnlyBookieError)
        self.repair(ledger_id, [one, other], window_entries=2)
        self.assertNotIn(other, self.metadata(ledger_id).segments[0].bookies)
        self.assert_complete(ledger_id, self.payloads(90))

    def test_all_targets_fail(self) -> None:
        """Where no bookie takes the entries the metadata stay, and the error says why."""
        ledger_id = self.write(self.payloads(30))
        before = self.metadata(ledger_id)
        self.kill(before.segments[0].bookies[0])
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].fail("add", TooManyRequestsError)
        with self.assertRaisesRegex(WriteError, "too many requests"):
            self.repair(ledger_id)
        self.assertEqual(self.metadata(ledger_id), before)


class LostEntryTests(RecoveryCase):
    """Entries that nobody has."""

    def lose(self, ledger_id: int, entry_id: int) -> None:
        """No bookie has an entry any more."""
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].entries.get(ledger_id, {}).pop(entry_id, None)

    def test_others_are_copied(self) -> None:
        """Entries that no bookie has are reported, the others are given back, the metadata stay."""
        for sizes in ((3, 3, 2), (3, 2, 2)):
            ledger_id = self.write(self.payloads(30), sizes)
            before = self.metadata(ledger_id)
            bookie_id = before.segments[0].bookies[0]
            held = self.bookies[bookie_id].entries[ledger_id]
            for n in sorted(held)[:5]:
                del held[n]
            self.lose(ledger_id, 1)
            with self.assertRaises(EntriesLostError) as caught:
                self.repair(ledger_id, before.segments[0].bookies)
            self.assertEqual(caught.exception.entry_ids, (1,))
            self.assertEqual((self.metadata(ledger_id), len(held)), (before, 29 if sizes[1] == 3 else len(held)))
            lacking = sorted(before.segments[0].bookies[n] for n in Schedule(*sizes).write_set(1))
            found = {loss.bookie_id for loss in self.check(ledger_id, before.segments[0].bookies).losses()}
            self.assertEqual(sorted(found), lacking)

    def test_not_seen_by_the_check(self) -> None:
        """An entry in the middle that a sample passed over, and no bookie has, ends the move of its fragment."""
        payloads = [b"x" * 2000] * 100
        ledger_id = self.write(payloads)
        before = self.metadata(ledger_id)
        self.kill(before.segments[0].bookies[0])
        self.lose(ledger_id, 50)
        self.bookies[before.segments[0].bookies[0]].up = True  # it does not have the entry, and says so
        with self.assertRaises(EntriesLostError) as caught:
            self.repair(ledger_id)
        self.assertEqual(caught.exception.entry_ids, (50,))
        self.assertEqual(self.metadata(ledger_id), before)
        spare = next(b for b in BOOKIES if b not in before.segments[0].bookies)
        self.assertEqual(len(self.bookies[spare].entries[ledger_id]), 99)

    def test_all_bookies_gone(self) -> None:
        """If all bookies of an entry are gone nothing is read, and the error names them."""
        ledger_id = self.write(self.payloads(30))
        ensemble = self.metadata(ledger_id).segments[0].bookies
        for bookie_id in ensemble:
            self.kill(bookie_id)
        with self.assertRaises(EntriesLostError) as caught:
            self.repair(ledger_id)
        self.assertIn(f"{ensemble[0]} is gone, {ensemble[1]} is gone", str(caught.exception))

    def test_sources_that_do_not_answer(self) -> None:
        """Sources that cannot be reached, or are overloaded, are no loss: the error is theirs."""
        ledger_id = self.write([b"x" * 2000] * 100)
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.kill(ensemble[0])
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        for bookie_id in ensemble[1:]:
            for operation in ("read_batch", "read_many"):
                self.bookies[bookie_id].fail(operation, TooManyRequestsError)
        with self.assertRaises((TooManyRequestsError, BookieHandleNotAvailableError)):
            self.finish(self.replicator().repair(stored, report.damaged[0]))

    def test_sources_that_refuse(self) -> None:
        """Sources that refuse to answer, as without credentials, may have the entries: they are not lost."""
        unclear = UnauthorizedAccessError(), SecurityError("the TLS handshake failed"), RequestTimeoutError()
        damaged = DigestMatchError(1, 0, "damaged")
        written = (((3, 3, 2), 1), ((3, 3, 2), 100), ((3, 2, 2), 100))
        for (sizes, count), refused, is_first in product(written, unclear, (True, False)):
            with self.subTest(sizes=sizes, count=count, refused=refused, is_first=is_first):
                self.setUp()
                ledger_id = self.write([b"x" * 2000] * count, sizes)
                ensemble = self.metadata(ledger_id).segments[0].bookies
                self.kill(ensemble[0])
                report = self.check(ledger_id)
                stored = self.do(self.bk.context.ledgers.read(ledger_id))
                errors = (refused, damaged) if is_first else (damaged, refused)
                for bookie_id, error in zip(ensemble[1:], errors, strict=True):
                    for operation in ("read_batch", "read_many"):
                        self.bookies[bookie_id].fail(operation, lambda error=error: error)
                with self.assertRaises(type(refused)):
                    self.finish(self.replicator().repair(stored, report.damaged[0]))
                self.tearDown()


class LimitTests(RecoveryCase):
    """Speed limits."""

    def test_rates(self) -> None:
        """Reads and writes keep to their limits; writes count for each bookie that gets them."""
        payloads = [b"x" * 1000] * 400
        ledger_id = self.write(payloads)
        ensemble = self.metadata(ledger_id).segments[0].bookies
        self.do(self.cluster.registration.register_bookie("b4:1", False, self.service_info()))
        for bookie_id in ensemble[:2]:
            self.kill(bookie_id)
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        for name, per_entry in ((REPLICATION_READ, 1), (REPLICATION_WRITE, 2)):
            for rate in (Rate(bytes=50_000.0), Rate(entries=50.0)):
                self.throttles.get(name).change(rate)
                began = self.clock.seconds()
                granted = self.replication_metrics.entries_written.value
                self.finish(self.replicator().repair(stored, report.damaged[0]))
                seconds = self.clock.seconds() - began
                self.assertEqual(self.replication_metrics.entries_written.value - granted, 800)
                n_bytes = 400 * per_entry * (1000 + 36)
                wanted = n_bytes / 50_000.0 if rate.bytes else 400 * per_entry / 50.0
                self.assertTrue(0.95 * wanted <= seconds <= 1.05 * wanted, (name, rate, seconds, wanted))
                self.throttles.get(name).change(Rate())

    def test_small_pieces(self) -> None:
        """Under a limit no request is about more than a fiftieth of a second, and none is sent before it is paid."""
        ledger_id = self.write([b"x" * 964] * 400)
        self.kill(self.metadata(ledger_id).segments[0].bookies[0])
        report = self.check(ledger_id)
        stored = self.do(self.bk.context.ledgers.read(ledger_id))
        bookies = [self.bookies[bookie_id] for bookie_id in self.do(self.cluster.registration.writable_bookies())]
        for name, operation in ((REPLICATION_READ, "read_batch"), (REPLICATION_WRITE, "add")):
            throttle = self.throttles.get(name)
            throttle.change(Rate(bytes=500_000.0))
            granted = throttle.status.granted_bytes
            for bookie in bookies:
                bookie.requests.clear()
            working = [self.start(self.replicator().repair(stored, report.damaged[0])) for _ in range(8)]
            self.settle()
            asked = [count for bookie in bookies for kind, _, _, count in bookie.requests if kind == operation]
            self.assertEqual(len(asked), 1)
            self.assertTrue(9_000 <= throttle.status.granted_bytes - granted <= 10_000)
            for one in working:
                one.cancel()
            throttle.change(Rate())

    def test_open_fragments(self) -> None:
        """A fragment of a writer that may be alive is never repaired."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(20)))
        self.kill(self.metadata(writer.ledger_id).segments[0].bookies[0])
        report = self.check(writer.ledger_id)
        stored = self.do(self.bk.context.ledgers.read(writer.ledger_id))
        self.error(self.replicator().repair(stored, report.damaged[0]), IllegalOperationError)

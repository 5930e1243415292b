"""Recovery of bookies by hand."""

from typing import Any

from bookkeeper_twisted.autorecovery.operations.bookie_recovery import (
    BookieRecovery,
    PlannedLedger,
    RecoveredLedger,
    RecoveryResult,
)
from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.model import LedgerState

from ..recovery_case import RecoveryCase


class BookieRecoveryTests(RecoveryCase):
    """Ledgers on four bookies, one or two of which are given up."""

    def setUp(self) -> None:
        super().setUp()
        self.admin = BookKeeperAdmin(self.bk)
        self.marks: Any = self.bk.metadata.underreplication

    def recovery(self, *bookies: str, **options: Any) -> BookieRecovery:
        """A recovery of some bookies."""
        return BookieRecovery(self.admin, self.presence(), self.replicator(bookies), bookies, **options)

    def planned(self, recovery: BookieRecovery) -> list[PlannedLedger]:
        """What it would do."""

        async def all_of_it() -> list[PlannedLedger]:
            return [ledger async for ledger in recovery.plan()]

        return list(self.finish(all_of_it()))

    def recovered(self, recovery: BookieRecovery) -> list[RecoveredLedger]:
        """What it did."""
        return [self.finish(recovery.recover(ledger)) for ledger in self.planned(recovery)]

    def assertWhole(self, ledger_id: int, *gone: str) -> None:
        """Every entry is on its full write set, none of it on some bookies."""
        for segment in self.metadata(ledger_id).segments:
            self.assertFalse(set(gone) & set(segment.bookies))
        self.assertTrue(self.check(ledger_id, percentage=100).is_whole)

    def test_lost_bookie(self) -> None:
        """Ledgers of a bookie that is gone are whole on others; ledgers without it are left alone."""
        payloads = self.payloads(40)
        ids = [self.write(payloads, sizes) for sizes in ((3, 3, 2), (3, 2, 2), (2, 2, 2), (1, 1, 1)) for _ in range(3)]
        gone = self.metadata(ids[0]).segments[0].bookies[1]
        named = [i for i in ids if gone in self.metadata(i).segments[0].bookies]
        several = [i for i in named if self.metadata(i).ensemble_size > 1]
        self.kill(gone)
        recovery = self.recovery(gone)
        self.assertEqual([ledger.ledger_id for ledger in self.planned(recovery)], named)
        results = {ledger.ledger_id: ledger.result for ledger in self.recovered(recovery)}
        self.assertEqual([i for i in named if results[i] is RecoveryResult.RECOVERED], several)
        for ledger_id in several:
            self.assertWhole(ledger_id, gone)

    def test_running_bookie(self) -> None:
        """A bookie that runs is emptied: what it alone keeps is copied from itself."""
        ledger_id = self.write(self.payloads(10), (1, 1, 1))
        (bookie_id,) = self.metadata(ledger_id).segments[0].bookies
        results = self.recovered(self.recovery(bookie_id))
        self.assertEqual(results, [RecoveredLedger(ledger_id, RecoveryResult.RECOVERED)])
        self.assertWhole(ledger_id, bookie_id)

    def test_estimate(self) -> None:
        """The bytes of the copies, by the share of the bookies in the entries."""
        whole, striped = self.write([b"x" * 100] * 30, (3, 3, 2)), self.write([b"x" * 100] * 30, (4, 2, 2))
        ensemble = self.metadata(whole).segments[0].bookies
        by_id = {ledger.ledger_id: ledger.n_bytes for ledger in self.planned(self.recovery(*ensemble[:2]))}
        self.assertEqual(by_id, {whole: 2 * 3000, striped: 3000})

    def test_open_ledger(self) -> None:
        """A ledger whose writer still names the bookie is closed first, or left alone where that is wanted."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(5)))
        ledger_id, gone = writer.ledger_id, writer.metadata.segments[0].bookies[0]
        self.kill(gone)
        skipping = self.recovery(gone, skip_open=True)
        self.assertEqual(self.recovered(skipping), [RecoveredLedger(ledger_id, RecoveryResult.SKIPPED)])
        self.assertIs(self.metadata(ledger_id).state, LedgerState.OPEN)
        self.assertTrue(self.planned(skipping)[0].is_open)
        self.assertEqual(self.recovered(self.recovery(gone)), [RecoveredLedger(ledger_id, RecoveryResult.RECOVERED)])
        self.assertIs(self.metadata(ledger_id).state, LedgerState.CLOSED)
        self.assertWhole(ledger_id, gone)

    def test_older_ensemble_of_an_open_ledger(self) -> None:
        """The writer goes on where only an ensemble before the newest names the bookie."""
        writer = self.do(self.bk.create_ledger(3, 3, 2))
        self.do(writer.append_many(self.payloads(5)))
        gone = writer.metadata.segments[0].bookies[0]
        self.kill(gone)
        self.finish(writer.append(b"in another ensemble"))
        ledger_id = writer.ledger_id
        self.assertFalse(self.planned(self.recovery(gone))[0].is_open)
        self.assertEqual(self.recovered(self.recovery(gone)), [RecoveredLedger(ledger_id, RecoveryResult.RECOVERED)])
        self.assertIs(self.metadata(ledger_id).state, LedgerState.OPEN)
        self.finish(writer.append(b"the writer is alive"))
        self.finish(writer.close())
        self.assertWhole(ledger_id, gone)

    def test_locked(self) -> None:
        """A ledger that a worker repairs is not touched, and counts as failed; the lock is released at the end."""
        ledger_id = self.write(self.payloads(5))
        gone = self.metadata(ledger_id).segments[0].bookies[0]
        self.kill(gone)
        self.do(self.marks.lock(ledger_id, "a-worker"))
        (result,) = self.recovered(self.recovery(gone))
        self.assertIs(result.result, RecoveryResult.FAILED)
        self.assertIn("lock", result.reason)
        self.assertIn(gone, self.metadata(ledger_id).segments[0].bookies)
        self.do(self.marks.unlock(ledger_id))
        self.assertIs(self.recovered(self.recovery(gone))[0].result, RecoveryResult.RECOVERED)
        self.assertEqual(self.do(self.marks.locked_ledgers()), {})

    def test_no_metadata_store(self) -> None:
        """A store that is not there ends the recovery: every further ledger would fail, each after its time."""
        gone = self.metadata(self.write(self.payloads(5))).segments[0].bookies[0]
        recovery = self.recovery(gone)
        (planned,) = self.planned(recovery)
        self.do(self.bk.metadata.close())
        self.assertRaises(MetadataError, self.finish, recovery.recover(planned))

    def test_no_copy_anywhere(self) -> None:
        """An entry without a copy makes the ledger fail, with the reason; the metadata stay."""
        ledger_id = self.write(self.payloads(5), (1, 1, 1))
        (gone,) = self.metadata(ledger_id).segments[0].bookies
        self.kill(gone)
        (result,) = self.recovered(self.recovery(gone))
        self.assertIs(result.result, RecoveryResult.FAILED)
        self.assertIn(gone, result.reason)
        self.assertEqual(self.metadata(ledger_id).segments[0].bookies, (gone,))

    def test_deleted(self) -> None:
        """A ledger that is deleted after the plan was made lacks nothing."""
        ledger_id = self.write(self.payloads(5))
        gone = self.metadata(ledger_id).segments[0].bookies[0]
        recovery = self.recovery(gone)
        (planned,) = self.planned(recovery)
        self.do(self.bk.delete_ledger(ledger_id))
        self.assertEqual(
            self.finish(recovery.recover(planned)), RecoveredLedger(ledger_id, RecoveryResult.RECOVERED)
        )  # fmt: skip

"""The rules of recovery, one by one."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.operations import FENCE, HIGH_PRIORITY, RECOVERY_ADD
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookieIOError,
    DataUnknownError,
    DigestMatchError,
    LedgerFencedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    TooManyRequestsError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.model import LedgerMetadata, Segment


def rules(quorums: tuple[int, int, int] = (3, 3, 2), starts: tuple[int, ...] = (0,)) -> RecoveryRules:
    """For a ledger with segments that begin there."""
    names = tuple(f"b{i}" for i in range(quorums[0]))
    return RecoveryRules(LedgerMetadata(*quorums, tuple(Segment(start, names) for start in starts)))


class RecoveryRulesTests(SynchronousTestCase):
    """What a recovery decides (S17)."""

    def test_flags(self) -> None:
        """Every read fences, every add passes the fence, all of it before background work."""
        self.assertEqual(rules().fence_flags(), FENCE | HIGH_PRIORITY)
        self.assertEqual(rules().read_flags(), FENCE | HIGH_PRIORITY)
        self.assertEqual(rules().add_flags(), RECOVERY_ADD | HIGH_PRIORITY)

    def test_coverage(self) -> None:
        """Bookies suffice if no write set has an ack quorum of others."""
        table = {(3, 3, 3): 1, (3, 3, 2): 2, (3, 2, 2): 2, (3, 3, 1): 3, (2, 2, 1): 2, (4, 2, 1): 4, (5, 3, 2): 4}
        for quorums, needed in table.items():
            self.assertTrue(rules(quorums).is_covered(range(needed)), quorums)
            self.assertFalse(rules(quorums).is_covered(range(needed - 1)), quorums)
        self.assertTrue(rules((4, 2, 2)).is_covered({0, 2}))
        self.assertFalse(rules((4, 2, 2)).is_covered({0, 1}))

    def test_start(self) -> None:
        """What is before the newest ensemble is acknowledged; a higher LAC counts."""
        two = (0, 10)
        for starts, heard, confirmed in (((0,), -1, -1), ((0,), 7, 7), (two, -1, 9), (two, 3, 9), (two, 15, 15)):
            self.assertEqual(rules(starts=starts).confirmed(heard), confirmed)

    def test_negatives(self) -> None:
        """Only "no such entry" and "no such ledger" say that a bookie has no entry."""
        self.assertTrue(rules().is_negative(NoSuchEntryError()))
        self.assertTrue(rules().is_negative(NoSuchLedgerError()))
        for error in (
            BookieIOError(), DataUnknownError(), DigestMatchError(1, 1, ""), RequestTimeoutError(), LedgerFencedError(),
            BookieHandleNotAvailableError(), TooManyRequestsError(), UnauthorizedAccessError(),
        ):  # fmt: skip
            self.assertFalse(rules().is_negative(error), error)

    def test_enough_negatives(self) -> None:
        """The ledger ends where those who may have the entry are fewer than an ack quorum."""
        for wq in range(1, 6):
            for aq in range(1, wq + 1):
                ends = [rules((wq, wq, aq)).was_never_acknowledged(n) for n in range(wq + 1)]
                self.assertEqual(ends, [wq - n < aq for n in range(wq + 1)])

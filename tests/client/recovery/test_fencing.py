"""Fencing the last ensemble, and hearing how far its writer came."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.recovery.ledger_recovery import FencingCoverage
from bookkeeper_twisted.errors import BookieIOError, ReadError, RequestTimeoutError, UnauthorizedAccessError
from bookkeeper_twisted.ledger.lac_answers import LastConfirmed
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules

from .recovery_case import LEDGER, RecoveryTestCase


class FencingCoverageTests(RecoveryTestCase):
    """Three bookies, of which two must answer (S17)."""

    def fence(self) -> "Deferred[Any]":
        """Fences; with all the time it takes."""
        self.fencing = FencingCoverage(self.bookies, self.digester, LEDGER, RecoveryRules(self.stored()))
        return self.finished(Deferred.fromCoroutine(self.fencing.read()))

    def test_nothing(self) -> None:
        """Answers of bookies without the ledger count, and they are fenced."""
        self.assertEqual(self.successResultOf(self.fence()), LastConfirmed())
        self.assertGreaterEqual(sum(LEDGER in self.bookies[name].fenced for name in self.names), 2)

    def test_highest(self) -> None:
        """The highest LAC counts; the lengths of the entries it came with are kept."""
        self.leave(3, 2, [0])
        self.leave(6, 5, [1])
        known = self.successResultOf(self.fence())
        self.assertEqual((known.last_add_confirmed, known.entry_id), (5, 6))
        self.assertEqual(self.fencing.lengths, {3: 40, 6: 70})

    def test_damaged(self) -> None:
        """An answer counts once it verifies, not before (S18)."""
        self.leave_range(0, 4)
        for name in ("b0", "b1"):
            self.bookies[name].damage(LEDGER, 4)
        self.failureResultOf(self.fence(), ReadError)
        self.bookies["b2"].damage(LEDGER, 4)
        for name in self.names:
            self.bookies[name].entries[LEDGER][4] = b""
        self.failureResultOf(self.fence(), ReadError)

    def test_errors(self) -> None:
        """Errors are no answers; a time-out is told as such."""
        self.leave_range(0, 4)
        self.bookies["b0"].fail("read", BookieIOError)
        self.assertEqual(self.successResultOf(self.fence()).last_add_confirmed, 3)
        self.bookies["b1"].silent = True
        self.failureResultOf(self.fence(), RequestTimeoutError)

    def test_unauthorised(self) -> None:
        """One refusal of the password ends it."""
        self.bookies["b0"].keys[LEDGER] = b"k" * 20
        self.failureResultOf(self.fence(), UnauthorizedAccessError)

"""Recoveries that fail, that die, that follow weaker rules (S12, S15, S17)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, fail

from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    ClientClosedError,
    LedgerRecoveryError,
    MetadataUnavailableError,
    RequestTimeoutError,
    UnauthorizedAccessError,
    WriteOnReadOnlyBookieError,
)
from bookkeeper_twisted.ledger.recovery_rules import RecoveryRules
from bookkeeper_twisted.model import LedgerMetadata, LedgerState

from .recovery_case import LEDGER, SIZE, RecoveryTestCase


class FailureTests(RecoveryTestCase):
    """What the caller is told."""

    def _fails(self, error: Callable[[], Exception], kind: type[Exception], operation: str = "read") -> Any:
        self.leave_range(0, 4)
        for name in self.names:
            self.bookies[name].fail(operation, error)
        return self.failureResultOf(self.finished(self.start()), kind).value

    def test_unauthorised(self) -> None:
        """A wrong password is told as such."""
        self._fails(UnauthorizedAccessError, UnauthorizedAccessError)

    def test_timeout(self) -> None:
        """So is that bookies do not answer."""
        self._fails(partial(RequestTimeoutError, "late"), RequestTimeoutError)

    def test_client_closed(self) -> None:
        """And that the client was closed."""
        self.leave_range(0, 4)
        recovering = self.start()
        self.bookies.close()
        self.failureResultOf(self.finished(recovering), ClientClosedError)

    def test_store_is_gone(self) -> None:
        """And that the metadata store does not answer."""
        self.patch(self.context.ledgers, "write", lambda *_: fail(MetadataUnavailableError("gone")))
        self._fails(partial(RequestTimeoutError, "late"), MetadataUnavailableError)

    def test_others(self) -> None:
        """Everything else is a failed recovery, with its cause."""
        error = self._fails(partial(BookieHandleNotAvailableError, "gone"), LedgerRecoveryError)
        self.assertIsNotNone(error.__cause__)
        self.assertIn("gone", str(error))

    def test_write_back(self) -> None:
        """An entry that no bookie takes back ends the recovery."""
        self.bookies["b3"].fail("add", WriteOnReadOnlyBookieError)
        self._fails(WriteOnReadOnlyBookieError, LedgerRecoveryError, "add")
        self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)


class DeathTests(RecoveryTestCase):
    """Recoveries that die."""

    def test_flow(self) -> None:
        """The flow of a recovery ends with it, whatever its outcome."""
        for outcome in ("cancelled", "failed", "recovered"):
            for name in self.names:
                self.bookies[name].up = outcome != "failed"
            recovery = self.recovery()
            flow = self.bookies.flows[-1]
            running = self.start(recovery)
            self.assertIsNone(flow.end)
            if outcome == "cancelled":
                running.cancel()
            running.addErrback(lambda _: None)
            self.finished(running)
            self.assertIsInstance(flow.end, ClientClosedError, outcome)

    def test_at_every_step(self) -> None:
        """A recovery that dies, whenever it does, leaves nothing that another one cannot finish."""
        steps = (number for number in range(1000) if self._dies_after(number))
        self.assertGreater(next(steps), 8)

    def _dies_after(self, steps: int) -> bool:
        """:returns: whether it was over before that."""
        RecoveryTestCase.setUp(self)
        for name, delay in zip(self.names, (0.1, 0.2, 0.3), strict=True):
            self.bookies[name].delay = delay
        self.leave_range(0, 4)
        self.leave(5, 4, [0, 1])
        self.leave(6, 4, [1, 2])
        dying = self.start()
        for _ in range(steps):
            self.clock.advance(0.1)
        over = dying.called
        dying.cancel()
        if not over:
            self.failureResultOf(dying, CancelledError)
        self.assertEqual(self.context.budget.used, 0)
        self.clock.pump([1.0] * 10)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        closed = self.recover()
        self.assertEqual((closed.last_entry_id, closed.length), (6, 7 * SIZE))
        return over


class RuleTests(RecoveryTestCase):
    """Each rule, replaced by a weaker one, loses what was acknowledged."""

    def recovered(self, rules: type[RecoveryRules]) -> LedgerMetadata:
        """What a recovery by other rules stores."""
        return self.recover(self.recovery(rules))

    def test_errors_are_no_negatives(self) -> None:
        """Ended at the first error, a ledger would lose an entry that is on two bookies."""

        class FirstError(RecoveryRules):
            def is_negative(self, error: Exception) -> bool:
                return True

        self.leave_range(0, 4)
        for name in ("b1", "b2"):
            for operation in ("read", "read_batch"):
                self.bookies[name].fail(operation, BookieHandleNotAvailableError, first=4, last=4)
        self.leave(4, 2)
        self.leave(3, 2)
        self.assertEqual(self._both(FirstError, "b0"), (4, 3))

    def _both(self, weaker: type[RecoveryRules], slow: str) -> tuple[int, int]:
        self.bookies[slow].delay = 0.1
        stored = self.do(self.driver.ledgers.read(LEDGER))
        wrong = self.recovered(weaker).last_entry_id
        closed = self.do(self.driver.ledgers.read(LEDGER))
        self.do(self.driver.ledgers.write(LEDGER, stored.value, closed.version))
        return self.recovered(RecoveryRules).last_entry_id, wrong

    def test_the_newest_ensemble_begins_after_the_lac(self) -> None:
        """Taken for acknowledged, the first entry of the newest ensemble would be there without its copies."""

        class AfterTheStart(RecoveryRules):
            def confirmed(self, heard_lac: int) -> int:
                return max(heard_lac, self.metadata.segments[-1].first_entry_id)

        failure = self.failureResultOf(self.finished(self.start(self.recovery(AfterTheStart))), LedgerRecoveryError)
        self.assertIn("no such", str(failure.value))
        self.assertEqual(self.recover().last_entry_id, -1)

    def test_coverage_by_write_set(self) -> None:
        """Counted without regard to write sets, two unheard bookies would do that could have acknowledged."""

        class Counted(RecoveryRules):
            def is_covered(self, heard: Any) -> bool:
                return len(heard) >= self.schedule.ack_quorum

        self.quorums = (4, 2, 2)
        RecoveryTestCase.setUp(self)
        self.leave_range(0, 2)
        self.bookies["b2"].up = self.bookies["b3"].up = False
        self.leave(2, 1)
        recovering = self.start(self.recovery())
        self.failureResultOf(self.finished(recovering), LedgerRecoveryError)
        self.assertIs(self.stored().state, LedgerState.IN_RECOVERY)
        self.assertTrue(Counted(self.stored()).is_covered({0, 1}))

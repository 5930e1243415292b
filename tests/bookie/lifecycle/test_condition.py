"""The condition of a bookie, for the service manager of its process."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.admin import BookieState, Phase
from bookkeeper_twisted.bookie.lifecycle.condition import Condition, condition_of
from bookkeeper_twisted.bookie.lifecycle.replay import ReplayProgress

REPLAY = ReplayProgress(journals=2, journal=1, n_entries=1500, n_bytes=3 << 20)


class ConditionTests(SynchronousTestCase):
    """Phases of a bookie's life."""

    def test_starting(self) -> None:
        """A bookie that starts shows its replay, whose bytes are its progress; no write of a journal counts yet."""
        condition = condition_of(BookieState(Phase.STARTING), REPLAY, 5.0)
        self.assertEqual(condition, Condition("replaying journal 1 of 2: 1,500 entries, 3 MiB", 3 << 20))

    def test_serving(self) -> None:
        """One that serves says so, or why it is read-only; writes of its journals count."""
        serving = condition_of(BookieState(Phase.SERVING), REPLAY, 5.0)
        self.assertEqual(serving, Condition("serving", blocked=5.0))
        full = BookieState(Phase.SERVING, True, reasons=("a disk is full", "forceReadOnlyBookie is set"))
        self.assertEqual(condition_of(full, REPLAY, 0).text, "read-only: a disk is full; forceReadOnlyBookie is set")

    def test_ending(self) -> None:
        """One that ends says why, if it has failed; the last writes of its journals may take long."""
        self.assertEqual(condition_of(BookieState(Phase.STOPPING), REPLAY, 5.0), Condition("stopping"))
        failed = BookieState(Phase.FAILED, reasons=("journal-0 failed",))
        self.assertEqual(condition_of(failed, REPLAY, 5.0), Condition("failed: journal-0 failed"))

"""What locks say."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.autorecovery.interfaces import LedgerStatus
from bookkeeper_twisted.autorecovery.replication import lock_reasons
from bookkeeper_twisted.autorecovery.replication.lock_reasons import blocker_of, reason_of, text_of
from bookkeeper_twisted.autorecovery.replication.repair import RepairState

_NOON = 1_795_348_800.4


class LockReasonTests(SynchronousTestCase):
    """Texts of locks."""

    def _text(self, state: str, reason: str = "", next_attempt: float | None = _NOON) -> str:
        return text_of("host", LedgerStatus(7, state, reason, 1, 5.0, next_attempt))

    def test_repairing(self) -> None:
        """A ledger that is worked on has the plain name of the host, as Apache's worker stores it."""
        self.assertEqual(self._text("repairing", "of before", None), "host")

    def test_held(self) -> None:
        """Each state of a ledger that is held has words of its own, with the time of the next attempt."""
        time = "2026-11-22T12:00:00Z"
        for state, words in (
            (RepairState.GRACE, f"left to its writer until {time}"), (RepairState.WAITING, f"waits until {time}"),
            (RepairState.IMPOSSIBLE, f"cannot be repaired, tried again at {time}"),
        ):  # fmt: skip
            self.assertEqual(self._text(state.value, "a reason"), f"host: {words}: a reason")

    def test_reasons(self) -> None:
        """Ledgers that wait for the same have one reason, whatever their hosts and times; one at work has none."""
        texts = [self._text(state, "2 of 3: too few", 5.0 * at) for at, state in enumerate(("grace", "impossible"), 1)]
        self.assertEqual([reason_of(text) for text in texts], ["2 of 3: too few"] * 2)
        self.assertEqual((reason_of("[::1]:3181"), reason_of("host: words of another tool")),
                         ("", "words of another tool"))  # fmt: skip

    def test_blockers(self) -> None:
        """A lock with a name alone is a repair under way; one with a reason says it."""
        self.assertEqual(blocker_of("host"), "being repaired by host")
        self.assertEqual(blocker_of("[::1]:3181"), "being repaired by [::1]:3181")
        text = self._text("waiting", "a reason")
        self.assertEqual(blocker_of(text), f"held by {text}")

    def test_many_ledgers(self) -> None:
        """Of many ledgers with few reasons, each reason is looked at once: the console groups them every second."""
        looked_at: list[str] = []

        def kind(reason: str) -> str:
            looked_at.append(reason)
            return reason.partition(" ")[0]

        self.patch(lock_reasons, "kind_of", kind)
        reasons = {ledger_id: f"{'marked' if ledger_id % 3 else 'open'} {ledger_id % 2}" for ledger_id in range(999)}
        found = lock_reasons.by_kind(reasons)
        self.assertEqual([(example, len(ids)) for example, ids in found], [("marked 1", 666), ("open 0", 333)])
        self.assertEqual(sorted(looked_at), ["marked 0", "marked 1", "open 0", "open 1"])

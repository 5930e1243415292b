"""The auditor's periodic checks: when they run, what they find, and when they count as done."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.ledger.findings import LossKind
from bookkeeper_twisted.model import AuditorCheck

from .auditor_case import AuditorCase, Node

_WEEK = 604_800


class AllLedgersTests(AuditorCase):
    """The check of all ledgers."""

    def _checked(self) -> Node:
        return self.node(auditor_periodic_check_interval=_WEEK)

    def _time(self) -> int | None:
        ms: int | None = self.do(self.cluster.auditing.check_time(AuditorCheck.ALL_LEDGERS))
        return ms

    def test_first_office(self) -> None:
        """A cluster that was never checked is checked at once, and the time of its end is stored."""
        node = self._checked()
        self.assertEqual((sorted(node.checker.checked), self._time()), (list(range(5)), self.now_ms()))
        self.assertEqual(node.metrics.checked.value, 5)

    def test_age_counts(self) -> None:
        """A new auditor does not start the week again."""
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, self.now_ms()))
        self.settle(_WEEK - 60)
        node = self._checked()
        self.assertEqual(node.checker.checked, [])
        self.walk_after(60)
        self.assertEqual(len(node.checker.checked), 5)

    def test_forced(self) -> None:
        """A time that is set back is noticed within a minute."""
        node = self._checked()
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, self.now_ms() - 21 * 86400 * 1000))
        self.walk_after(60)
        self.assertEqual(len(node.checker.checked), 10)

    def test_time_in_the_future(self) -> None:
        """A time in the future, from a clock that was wrong, is no reason to wait longer than an interval."""
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, self.now_ms() + 10**12))
        node = self._checked()
        self.settle(_WEEK)
        self.assertEqual(node.checker.checked, [])
        self.assertEqual(self._time(), 10**12 + self.now_ms() - (_WEEK + 1) * 1000)

    def test_marks(self) -> None:
        """Ledgers with missing, damaged or gone replicas are marked with their bookies."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        node.checker.losses = {
            1: {"b1:1": LossKind.MISSING}, 3: {"b0:1": LossKind.DAMAGED, "x:1": LossKind.GONE}
        }  # fmt: skip
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        self.walk_after(60)
        self.assertEqual(self.marks(), {1: ("b1:1",), 3: ("b0:1", "x:1")})

    def test_overload_is_no_loss(self) -> None:
        """A ledger with a bookie that could not answer is asked again, not marked, and counted in the end."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        node.checker.checked.clear()
        node.checker.unsure = {1: 1, 2: 99}
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        for _ in range(60):
            self.settle(5)
        self.assertEqual((self.marks(), node.metrics.inconclusive.value), ({}, 1))
        self.assertEqual([node.checker.checked.count(i) for i in (1, 2, 3)], [2, 4, 1])
        self.assertIsNotNone(self._time())

    def test_asked_again_for_a_loss(self) -> None:
        """A ledger that is asked again is not marked again for the same loss, but for another."""
        node = self.node(seconds=0, auditor_periodic_check_interval=_WEEK)
        node.checker.unsure = {1: 3}
        node.checker.losses = {1: {"b1:1": LossKind.MISSING}}
        self.walk_after(0)
        self.settle(5)
        self.assertEqual((node.checker.checked.count(1), node.writes), (2, {1: 1}))
        node.checker.losses[1]["b1:1"] = LossKind.DAMAGED
        self.settle(10)
        self.assertEqual((node.checker.checked.count(1), node.writes), (3, {1: 2}))

    def test_asked_again_together(self) -> None:
        """Ledgers that are asked again are asked several at a time: one that takes long does not hold up the others."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        node.checker.checked.clear()
        node.checker.unsure = dict.fromkeys(range(5), 1)
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        self.walk_after(60)
        self.assertEqual(node.checker.checked, list(range(5)))
        node.checker.hold = Deferred()
        self.settle(5)
        self.assertEqual(node.checker.checked, [*range(5), *range(5)])
        self.assertIsNone(self._time())
        node.checker.hold.callback(None)
        self.settle()
        self.assertIsNotNone(self._time())

    def test_bookie_in_its_delay(self) -> None:
        """A check that runs while a lost bookie is waited for does not mark its ledgers."""
        node = self.node(auditor_periodic_check_interval=_WEEK, lost_bookie_recovery_delay=600)
        node.checker.hold = Deferred()
        node.checker.losses = {0: {"b0:1": LossKind.GONE}, 1: {"b1:1": LossKind.MISSING}}
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        self.walk_after(60)
        self.kill("b0:1")
        self.settle(10)
        node.checker.hold.callback(None)
        self.settle()
        self.assertEqual(self.marks(), {1: ("b1:1",)})

    def test_put_off(self) -> None:
        """A check and a search that are due while a lost bookie is waited for begin after that."""
        self.node("z:1", lost_bookie_recovery_delay=600)
        self.kill("b0:1")
        self.settle()
        node = self.node("a:1", auditor_periodic_check_interval=_WEEK)
        for session in list(self.store.sessions):
            if session in self.store.votes and self.store.votes[session][1] == "z:1":
                session.close()
        self.settle(599)
        self.assertEqual((node.checker.checked, node.metrics.skipped.value), ([], 2))
        self.walk_after(1)
        self.assertEqual(len(node.checker.checked), 5)

    def test_failure(self) -> None:
        """A check that fails does not count, and is repeated after a pause."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        node.failing.add("read_ledger")
        self.walk_after(60)
        self.assertIsNone(self._time())
        self.assertEqual(node.metrics.failed.value, 1)
        node.failing.clear()
        self.walk_after(5)
        self.assertEqual(self._time(), self.now_ms())
        self.assertEqual(node.metrics.checks[AuditorCheck.ALL_LEDGERS].failure.count, 1)

    def test_stuck_store(self) -> None:
        """Metadata that do not come in time fail the check, which is repeated."""
        node = self.node(
            auditor_periodic_check_interval=_WEEK,
            auditor_acquire_concurrent_open_ledger_operations_timeout_msec=2000,
        )
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        read = node.driver.ledgers.read
        node.driver.ledgers.read = lambda ledger_id: Deferred()  # type: ignore
        self.walk_after(60)
        self.settle(2)
        self.assertEqual(node.metrics.failed.value, 1)
        node.driver.ledgers.read = read  # type: ignore[method-assign]
        self.walk_after(5)
        self.assertEqual(self._time(), self.now_ms())

    def test_rest(self) -> None:
        """A check rests while autorecovery is off, and ends as a whole."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        node.checker.checked.clear()
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        self.do(self.cluster.underreplication.set_enabled(False))
        self.settle(120)
        self.assertEqual((node.checker.checked, self._time()), ([], None))
        self.do(self.cluster.underreplication.set_enabled(True))
        self.settle(1)
        self.assertEqual(len(node.checker.checked), 5)


class PlacementTests(AuditorCase):
    """The check of placement."""

    def _office(self, **config: Any) -> Node:
        return self.node(auditor_periodic_placement_policy_check_interval=_WEEK, **config)

    def test_count(self) -> None:
        """Closed ledgers that do not adhere are counted, and left as they are."""
        self.policy.bad = {("b0:1", "b1:1")}
        self.ledger(7, "b0:1", "b1:1", closed=False)
        node = self._office()
        self.assertEqual((node.metrics.findings.not_adhering, self.marks()), (2, {}))

    def test_repair(self) -> None:
        """Where that is wanted they are marked, without a bookie, unless they are marked already."""
        self.policy.bad = {("b0:1", "b1:1")}
        self.do(self.cluster.underreplication.mark(3, ["b0:1"]))
        self._office(repaired_placement_policy_not_adhering_bookie_enabled=True)
        self.assertEqual(self.marks(), {0: (), 3: ("b0:1",)})

    def test_left_behind(self) -> None:
        """Marks older than the grace period are counted."""
        for ledger_id, age in ((0, 59), (1, 61), (2, 99)):
            self.do(self.cluster.underreplication.mark(ledger_id, [], self.now_ms() - age * 1000))
        self.do(self.cluster.underreplication.mark(3, []))
        self.assertEqual(self._office(underreplicated_ledger_recovery_grace_period=60).metrics.findings.left_behind, 2)
        self.assertEqual(self._office().metrics.findings.left_behind, 0)


class ReplicasTests(AuditorCase):
    """The check of what bookies list."""

    def _office(self) -> Node:
        return self.node(auditor_replicas_check_interval=_WEEK)

    def test_counts(self) -> None:
        """Gauges say over all ledgers how many have too few replicas of an entry; nothing is marked."""
        self.bookie_client.entries = {"b0:1": [(0, 9)], "b1:1": [(0, 4), (6, 9)], "b2:1": []}
        self.bookie("b2:2")
        self.ledger(7, "b2:1", "b2:2")
        findings = self._office().metrics.findings
        # 0 and 3 on b0 and b1: one of two; 1 and 4 on b1 and b2: none of entry 5; 2 on b2 and b0: one
        self.assertEqual((findings.no_replica, findings.below_ack_quorum, findings.below_write_quorum), (3, 0, 3))
        self.assertEqual(self.marks(), {})

    def test_marked_and_open_ledgers(self) -> None:
        """Ledgers that are marked already, or open, are left out."""
        for ledger_id in range(5):
            self.do(self.cluster.underreplication.mark(ledger_id, []))
        self.ledger(7, "b0:1", "b1:1", closed=False)
        self.assertEqual(self._office().metrics.findings.no_replica, 0)

    def test_silent_bookie(self) -> None:
        """A bookie that cannot be asked makes its ledgers inconclusive."""
        self.bookie_client.entries = {"b0:1": None, "b1:1": [(0, 9)], "b2:1": [(0, 9)]}
        node = self._office()
        self.assertEqual((node.metrics.inconclusive.value, node.metrics.findings.no_replica), (3, 0))


class SeveralTests(AuditorCase):
    """Checks beside each other."""

    def test_own_times(self) -> None:
        """Each check has a time of its own; one that is off stores none."""
        self.node(auditor_periodic_check_interval=_WEEK, auditor_replicas_check_interval=_WEEK)
        stored = [self.do(self.cluster.auditing.check_time(check)) is not None for check in AuditorCheck]
        self.assertEqual(stored, [True, False, True])

    def test_failing_time(self) -> None:
        """A time that cannot be stored is stored later, without another check."""
        node = self.node(auditor_periodic_check_interval=_WEEK)
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, None))
        node.checker.checked.clear()
        node.failing.add("write_setting")
        self.walk_after(60)
        self.assertEqual(len(node.checker.checked), 5)
        node.failing.clear()
        self.walk_after(5)
        self.assertIsNotNone(self.do(self.cluster.auditing.check_time(AuditorCheck.ALL_LEDGERS)))
        self.assertEqual(len(node.checker.checked), 5)
        self.flushLoggedErrors(MetadataError)

"""The auditor: lost bookies and delays, the switch, loss of office, failures of the store."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.logger import LogEvent, capturedLogs, formatEvent

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.ledger.findings import LossKind
from bookkeeper_twisted.metrics import new_registry, render
from bookkeeper_twisted.model import AuditorCheck

from .auditor_case import AuditorCase, held_back

_ON_B0 = {0: ("b0:1",), 2: ("b0:1",), 3: ("b0:1",)}
"""The ledgers of bookie 0, with their marks."""


def _lines(events: Sequence[LogEvent]) -> list[str]:
    """The lines of the auditor."""
    return [formatEvent(event) for event in events if "auditing" in event["log_namespace"]]


class LostBookieTests(AuditorCase):
    """From the loss of a bookie to the marks."""

    def test_without_delay(self) -> None:
        """The ledgers of a lost bookie are marked at once, with the time, and counted with their lengths."""
        node = self.node()
        self.settle(5)
        self.kill("b0:1")
        self.settle()
        self.assertEqual(self.marks(), _ON_B0)
        mark = self.do(self.cluster.underreplication.read_mark(0)).value
        self.assertEqual(mark.ctime, self.now_ms())
        self.assertEqual((node.metrics.marked.success.sum, node.metrics.marked_bytes.success.sum), (3, 300))

    def test_undecodable_mark(self) -> None:
        """A mark that cannot be decoded counts for its ledger alone: all others are marked, and one line is logged."""
        self.do(self.cluster.underreplication.mark(0))
        self.cluster.underreplication._store.write_mark(0, b"\xff", 0)
        node = self.node()
        self.settle(5)
        with capturedLogs() as events:
            self.kill("b0:1")
            self.settle()
        self.assertEqual(self.marks(), {**_ON_B0, 0: ()})
        self.assertEqual(node.writes[0], 1)
        lines = [formatEvent(event) for event in events]
        self.assertEqual(sum("ledger 0 counts as marked without names" in line for line in lines), 1, lines)
        self.assertIn("3 ledgers marked: 3 of bookie b0:1", lines)

    def test_loss_is_logged(self) -> None:
        """A lost bookie is named with the time, its ledgers are counted and marked, and its return is logged."""
        self.node(lost_bookie_recovery_delay=30)
        with capturedLogs() as events:
            self.settle(5)
            self.kill("b0:1")
            self.settle(30)
            self.settle(7)
            self.bookie("b0:1")
            self.settle()
        self.assertEqual(
            _lines(events),
            [
                "bookie b0:1 is lost since 1970-01-12T13:46:46Z: its ledgers will be marked in 30 s",
                "bookie b0:1 is lost since 1970-01-12T13:46:46Z: 3 ledgers will be marked in 30 s",
                "3 ledgers marked: 3 of bookie b0:1",
                "bookie b0:1 is back after 37 s",
            ],
        )

    def test_losses_without_delay_are_logged(self) -> None:
        """Bookies that are not waited for are named, and how many ledgers were marked for each."""
        self.node()
        with capturedLogs() as events:
            self.kill("b0:1", "b1:1")
            self.settle()
        said = "is lost since 1970-01-12T13:46:41Z: its ledgers will be marked now"
        found = _lines(events)
        self.assertEqual([text for text in found if "is lost" in text], [f"bookie b{n}:1 {said}" for n in (0, 1)])
        self.assertIn("3 of bookie b0:1", found[-1])

    def test_earlier_loss_is_logged(self) -> None:
        """Of a bookie that was lost before the auditor began, the lines do not say that it was lost only then."""
        self.kill("b0:1")
        self.settle(5)
        with capturedLogs() as events:
            self.node(lost_bookie_recovery_delay=30)
            self.settle(10)
            self.bookie("b0:1")
            self.settle(5)
            self.kill("b0:1")
            self.settle()
        found = [text.partition(": its")[0] for text in _lines(events) if ": its" in text or "back" in text]
        self.assertEqual(
            found,
            [
                "bookie b0:1 is lost since before 1970-01-12T13:46:45Z, when this auditor began",
                "bookie b0:1 is back after more than 11 s",
                "bookie b0:1 is lost since 1970-01-12T13:47:01Z",
            ],
        )

    def test_count_ends_with_the_loss(self) -> None:
        """A bookie that is back before its ledgers are counted ends the count."""
        node = self.node(lost_bookie_recovery_delay=30)
        read, held = node.driver.ledgers.read, Deferred[None]()
        node.driver.ledgers.read = held_back(read, held)  # type: ignore[method-assign]
        with capturedLogs() as events:
            self.kill("b0:1")
            self.settle(3)
            self.bookie("b0:1")
            self.settle()
            held.callback(None)
            self.settle(40)
        self.assertEqual(_lines(events)[1:], ["bookie b0:1 is back after 3 s"])

    def test_count_fails(self) -> None:
        """A count that fails is a warning, and the ledgers are marked nevertheless."""
        node = self.node(lost_bookie_recovery_delay=30)
        node.failing.add("read_ledger")
        with capturedLogs() as events:
            self.kill("b0:1")
            self.settle()
            node.failing.clear()
            self.settle(30)
        self.assertIn("how many ledgers name bookie b0:1 is not known: the store fails", _lines(events))
        self.assertEqual(self.marks(), _ON_B0)

    def test_marks_without_time(self) -> None:
        """Marks carry no time where that is configured."""
        self.node(store_system_time_as_ledger_underreplicated_mark_time=False)
        self.kill("b0:1")
        self.settle()
        self.assertIsNone(self.do(self.cluster.underreplication.read_mark(0)).value.ctime)

    def test_read_only(self) -> None:
        """A bookie that turns read-only is not lost."""
        self.node()
        self.bookie("b0:1", read_only=True)
        self.settle()
        self.assertEqual(self.marks(), {})

    def test_delay(self) -> None:
        """One lost bookie is waited for; nothing is marked before, all after."""
        node = self.node(lost_bookie_recovery_delay=30)
        self.kill("b0:1")
        self.settle(29)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)
        self.assertEqual(node.metrics.delayed.value, 1)

    def test_back_in_time(self) -> None:
        """A bookie that is back within its delay costs nothing."""
        node = self.node(lost_bookie_recovery_delay=30)
        self.kill("b0:1")
        self.settle(29)
        self.bookie("b0:1")
        self.settle(100)
        self.assertEqual((self.marks(), node.metrics.cancelled.value), ({}, 1))

    def test_two_lost(self) -> None:
        """Two lost bookies are not waited for."""
        self.node(lost_bookie_recovery_delay=30)
        self.kill("b0:1")
        self.settle(5)
        self.kill("b1:1")
        self.settle()
        self.assertEqual(self.marks(), {
            0: ("b0:1", "b1:1"), 1: ("b1:1",), 2: ("b0:1",), 3: ("b0:1", "b1:1"), 4: ("b1:1",)
        })  # fmt: skip

    def test_delay_at_the_start(self) -> None:
        """An auditor that is elected during a short outage obeys the delay, also in its first search of all ledgers."""
        self.kill("b0:1")
        node = self.node(seconds=0, lost_bookie_recovery_delay=30, auditor_periodic_bookie_check_interval=3600)
        self.settle(29)
        self.assertEqual((self.marks(), node.metrics.skipped.value), ({}, 1))
        self.bookie("b0:1")
        self.settle(5)
        self.assertEqual((self.marks(), node.metrics.audit.success.count), ({}, 1))

    def test_long_dead(self) -> None:
        """A bookie that no ledger names does not end another's delay, also of an auditor that is new."""
        self.bookie("dead:1")
        self.kill("dead:1", "b0:1")
        self.node("a:1", 0, lost_bookie_recovery_delay=600, auditor_periodic_bookie_check_interval=3600)
        self.settle(599)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)

    def test_long_dead_is_waited_for(self) -> None:
        """The delay of a bookie that ledgers name is its own, not the rest of one that no ledger names."""
        self.bookie("dead:1")
        self.kill("dead:1")
        self.node(lost_bookie_recovery_delay=30)
        self.settle(20)
        self.kill("b0:1")
        self.settle(29)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)

    def test_named_meanwhile(self) -> None:
        """A bookie that comes back and is lost again while ledgers are searched for it is searched for once more."""
        self.bookie("new:1")
        node = self.node(lost_bookie_recovery_delay=30)
        read, held = node.driver.ledgers.read, Deferred[None]()
        node.driver.ledgers.read = held_back(read, held)  # type: ignore[method-assign]
        self.kill("new:1", "b0:1")
        self.settle()
        self.bookie("new:1")
        self.settle()
        self.ledger(9, "new:1", "b1:1")
        self.kill("new:1")
        self.settle()
        held.callback(None)
        self.settle()
        self.assertEqual(self.marks(), {**_ON_B0, 9: ("new:1",)})

    def test_search_fails(self) -> None:
        """Two lost bookies are not waited for where nobody knows what ledgers name them."""
        node = self.node(lost_bookie_recovery_delay=30)
        self.bookie("dead:1")
        node.failing.add("read_ledger")
        self.kill("dead:1", "b0:1")
        self.settle(2)
        node.failing.clear()
        self.settle(6)
        self.assertEqual(self.marks(), _ON_B0)

    def test_stored_delay_wins(self) -> None:
        """The stored delay counts, not the configured one, which is stored where there is none."""
        self.node("a:1", lost_bookie_recovery_delay=30)
        self.assertEqual(self.do(self.cluster.auditing.lost_bookie_delay()), 30)
        self.do(self.cluster.auditing.set_lost_bookie_delay(7))
        self.settle()
        self.kill("b0:1")
        self.settle(6)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)

    def test_orders(self) -> None:
        """The delay written again, or 0, is an order to audit at once; another delay begins anew."""
        for seconds in (30, 0):
            self.setUp()
            self.node(lost_bookie_recovery_delay=30)
            self.kill("b0:1")
            self.settle(10)
            self.do(self.cluster.auditing.set_lost_bookie_delay(seconds))
            self.settle()
            self.assertEqual(self.marks(), _ON_B0)
        self.setUp()
        self.node(lost_bookie_recovery_delay=30)
        self.kill("b0:1")
        self.settle(10)
        self.do(self.cluster.auditing.set_lost_bookie_delay(60))
        self.settle(59)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)

    def test_unknown_bookies(self) -> None:
        """A bookie that only ledgers name, without a cookie, is found by the first search."""
        self.ledger(9, "b1:1", "gone:1")
        self.node(auditor_periodic_bookie_check_interval=3600)
        self.assertEqual(self.marks(), {9: ("gone:1",)})

    def test_loss_during_an_audit(self) -> None:
        """A bookie that is lost while an audit runs is looked into after it."""
        node = self.node()
        before = node.metrics.audit.success.count
        held: Deferred[None] = Deferred()
        node.driver.ledgers.read = held_back(node.driver.ledgers.read, held)  # type: ignore[method-assign]
        self.kill("b0:1")
        self.settle()
        self.kill("b1:1")
        self.settle()
        held.callback(None)
        self.settle(1)
        self.assertEqual(self.marks()[1], ("b1:1",))
        self.assertEqual(node.metrics.audit.success.count - before, 2)

    def test_back_during_an_audit(self) -> None:
        """A bookie that is back before an audit comes to its ledgers does not have them marked."""
        node = self.node()
        held: Deferred[None] = Deferred()
        node.driver.ledgers.read = held_back(node.driver.ledgers.read, held)  # type: ignore[method-assign]
        self.kill("b0:1")
        self.settle()
        self.bookie("b0:1")
        self.settle()
        held.callback(None)
        self.settle()
        self.assertEqual(self.marks(), {})

    def test_periodic_search(self) -> None:
        """The search of all ledgers comes back at its interval."""
        self.node(auditor_periodic_bookie_check_interval=3600)
        self.ledger(9, "b1:1", "gone:1")
        self.settle(3599)
        self.assertEqual(self.marks(), {})
        self.walk_after(61)
        self.assertEqual(self.marks(), {9: ("gone:1",)})


class FailureTests(AuditorCase):
    """Stores that fail, switches, and the end of an office."""

    def test_failing_store(self) -> None:
        """An audit that fails, in whichever of its calls, is repeated until it is complete."""
        for method in ("read_ledger", "ledger_ids", "write_mark", "read_mark", "bookies"):
            self.setUp()
            node = self.node()
            node.failing.add(method)
            self.kill("b0:1")
            self.settle(4)
            self.assertEqual(self.marks(), {}, method)
            node.failing.clear()
            self.settle(300)
            self.settle(300)
            self.assertEqual(self.marks(), _ON_B0, method)
            self.flushLoggedErrors(MetadataError)

    def test_failing_start(self) -> None:
        """An auditor whose store fails when it begins, begins later."""
        node = self.node()
        self.do(node.election.stop())
        node.failing.add("cookie_ids")
        node.election.start()
        self.settle(1)
        self.kill("b0:1")
        node.failing.clear()
        self.settle(10)
        self.assertEqual(self.marks(), _ON_B0)

    def test_switched_off(self) -> None:
        """While autorecovery is off nothing is marked; what happened meanwhile is decided on when it is on again."""
        self.node()
        self.do(self.cluster.underreplication.set_enabled(False))
        self.settle()
        self.kill("b0:1")
        self.kill("b1:1")
        self.settle(100)
        self.assertEqual(self.marks(), {})
        self.bookie("b1:1")
        self.settle()
        self.do(self.cluster.underreplication.set_enabled(True))
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)

    def test_switched_off_just_before(self) -> None:
        """Nothing is marked for a loss that a watch reports before it reports that autorecovery is off since earlier.
        """
        self.node()
        self._switch_and_kill(False, "b0:1")
        self.assertEqual(self.marks(), {})
        self._switch_and_kill(True)
        self.assertEqual(self.marks(), _ON_B0)

    def test_switched_off_before_a_mark_of_a_check(self) -> None:
        """A check asks the store, too: its mark waits, and nothing of that is left when the office ends."""
        node = self.node(auditor_periodic_check_interval=60)
        node.checker.losses, node.checker.hold = {1: {"b1:1": LossKind.MISSING}}, Deferred()
        self.walk_after(60)
        Deferred.fromCoroutine(self.cluster.underreplication.set_enabled(False))
        node.checker.hold.callback(None)
        self.settle(5)
        self.assertEqual(self.marks(), {})
        self.do(node.election.stop())
        self.do(self.cluster.underreplication.set_enabled(True))
        self.settle(5)
        self.assertEqual(self.marks(), {})

    def _switch_and_kill(self, enabled: bool, *bookie_ids: str) -> None:
        """Switch autorecovery on or off, and end bookies before any watch reports that; then let a second pass."""
        Deferred.fromCoroutine(self.cluster.underreplication.set_enabled(enabled))
        for bookie_id in bookie_ids:
            Deferred.fromCoroutine(self.cluster.registration.unregister_bookie(bookie_id))
        self.settle(1)

    def test_lost_office(self) -> None:
        """An auditor out of office marks nothing, not even what it had begun."""
        node = self.node(lost_bookie_recovery_delay=30, auditor_periodic_check_interval=60)
        node.checker.losses = {1: {"b1:1": LossKind.MISSING}}
        self.kill("b0:1")
        self.settle(29)
        self.store.votes.clear()
        node.failing.add("vote")
        self.bookie("new:1")  # a change, so that votes are read
        self.settle()
        self.assertFalse(node.election.in_office)
        self.settle(1000)
        self.assertEqual(self.marks(), {})

    def test_lost_office_in_an_audit(self) -> None:
        """An audit ends with the office: marks that were not made are not made later."""
        node = self.node()
        held: Deferred[None] = Deferred()
        node.driver.ledgers.read = held_back(node.driver.ledgers.read, held)  # type: ignore[method-assign]
        self.kill("b0:1")
        self.settle()
        self.do(node.election.stop())
        held.callback(None)
        self.settle(1000)
        self.assertEqual(self.marks(), {})

    def test_two_auditors(self) -> None:
        """The second candidate takes over, with the delay of the first, and both may mark."""
        one = self.node("a:1", lost_bookie_recovery_delay=30)
        two = self.node("b:1", lost_bookie_recovery_delay=99)
        self.assertEqual((one.election.in_office, two.election.in_office), (True, False))
        self.kill("b0:1")
        self.settle(20)
        self.do(one.driver.close())
        self.settle()
        self.assertTrue(two.election.in_office)
        self.settle(29)
        self.assertEqual(self.marks(), {})
        self.settle(1)
        self.assertEqual(self.marks(), _ON_B0)
        self.assertEqual((one.metrics.findings.in_office, two.metrics.findings.in_office), (0, 1))

    def test_nothing_is_left(self) -> None:
        """A stopped election leaves no work behind."""
        node = self.node(lost_bookie_recovery_delay=30, auditor_periodic_check_interval=60)
        self.kill("b0:1")
        self.settle(5)
        self.do(node.election.stop())
        self.do(node.driver.close())
        self.assertEqual(self.clock.getDelayedCalls(), [])


class MarkCountTests(AuditorCase):
    """How many ledgers are marked."""

    def test_count(self) -> None:
        """The auditor in office counts the marks each minute; another process and one that has left office has none."""
        node, other = self.node(lost_bookie_recovery_delay=1000), self.node("b:1")
        self.do(self.cluster.underreplication.mark(1))
        self.do(self.cluster.underreplication.mark(3))
        self.assertEqual(node.metrics.findings.marked, 0)
        self.settle(60)
        self.assertEqual((node.metrics.findings.marked, other.metrics.findings.marked), (2, 0))
        text = render(new_registry(node.instruments)).decode()
        self.assertIn("\nauditor_underreplicated_ledgers 2\n", text)
        self.do(node.election.stop())
        self.assertEqual(node.metrics.findings.marked, 0)
        self.assertEqual(other.metrics.findings.marked, 2)

    def test_failures(self) -> None:
        """While the store fails, the last number stays; it is counted again when the store is back."""
        node = self.node()
        self.do(self.cluster.underreplication.mark(1))
        self.settle(60)
        self.do(self.cluster.underreplication.mark(2))
        node.failing.add("mark_ids")
        self.settle(60)
        self.assertEqual(node.metrics.findings.marked, 1)
        node.failing.clear()
        self.settle(60)
        self.assertEqual(node.metrics.findings.marked, 2)


class LongCheckTests(AuditorCase):
    """Checks that take long."""

    def test_detection_goes_on(self) -> None:
        """A check of all ledgers that takes for ever keeps no lost bookie from being noticed."""
        node = self.node(auditor_periodic_check_interval=60)
        self.do(node.election.stop())
        node.checker.hold = Deferred()
        node.election.start()
        self.settle(60)
        self.kill("b0:1")
        self.settle()
        self.assertEqual(self.marks(), _ON_B0)
        self.do(node.election.stop())  # a check that waits for ever would be cancelled while its memory is freed

    def test_cut_short(self) -> None:
        """A check that ends with the office is not recorded as done, and its reads are cancelled."""
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.ALL_LEDGERS, self.now_ms()))
        node = self.node(auditor_periodic_check_interval=60)
        before = self.do(self.cluster.auditing.check_time(AuditorCheck.ALL_LEDGERS))
        node.checker.hold = Deferred()
        self.walk_after(61)
        self.assertGreater(len(node.checker.checked), 0)
        self.do(node.election.stop())
        self.assertEqual(node.checker.cancelled, len(node.checker.checked))
        self.settle(1000)
        self.assertEqual(self.do(self.cluster.auditing.check_time(AuditorCheck.ALL_LEDGERS)), before)

"""Walks that the checks of an auditor share: what is read and written once, and what fails alone."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.autorecovery.auditing.ledger_scan import TOGETHER_SECONDS
from bookkeeper_twisted.errors import CodecError, MetadataError, MetadataSerializationError
from bookkeeper_twisted.ledger.findings import LossKind
from bookkeeper_twisted.model import AuditorCheck

from .auditor_case import AuditorCase, Node, held_back

_WEEK = 604_800
_ONCE = dict.fromkeys(range(5), 1)


class SharedWalkCase(AuditorCase):
    """An auditor whose four kinds of periodic work are due when it takes office."""

    def setUp(self) -> None:
        """Makes entries that bookies list."""
        super().setUp()
        self.bookie_client.entries = {f"b{number}:1": [(0, 9)] for number in range(3)}

    def all_due(self, seconds: float = TOGETHER_SECONDS, **config: Any) -> Node:
        """An auditor in office."""
        due = dict.fromkeys(
            (
                "auditor_periodic_bookie_check_interval", "auditor_periodic_check_interval",
                "auditor_periodic_placement_policy_check_interval", "auditor_replicas_check_interval",
            ),
            _WEEK,
        )  # fmt: skip
        repairs = {"repaired_placement_policy_not_adhering_bookie_enabled": True}
        return self.node(seconds=seconds, **{**due, **repairs, **config})

    def stored(self) -> list[bool]:
        """Whether the time of each check is stored."""
        return [self.do(self.cluster.auditing.check_time(check)) is not None for check in AuditorCheck]


class OnceTests(SharedWalkCase):
    """What is done once for all."""

    def test_taking_office(self) -> None:
        """All that is due reads the metadata of a ledger once, and a mark is written once, whatever looks at it."""
        self.ledger(5, "b1:1", "gone:1")
        self.policy.bad = {("b1:1", "gone:1"), ("b0:1", "b1:1"), ("b2:1", "b0:1")}
        node = self.all_due(0)
        node.checker.losses = {0: {"b1:1": LossKind.MISSING}, 5: {"gone:1": LossKind.GONE}}
        self.settle(TOGETHER_SECONDS)
        self.assertEqual(self.marks(), {0: ("b1:1",), 2: (), 3: (), 5: ("gone:1",)})
        self.assertEqual(node.reads, {**_ONCE, 5: 1})
        self.assertEqual(node.writes, {0: 1, 2: 1, 3: 1, 5: 1})
        self.assertEqual((self.stored(), node.metrics.findings.not_adhering), ([True] * 3, 4))
        self.assertEqual((sorted(node.checker.checked), node.metrics.audit.success.count), (list(range(6)), 1))

    def test_lost_bookie(self) -> None:
        """The audit of a lost bookie goes first, in a walk of its own, and stands for the search; one walk follows."""
        self.kill("b0:1")
        node = self.all_due(0)
        on_b0 = {0: ("b0:1",), 2: ("b0:1",), 3: ("b0:1",)}
        self.assertEqual((self.marks(), node.reads), (on_b0, _ONCE))
        node.checker.losses = {ledger_id: {"b0:1": LossKind.GONE} for ledger_id in on_b0}
        self.settle(TOGETHER_SECONDS)
        self.assertEqual((self.stored(), self.marks()), ([True] * 3, on_b0))
        self.assertEqual(node.reads, dict.fromkeys(range(5), 2))
        self.assertEqual(node.writes, dict.fromkeys(on_b0, 1))
        self.assertEqual(node.metrics.audit.success.count, 1)

    def test_after_the_audit(self) -> None:
        """Checks that become due while an audit is under way share a walk after it."""
        node = self.all_due()
        read, held = node.driver.ledgers.read, Deferred[None]()
        node.driver.ledgers.read = held_back(read, held)  # type: ignore[method-assign]
        self.kill("b0:1")
        for check in AuditorCheck:
            self.do(self.cluster.auditing.set_check_time(check, None))
        node.requests.clear()
        self.settle(59)
        node.driver.ledgers.read = read  # type: ignore[method-assign]
        self.walk_after(1)
        self.assertEqual((node.reads, self.stored()), ({}, [False] * 3))
        held.callback(None)
        self.assertEqual((node.reads, self.stored()), (_ONCE, [False] * 3))
        self.settle(TOGETHER_SECONDS)
        self.assertEqual((node.reads, self.stored()), (dict.fromkeys(range(5), 2), [True] * 3))

    def test_mark_goes_ahead(self) -> None:
        """The mark of a search is written before entries of the ledger are read; what is read is added to it."""
        self.ledger(5, "b1:1", "gone:1")
        node = self.all_due(0)
        node.checker.hold = Deferred()
        node.checker.losses = {5: {"gone:1": LossKind.GONE, "b1:1": LossKind.MISSING}}
        self.settle(TOGETHER_SECONDS)
        self.assertEqual(self.marks(), {5: ("gone:1",)})
        node.checker.hold.callback(None)
        self.settle()
        self.assertEqual((self.marks(), node.writes), ({5: ("gone:1", "b1:1")}, {5: 2}))

    def test_lost_entries_renew_a_mark(self) -> None:
        """Entries that a bookie lost renew the mark that names it: a worker may have read it before they were lost."""
        self.do(self.cluster.underreplication.mark(1, ["b1:1", "gone:1"]))
        node = self.all_due(0)
        node.checker.losses = {1: {"b1:1": LossKind.MISSING, "gone:1": LossKind.GONE}}
        self.settle(TOGETHER_SECONDS)
        self.assertEqual(node.writes, {1: 1})

    def test_coinciding_intervals(self) -> None:
        """Checks that become due together later share a walk, too."""
        node = self.all_due()
        node.requests.clear()
        self.walk_after(_WEEK)
        self.assertEqual(node.reads, _ONCE)

    def test_limit(self) -> None:
        """The limit of ledgers at a time is that of the walk, however many checks share it."""
        node = self.all_due(0, auditor_max_number_of_concurrent_open_ledger_operations=2)
        node.checker.hold = Deferred()
        self.settle(TOGETHER_SECONDS)
        self.assertEqual((sum(node.requests.values()), node.checker.checked), (2, [0, 1]))
        self.do(node.election.stop())


class FailureTests(SharedWalkCase):
    """What fails, alone or together."""

    def test_one_check(self) -> None:
        """A check that fails at a ledger is repeated alone; the others go on, and their times are stored."""
        node = self.all_due(0)
        node.checker.losses = {4: {"b1:1": LossKind.MISSING}}
        prepare, failures = self.policy.prepare, [MetadataError("no rack"), MetadataError("no rack")]

        async def fail(bookies: Any) -> None:
            if failures:
                raise failures.pop()
            await prepare(bookies)

        self.policy.prepare = fail  # type: ignore[method-assign]
        self.settle(TOGETHER_SECONDS)
        self.assertEqual((self.stored(), self.marks()), ([True, False, True], {4: ("b1:1",)}))
        self.assertEqual((node.metrics.failed.value, node.reads), (1, _ONCE))
        self.walk_after(5)
        self.assertEqual((node.metrics.failed.value, self.stored()), (2, [True, False, True]))
        self.walk_after(10)
        self.assertEqual((self.stored(), len(node.checker.checked)), ([True] * 3, 5))
        summaries = node.metrics.checks
        self.assertEqual(
            [(summaries[check].failure.count, summaries[check].success.count) for check in AuditorCheck],
            [(0, 1), (2, 1), (0, 1)],
        )

    def test_all_checks(self) -> None:
        """A walk ends at once when everything that shared it has failed."""
        node = self.node(
            auditor_periodic_placement_policy_check_interval=_WEEK,
            auditor_max_number_of_concurrent_open_ledger_operations=1,
        )
        self.do(self.cluster.auditing.set_check_time(AuditorCheck.PLACEMENT, None))
        node.requests.clear()

        async def fail(bookies: Any) -> None:
            raise MetadataError("no rack")

        self.policy.prepare = fail  # type: ignore[method-assign]
        self.walk_after(60)
        self.assertEqual((node.reads, node.metrics.failed.value), ({0: 1}, 1))

    def test_walk(self) -> None:
        """Metadata that cannot be read fail everything that shares the walk, which is repeated together."""
        node = self.all_due(0)
        node.failing.add("read_ledger")
        self.settle(TOGETHER_SECONDS)
        self.assertEqual((self.stored(), node.metrics.failed.value), ([False] * 3, 4))
        node.failing.clear()
        self.walk_after(5)
        self.assertEqual((self.stored(), node.reads), ([True] * 3, _ONCE))

    def test_undecodable_metadata(self) -> None:
        """A ledger whose metadata cannot be decoded is left out, with a line of the log; all others are checked."""
        node = self.all_due(0)
        read = node.driver.ledgers.read

        async def undecodable(ledger_id: int) -> Any:
            if ledger_id == 1:
                raise MetadataSerializationError("ledger 1: version 9 is unknown")
            if ledger_id == 3:
                raise CodecError("it is cut")
            return await read(ledger_id)

        node.driver.ledgers.read = undecodable  # type: ignore[method-assign]
        node.checker.losses = {4: {"b1:1": LossKind.MISSING}}
        with capturedLogs() as logged:
            self.settle(TOGETHER_SECONDS)
        texts = [formatEvent(event) for event in logged if event["log_level"].name == "error"]
        self.assertIn("2 ledgers are not checked", texts[0])
        self.assertEqual((self.stored(), self.marks()), ([True] * 3, {4: ("b1:1",)}))
        self.assertEqual((sorted(node.checker.checked), node.metrics.failed.value), ([0, 2, 4], 0))

    def test_end_of_office(self) -> None:
        """A walk ends with the office: its reads are cancelled, nothing is marked later, and no time is stored."""
        node = self.all_due(0)
        node.checker.hold = Deferred()
        node.checker.losses = {1: {"b1:1": LossKind.MISSING}}
        self.settle(TOGETHER_SECONDS)
        self.do(node.election.stop())
        self.assertEqual(node.checker.cancelled, 5)
        node.checker.hold.callback(None)
        self.settle(1000)
        self.assertEqual((self.marks(), self.stored()), ({}, [False] * 3))
        self.do(node.driver.close())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_end_of_office_before_the_walk(self) -> None:
        """Nothing is read for an auditor that is out of office before its walk has begun."""
        node = self.all_due(0)
        self.do(node.election.stop())
        self.settle(TOGETHER_SECONDS)
        self.assertEqual(node.reads, {})

    def test_switched_off(self) -> None:
        """A walk rests while autorecovery is off, and goes on where it was."""
        node = self.all_due(0, auditor_max_number_of_concurrent_open_ledger_operations=2)
        node.checker.hold = Deferred()
        self.settle(TOGETHER_SECONDS)
        self.do(self.cluster.underreplication.set_enabled(False))
        node.checker.hold.callback(None)
        self.settle(100)
        self.assertEqual((node.checker.checked, self.stored()), ([0, 1], [False] * 3))
        self.do(self.cluster.underreplication.set_enabled(True))
        self.settle(1)
        self.assertEqual((self.stored(), node.reads), ([True] * 3, _ONCE))

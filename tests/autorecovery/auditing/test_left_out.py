"""Ledgers that an audit cannot read: they are read again, alone, until they are marked, need no mark or are deleted."""

from typing import Any

from twisted.logger import capturedLogs, formatEvent

from bookkeeper_twisted.autorecovery.auditing.bookie_audit import LeftOutLedgers
from bookkeeper_twisted.autorecovery.auditing.left_out import FIRST_PAUSE, LONGEST_PAUSE
from bookkeeper_twisted.errors import MetadataSerializationError
from bookkeeper_twisted.metrics import new_registry, render

from .auditor_case import AuditorCase, Node

_ON_B0 = {0: ("b0:1",), 2: ("b0:1",), 3: ("b0:1",)}
_BUT_0 = {2: ("b0:1",), 3: ("b0:1",)}


class LeftOutTests(AuditorCase):
    """An auditor that may not read the metadata of ledger 0 when bookie 0 is lost."""

    def setUp(self) -> None:
        """Hides ledger 0."""
        super().setUp()
        self.hidden = {0}
        self.tries: list[float] = []

    def node(self, *arguments: Any, **config: Any) -> Node:
        """An auditor that cannot read the hidden ledgers."""
        node = super().node(*arguments, **config)
        read = node.driver.ledgers.read

        async def hiding(ledger_id: int) -> Any:
            if ledger_id in self.hidden:
                self.tries.append(self.clock.seconds())
                raise MetadataSerializationError(f"ledger {ledger_id} is hidden")
            return await read(ledger_id)

        node.driver.ledgers.read = hiding  # type: ignore[method-assign]
        return node

    def left_out(self, node: Node) -> int:
        """The number that the metrics export."""
        text = render(new_registry(node.instruments)).decode()
        return int(text.partition("\nauditor_left_out_ledgers ")[2].partition("\n")[0])

    def lost(self, **config: Any) -> Node:
        """An auditor that has audited the loss of bookie 0 but for ledger 0."""
        node = self.node(**config)
        self.kill("b0:1")
        self.settle()
        self.assertEqual((self.marks(), self.left_out(node)), (_BUT_0, 1))
        node.requests.clear()
        self.tries.clear()
        return node

    def test_readable_again(self) -> None:
        """A ledger that was left out is marked soon after it can be read; the log says both, and no other is read."""
        with capturedLogs() as events:
            node = self.lost()
            self.hidden.clear()
            self.settle(FIRST_PAUSE)
        self.assertEqual((self.marks(), node.reads, self.left_out(node)), (_ON_B0, {0: 1}, 0))
        lines = [formatEvent(event) for event in events]
        self.assertIn(
            "1 ledgers are left out of the audit, as they cannot be read; they are read again after pauses", lines
        )
        self.assertIn("1 of 1 ledgers that audits had left out were read or are deleted, 1 marked", lines)
        self.settle(2 * LONGEST_PAUSE)
        self.assertEqual(node.reads, {0: 1})

    def test_growing_pauses(self) -> None:
        """The pauses double up to the longest one; a ledger that still cannot be read adds no line to the log."""
        node = self.lost()
        began = self.clock.seconds()
        with capturedLogs() as events:
            for _ in range(130):
                self.settle(FIRST_PAUSE)
        self.assertEqual([at - began for at in self.tries], [10, 30, 70, 150, 310, 630, 950, 1270])
        self.assertEqual((node.reads, self.left_out(node)), ({}, 1))
        self.assertEqual([formatEvent(event) for event in events if "auditing" in event["log_namespace"]], [])

    def test_pauses_after_an_audit(self) -> None:
        """After an audit of all ledgers, those that it has left out are read again after the shortest pause."""
        node = self.lost()
        for _ in range(40):
            self.settle(FIRST_PAUSE)
        self.do(node.driver.auditing.set_lost_bookie_delay(0))
        self.settle()
        self.hidden.clear()
        self.settle(FIRST_PAUSE)
        self.assertEqual(self.marks(), _ON_B0)

    def test_many(self) -> None:
        """Of many ledgers, those that can be read leave, and the others are tried further; one line tells."""
        for ledger_id in range(10, 1010):
            self.ledger(ledger_id, "b0:1", "b1:1")
        self.hidden.update(range(10, 1010))
        node = self.node()
        self.kill("b0:1")
        self.settle()
        self.assertEqual(self.left_out(node), 1001)
        self.hidden = set(range(10, 20))
        with capturedLogs() as events:
            self.settle(FIRST_PAUSE)
        self.assertEqual((len(self.marks()), self.left_out(node)), (993, 10))
        self.assertEqual(
            [formatEvent(event) for event in events if "auditing" in event["log_namespace"]],
            ["991 of 1001 ledgers that audits had left out were read or are deleted, 991 marked"],
        )

    def test_deleted(self) -> None:
        """A ledger that is deleted meanwhile is left out no more."""
        node = self.lost()
        self.do(self.cluster.ledgers.remove(0, self.do(self.cluster.ledgers.read(0)).version))
        self.hidden.clear()
        self.settle(FIRST_PAUSE)
        self.assertEqual((self.marks(), self.left_out(node)), (_BUT_0, 0))

    def test_back_meanwhile(self) -> None:
        """A ledger whose bookie is back when it can be read is not marked."""
        node = self.lost()
        self.bookie("b0:1")
        self.hidden.clear()
        self.settle(FIRST_PAUSE)
        self.assertEqual((self.marks(), self.left_out(node)), (_BUT_0, 0))

    def test_delay_of_another(self) -> None:
        """A ledger that was left out is not marked for a bookie in its delay, but at the end of the delay."""
        self.lost()
        self.do(self.cluster.auditing.set_lost_bookie_delay(100))
        self.kill("b1:1")
        self.hidden.clear()
        self.settle(FIRST_PAUSE)
        self.assertEqual(self.marks(), _ON_B0)
        self.settle(100)
        self.assertEqual(set(self.marks()[0]), {"b0:1", "b1:1"})

    def test_switched_off(self) -> None:
        """While autorecovery is off, nothing is read again; when it is on, the registered bookies are read then."""
        node = self.lost()
        self.do(self.cluster.underreplication.set_enabled(False))
        self.hidden.clear()
        self.settle(LONGEST_PAUSE)
        self.assertEqual((self.marks(), node.reads), (_BUT_0, {}))
        self.do(self.cluster.underreplication.set_enabled(True))
        self.assertEqual(self.marks(), _ON_B0)

    def test_failing_store(self) -> None:
        """A store that fails meanwhile counts as a failure, and the ledgers are tried further."""
        node = self.lost()
        self.hidden.clear()
        node.failing.add("write_mark")
        self.settle(FIRST_PAUSE)
        self.assertEqual((self.marks(), self.left_out(node), node.metrics.failed.value), (_BUT_0, 1, 1))
        node.failing.clear()
        self.settle(LONGEST_PAUSE)
        self.assertEqual((self.marks(), self.left_out(node)), (_ON_B0, 0))

    def test_end_of_office(self) -> None:
        """An auditor that has left office reads nothing again; the next one audits all ledgers anew."""
        node = self.lost()
        self.do(node.election.stop())
        self.assertEqual((self.left_out(node), self.clock.getDelayedCalls()), (0, []))
        self.hidden.clear()
        self.settle(LONGEST_PAUSE)
        self.assertEqual(self.marks(), _BUT_0)
        self.node("b:1")
        self.assertEqual(self.marks(), _ON_B0)

    def test_older_audit(self) -> None:
        """An audit that began before a ledger was left out by another one does not count for this ledger."""
        ledgers = LeftOutLedgers()
        ledgers.note(1)
        begun = ledgers.noted
        ledgers.note(1)
        ledgers.judged(1, begun)
        self.assertEqual(list(ledgers.ids), [1])
        ledgers.judged(1, ledgers.noted)
        self.assertEqual(list(ledgers.ids), [])

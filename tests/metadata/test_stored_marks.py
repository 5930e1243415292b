"""Underreplicated marks that cannot be decoded."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata import stored_marks
from bookkeeper_twisted.metadata.embedded.memory import MemoryStore
from bookkeeper_twisted.model import UnderreplicatedLedger

GARBAGE = b"\xff\xfegarbage"


class StoredMarksTests(SynchronousTestCase):
    """Marks in a store in memory."""

    def setUp(self) -> None:
        """A driver, and the garbage that is the mark of ledger 5."""
        self.store = MemoryStore()
        self.driver: Any = self.store.driver(Clock())
        self.do(self.driver.open())
        self.marks = self.driver.underreplication
        self.garble(5)

    def do(self, work: Coroutine[Deferred[Any], Any, Any]) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def garble(self, ledger_id: int) -> None:
        """A ledger is marked by bytes that are no mark."""
        self.do(self.marks.mark(ledger_id))
        self.marks._store.write_mark(ledger_id, GARBAGE, self.do(self.marks.read_mark(ledger_id)).version)

    def test_without_names(self) -> None:
        """Such a mark names no bookies, and says why."""
        mark = self.do(self.marks.read_mark(5)).value
        self.assertEqual((mark.replicas, mark.ctime, mark.stored), ((), None, GARBAGE))
        self.assertIn("codec can't decode byte 0xff", mark.problem)

    def test_marked_again(self) -> None:
        """If the ledger is marked again, the bytes stay, with a new version, so that all bookies are checked."""
        before = self.do(self.marks.read_mark(5))
        self.do(self.marks.mark(5, ["a:1"], 7))
        after = self.do(self.marks.read_mark(5))
        self.assertEqual((after.value, after.version), (before.value, before.version + 1))
        self.do(self.marks.replace_mark(5, UnderreplicatedLedger(("a:1",), 7), after.version))
        self.assertEqual(self.do(self.marks.read_mark(5)).value.replicas, ("a:1",))

    def test_log(self) -> None:
        """It is logged once for each ledger, and again if the mark could be decoded meanwhile."""
        self.garble(6)
        self.patch(stored_marks, "_MOST_LOGGED", 2)
        with capturedLogs() as events:
            for ledger_id in (5, 6, 5):
                self.do(self.marks.mark(ledger_id, ["a:1"]))
                self.do(self.marks.read_mark(ledger_id))
        lines = [formatEvent(event) for event in events]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("ledger 5 counts as marked without names of bookies, as its mark cannot be decoded: ", lines[0])
        self.do(self.marks.replace_mark(5, UnderreplicatedLedger(), self.do(self.marks.read_mark(5)).version))
        self.do(self.marks.read_mark(5))
        for ledger_id in (5, 7):
            self.garble(ledger_id)
        with capturedLogs() as events:
            for ledger_id in (5, 7, 6, 6):  # no more than two are remembered
                self.do(self.marks.read_mark(ledger_id))
        self.assertEqual([event["ledger_id"] for event in events], [5, 7, 6])

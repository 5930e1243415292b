"""One scheduled call for all that is put off to the end of a turn."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.turn_end import TurnEnd


def _broken() -> None:
    raise RuntimeError("of one writer")


class TurnEndTests(SynchronousTestCase):
    """Turns of a clock."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.turn_end = TurnEnd(self.clock)
        self.calls: list[str] = []

    def _note(self, name: str) -> None:
        self.turn_end.call(lambda: self.calls.append(name))

    def test_order(self) -> None:
        """Calls are made in the order in which they were asked for, by one delayed call."""
        self._note("a")
        self._note("b")
        self.assertEqual((self.calls, len(self.clock.getDelayedCalls())), ([], 1))
        self.clock.advance(0)
        self.assertEqual((self.calls, self.clock.getDelayedCalls()), (["a", "b"], []))

    def test_next_turn(self) -> None:
        """What a call asks for is a matter of the next turn."""
        self.turn_end.call(lambda: self._note("next"))
        self.turn_end.call(lambda: self.calls.append(f"{len(self.clock.getDelayedCalls())} to come"))
        self.clock.advance(0)
        self.assertEqual(self.calls, ["1 to come", "next"])

    def test_failure(self) -> None:
        """A call that fails is logged and harms no other."""
        self.turn_end.call(_broken)
        self._note("b")
        self.clock.advance(0)
        self.assertEqual(self.calls, ["b"])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_now(self) -> None:
        """A call that is made at once is made before those that are put off, and its failure is logged as theirs."""
        self._note("later")
        self.turn_end.now(lambda: self.calls.append("now"))
        self.assertEqual(self.calls, ["now"])
        self.turn_end.now(lambda: self._note("asked for"))
        self.turn_end.now(_broken)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.clock.advance(0)
        self.assertEqual(self.calls, ["now", "later", "asked for"])

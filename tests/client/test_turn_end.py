"""One scheduled call for all that is put off to the end of a turn."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.turn_end import TurnEnd


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

        def broken() -> None:
            raise RuntimeError("of one writer")

        self.turn_end.call(broken)
        self._note("b")
        self.clock.advance(0)
        self.assertEqual(self.calls, ["b"])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

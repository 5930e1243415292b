"""The time of the reactor, shared among connections."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.turns import SHARE, SMALL, SMALL_SHARE, TURN, Turns

from ..bounds import until


class _Connection:
    """Has work to do that takes some time.

    :ivar left: seconds of it.
    """

    def __init__(self, case: "TurnTests", name: str, left: float) -> None:
        self.name, self.left = name, left
        self._case = case

    def work(self) -> None:
        case = self._case
        counts = case.turns.begin()
        while self.left > 0 and not case.turns.is_over():
            case.advance(SMALL_SHARE / 2)
            self.left -= SMALL_SHARE / 2
        if counts:
            case.turns.end()
        if self.left > 0:
            case.turns.wait(self)

    def take_turn(self) -> None:
        self._case.served.append(self.name)
        self.work()


class TurnTests(SynchronousTestCase):
    """Connections with more to do than fits into a turn."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.served: list[str] = []
        self.flushes = 0
        self.turns = Turns(self.clock, self.flush)

    def flush(self) -> None:
        self.flushes += 1

    def advance(self, seconds: float) -> None:
        """Time passes within a turn: no call is made."""
        self.clock.rightNow += seconds

    def turn(self) -> list[str]:
        """:returns: who was served in the next turn."""
        self.served = []
        (call,) = self.clock.calls
        self.clock.calls.remove(call)
        call.func()
        return self.served

    def test_little_work(self) -> None:
        """Nobody waits while there is time, and a short piece of work costs no timer."""
        _Connection(self, "a", SMALL_SHARE / 4).work()
        self.assertEqual((self.turns.is_spent, self.clock.calls), (False, []))

    def test_share(self) -> None:
        """A connection gets its share of a turn, one that was put off a small one; then others have theirs."""
        a = _Connection(self, "a", 1.0)
        a.work()
        self.assertAlmostEqual(a.left, 1.0 - SHARE)
        b = _Connection(self, "b", 1.0)
        self.turns.wait(b, SMALL + 1)
        self.assertEqual(self.turn(), ["b", "a"])
        self.assertAlmostEqual(b.left, 1.0 - SMALL_SHARE)
        self.assertAlmostEqual(a.left, 1.0 - 2 * SHARE)
        self.assertEqual(self.flushes, 2)

    def test_all_together(self) -> None:
        """However many there are, a turn is not longer, and they come one after the other."""
        names = [str(number) for number in range(100)]
        for name in names:
            self.turns.wait(_Connection(self, name, 2 * SHARE))
        served: list[str] = []
        for _ in until(lambda: not self.clock.calls):
            began = self.clock.seconds()
            served += self.turn()
            self.assertLessEqual(self.clock.seconds() - began, TURN + SHARE)
        self.assertEqual(served[:200], names * 2)

    def test_spent(self) -> None:
        """When the time of a turn is spent by arrivals, what arrives is told to wait; in the next turn it is not."""
        for number in range(10):
            if not self.turns.is_spent:
                _Connection(self, str(number), SHARE).work()
        self.assertTrue(self.turns.is_spent)
        self.assertLessEqual(self.clock.seconds(), TURN + SHARE)
        self.turn()
        self.assertFalse(self.turns.is_spent)

    def test_order(self) -> None:
        """Who sent little goes first, then who sent much, then those who had their share; who left has no turn."""
        gone = _Connection(self, "gone", 0)
        self.turns.wait(_Connection(self, "more", 0))
        self.turns.wait(_Connection(self, "much", 0), SMALL + 1)
        self.turns.wait(gone, 1)
        self.turns.wait(_Connection(self, "little", 0), SMALL)
        self.turns.withdraw(gone)
        self.assertEqual(self.turn(), ["little", "much", "more"])

    def test_newcomer(self) -> None:
        """However many have their shares all the time, one that asks for little is served in the next turn."""
        for number in range(300):
            self.turns.wait(_Connection(self, str(number), 1000.0))
        for _ in range(20):
            self.turn()
            self.turns.wait(_Connection(self, "healthy", SMALL_SHARE / 2), 100)
            self.assertEqual(self.turn()[0], "healthy")

    def test_once_a_turn(self) -> None:
        """One that has more to do than its share gets no other in the same turn, even if nobody else waits."""
        self.turns.wait(_Connection(self, "a", 1.0))
        self.assertEqual(self.turn(), ["a"])

    def test_within(self) -> None:
        """Work that comes about by the work of another counts as its."""
        self.assertTrue(self.turns.begin())
        self.assertFalse(self.turns.begin())
        self.turns.end()
        self.assertTrue(self.turns.begin())

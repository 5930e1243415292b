"""The time of the reactor, shared among connections."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.turns import SHARE, SMALL_SHARE, TURN, UNTRUSTED_TURN, Turns

from ..bounds import until


class _Connection:
    """Has work to do that takes some time.

    :ivar left: seconds of it.
    :ivar lost: seconds for which the thread loses the processor when the connection is served the next time.
    """

    def __init__(
        self, case: "TurnTests", name: str, left: float, is_untrusted: bool = False, is_small: bool = False
    ) -> None:
        self.name, self.left, self.is_untrusted, self.is_small = name, left, is_untrusted, is_small
        self.lost = 0.0
        self._case = case

    def work(self) -> None:
        case = self._case
        counts = case.turns.begin(self.is_untrusted)
        case.advance(self.lost)
        case.lost += self.lost
        self.lost = 0.0
        while self.left > 0 and not case.turns.is_over():
            case.advance(SMALL_SHARE / 2)
            self.left -= SMALL_SHARE / 2
        if self.left > 0:
            if self.is_untrusted:
                case.turns.wait_untrusted(self)
            else:
                case.turns.wait(self, self.is_small, is_stopped=True)
        if counts:
            case.turns.end()

    def abort(self) -> None:
        self._case.aborted.append(self.name)

    def take_turn(self) -> None:
        self._case.served.append(self.name)
        if self.left < 0:
            raise RuntimeError("a request that cannot be processed")
        self.work()


class TurnTests(SynchronousTestCase):
    """Connections with more to do than fits into a turn."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.served: list[str] = []
        self.aborted: list[str] = []
        self.flushes = 0
        self.lost = 0.0
        self.turns = Turns(self.clock, self.flush, lambda: self.clock.seconds() - self.lost)

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
        self.turns.wait(b, is_small=False)
        self.assertEqual(self.turn(), ["b", "a"])
        self.assertAlmostEqual(b.left, 1.0 - SMALL_SHARE)
        self.assertAlmostEqual(a.left, 1.0 - 2 * SHARE)
        self.assertEqual(self.flushes, 2)

    def test_all_together(self) -> None:
        """However many there are, a turn is not longer, and they come one after the other."""
        names = [str(number) for number in range(100)]
        for name in names:
            self.turns.wait(_Connection(self, name, 2 * SHARE), is_small=False)
        served: list[str] = []
        for _ in until(lambda: not self.clock.calls):
            began = self.clock.seconds()
            served += self.turn()
            self.assertLessEqual(self.clock.seconds() - began, TURN + SHARE)
        self.assertEqual(set(served[:120]), set(names))

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
        self.turns.begin()
        self.advance(SHARE)
        self.turns.wait(_Connection(self, "more", 0), is_small=False, is_stopped=True)
        self.turns.end()
        self.turns.wait(_Connection(self, "much", 0), is_small=False)
        self.turns.wait(gone, is_small=True)
        self.turns.wait(_Connection(self, "little", 0), is_small=True)
        self.turns.withdraw(gone)
        self.assertEqual(self.turn(), ["little", "much", "more"])

    def test_newcomer(self) -> None:
        """However many have their shares all the time, one that asks for little is served in the next turn."""
        for number in range(300):
            self.turns.wait(_Connection(self, str(number), 1000.0), is_small=False)
        for _ in range(20):
            self.turn()
            self.turns.wait(_Connection(self, "healthy", SMALL_SHARE / 2), is_small=True)
            self.assertIn("healthy", self.turn()[:2])

    def test_begun_at_the_end(self) -> None:
        """One whose work begins when others have spent the turn goes on in the next, before those who had shares."""
        for number in range(100):
            self.turns.wait(_Connection(self, str(number), 1000.0), is_small=False)
        for _ in range(20):
            self.turn()
        self.assertTrue(self.turns.is_spent)
        self.turns.wait(_Connection(self, "healthy", SMALL_SHARE / 2), is_small=False, is_stopped=True)
        self.assertIn("healthy", self.turn()[:2])

    def test_lost_processor(self) -> None:
        """One that asks for little and loses the processor goes on before the others; one with much waits again."""
        for number in range(100):
            self.turns.wait(_Connection(self, str(number), 1000.0), is_small=False)
        for _ in range(20):
            self.turn()
        for is_small in (True, False):
            unlucky = _Connection(self, "unlucky", SMALL_SHARE / 2, is_small=is_small)
            unlucky.lost = SMALL_SHARE
            self.turns.wait(unlucky, is_small=True)
            self.turn()
            self.assertEqual((unlucky.lost, unlucky.left <= 0), (0.0, is_small))

    def test_lost_processor_at_arrival(self) -> None:
        """So does one that loses it when its requests arrive."""
        for number in range(100):
            self.turns.wait(_Connection(self, str(number), 1000.0), is_small=False)
        self.turn()
        self.advance(SHARE)  # the thread does something else
        unlucky = _Connection(self, "unlucky", SMALL_SHARE / 2, is_small=True)
        unlucky.lost = SHARE
        unlucky.work()
        self.assertIn("unlucky", self.turn()[:2])

    def test_small_and_slow(self) -> None:
        """One that asks for little and uses its share of the processor waits behind the others."""
        self.turns.wait(_Connection(self, "slow", 1000.0, is_small=True), is_small=True)
        self.turns.wait(_Connection(self, "much", 2 * SMALL_SHARE), is_small=False)
        self.turn()
        self.turns.wait(_Connection(self, "other", SMALL_SHARE / 2), is_small=False)
        self.assertEqual(self.turn(), ["other", "slow", "much"])

    def test_much_and_more(self) -> None:
        """Neither those who sent much, again and again, nor those who have had shares keep the other from its turn."""
        self.turns.wait(_Connection(self, "more", 1000.0), is_small=False)
        self.turn()
        served: list[str] = []
        for _ in range(20):
            for number in range(100):
                self.turns.wait(_Connection(self, str(number), SMALL_SHARE), is_small=False)
            served += self.turn()
        self.assertGreaterEqual(served.count("more"), 19)
        self.assertGreaterEqual(len(served), 100)

    def test_untrusted_peers(self) -> None:
        """However many peers are not let in, they use their part of a turn, and nothing of that of the others."""
        for _ in range(1000):
            self.turns.wait_untrusted(_Connection(self, "new", SMALL_SHARE, True), begins=True)
            self.turns.wait_untrusted(_Connection(self, "going on", 1000.0, True))
        for _ in range(20):
            began = self.clock.seconds()
            self.turns.wait(_Connection(self, "healthy", SMALL_SHARE / 2), is_small=True)
            served = self.turn()
            self.assertEqual(served[0], "healthy")
            self.assertLessEqual(self.clock.seconds() - began, UNTRUSTED_TURN + 2 * SMALL_SHARE)
            self.assertLessEqual(abs(served.count("new") - served.count("going on")), 1)
            self.assertTrue(self.turns.is_spent_for(True))
            self.assertFalse(self.turns.is_spent_for(False))

    def test_untrusted_peers_in_a_flood(self) -> None:
        """However much peers that are let in ask for, those that are not have their part of each turn, too."""
        for number in range(100):
            self.turns.wait(_Connection(self, str(number), 1000.0), is_small=False)
        self.turns.wait_untrusted(_Connection(self, "new", SMALL_SHARE, True), begins=True)
        self.assertIn("new", self.turn())

    def test_failure(self) -> None:
        """One whose turn fails is dropped; the others have theirs, in this turn and in the next."""
        self.turns.wait(_Connection(self, "a", 1.0), is_small=True)
        self.turns.wait(_Connection(self, "bad", -1.0), is_small=True)
        self.turns.wait(_Connection(self, "b", 1.0), is_small=True)
        self.assertEqual((self.turn(), self.aborted), (["a", "bad", "b"], ["bad"]))
        self.assertEqual(self.turn(), ["a", "b"])
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_once_a_turn(self) -> None:
        """One that has more to do than its share gets no other in the same turn, even if nobody else waits."""
        self.turns.wait(_Connection(self, "a", 1.0), is_small=False, is_stopped=True)
        self.assertEqual(self.turn(), ["a"])

    def test_within(self) -> None:
        """Work that comes about by the work of another counts as its."""
        self.assertTrue(self.turns.begin())
        self.assertFalse(self.turns.begin())
        self.turns.end()
        self.assertTrue(self.turns.begin())

"""Virtual time, and lives that end or pause."""

from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from . import Life, NodeClock, SimClock, stream
from .clock import START


class ClockTests(SynchronousTestCase):
    """:class:`SimClock` and :class:`NodeClock`."""

    def setUp(self) -> None:
        self.sim = SimClock(stream(1, "ties"))
        self.life = Life(self.sim, "node")
        self.clock = NodeClock(self.sim, self.life)
        self.seen: list[object] = []

    def run_for(self, seconds: float) -> None:
        self.assertTrue(self.sim.run_until(self.sim.seconds() + seconds))

    def test_interfaces(self) -> None:
        """It is the time of a reactor."""
        verifyObject(IReactorTime, self.clock)
        verifyObject(IDelayedCall, self.clock.callLater(1, list))

    def test_order(self) -> None:
        """Calls happen in the order of their times, each at its own time."""
        for delay in (3, 1, 2):
            self.clock.callLater(delay, lambda: self.seen.append(self.clock.seconds() - START))
        self.run_for(2.5)
        self.assertEqual(self.seen, [1, 2])
        self.assertEqual(self.clock.seconds(), START + 2.5)
        self.run_for(1)
        self.assertEqual(self.seen, [1, 2, 3])

    def test_equal_times(self) -> None:
        """Calls of one time happen in an order that the seed draws."""

        def order(seed: int) -> list[int]:
            sim, seen = SimClock(stream(seed, "ties")), list[int]()
            clock = NodeClock(sim, Life(sim, "node"))
            for number in range(8):
                clock.callLater(1, seen.append, number)
            sim.run_until(START + 1)
            return seen

        orders = [order(seed) for seed in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertEqual(sorted(orders[0]), list(range(8)))

    def test_cancel(self) -> None:
        """A cancelled call does not happen; what is over cannot be cancelled."""
        call = self.clock.callLater(1, self.seen.append, 1)
        self.assertEqual([c.getTime() for c in self.clock.getDelayedCalls()], [START + 1])
        call.cancel()
        self.assertFalse(call.active())
        self.assertEqual(self.clock.getDelayedCalls(), [])
        called = self.clock.callLater(1, self.seen.append, 2)
        self.run_for(2)
        self.assertEqual(self.seen, [2])
        self.assertRaises(AlreadyCancelled, call.cancel)
        self.assertRaises(AlreadyCalled, called.cancel)

    def test_moved(self) -> None:
        """A call can be moved both ways, and happens once."""
        later = self.clock.callLater(1, self.seen.append, "later")
        earlier = self.clock.callLater(3, self.seen.append, "earlier")
        later.delay(1)
        earlier.reset(0.5)
        self.run_for(1.5)
        self.assertEqual(self.seen, ["earlier"])
        self.run_for(5)
        self.assertEqual(self.seen, ["earlier", "later"])

    def test_end_of_a_life(self) -> None:
        """Nothing of a dead life happens, whenever it was asked for."""
        self.clock.callLater(1, self.seen.append, 1)
        self.life.end()
        self.clock.callLater(1, self.seen.append, 2)
        self.run_for(2)
        self.assertEqual(self.seen, [])
        self.assertEqual(self.sim.events, 0)

    def test_pause(self) -> None:
        """What becomes due in a pause happens behind it, in its order; cancelled calls do not."""
        for delay in (2, 1):
            self.clock.callLater(delay, self.seen.append, delay)
        cancelled = self.clock.callLater(1, self.seen.append, "cancelled")
        self.life.pause()
        self.run_for(5)
        self.assertEqual(self.seen, [])
        cancelled.cancel()
        self.life.resume()
        self.run_for(0)
        self.assertEqual(self.seen, [1, 2])

    def test_events_of_a_pause(self) -> None:
        """Behind a pause, scheduled calls come before events, as bytes that arrived; each kind in its order."""
        self.sim.call_at(self.life, self.sim.seconds() + 1, self.seen.append, "first")
        self.sim.call_at(self.life, self.sim.seconds() + 2, self.seen.append, "second")
        self.clock.callLater(3, self.seen.append, "timer")
        self.life.pause()
        self.run_for(5)
        self.life.resume()
        self.run_for(0.1)
        self.assertEqual(self.seen, ["timer", "first", "second"])

    def test_end_in_a_pause(self) -> None:
        """A life that ends while it is paused stays silent."""
        self.clock.callLater(1, self.seen.append, 1)
        self.life.pause()
        self.run_for(5)
        self.life.end()
        self.life.resume()
        self.run_for(5)
        self.assertEqual(self.seen, [])

    def test_failure(self) -> None:
        """A call that raises is logged; the others go on."""
        self.clock.callLater(1, lambda: 1 // 0)
        self.clock.callLater(2, self.seen.append, 2)
        self.run_for(2)
        self.assertEqual(self.seen, [2])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_too_many_events(self) -> None:
        """Who never ends is stopped."""

        def again() -> None:
            self.clock.callLater(0, again)

        again()
        self.assertFalse(self.sim.run_until(START + 1, 1000))

    def test_trace(self) -> None:
        """Equal runs have equal traces; another time, or another note, makes another one."""

        def trace(delay: float, note: bytes) -> str:
            sim = SimClock(stream(1, "ties"))
            NodeClock(sim, Life(sim, "node")).callLater(delay, sim.note, note)
            sim.run_until(START + 5)
            return sim.trace()

        self.assertEqual(trace(1, b"a"), trace(1, b"a"))
        self.assertEqual(len({trace(1, b"a"), trace(1, b"b"), trace(2, b"a")}), 3)

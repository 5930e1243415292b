"""Attempts one after the other, and before the one before has failed."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.reading.speculation import Patience, Speculation, Success
from bookkeeper_twisted.errors import UnexpectedConditionError

USUAL = Patience(1.0, 4.0, 2.0)


class SpeculationTests(SynchronousTestCase):
    """Three attempts whose results are given by hand."""

    def setUp(self) -> None:
        """Nothing is attempted yet."""
        self.clock = Clock()
        self.made: list[Deferred[Any]] = []
        self.cancelled: list[int] = []

    def _attempt(self) -> Any:
        async def work() -> Any:
            index = len(self.made)
            self.made.append(Deferred(lambda _: self.cancelled.append(index)))
            return await self.made[-1]

        return work()

    def start(self, patience: Patience = USUAL, n: int = 3, at_once: int = 1) -> "Deferred[Any]":
        """Begins."""
        work = Speculation(self.clock, [self._attempt] * n, patience, at_once)
        running = Deferred.fromCoroutine(work.run())
        self.addCleanup(self._end, running)
        return running

    @staticmethod
    def _end(running: "Deferred[Any]") -> None:
        """Stops it, where the test did not."""
        running.addErrback(lambda _: None)
        running.cancel()

    def test_first(self) -> None:
        """An attempt that succeeds is the only one."""
        outcome = self.start()
        self.made[0].callback("a")
        self.assertEqual(self.successResultOf(outcome), Success("a", ()))
        self.assertEqual((len(self.made), self.clock.getDelayedCalls()), (1, []))

    def test_failed(self) -> None:
        """After one that fails comes the next, at once; after all have failed there is nothing."""
        outcome = self.start()
        for n in range(3):
            self.assertEqual(len(self.made), n + 1)
            self.made[n].callback(None)
        self.assertIsNone(self.successResultOf(outcome))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_slow(self) -> None:
        """One that takes long gets company, the longer the more patiently; the first success counts."""
        outcome = self.start()
        self.clock.advance(0.9)
        self.assertEqual(len(self.made), 1)
        self.clock.advance(0.1)
        self.assertEqual(len(self.made), 2)
        self.clock.advance(1.9)
        self.assertEqual(len(self.made), 2)
        self.clock.advance(0.1)
        self.assertEqual(len(self.made), 3)
        self.made[1].callback("b")
        self.assertEqual(self.successResultOf(outcome), Success("b", (0,)))
        self.assertEqual((self.cancelled, self.clock.getDelayedCalls()), ([0, 2], []))

    def test_slow_one_wins(self) -> None:
        """Who was overtaken in the start may be first at the end."""
        outcome = self.start()
        self.clock.advance(1)
        self.made[0].callback("a")
        self.assertEqual(self.successResultOf(outcome), Success("a", ()))
        self.assertEqual(self.cancelled, [1])

    def test_failure_with_company(self) -> None:
        """While another is under way, a failure starts nothing; the last to fail ends it."""
        outcome = self.start(n=2)
        self.clock.advance(1)
        self.made[0].callback(None)
        self.assertNoResult(outcome)
        self.made[1].callback(None)
        self.assertIsNone(self.successResultOf(outcome))

    def test_longest_wait(self) -> None:
        """The wait grows up to its limit."""
        self.start(Patience(1.0, 3.0, 2.0), n=5)
        times = []
        for tenth in range(1, 120):
            before = len(self.made)
            self.clock.advance(0.1)
            times += [tenth] * (len(self.made) - before)
        self.assertEqual([round(t / 10) for t in times], [1, 3, 6, 9])

    def test_no_speculation(self) -> None:
        """With patience 0 only failures lead on."""
        self.start(Patience())
        self.clock.advance(1000)
        self.assertEqual(len(self.made), 1)

    def test_at_once(self) -> None:
        """All at once is a race."""
        outcome = self.start(Patience(), at_once=3)
        self.assertEqual(len(self.made), 3)
        self.made[2].callback("c")
        self.assertEqual(self.successResultOf(outcome), Success("c", (0, 1)))
        self.assertEqual(self.cancelled, [0, 1])

    def test_nothing_to_try(self) -> None:
        """Without attempts there is no success."""
        self.assertIsNone(self.successResultOf(self.start(n=0)))

    def test_crash(self) -> None:
        """An exception ends it, and what is under way."""
        outcome = self.start()
        self.clock.advance(1)
        self.made[0].errback(UnexpectedConditionError("broken"))
        self.failureResultOf(outcome, UnexpectedConditionError)
        self.assertEqual(self.cancelled, [1])

    def test_cancel(self) -> None:
        """Cancelling ends everything."""
        outcome = self.start()
        self.clock.advance(1)
        outcome.cancel()
        self.failureResultOf(outcome, CancelledError)
        self.assertEqual((self.cancelled, self.clock.getDelayedCalls()), ([0, 1], []))

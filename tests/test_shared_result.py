"""One outcome for several callers."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.shared_result import SharedResult, ended_within, result_of


class SharedResultTests(SynchronousTestCase):
    """Waiters before and after the outcome."""

    def setUp(self) -> None:
        """Work that waits for a Deferred."""
        self.gate: Deferred[Any] = Deferred()
        self.shared: SharedResult[int] = SharedResult()
        self.shared.run(self._work())

    async def _work(self) -> int:
        result: int = await self.gate
        return result

    def test_success(self) -> None:
        """Early and late waiters get the same result."""
        early = [self.shared.wait(), self.shared.wait()]
        self.gate.callback(5)
        late = self.shared.wait()
        self.assertEqual([self.successResultOf(w) for w in (*early, late)], [5, 5, 5])

    def test_failure(self) -> None:
        """Early and late waiters get the same failure; one without a waiter is not an unhandled error."""
        early = self.shared.wait()
        self.gate.errback(ValueError("no"))
        self.failureResultOf(early, ValueError)
        self.failureResultOf(self.shared.wait(), ValueError)

    def test_cancel(self) -> None:
        """Cancelling one waiter does not disturb the work or the others."""
        one, two = self.shared.wait(), self.shared.wait()
        one.cancel()
        self.failureResultOf(one, CancelledError)
        self.gate.callback(1)
        self.assertEqual(self.successResultOf(two), 1)


class EndedWithinTests(SynchronousTestCase):
    """:func:`ended_within`."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.running: Deferred[int] = Deferred()

    def test_in_time(self) -> None:
        """What ends in time, well or not, is said to have ended, and keeps its result; no timer is left."""
        for outcome in (5, ValueError("no")):
            running: Deferred[int] = Deferred()
            ended = ended_within(running, self.clock, 2.0)
            self.clock.advance(1.9)
            if isinstance(outcome, int):
                running.callback(outcome)
                self.assertEqual(self.successResultOf(running), outcome)
            else:
                running.errback(outcome)
                self.failureResultOf(running, ValueError)
            self.assertIs(self.successResultOf(ended), True)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_too_late(self) -> None:
        """What takes longer goes on, undisturbed."""
        ended = ended_within(self.running, self.clock, 2.0)
        self.clock.advance(1.9)
        self.assertNoResult(ended)
        self.clock.advance(0.2)
        self.assertIs(self.successResultOf(ended), False)
        self.assertNoResult(self.running)
        self.running.callback(5)
        self.assertEqual(self.successResultOf(self.running), 5)


class ResultTests(SynchronousTestCase):
    """What comes of something whose end was waited for."""

    def waited(self, running: "Deferred[int]") -> "Deferred[int]":
        """The end is waited for, and then the result."""

        async def wait() -> int:
            self.assertTrue(await ended_within(running, Clock(), 5.0))
            return await result_of(running)

        return Deferred.fromCoroutine(wait())

    def test_result(self) -> None:
        """The result or the error arrives, whether the end came before the wait or during it."""
        for early in (True, False):
            running: Deferred[int] = Deferred()
            failing: Deferred[int] = Deferred()
            if early:
                running.callback(5)
                failing.errback(ValueError("no"))
            waiting, failed = self.waited(running), self.waited(failing)
            if not early:
                running.callback(5)
                failing.errback(ValueError("no"))
            self.assertEqual(self.successResultOf(waiting), 5)
            self.failureResultOf(failed, ValueError)

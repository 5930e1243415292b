"""Work that takes too long."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from .overrun import OverrunError, within


class OverrunTests(SynchronousTestCase):
    """:func:`within`."""

    def setUp(self) -> None:
        """Nothing is under way."""
        self.clock = Clock()
        self.step: Deferred[int] = Deferred()

    async def _inner(self) -> int:
        return await self.step

    async def _outer(self) -> int:
        return await self._inner() + 1

    async def _report(self) -> str:
        return "two marks"

    def _begin(self) -> "Deferred[int]":
        return Deferred.fromCoroutine(within(self.clock, 5, self._outer(), self._report))

    def test_in_time(self) -> None:
        """What ends in time has its result, and leaves no timer."""
        running = self._begin()
        self.step.callback(1)
        self.assertEqual(self.successResultOf(running), 2)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_too_long(self) -> None:
        """What takes too long is cancelled, and the error has the places and the report."""
        running = self._begin()
        self.clock.advance(5)
        error = self.failureResultOf(running, OverrunError).value
        self.assertRegex(str(error), r"^did not end within 5 s at\n.*_outer\n.*test_overrun.py:\d+ _inner\ntwo marks$")

    def test_cancelled(self) -> None:
        """What is cancelled from outside is no overrun."""
        running = self._begin()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

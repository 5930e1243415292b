"""Coroutines that are left at work."""

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from .leftovers import cancelled_afterwards


class LeftoverTests(SynchronousTestCase):
    """:func:`cancelled_afterwards`."""

    def setUp(self) -> None:
        self.ends: list[str] = []

    async def _work(self, name: str, awaited: "Deferred[None]", persistence: int = 0) -> None:
        """:param persistence: how many cancellations are ignored."""
        try:
            while persistence >= 0:
                try:
                    return await awaited
                except CancelledError:
                    awaited = Deferred()
                    persistence -= 1
        finally:
            self.ends.append(name)

    def test_cancelled(self) -> None:
        """What is at work at the end is cancelled, and says nothing of it; what has ended is left alone."""
        with cancelled_afterwards():
            work = Deferred.fromCoroutine(self._work("first", Deferred()))
            Deferred.fromCoroutine(self._work("second", work))
            failed = Deferred.fromCoroutine(self._work("third", fail(ZeroDivisionError())))
            self.assertEqual(self.ends, ["third"])
        self.assertEqual(self.ends[1:], ["first", "second"])
        self.failureResultOf(failed, ZeroDivisionError)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_persistent(self) -> None:
        """What goes on after it was cancelled is cancelled again."""
        with cancelled_afterwards():
            Deferred.fromCoroutine(self._work("first", Deferred(), 3))
        self.assertEqual(self.ends, ["first"])

    def test_endless(self) -> None:
        """What does not end is an error, and it is named."""
        with self.assertRaisesRegex(AssertionError, "LeftoverTests._work"), cancelled_afterwards():
            Deferred.fromCoroutine(self._work("first", Deferred(), 30))

    def test_not_afterwards(self) -> None:
        """What is started later is not cancelled."""
        with cancelled_afterwards():
            pass
        self.assertNoResult(Deferred.fromCoroutine(self._work("first", Deferred())))

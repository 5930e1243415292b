"""Iterations taken in steps."""

from collections.abc import AsyncIterator
from functools import partial

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.steps import for_each, take, together


async def _numbers(count: int = 5, error: Exception | None = None) -> AsyncIterator[int]:
    for n in range(count):
        yield n
    if error is not None:
        raise error


class ForEachTests(SynchronousTestCase):
    """Work on five numbers, which ends when it is told to."""

    def setUp(self) -> None:
        self.working: dict[int, Deferred[None]] = {}
        self.cancelled: list[int] = []

    async def work(self, number: int) -> None:
        """Waits."""
        self.working[number] = Deferred(lambda _: self.cancelled.append(number))
        await self.working[number]
        del self.working[number]

    def start(self, at_once: int, error: Exception | None = None) -> Deferred[None]:
        """Begins."""
        return Deferred.fromCoroutine(for_each(_numbers(error=error), self.work, at_once))

    def test_bounded(self) -> None:
        """No more items are at work than allowed; the end comes with that of the last one."""
        done = self.start(2)
        seen = []
        while self.working:
            seen.append(sorted(self.working))
            self.working[min(self.working)].callback(None)
        self.successResultOf(done)
        self.assertEqual(seen, [[0, 1], [1, 2], [2, 3], [3, 4], [4]])

    def test_list(self) -> None:
        """The items may be those of a list as well."""
        done = Deferred.fromCoroutine(for_each([4, 2], self.work, 2))
        self.assertEqual(list(self.working), [4, 2])
        for number in (2, 4):
            self.working[number].callback(None)
        self.successResultOf(done)

    def test_error(self) -> None:
        """The first error of the work cancels the others, takes no further item, and is raised."""
        done = self.start(3)
        self.working[1].errback(ValueError("one"))
        self.failureResultOf(done, ValueError)
        self.assertEqual((self.cancelled, sorted(self.working)), ([0, 2], [0, 1, 2]))

    def test_error_while_others_are_awaited(self) -> None:
        """The same once all items are at work."""
        done = self.start(5)
        self.working[3].errback(ValueError("three"))
        self.failureResultOf(done, ValueError)
        self.assertEqual(self.cancelled, [0, 1, 2, 4])

    def test_broken_iteration(self) -> None:
        """An iteration that fails cancels what is at work."""
        done = self.start(9, OSError("gone"))
        self.failureResultOf(done, OSError)
        self.assertEqual(self.cancelled, [0, 1, 2, 3, 4])

    def test_cancelled(self) -> None:
        """A cancellation reaches the work."""
        for at_once in (2, 9):
            self.working, self.cancelled = {}, []
            done = self.start(at_once)
            done.cancel()
            self.failureResultOf(done, CancelledError)
            self.assertEqual(self.cancelled, list(range(min(at_once, 5))))

    def test_dropped(self) -> None:
        """A call that is dropped while it waits, as when a program ends, cancels its work, and is not continued."""
        call = for_each([1, 2], self.work, 2)
        done = Deferred.fromCoroutine(call)
        call.close()
        self.assertEqual(self.cancelled, [1, 2])
        self.assertNoResult(done)


class TogetherTests(SynchronousTestCase):
    """Three coroutines at the same time."""

    def test_results(self) -> None:
        """The results are in the order of the coroutines, whichever ends first; the first error cancels the others."""
        for fails in (False, True):
            works = [Deferred[str](), Deferred[str](), Deferred[str]()]

            async def work(number: int, works: list[Deferred[str]] = works) -> str:
                return await works[number]

            done = Deferred.fromCoroutine(together(*[partial(work, number) for number in range(3)]))
            works[2].callback("c")
            if fails:
                works[1].errback(ValueError("b"))
                self.failureResultOf(done, ValueError)
                self.assertTrue(works[0].called)
                continue
            for number, text in ((0, "a"), (1, "b")):
                self.assertNoResult(done)
                works[number].callback(text)
            self.assertEqual(self.successResultOf(done), ["a", "b", "c"])


class TakeTests(SynchronousTestCase):
    """An iteration over five numbers."""

    def test_parts(self) -> None:
        """Each step takes up to as many as wanted, the last one what is left, and then there is nothing."""
        items = _numbers()
        parts = [self.successResultOf(Deferred.fromCoroutine(take(items, 2))) for _ in range(4)]
        self.assertEqual(parts, [[0, 1], [2, 3], [4], []])

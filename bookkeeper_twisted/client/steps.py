"""Functions for asynchronous iterators: return the next items as a list, or run a coroutine for each item."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Iteration(Protocol[T_co]):
    """An asynchronous iterator with the method ``aclose``, which ends it early.

    An asynchronous generator is such an iterator.
    """

    def __aiter__(self) -> AsyncIterator[T_co]: ...

    def __anext__(self) -> Awaitable[T_co]: ...

    def aclose(self) -> Coroutine[Any, Any, None]:
        """End the iteration and its outstanding requests."""


async def take(items: AsyncIterator[T], count: int) -> list[T]:
    """Return the next items of an iteration as a list.

    :param count: maximum number of items.
    :returns: the items; fewer than ``count`` only if ``items`` has ended.
    """
    found: list[T] = []
    while len(found) < count:
        try:
            found.append(await anext(items))
        except StopAsyncIteration:
            break
    return found


async def for_each(
    items: AsyncIterator[T] | Iterable[T], work: Callable[[T], Coroutine[Deferred[Any], Any, object]], at_once: int
) -> None:
    """Run a coroutine for each item of an iteration, several at a time.

    The first error of the iteration or of a coroutine cancels all running coroutines, and is raised.  Cancelling this
    call also cancels all running coroutines.

    :param work: makes the coroutine for an item; called with the items in order.  The results of the coroutines are
        ignored.
    :param at_once: maximum number of coroutines that run at a time, at least one.
    """
    crew = _Crew()
    try:
        if isinstance(items, AsyncIterator):
            async for item in items:
                await crew.down_to(at_once - 1)
                crew.begin(work(item))
        else:
            for item in items:
                await crew.down_to(at_once - 1)
                crew.begin(work(item))
        await crew.down_to(0)
    finally:
        crew.cancel()


async def together(*works: Callable[[], Coroutine[Deferred[Any], Any, Any]]) -> list[Any]:
    """Run coroutines at the same time, and return their results.

    The first error cancels the others, and is raised.  Cancelling this call also cancels them.

    :param works: each makes a coroutine.
    :returns: the results, in the order of ``works``.
    """
    found: list[Any] = [None] * len(works)

    async def run(number: int) -> None:
        found[number] = await works[number]()

    await for_each(range(len(works)), run, len(works))
    return found


class _Crew:
    """The running coroutines of one call of :func:`for_each`."""

    def __init__(self) -> None:
        self._running: dict[Deferred[object], None] = {}
        self._failure: Failure | None = None
        self._one_ended: Deferred[None] | None = None

    async def down_to(self, count: int) -> None:
        """Wait until no more than ``count`` coroutines are running.

        :raises Exception: the first error of a coroutine.
        """
        while len(self._running) > count and self._failure is None:
            self._one_ended = Deferred()
            await self._one_ended
        if self._failure is not None:
            self._failure.raiseException()

    def begin(self, work: Coroutine[Deferred[Any], Any, object]) -> None:
        """Start one more coroutine."""
        running = Deferred.fromCoroutine(work)
        self._running[running] = None
        running.addBoth(self._ended, running)

    def _ended(self, result: object, running: "Deferred[object]") -> None:
        del self._running[running]
        if isinstance(result, Failure) and self._failure is None:
            self._failure = result
        one_ended, self._one_ended = self._one_ended, None
        if one_ended is not None:
            one_ended.callback(None)

    def cancel(self) -> None:
        """Cancel all running coroutines; nobody waits for their end any more."""
        self._one_ended = None
        for running in list(self._running):
            running.cancel()

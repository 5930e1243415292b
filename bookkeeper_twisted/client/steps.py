"""Asynchronous iterations taken in steps, or worked on several items at a time."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore
from twisted.python.failure import Failure

T = TypeVar("T")


async def take(items: AsyncIterator[T], count: int) -> list[T]:
    """Take items of an iteration.

    :param count: most items.
    :returns: fewer than ``count`` only at the end of ``items``.
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
    """Work on the items of an iteration, several at a time.

    The first error, of the iteration or of the work, cancels what is at work and is raised; so does a cancellation.

    :param work: called with each item, in order; its result is dropped.
    :param at_once: items in work at most, at least one.
    """
    free, running, errors = DeferredSemaphore(at_once), dict[Deferred[Any], None](), list[Failure]()

    def ended(failure: Failure | None, deferred: Deferred[Any]) -> None:
        running.pop(deferred, None)
        if isinstance(failure, Failure):
            errors.append(failure)
        free.release()

    try:
        async for item in items if isinstance(items, AsyncIterator) else _stepwise(items):
            await free.acquire()
            if errors:
                break
            deferred: Deferred[Any] = Deferred.fromCoroutine(work(item))
            running[deferred] = None
            deferred.addBoth(ended, deferred)
        while running and not errors:
            await DeferredList(list(running), fireOnOneCallback=True)
    finally:
        for deferred in list(running):
            deferred.cancel()
    if errors:
        errors[0].raiseException()


async def _stepwise(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item

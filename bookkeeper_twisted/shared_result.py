"""Lets several callers wait for the same coroutine or the same Deferred, also for a limited time."""

from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

T = TypeVar("T")


class SharedResult(Generic[T]):
    """The result of one coroutine; several callers can wait for it, each with its own Deferred.

    If one of these Deferreds is cancelled, the coroutine and the other Deferreds are not affected.
    """

    def __init__(self) -> None:
        self._waiting: list[Deferred[T]] = []
        self._result: list[T] = []
        self._failure: Failure | None = None

    def run(self, work: Coroutine[Deferred[Any], Any, T]) -> None:
        """Start the coroutine ``work``; call this only once."""
        Deferred.fromCoroutine(work).addCallbacks(self._succeeded, self._failed)

    def wait(self) -> "Deferred[T]":
        """Return a Deferred that fires with the result or the error of the coroutine that :meth:`run` started."""
        if self._result:
            return succeed(self._result[0])
        if self._failure is not None:
            return fail(self._failure)
        waiter: Deferred[T] = Deferred(self._waiting.remove)
        self._waiting.append(waiter)
        return waiter

    def _succeeded(self, result: T) -> None:
        self._result.append(result)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(result)

    def _failed(self, failure: Failure) -> None:
        self._failure = failure
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.errback(failure)


def end_of(running: "Deferred[Any]") -> "Deferred[None]":
    """Return a new Deferred that fires with None when ``running`` fires or fails; ``running`` keeps its result."""
    waiter: Deferred[None] = Deferred()

    def ended(outcome: Any) -> Any:
        waiter.callback(None)
        return outcome

    running.addBoth(ended)
    return waiter


def result_of(running: "Deferred[T]") -> "Deferred[T]":
    """Return a new Deferred for the result or the error of ``running``, to be awaited after :func:`ended_within`.

    ``running`` itself must not be awaited then: it may still be in its callbacks, where Twisted cannot raise its error.
    """
    waiter: Deferred[T] = Deferred()
    running.addBoth(waiter.callback)
    return waiter


def ended_within(running: "Deferred[Any]", clock: IReactorTime, seconds: float) -> "Deferred[bool]":
    """Return a new Deferred that fires with True when ``running`` fires or fails, with False if this takes too long.

    :param running: goes on after the time limit, and keeps its result.
    :param clock: the clock for the time limit.
    :param seconds: the time limit.
    """
    return end_of(running).addCallback(lambda _: True).addTimeout(seconds, clock, lambda *_: False)

"""The coroutines that a run leaves in the middle of their work.

Garbage is finalized in any order.  A coroutine that awaits nothing any more, because what it awaited was
finalized before it, must not be resumed; the ``finally`` of another one, which cancels it, does just that.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from inspect import CORO_CLOSED, getcoroutinestate
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary, ref

from twisted.internet.defer import Deferred

Work = Coroutine["Deferred[Any]", Any, Any]
_Started = WeakKeyDictionary[Work, "ref[Deferred[Any]]"]

_ROUNDS = 10
"""How often a coroutine may be cancelled and go on all the same."""


@contextmanager
def cancelled_afterwards() -> Iterator[None]:
    """Whatever was started meanwhile is cancelled at the end, while everything it works with is there.

    :raises AssertionError: something does not end.
    """
    started = _Started()
    with patch.object(Deferred, "fromCoroutine", _noting(started, Deferred.fromCoroutine)):
        yield
        for _ in range(_ROUNDS):
            if not _cancel(started):
                return
        raise AssertionError(f"these do not end: {_suspended(started)}")


def _noting(started: _Started, start: Callable[[Work], "Deferred[Any]"]) -> Callable[[Work], "Deferred[Any]"]:
    def noted(work: Work) -> Deferred[Any]:
        running = start(work)
        started[work] = ref(running)
        return running

    return noted


def _suspended(started: _Started) -> list[Work]:
    """In the order in which they were started: those who await others before the others."""
    return [work for work in started if getcoroutinestate(work) != CORO_CLOSED]


def _cancel(started: _Started) -> int:
    """:returns: how many there were."""
    suspended = _suspended(started)
    for work in suspended:
        running = started[work]()
        if running is not None:
            running.addErrback(lambda _: None)
            running.cancel()
    return len(suspended)

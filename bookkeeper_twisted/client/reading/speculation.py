"""Speculative attempts: if an attempt fails or is slow, another one begins; the first success counts."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

T = TypeVar("T")

Attempt = Callable[[], Coroutine[Deferred[Any], Any, T | None]]
"""A function that makes an attempt; its result is None if the attempt failed."""


@attrs.frozen
class Patience:
    """The time that one attempt may take before the next attempt begins as well.

    :ivar first: seconds after which the second attempt begins; 0 to begin it only when the first attempt has failed.
    :ivar longest: maximum number of seconds between the beginnings of two attempts.
    :ivar growth: factor by which the time between the beginnings of two attempts grows with each attempt.
    """

    first: float = 0.0
    longest: float = 0.0
    growth: float = 1.0


@attrs.frozen
class Success(Generic[T]):
    """The outcome of several attempts if one of them has succeeded.

    :ivar result: the result of the attempt that succeeded first.
    :ivar overtaken: indexes of the attempts that began before the successful attempt and are still running.
    """

    result: T
    overtaken: tuple[int, ...]


class Speculation(Generic[T]):
    """Attempts (such as reads from one bookie after another) in a given order, until one succeeds.

    Each attempt begins when all earlier attempts have failed or are slow.

    :param at_once: number of attempts that begin immediately.
    """

    def __init__(
        self, clock: IReactorTime, attempts: Sequence[Attempt[T]], patience: Patience, at_once: int = 1
    ) -> None:  # fmt: skip
        self._clock = clock
        self._attempts = attempts
        self._patience = patience
        self._at_once = at_once
        self._wait = patience.first
        self._made = 0
        self._running: dict[int, Deferred[T | None]] = {}
        self._timer: IDelayedCall | None = None
        self._outcome: Deferred[Success[T] | None] = Deferred()

    async def run(self) -> Success[T] | None:
        """Return the first success, or None if all attempts failed; if an attempt raises an exception, raise it.

        Attempts that are still running at the end are cancelled.
        """
        try:
            while not self._outcome.called and self._made < min(self._at_once, len(self._attempts)):
                self._next()
            if not self._attempts:
                return None
            return await self._outcome
        finally:
            self._stop_timer()
            for attempt in list(self._running.values()):
                attempt.cancel()

    def _next(self) -> None:
        """Begin the next attempt, for example a read from the next bookie."""
        self._stop_timer()
        if self._made == len(self._attempts):
            self._outcome.callback(None)
            return
        index, self._made = self._made, self._made + 1
        running = self._running[index] = Deferred.fromCoroutine(self._attempts[index]())
        if self._wait and self._made < len(self._attempts):
            self._timer = self._clock.callLater(self._wait, self._next)
            self._wait = min(self._wait * self._patience.growth, max(self._patience.longest, self._patience.first))
        running.addCallbacks(self._ended, self._crashed, callbackArgs=(index,), errbackArgs=(index,))

    def _ended(self, result: T | None, index: int) -> None:
        del self._running[index]
        if self._outcome.called:
            return
        if result is not None:
            self._outcome.callback(Success(result, tuple(i for i in self._running if i < index)))
        # begin the next attempt now if none is running; otherwise the timer begins it
        elif not self._running:
            self._next()

    def _crashed(self, failure: Failure, index: int) -> None:
        del self._running[index]
        # After the outcome, run() cancels the other attempts; ignore their CancelledError.
        if not self._outcome.called:
            self._outcome.errback(failure)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

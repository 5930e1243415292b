"""Waiting for a ledger's LAC to move (long poll)."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..attended_time import TOLERANCE
from ..errors import TooManyRequestsError
from .ledger_handle import LedgerHandle


class LacWatches:
    """The waits under way, at most ``limit`` of them (S11).

    :param flush: ends a batch of replies, called after a timeout.
    """

    def __init__(self, clock: IReactorTime, flush: Callable[[], None], limit: int = 10_000) -> None:
        self._clock = clock
        self._flush = flush
        self._limit = limit
        self._count = 0

    def wait(self, handle: LedgerHandle, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        """As :meth:`~.interfaces.IBookie.wait_lac`, for a LAC that is not above ``previous_lac`` now."""
        if self._count >= self._limit:
            return fail(TooManyRequestsError(handle.ledger_id))
        self._count += 1
        due = self._clock.seconds() + timeout
        timer: IDelayedCall

        def withdrawn(_: object) -> None:
            handle.watches.pop(woken, None)

        def woken(advanced: bool) -> None:
            result.callback(self._clock.seconds() * 1000 if advanced else None)

        def expired() -> None:
            nonlocal timer, due
            if self._clock.seconds() - due > TOLERANCE:  # held up: what the sockets hold may wake it
                due = self._clock.seconds()
                timer = self._clock.callLater(0, expired)
                return
            handle.watches.pop(woken, None)
            result.callback(None)
            self._flush()

        def ended(outcome: "float | None") -> "float | None":
            self._count -= 1
            if timer.active():
                timer.cancel()
            return outcome

        result: Deferred[float | None] = Deferred(withdrawn)
        timer = self._clock.callLater(timeout, expired)
        handle.watches[woken] = previous_lac
        return result.addBoth(ended)

"""How long an entry may wait for its ack quorum: one timer for all of a writer's entries."""

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime


class QuorumTimeout:
    """Watches the oldest entry that waits.

    The clock must be monotonic: no wall clock, which may jump.

    :param oldest: when it was sent, None if nothing waits.
    :param expired: called when it waited ``seconds``.
    """

    def __init__(
        self, clock: IReactorTime, seconds: float, oldest: Callable[[], float | None], expired: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._oldest = oldest
        self._expired = expired
        self._call: IDelayedCall | None = None

    def start(self) -> None:
        """Begins to watch, if it does not."""
        if self._call is None:
            self._call = self._clock.callLater(self._seconds, self._look)

    def _look(self) -> None:
        self._call = None
        sent_at = self._oldest()
        if sent_at is None:
            return
        left = sent_at + self._seconds - self._clock.seconds()
        if left <= 0:
            self._expired()
        else:
            self._call = self._clock.callLater(left, self._look)

    def stop(self) -> None:
        """Watches no more."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

"""Measures for how long the reactor was busy or held up, so that the log does not blame a disk for slow requests."""

from collections import deque

from twisted.internet.interfaces import IDelayedCall, IReactorTime

PERIOD = 0.05
"""Seconds between two calls of the timer that notices when the reactor is held up; a shorter delay may go unnoticed."""

_TOLERANCE = 0.01
"""Seconds by which the timer may be late before the delay is recorded."""

_KEPT = 1000


class LoopWatch:
    """A timer that records when it fired late, and by how many seconds, because the reactor was held up.

    The timer fires late if another call of the reactor takes long, or if the process was stopped or got no CPU time.

    :param clock: the reactor.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._due = 0.0
        self._call: IDelayedCall | None = None

    def start(self) -> None:
        """Start the timer, unless it is running."""
        if self._call is None:
            self._due = self._clock.seconds() + PERIOD
            self._call = self._clock.callLater(PERIOD, self._tick)

    def stop(self) -> None:
        """Stop the timer, and forget the recorded delays."""
        if self._call is not None:
            self._call.cancel()
            self._call = None
        self._late.clear()

    def _tick(self) -> None:
        now = self._clock.seconds()
        if now - self._due > _TOLERANCE:
            self._late.append((self._due, now))
        self._call = None
        self.start()

    def late_since(self, began: float) -> float:
        """Return for how many seconds the reactor was held up since ``began``, as far as the timer has noticed it.

        :param began: a time of the reactor's clock.
        """
        late, now = 0.0, self._clock.seconds()
        if self._call is not None and now - self._due > _TOLERANCE:
            late = now - max(self._due, began)
        for start, end in reversed(self._late):
            if end <= began:
                break
            late += end - max(start, began)
        return late

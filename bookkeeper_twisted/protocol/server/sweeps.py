"""Regular checks of all connections of a bookie."""

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ...limits.attended_time import AttendedTime


class Sweeps:
    """A timer that calls a function regularly while connections exist.

    :param seconds: seconds between two calls.
    :param sweep: the function, which drops peers that exceed a time limit.  If the timer fires late because the process
        was suspended, the function is not called: bytes that peers have sent in time may have arrived, but are not
        read yet.
    """

    def __init__(self, clock: IReactorTime, seconds: float, sweep: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._do_sweep = sweep
        self._time = AttendedTime(clock.seconds)
        self._call: IDelayedCall | None = None

    def start(self) -> None:
        """Start the timer, unless it is running."""
        if self._call is None:
            self._time.scheduled(self._seconds)
            self._call = self._clock.callLater(self._seconds, self._sweep)

    def stop(self) -> None:
        """Stop the timer."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _sweep(self) -> None:
        self._call = None
        is_late = self._time.arrived()
        self.start()
        if not is_late:
            self._do_sweep()

"""A controller that slows down all limiters of a process while clients wait too long for replies.

Theory of operation.  Once a second, :class:`AdaptiveThrottles` reads the latency of client requests in this second (the
99th percentile).  It passes this latency to a :class:`YieldController`, which computes one factor: 1 means full speed,
0.5 means half the speed.

An operator sets a bound for the latency.  A latency above the bound lowers the factor in proportion.  The first second
with such a latency lowers the factor at most by a fifth, because a single slow second may be chance.  Each further such
second at most halves the factor.  A latency well below the bound raises the factor: slowly close to the bound, faster
far below it, and fastest if there are no client requests.  At a latency just below the bound, the factor stays the
same, so that a steady load leads to a steady speed without oscillation.

The limit of every limiter is multiplied by the factor.  If a limiter has no limit, the speed of its work is measured
when the factor falls below 1, and the factor is applied to this speed.  Once the factor is 1 again, the limiter has no
limit, as before.

The controller reads neither a clock nor metrics.  So bookies and autorecovery can both use it, each with the latency of
its own requests.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import Interface, implementer

from ..instruments import Instruments
from ..metrics import AdaptiveMetrics
from .ratelimit import Rate
from .throttle import Throttles, ThrottleStatus

INTERVAL = 1.0
"""Seconds between two samples of the latency of client requests."""

LEAST_FACTOR = 0.02
"""The lowest factor by which all speed limits are multiplied.  It is not 0: garbage collection must always go on."""

_FIRST_CUT, _NEXT_CUT = 0.8, 0.5
_HOLD_FROM = 0.7
_FAR_BELOW = 0.35
_STEP, _FAST_STEP, _IDLE_STEP = 1.1, 1.25, 2.0
_FULL = 0.98


class YieldController:
    """Computes the factor that slows down background work.  Its input is the latency of client requests.

    :ivar bound: latency that client requests should not exceed; 0 for no bound, and then the factor is always 1.
    :ivar factor: the part of full speed at which background work may run, from :data:`LEAST_FACTOR` to 1.
    """

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.factor = 1.0
        self._above = False

    def change(self, bound: float) -> None:
        """Change the bound of the latency; if it becomes 0, the factor becomes 1 immediately.

        :param bound: the new bound, in the unit of the latencies; 0 for no bound.
        """
        self.bound = bound
        if not bound:
            self.factor = 1.0

    def observe(self, latency: float | None, at_work: bool = True) -> float:
        """Update the factor from a new sample of the latency of client requests.

        :param latency: the sample, in the unit of the bound; None if no client made a request.
        :param at_work: whether background work ran; if not, the factor is not lowered, because that would not help.
        :returns: the new factor.
        """
        if not self.bound:
            return self.factor
        was_above, self._above = self._above, latency is not None and latency > self.bound
        if latency is None:
            self._raise(_IDLE_STEP)
        elif latency > self.bound:
            if at_work:
                cut = max(self.bound / latency, _NEXT_CUT if was_above else _FIRST_CUT)
                self.factor = max(self.factor * cut, LEAST_FACTOR)
        elif latency < self.bound * _FAR_BELOW:
            self._raise(_FAST_STEP)
        elif latency < self.bound * _HOLD_FROM:
            self._raise(_STEP)
        return self.factor

    def _raise(self, step: float) -> None:
        raised = self.factor * step
        self.factor = raised if raised < _FULL else 1.0


@attrs.frozen
class AdaptiveStatus:
    """The present state of an :class:`AdaptiveThrottles`.

    :ivar factor: the part of full speed at which background work runs.
    :ivar bound: latency in milliseconds that client requests should not exceed; with 0, the limiters are never slowed
        down.
    :ivar latency: 99th percentile of the latency of client requests in the last second, in milliseconds; None if there
        was no request.
    """

    bound: float
    factor: float
    latency: float | None


class AdaptiveThrottles:
    """A control loop that slows down background work while client requests take too long.

    It samples the latency of client requests, and multiplies all speed limits by a factor up to 1.

    :param observe: returns the 99th percentile of the latency of client requests since the last call, in milliseconds;
        None if there was no request.
    :param bound: maximum of this latency, in milliseconds; with 0, background work is never slowed down.
    :param labels: labels of the metrics.
    """

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, throttles: Throttles, observe: Callable[[], float | None], bound: float = 0.0,
        instruments: Instruments | None = None, labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._throttles = throttles
        self._observe = observe
        self._controller = YieldController(bound)
        self._latency: float | None = None
        self._granted: dict[str, tuple[float, float]] = {}
        self._clock = clock
        self._sampled_at = clock.seconds()
        self._running = False
        self._timer = LoopingCall(self._sample)
        self._timer.clock = clock
        AdaptiveMetrics(instruments or Instruments(), lambda: self.status, labels)

    @property
    def status(self) -> AdaptiveStatus:
        """The latency bound, the factor by which all speed limits are multiplied now, and the last sampled latency."""
        return AdaptiveStatus(self._controller.bound, self._controller.factor, self._latency)

    def start(self) -> None:
        """Sample the latency of client requests every :data:`INTERVAL` seconds; do nothing while the bound is 0."""
        self._running = True
        if self._controller.bound and not self._timer.running:
            self._observe()  # this call discards the latencies measured before the first interval
            self._speeds()
            self._timer.start(INTERVAL, now=False).addErrback(self._failed)

    def stop(self) -> None:
        """Stop sampling; the limiters grant their full limits again."""
        self._running = False
        self._end()

    def change(self, bound: float) -> None:
        """Change the latency that client requests should not exceed.

        :param bound: the latency in milliseconds; with 0, the limiters grant their full limits again.
        """
        self._controller.change(bound)
        if not bound:
            self._end()
        elif self._running:
            self.start()

    def _end(self) -> None:
        if self._timer.running:
            self._timer.stop()
        self._latency = None
        self._controller.factor = 1.0
        for throttle in self._throttles:
            throttle.yield_to(1.0, Rate())

    def _sample(self) -> None:
        self._latency = self._observe()
        speeds = self._speeds()
        before = self._controller.factor
        factor = self._controller.observe(self._latency, any(speeds.values()))
        if (factor < 1) is not (before < 1):
            text = "background work yields" if factor < 1 else "background work is at its full speed"
            self._log.info("{text}: clients wait {latency} ms (p99)", text=text, latency=self._latency)
        for throttle in self._throttles:
            throttle.yield_to(factor, speeds[throttle.name])

    def _speeds(self) -> dict[str, Rate]:
        """Return, for each limiter, the entries and bytes per second that it has granted since the last call."""
        now = self._clock.seconds()
        elapsed, self._sampled_at = max(now - self._sampled_at, INTERVAL / 2), now
        found = {}
        for throttle in self._throttles:
            status = throttle.status
            granted = status.granted_entries, status.granted_bytes
            entries, n_bytes = self._granted.get(throttle.name, granted)
            found[throttle.name] = Rate((granted[0] - entries) / elapsed, (granted[1] - n_bytes) / elapsed)
            self._granted[throttle.name] = granted
        return found

    def _failed(self, failure: Failure) -> None:
        self._log.failure("background work yields no more", failure)
        self._end()


@attrs.frozen
class RunningJob:
    """The progress of a job that the speed limits slow down, for example the repair of a ledger; operators see it.

    :ivar state: the state of the job in one word.
    :ivar reason: why the job is waiting; empty while it is running.
    :ivar since: time at which the job began, in seconds of the reactor's clock.
    :ivar done: amount of work done, in a unit that depends on the job, for example entries.
    :ivar total: total amount of work, in the same unit; 0 before it is known.
    :ivar n_bytes: number of bytes that the job has copied.
    :ivar eta: estimated seconds until the job ends; None if unknown.
    """

    name: str
    state: str
    reason: str
    since: float
    done: int = 0
    total: int = 0
    n_bytes: int = 0
    eta: float | None = None


@attrs.frozen
class LimitsStatus:
    """All speed limits of a process, the state of their adaptive control, and the jobs that they slow down.

    :ivar find_jobs: lists the jobs that run now; with a number, those at work, and of those that wait only this number
        of the first and this number of the newest.
    """

    adaptive: AdaptiveStatus
    throttles: tuple[ThrottleStatus, ...]
    find_jobs: Callable[[int | None], Sequence[RunningJob]] = lambda most: ()

    @property
    def jobs(self) -> tuple[RunningJob, ...]:
        """All jobs that run now; they may be a hundred thousand."""
        return tuple(self.find_jobs(None))


class ISpeedLimits(Interface):
    """An operator's access to the speed limits of background work.  All methods are called on the reactor thread."""

    def limits() -> LimitsStatus:
        """Return all speed limits."""

    def set_limits(rates: Mapping[str, Rate], latency_bound: float | None = None) -> None:
        """Change speed limits until the end of the process; after an error, all limits are unchanged.

        :param rates: the new limits by name; other limits stay as they are.
        :param latency_bound: the latency that client requests should not exceed, in milliseconds; 0 for no bound, None
            to keep the present bound.
        :raises NoSuchThrottleError: no limiter has one of the names.
        """


@implementer(ISpeedLimits)
class SpeedLimits:
    """The speed limits of a process's background jobs, and the control that changes them with the load.

    :param jobs: returns the jobs that run now, such as compaction and replication, see :attr:`LimitsStatus.find_jobs`.
    :param changed: called after speed limits were changed, so that jobs forget the speed that they had before.
    """

    def __init__(
        self, throttles: Throttles, adaptive: AdaptiveThrottles,
        jobs: Callable[..., Sequence[RunningJob]] = lambda most: (), changed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._throttles = throttles
        self._adaptive = adaptive
        self._jobs = jobs
        self._changed = changed

    def limits(self) -> LimitsStatus:
        """Return all speed limits."""
        statuses = tuple(throttle.status for throttle in self._throttles)
        return LimitsStatus(self._adaptive.status, statuses, self._jobs)

    def set_limits(self, rates: Mapping[str, Rate], latency_bound: float | None = None) -> None:
        """Change speed limits until the end of the process; after an error, all limits are unchanged.

        See :meth:`ISpeedLimits.set_limits` for parameters and errors.
        """
        changes = [(self._throttles.find(name), rate) for name, rate in rates.items()]
        for throttle, rate in changes:
            throttle.change(rate)
        if changes:
            self._changed()
        if latency_bound is not None:
            self._adaptive.change(latency_bound)

"""The metrics of speed limits of background work."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from ..instruments import Instruments


class ThrottleMetrics:
    """The metrics of one speed limiter of background work.

    :ivar waited: seconds that requests to the limiter have waited, even those that were cancelled.
    """

    def __init__(self, instruments: Instruments, name: str) -> None:
        self.granted_entries = instruments.counter("throttle_granted_entries", throttle=name)
        self.granted_bytes = instruments.counter("throttle_granted_bytes", throttle=name)
        self.waited = instruments.counter("throttle_waited_seconds", throttle=name)
        self._instruments = instruments
        self._name = name

    def watch(self, waiting: Callable[[], float], entries: Callable[[], float], n_bytes: Callable[[], float]) -> None:
        """Export how many requests wait because of the limiter, and the limits of the limiter.

        :param waiting: returns the number of waiting requests.
        :param entries: returns the limit of entries a second, 0 for no limit.
        :param n_bytes: returns the limit of bytes a second, 0 for no limit.
        """
        self._instruments.gauge("throttle_waiting", waiting, throttle=self._name)
        self._instruments.gauge("throttle_limit_entries", entries, throttle=self._name)
        self._instruments.gauge("throttle_limit_bytes", n_bytes, throttle=self._name)


class YieldStatus(Protocol):
    """The factor that slows down background work, the latency of client requests, and the bound of this latency.

    The latency and its bound determine the factor.
    """

    @property
    def bound(self) -> float: ...
    @property
    def factor(self) -> float: ...
    @property
    def latency(self) -> float | None: ...


class AdaptiveMetrics:
    """The metrics of background work that is slowed down while clients see high latencies.

    The metrics are the latency of clients and its bound, in milliseconds, and the factor by which the speed limits of
    the work are multiplied.

    :param status: returns an object with these three numbers.
    :param labels: labels of the metrics; they must differ if one process has several such controls.
    """

    def __init__(
        self, instruments: Instruments, status: Callable[[], YieldStatus],
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        instruments.gauge("throttle_factor", lambda: status().factor, **labels)
        instruments.gauge("throttle_latency_bound_ms", lambda: status().bound, **labels)
        instruments.gauge("throttle_foreground_p99_ms", lambda: status().latency or 0.0, **labels)

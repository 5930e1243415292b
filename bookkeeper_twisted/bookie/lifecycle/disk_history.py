"""The used space of a disk over the last days, and how fast it grows."""

from collections import deque
from collections.abc import Callable

STEP = 600.0
"""Seconds between two samples that are kept."""

MOST_SAMPLES = 1008
"""Number of samples that are kept, enough for a week."""

LEAST_SPAN = 1800.0
"""Seconds that the samples must cover before a growth is computed from them."""


class DiskHistory:
    """Samples of the used bytes of one disk in the last days; they are lost when the process ends.

    :param seconds: returns the time of the reactor's clock, in seconds.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, int]] = deque(maxlen=MOST_SAMPLES)

    def record(self, used: int) -> None:
        """Record the number of ``used`` bytes, unless the last sample is less than :data:`STEP` seconds old."""
        now = self._seconds()
        if not self._samples or now - self._samples[-1][0] >= STEP:
            self._samples.append((now, used))

    @property
    def growth(self) -> float | None:
        """The bytes by which the used space grows per second; None if the samples cover less than :data:`LEAST_SPAN`.

        This is the slope of a linear regression over all samples.  The first and the last sample alone would not
        suffice, because compactions free space in large steps.
        """
        count = len(self._samples)
        if not count or self._samples[-1][0] - self._samples[0][0] < LEAST_SPAN:
            return None
        time = sum([at for at, _ in self._samples]) / count
        used = sum([n_bytes for _, n_bytes in self._samples]) / count
        spread = sum([(at - time) ** 2 for at, _ in self._samples])
        return sum([(at - time) * (n_bytes - used) for at, n_bytes in self._samples]) / spread

"""The used space of a disk over the last days and over the last hour, and how fast it grows."""

import time
from collections import deque
from collections.abc import Callable, Sequence

import attrs

STEP = 600.0
"""Seconds between two samples of the last days that are kept."""

MOST_SAMPLES = 1008
"""Number of samples of the last days that are kept, enough for a week."""

RECENT_STEP = 60.0
"""Seconds between two samples of the last hour that are kept."""

MOST_RECENT = 61
"""Number of samples of the last hour that are kept."""

LEAST_SPAN = 1800.0
"""Seconds that the samples must cover before a growth is computed from them."""

NEWER, NEWEST = 0.5, 0.25
"""The newest shares of the time of all samples that must show a growth, too."""


@attrs.frozen
class Growth:
    """The speed at which the used space of a disk has grown over some time.

    :ivar speed: bytes per second: over all of the time, or over its newer half if that is less; negative if the used
        space has become less.
    :ivar span: number of seconds over which the speed was measured.
    """

    speed: float
    span: float


class DiskHistory:
    """Samples of the used bytes of one disk in the last days and the last hour; they are lost when the process ends.

    :param seconds: returns the time in seconds of a clock that is never set.  A step of the system's clock would spoil
        the growth for as long as samples are kept.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, int]] = deque(maxlen=MOST_SAMPLES)
        self._recent: deque[tuple[float, int]] = deque(maxlen=MOST_RECENT)

    def record(self, used: int) -> None:
        """Record the number of ``used`` bytes, unless the last sample of each kind is too young for another one."""
        now = self._seconds()
        if not self._samples or now - self._samples[-1][0] >= STEP:
            self._samples.append((now, used))
        if not self._recent or now - self._recent[-1][0] >= RECENT_STEP:
            self._recent.append((now, used))

    @property
    def growth(self) -> Growth | None:
        """The growth over the last days; None if the samples cover less than :data:`LEAST_SPAN`."""
        return _growth(self._samples)

    @property
    def recent(self) -> Growth | None:
        """The growth over the last hour; None if the samples cover less than :data:`LEAST_SPAN`.

        It is not positive if the used space has not grown in the newest quarter of this time.
        """
        now = self._seconds()
        samples = [sample for sample in self._recent if now - sample[0] <= RECENT_STEP * MOST_RECENT]
        growth = _growth(samples)
        if growth is not None and (newest := _newest(samples, NEWEST))[-1][1] <= newest[0][1]:
            return Growth(min(growth.speed, 0.0), growth.span)
        return growth


def _growth(samples: Sequence[tuple[float, int]]) -> Growth | None:
    """Return the growth over ``samples``; None if they cover less than :data:`LEAST_SPAN`.

    A growth that has ended is no trend: the files of a journal are allocated after the start, and used again later.
    """
    if not samples or (span := samples[-1][0] - samples[0][0]) < LEAST_SPAN:
        return None
    return Growth(min(_slope(samples), _slope(_newest(samples, NEWER))), span)


def _newest(samples: Sequence[tuple[float, int]], share: float) -> Sequence[tuple[float, int]]:
    """Return the samples of the newest ``share`` of their time, at least two."""
    last = samples[-1][0]
    newest = [sample for sample in samples if last - sample[0] <= share * (last - samples[0][0])]
    return newest if len(newest) > 1 else list(samples)[-2:]


def _slope(samples: Sequence[tuple[float, int]]) -> float:
    """Return the slope of a linear regression over all ``samples``, in bytes per second.

    The first and the last sample alone would not suffice, because compactions free space in large steps.
    """
    count = len(samples)
    time = sum([at for at, _ in samples]) / count
    used = sum([n_bytes for _, n_bytes in samples]) / count
    spread = sum([(at - time) ** 2 for at, _ in samples])
    return sum([(at - time) * (n_bytes - used) for at, n_bytes in samples]) / spread

"""Measures the load of a connection: bytes not acknowledged yet, and bytes written a short time ago."""

from collections.abc import Callable

_HALF_LIFE = 10.0
"""Seconds after which bytes written count half."""


class Traffic:
    """The bytes of one connection.

    :param now: the time in seconds.
    :ivar unacknowledged: bytes of requests that wait for their replies.
    """

    __slots__ = ("unacknowledged", "_now", "_recent", "_fresh", "_at")

    def __init__(self, now: Callable[[], float]) -> None:
        self.unacknowledged = 0
        self._now = now
        self._recent = 0.0
        self._fresh = 0.0  # written since the last look
        self._at = now()

    def wrote(self, size: float) -> None:
        """Count bytes that were written, or are to be expected as if they had been.

        :param size: bytes; :meth:`recent` includes them from its next call on.
        """
        self._fresh += size

    def recent(self) -> float:
        """Looks at the bytes lately written, the older the less they count."""
        now = self._now()
        if now > self._at:
            self._recent *= 0.5 ** ((now - self._at) / _HALF_LIFE)
            self._at = now
        self._recent += self._fresh
        self._fresh = 0.0
        return self._recent

    def load(self) -> float:
        """The load that connections are compared by."""
        return self.unacknowledged + self.recent()

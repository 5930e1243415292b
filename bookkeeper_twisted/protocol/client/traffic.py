"""The load of a connection: the unacknowledged bytes, and the recently written bytes."""

from collections.abc import Callable

from .in_flight import InFlight
from .request_writer import RequestWriter

_HALF_LIFE = 10.0
"""Seconds after which bytes written count half."""


class Traffic:
    """The load of one connection, which is measured even before the connection exists.

    :param now: returns the time in seconds.
    """

    __slots__ = ("_now", "_recent", "_fresh", "_at", "_writer", "_in_flight")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._recent = 0.0
        self._fresh = 0.0  # written bytes that ``_recent`` does not contain, less a start value of the writer's count
        self._at = now()
        self._writer: RequestWriter | None = None
        self._in_flight: InFlight | None = None

    def follow(self, writer: RequestWriter, in_flight: InFlight) -> None:
        """Begin to measure a connection.

        :param writer: the writer of the connection, which counts the written bytes.
        :param in_flight: the account of the connection.
        """
        self._fresh -= writer.written
        self._writer = writer
        self._in_flight = in_flight

    @property
    def unacknowledged(self) -> int:
        """The bytes of requests that wait for their replies."""
        return 0 if self._in_flight is None else self._in_flight.unacknowledged

    def wrote(self, size: float) -> None:
        """Add bytes to the recently written bytes, although this connection did not write them.

        :param size: bytes; :meth:`recent` includes them from its next call on.
        """
        self._fresh += size

    def recent(self) -> float:
        """Return the recently written bytes; older bytes count less."""
        now = self._now()
        if now > self._at:
            self._recent *= 0.5 ** ((now - self._at) / _HALF_LIFE)
            self._at = now
        written = 0 if self._writer is None else self._writer.written
        self._recent += self._fresh + written
        self._fresh = -written
        return self._recent

    def load(self) -> float:
        """Return the load, a number by which connections are compared."""
        return self.unacknowledged + self.recent()

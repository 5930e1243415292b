"""The load of a connection, which consists of unacknowledged bytes and recently written bytes."""

from collections.abc import Callable

from .in_flight import InFlight
from .request_writer import RequestWriter

_HALF_LIFE = 10.0
"""Seconds after which written bytes count half in the load."""


class Traffic:
    """A measure of the load of one connection; it begins before the connection is made.

    :param now: returns the time in seconds.
    """

    __slots__ = ("_now", "_recent", "_fresh", "_at", "_writer", "_in_flight")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._recent = 0.0
        self._fresh = 0.0  # written bytes that are not yet in ``_recent``, minus the writer's count at the start
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
        """Count bytes as recently written, although this connection did not write them.

        :param size: number of bytes.
        """
        self._fresh += size

    def recent(self) -> float:
        """Return the number of recently written bytes, where older bytes count less."""
        now = self._now()
        if now > self._at:
            self._recent *= 0.5 ** ((now - self._at) / _HALF_LIFE)
            self._at = now
        written = 0 if self._writer is None else self._writer.written
        self._recent += self._fresh + written
        self._fresh = -written
        return self._recent

    def load(self) -> float:
        """Return the load as a number; new requests go to the connection with the lowest load."""
        return self.unacknowledged + self.recent()

"""Measures the load of a connection, so that new requests go to the least busy of several connections to a bookie."""

from collections.abc import Callable

from .in_flight import InFlight
from .request_writer import RequestWriter

_HALF_LIFE = 10.0
"""Seconds after which written bytes count half in the load."""


class Traffic:
    """The load of one connection: the size of its unanswered requests, and the number of recently written bytes.

    The older written bytes are, the less they count: half after :data:`_HALF_LIFE` seconds.  The object is made before
    the connection is established, so that :meth:`wrote` can already count bytes that will be written to it.

    :param now: returns the time in seconds.
    """

    __slots__ = ("_now", "_recent", "_fresh", "_at", "_writer", "_in_flight")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._recent = 0.0
        # Bytes counted by wrote(), minus the writer's total of written bytes at the last update of ``_recent``.  So the
        # next update adds ``_fresh`` plus the writer's new total to ``_recent``.
        self._fresh = 0.0
        self._at = now()
        self._writer: RequestWriter | None = None
        self._in_flight: InFlight | None = None

    def measure(self, writer: RequestWriter, in_flight: InFlight) -> None:
        """Begin to measure a connection that is now established.

        :param writer: the writer of the connection, which counts the written bytes.
        :param in_flight: the outstanding requests of the connection, and the number of their bytes.
        """
        self._fresh -= writer.written
        self._writer = writer
        self._in_flight = in_flight

    @property
    def unacknowledged(self) -> int:
        """The total size in bytes of the requests that wait for their replies."""
        return 0 if self._in_flight is None else self._in_flight.unacknowledged

    def wrote(self, size: float) -> None:
        """Count in advance ``size`` bytes, an estimate of the bytes that a new ledger handle will soon write here."""
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
        """Return the size in bytes of the unanswered requests plus the number of recently written bytes.

        New ledger handles use the connection with the lowest load.
        """
        return self.unacknowledged + self.recent()

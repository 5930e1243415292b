"""A client's record of the bookies that failed or were slow a short time ago; the module does no I/O."""

from collections.abc import Callable

from ..errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    ClientClosedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
)

NO_REPLY = (BookieHandleNotAvailableError, RequestTimeoutError)
"""Errors of requests without a reply; any other error of a request is the bookie's reply."""

_HARMLESS = (NoSuchEntryError, NoSuchLedgerError, BadRequestError, ClientClosedError)
"""Errors that do not count as a failure of the bookie, although it returned no entry."""


class BookieHealth:
    """A record of the bookies that failed or were slow a short time ago; readers ask these last.

    :param now: a function that returns the seconds of a monotonic clock.
    :param remembered: seconds after which a failure or a slow answer is forgotten.
    """

    def __init__(self, now: Callable[[], float], remembered: float) -> None:
        self._now = now
        self._remembered = remembered
        self._failures: dict[str, float] = {}
        self._slow: dict[str, float] = {}

    def failed(self, bookie_id: str, error: Exception) -> None:
        """Record that a read from a bookie failed.

        :param error: the error of the read.  "No such entry" is not recorded, because it is no fault of the bookie.
        """
        if not isinstance(error, _HARMLESS):
            self._failures[bookie_id] = self._now()

    def was_slow(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` was slow: another bookie, which was asked later, answered first."""
        self._slow[bookie_id] = self._now()

    def succeeded(self, bookie_id: str) -> None:
        """Delete the record that ``bookie_id`` failed, because it returned an entry; keep the record that it was slow.
        """
        self._failures.pop(bookie_id, None)

    def failed_at(self, bookie_id: str) -> float | None:
        """Return the clock time, in seconds, of the last failure of ``bookie_id``; None without a recent failure."""
        return self._recent(self._failures, bookie_id)

    def is_slow(self, bookie_id: str) -> bool:
        """Test whether ``bookie_id`` was slow a short time ago: a bookie that was asked later answered first."""
        return self._recent(self._slow, bookie_id) is not None

    def _recent(self, times: dict[str, float], bookie_id: str) -> float | None:
        time = times.get(bookie_id)
        if time is not None and self._now() >= time + self._remembered:
            times.pop(bookie_id, None)  # no "del": another thread may have removed the bookie
            return None
        return time

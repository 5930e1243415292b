"""A client's record of the bookies that it read from: which failed, were slow, or do not support batch reads."""

from twisted.internet.interfaces import IReactorTime

from ...errors import (
    BadRequestError,
    BookieHandleNotAvailableError,
    ClientClosedError,
    NoSuchEntryError,
    NoSuchLedgerError,
    RequestTimeoutError,
    UnexpectedConditionError,
)

_HARMLESS = (NoSuchEntryError, NoSuchLedgerError, BadRequestError, ClientClosedError)
"""Errors that do not count as a failure of the bookie, although it returned no entry."""


class BookieHealth:
    """A record of the bookies that failed or were slow a short time ago; readers ask these last.

    :param remembered: seconds after which a failure or a slow answer is forgotten.
    """

    def __init__(self, clock: IReactorTime, remembered: float) -> None:
        self._clock = clock
        self._remembered = remembered
        self._failures: dict[str, float] = {}
        self._slow: dict[str, float] = {}

    def failed(self, bookie_id: str, error: Exception) -> None:
        """Record that a bookie did not answer a read with the entry.

        :param error: the error of the read.  "No such entry" is not recorded, because it is no fault of the bookie.
        """
        if not isinstance(error, _HARMLESS):
            self._failures[bookie_id] = self._clock.seconds()

    def was_slow(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` was slow: another bookie, which was asked later, answered first."""
        self._slow[bookie_id] = self._clock.seconds()

    def succeeded(self, bookie_id: str) -> None:
        """Forget the failure of ``bookie_id``, because it returned an entry.  That it was slow is not forgotten."""
        self._failures.pop(bookie_id, None)

    def failed_at(self, bookie_id: str) -> float | None:
        """Return the clock time, in seconds, of the last failure of ``bookie_id``; None without a recent failure."""
        return self._recent(self._failures, bookie_id)

    def is_slow(self, bookie_id: str) -> bool:
        """Test whether ``bookie_id`` was slow a short time ago: a bookie that was asked later answered first."""
        return self._recent(self._slow, bookie_id) is not None

    def _recent(self, times: dict[str, float], bookie_id: str) -> float | None:
        time = times.get(bookie_id)
        if time is not None and self._clock.seconds() >= time + self._remembered:
            del times[bookie_id]
            return None
        return time


REMEMBERED = 300.0
"""Seconds for which a bookie that does not support batch reads gets no batch read; then it is tried again."""

UNANSWERED = (BookieHandleNotAvailableError, RequestTimeoutError, UnexpectedConditionError)
"""Errors that mean that a bookie did not answer a batch read; it may still answer single reads."""

_ENOUGH_FAILURES = 2


class BatchSupport:
    """A record of the bookies that do not support batch reads; other bookies are assumed to support them.

    A bookie without batch reads refuses the operation, closes the connection, or does not answer.  A closed connection
    and a missing answer can also have other causes.  So these two count only if they occur twice without a success
    between, each time followed by a successful single read.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._lacking: dict[str, float] = {}
        self._unanswered: dict[str, int] = {}

    def is_expected(self, bookie_id: str) -> bool:
        """Test whether ``bookie_id`` is assumed to support batch reads."""
        until = self._lacking.get(bookie_id)
        if until is None:
            return True
        if self._clock.seconds() < until:
            return False
        del self._lacking[bookie_id]
        return True

    def gave_one(self, bookie_id: str) -> None:
        """Record that a batch read from ``bookie_id`` succeeded."""
        self._unanswered.pop(bookie_id, None)

    def refused(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` does not support batch reads; this is forgotten after :data:`REMEMBERED` seconds.
        """
        self._lacking[bookie_id] = self._clock.seconds() + REMEMBERED

    def unanswered(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` did not answer a batch read (:data:`UNANSWERED`), but then answered a single read.

        If this happens twice in a row, it has the effect of :meth:`refused`.
        """
        failures = self._unanswered.pop(bookie_id, 0) + 1
        if failures < _ENOUGH_FAILURES:
            self._unanswered[bookie_id] = failures
        else:
            self.refused(bookie_id)

"""The rules for batch reads of bookies that may not support them, without I/O.

A bookie that does not support batch reads refuses them, closes the connection, or does not answer.  The same happens
for other reasons as well, so the reader then tries single reads, and remembers what it learns.
"""

from collections.abc import Callable, Collection, Sequence

from ..errors import BadRequestError, UnexpectedConditionError
from .bookie_health import NO_REPLY

REMEMBERED = 300.0
"""Seconds for which a bookie that does not support batch reads gets no batch read; then it is tried again."""

UNANSWERED = (*NO_REPLY, UnexpectedConditionError)
"""Errors that mean that a bookie did not answer a batch read; it may still answer single reads."""

_ENOUGH_FAILURES = 2


class BatchSupport:
    """A record of the bookies that do not support batch reads; other bookies are assumed to support them.

    If a bookie closes the connection or does not answer (:data:`UNANSWERED`), this counts only if it happens twice in a
    row, each time followed by a successful single read.

    :param now: a function that returns the seconds of a monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lacking: dict[str, float] = {}
        self._unanswered: dict[str, int] = {}

    def is_expected(self, bookie_id: str) -> bool:
        """Test whether ``bookie_id`` is assumed to support batch reads."""
        until = self._lacking.get(bookie_id)
        if until is None:
            return True
        if self._now() < until:
            return False
        self._lacking.pop(bookie_id, None)  # another thread may have removed it
        return True

    def gave_one(self, bookie_id: str) -> None:
        """Record that a batch read from ``bookie_id`` succeeded."""
        self._unanswered.pop(bookie_id, None)

    def refused(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` does not support batch reads; this is forgotten after :data:`REMEMBERED` seconds.
        """
        self._lacking[bookie_id] = self._now() + REMEMBERED

    def unanswered(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` did not answer a batch read (:data:`UNANSWERED`), but then answered a single read.

        If this happens twice in a row, it has the effect of :meth:`refused`.
        """
        failures = self._unanswered.pop(bookie_id, 0) + 1
        if failures < _ENOUGH_FAILURES:
            self._unanswered[bookie_id] = failures
        else:
            self.refused(bookie_id)


class BatchAttempt:
    """An attempt to read entries by batch reads from one of their replicas.

    :param replicas: ids of the bookies that should have the entries, in the order to ask them.
    :ivar capable: the ``replicas`` that are assumed to support batch reads; only they are asked.
    :ivar errors: the error of each bookie that failed, by bookie id.
    """

    def __init__(self, support: BatchSupport, replicas: Sequence[str]) -> None:
        self.capable = [bookie_id for bookie_id in replicas if support.is_expected(bookie_id)]
        self.errors: dict[str, Exception] = {}
        self._support = support
        self._has_incapable = len(self.capable) < len(replicas)

    def failed(self, bookie_id: str, error: Exception) -> None:
        """Record the ``error`` of a batch read from ``bookie_id``."""
        if isinstance(error, BadRequestError):
            self._support.refused(bookie_id)
            self._has_incapable = True
        else:
            self.errors[bookie_id] = error

    @property
    def leaves_open(self) -> bool:
        """Whether single reads must follow: a bookie without batch reads, or without an answer, may have the entries.
        """
        return self._has_incapable or any(isinstance(error, UNANSWERED) for error in self.errors.values())

    def single_reads_succeeded(self, gave: Collection[str]) -> None:
        """Record the outcome of the single reads after this attempt.

        :param gave: ids of the bookies that returned an entry.
        """
        for bookie_id, error in self.errors.items():
            if isinstance(error, UNANSWERED) and bookie_id in gave:
                self._support.unanswered(bookie_id)

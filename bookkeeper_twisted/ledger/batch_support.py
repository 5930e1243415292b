"""Decides which bookies get batch reads, because some bookies do not support them; without I/O.

A bookie that does not support batch reads refuses them, closes the connection, or does not answer.  A closed connection
or a missing answer can have other reasons as well.  So the reader repeats a failed batch read by single reads.  If the
single reads succeed, the reader records that the bookie may not support batch reads.
"""

from collections.abc import Callable, Collection, Sequence

from ..errors import BadRequestError, UnexpectedConditionError
from .bookie_health import NO_REPLY

REMEMBERED = 300.0
"""Seconds for which no batch read is sent to a bookie that does not support batch reads."""

UNANSWERED = (*NO_REPLY, UnexpectedConditionError)
"""Errors of a batch read without a usable reply: none came, or it had the wrong type.  Single reads may still succeed.
"""

_ENOUGH_FAILURES = 2


class BatchSupport:
    """A record of the bookies that do not support batch reads; other bookies are assumed to support them.

    A bookie is recorded if it refuses a batch read.  It is also recorded if it does not answer two batch reads in a row
    (:data:`UNANSWERED`), but answers the single reads that follow each of them.

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
        self._lacking.pop(bookie_id, None)  # no "del": another thread may have removed the bookie
        return True

    def gave_one(self, bookie_id: str) -> None:
        """Record that a batch read from ``bookie_id`` succeeded."""
        self._unanswered.pop(bookie_id, None)

    def refused(self, bookie_id: str) -> None:
        """Record for :data:`REMEMBERED` seconds that ``bookie_id`` does not support batch reads."""
        self._lacking[bookie_id] = self._now() + REMEMBERED

    def unanswered(self, bookie_id: str) -> None:
        """Record that ``bookie_id`` did not answer a batch read (:data:`UNANSWERED`), but then answered a single read.

        If this happens to two batch reads in a row, the bookie is assumed not to support batch reads.
        """
        failures = self._unanswered.pop(bookie_id, 0) + 1
        if failures < _ENOUGH_FAILURES:
            self._unanswered[bookie_id] = failures
        else:
            self.refused(bookie_id)


class BatchAttempt:
    """An attempt to read entries by a batch read, from one bookie after the other.

    :param replicas: ids of the bookies that should have the entries, in the order to ask them.
    :ivar capable: ids of those ``replicas`` that are assumed to support batch reads; only they are asked.
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
        """Whether single reads may still find the entries after this attempt has failed.

        They may if one of the bookies does not support batch reads, or did not answer the batch read.
        """
        return self._has_incapable or any(isinstance(error, UNANSWERED) for error in self.errors.values())

    def single_reads_succeeded(self, gave: Collection[str]) -> None:
        """Record which bookies answered single reads after they had not answered the batch read.

        :param gave: ids of the bookies that returned an entry to a single read.
        """
        for bookie_id, error in self.errors.items():
            if isinstance(error, UNANSWERED) and bookie_id in gave:
                self._support.unanswered(bookie_id)

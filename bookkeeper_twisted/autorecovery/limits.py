"""The limits of autorecovery: speed limiters by name, the size of requests, and the number of requests under way.

Each speed limiter is charged with what was really done: entries and bytes that bookies gave, and, for writes, entries
and bytes times the bookies they were sent to.  A read is paid for before it is sent, by an estimate that is corrected
when it has come.
"""

from collections import deque

from twisted.internet.defer import Deferred, succeed

from ..limits.throttle import Throttle

REPLICATION_READ = "replication-read"
"""Entries and bytes that the replicator reads."""

REPLICATION_WRITE = "replication-write"
"""Entries and bytes that the replicator writes, once for each bookie that gets them."""

REPLICATION_METADATA = "replication-metadata"
"""Requests of auditor and worker about marks, locks, registered bookies and metadata of ledgers that are repaired."""

CHECKER_READ = "checker-read"
"""Entries and bytes that the checker reads."""

CHECKER_METADATA = "checker-metadata"
"""Ledgers whose metadata audits and periodic checks of the auditor read, each an entry."""

LIMITERS = (REPLICATION_READ, REPLICATION_WRITE, REPLICATION_METADATA, CHECKER_READ, CHECKER_METADATA)

_PIECE_SECONDS = 0.02


def piece(entries: int, n_bytes: int, *throttles: Throttle) -> tuple[int, int]:
    """Return the entries and bytes of one request: what the limits grant in a fiftieth of a second, at least one entry.

    So a limited worker sends small requests evenly, and clients never wait behind the amount of a second.

    :param entries: the most entries; ``n_bytes``: the most bytes.
    """
    for rate in [throttle.rate for throttle in throttles]:
        if rate.entries:
            entries = min(entries, max(int(rate.entries * _PIECE_SECONDS), 1))
        if rate.bytes:
            n_bytes = min(n_bytes, max(int(rate.bytes * _PIECE_SECONDS), 1))
    return entries, n_bytes


class ConcurrencyLimit:
    """A limit on the number of things under way; callers are admitted in the order in which they came.

    :param limit: 0 or less for none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[tuple[int, Deferred[None]]] = deque()

    @property
    def limit(self) -> int:
        """Return the number of things that may be under way, 0 for any number."""
        return max(self._limit, 0)

    def enter(self, count: int) -> "Deferred[None]":
        """Wait until ``count`` more things may be under way, and count them.

        :param count: how many begin, at most the limit.
        """
        if not self._waiting and self._fits(count):
            self._used += count
            return succeed(None)
        waiter = (count, Deferred[None](lambda _: self._give_up(waiter)))
        self._waiting.append(waiter)
        return waiter[1]

    def leave(self, count: int) -> None:
        """Count ``count`` things as ended, and admit callers that wait.

        :param count: how many have ended.
        """
        self._used -= count
        self._admit()

    def _fits(self, count: int) -> bool:
        return self._limit <= 0 or self._used + count <= self._limit

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            count, admitted = self._waiting.popleft()
            self._used += count
            admitted.callback(None)

    def _give_up(self, waiter: tuple[int, Deferred[None]]) -> None:
        self._waiting.remove(waiter)
        self._admit()

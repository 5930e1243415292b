"""The limits of autorecovery: on its speed, on the size of requests, and on the number of requests in progress.

A speed limiter counts the entries and bytes of reads or of writes; an entry that is written to two bookies counts
twice.  A read is counted with its estimated size before it is sent, and corrected when the reply has arrived.
"""

from collections import deque

from twisted.internet.defer import Deferred, succeed

from ..limits.throttle import Throttle

REPLICATION_READ = "replication-read"
"""Name of the limiter of entries and bytes that the replicator reads."""

REPLICATION_WRITE = "replication-write"
"""Name of the limiter of entries and bytes that the replicator writes; an entry for two bookies counts twice."""

REPLICATION_METADATA = "replication-metadata"
"""Name of the limiter of the replication worker's requests to the metadata store."""

CHECKER_READ = "checker-read"
"""Name of the limiter of entries and bytes that the checker reads."""

CHECKER_METADATA = "checker-metadata"
"""Name of the limiter of the auditor's metadata reads; the metadata of one ledger count as one entry."""

LIMITERS = (REPLICATION_READ, REPLICATION_WRITE, REPLICATION_METADATA, CHECKER_READ, CHECKER_METADATA)

_PIECE_SECONDS = 0.02


def piece(entries: int, n_bytes: int, *throttles: Throttle) -> tuple[int, int]:
    """Return the maximum number of entries and bytes of one request: as many as the limits allow in 20 milliseconds.

    So a worker under a speed limit sends many small requests, and a client's request does not have to wait until a
    bookie has processed a large one.  The result is at least one entry and one byte.

    :param entries: maximum number of entries without a speed limit.
    :param n_bytes: maximum number of bytes without a speed limit.
    """
    for rate in [throttle.rate for throttle in throttles]:
        if rate.entries:
            entries = min(entries, max(int(rate.entries * _PIECE_SECONDS), 1))
        if rate.bytes:
            n_bytes = min(n_bytes, max(int(rate.bytes * _PIECE_SECONDS), 1))
    return entries, n_bytes


class ConcurrencyLimit:
    """A limit on the number of requests (or ledgers) in progress; :meth:`enter` admits them in the order of its calls.

    :param limit: the largest number in progress; 0 or less for no limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[tuple[int, Deferred[None]]] = deque()

    @property
    def limit(self) -> int:
        """Return the limit; 0 if there is none."""
        return max(self._limit, 0)

    def enter(self, count: int) -> "Deferred[None]":
        """Wait until ``count`` more requests or ledgers may be in progress; then count them as in progress.

        :param count: number of requests or ledgers, at most the limit.
        """
        if not self._waiting and self._fits(count):
            self._used += count
            return succeed(None)
        waiter = (count, Deferred[None](lambda _: self._give_up(waiter)))
        self._waiting.append(waiter)
        return waiter[1]

    def leave(self, count: int) -> None:
        """Record that ``count`` requests or ledgers have ended, so that waiting calls of :meth:`enter` can return."""
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

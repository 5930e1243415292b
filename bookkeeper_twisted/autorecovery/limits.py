"""The speed limiters of autorecovery: their names, as metrics, HTTP and the shell show them, and the pieces of work.

Each is charged with what was really done: entries and bytes that bookies gave, and, for writes, entries and bytes times
the bookies they were sent to.  A read is paid for before it is sent, by an estimate that is settled when it has come.
"""

from ..throttle import Throttle

REPLICATION_READ = "replication-read"
"""Entries and bytes that the copier reads."""

REPLICATION_WRITE = "replication-write"
"""Entries and bytes that the copier writes, once for each bookie that gets them."""

REPLICATION_METADATA = "replication-metadata"
"""Requests of auditor and worker about marks, locks, registered bookies and metadata of ledgers that are repaired."""

CHECKER_READ = "checker-read"
"""Entries and bytes that the checker reads."""

CHECKER_METADATA = "checker-metadata"
"""Ledgers whose metadata audits and periodic checks of the auditor read, each an entry."""

LIMITERS = (REPLICATION_READ, REPLICATION_WRITE, REPLICATION_METADATA, CHECKER_READ, CHECKER_METADATA)

_PIECE_SECONDS = 0.02


def piece(entries: int, n_bytes: int, *throttles: Throttle) -> tuple[int, int]:
    """Return the entries and bytes of one request: what limits grant in a fiftieth of a second, at least one entry.

    So a limited worker sends small requests evenly, and clients never wait behind the amount of a second.

    :param entries: at most, as are bytes.
    """
    for rate in [throttle.rate for throttle in throttles]:
        if rate.entries:
            entries = min(entries, max(int(rate.entries * _PIECE_SECONDS), 1))
        if rate.bytes:
            n_bytes = min(n_bytes, max(int(rate.bytes * _PIECE_SECONDS), 1))
    return entries, n_bytes

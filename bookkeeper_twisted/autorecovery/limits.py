"""Names of the speed limiters of autorecovery, as metrics, HTTP and the shell show them.

Each is charged with what was really done: entries and bytes that bookies gave, and, for writes, entries and bytes times
the bookies they were sent to.
"""

REPLICATION_READ = "replication-read"
"""Entries and bytes that the copier reads."""

REPLICATION_WRITE = "replication-write"
"""Entries and bytes that the copier writes, once for each bookie that gets them."""

REPLICATION_METADATA = "replication-metadata"
"""Requests of auditor and worker about marks, locks and metadata of ledgers, each an entry."""

CHECKER_READ = "checker-read"
"""Entries and bytes that the checker reads."""

CHECKER_METADATA = "checker-metadata"
"""Ledgers that periodic checks open, each an entry."""

LIMITERS = (REPLICATION_READ, REPLICATION_WRITE, REPLICATION_METADATA, CHECKER_READ, CHECKER_METADATA)

"""Background work on the files of a bookie: deletion of ledgers, entry-log space, checks.

Theory of operation.  :class:`~.garbage_collector.GarbageCollector` runs now and then, or when forced.  A run first
deletes the ledgers that are deleted in metadata (:mod:`.ledger_collector`).  It then removes the entry logs to which no
index row refers any more (:mod:`.log_collector`).  Last it compacts, by Apache's thresholds and intervals, the logs in
which few bytes are live (:mod:`.compactor`).  :class:`~.scrubber.Scrubber` reads and verifies all stored entries and
journal records.  :mod:`.known_damage` stores the damage that a scrub or a compaction finds.  Each service runs one
small piece of work at a time, on the lane ``maintenance-<n>`` of its directory and within a named speed limit.  So
checkpoints do not wait for it, and it can be suspended, cancelled and watched at every step.
"""

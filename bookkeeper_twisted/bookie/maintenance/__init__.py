"""Background work on the files of a bookie: deletes ledgers, frees entry-log space, verifies stored data.

Theory of operation.  :class:`~.garbage_collector.GarbageCollector` runs at intervals, or at the request of an operator
(forced).  A run first deletes the ledgers that are deleted in metadata (:mod:`.ledger_collector`).  Then it deletes the
entry logs to which no index row refers any more (:mod:`.log_collector`).  Finally it compacts the logs that contain few
live bytes (:mod:`.compactor`), by Apache's thresholds and intervals.  :class:`~.scrubber.Scrubber` reads and verifies
all stored entries and journal records.  :mod:`.known_damage` stores the damage that a scrub or a compaction finds.
Each service runs one small piece of work at a time, on the maintenance thread of its directory, within a named speed
limit.  So checkpoints do not wait for maintenance, and an operator can suspend, cancel and watch it at every step.
"""

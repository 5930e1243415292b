"""Background work on the files of a bookie: deletion of ledgers, entry-log space, checks.

Theory of operation.  :class:`~.garbage_collector.GarbageCollector` runs now and then, or when forced.  A run asks
metadata which ledgers are gone (:mod:`.ledger_collector`) and has the bookie forget them; it removes the entry logs
that no index row refers to any more (:mod:`.log_collector`); and it compacts, by Apache's thresholds and intervals,
the logs in which little is live (:mod:`.compactor`).  :class:`~.scrubber.Scrubber` reads and verifies everything.
What it finds damaged, or a compaction, is kept by :mod:`.known_damage`.  Every service is a chain of Deferreds with
one small piece of work at a time, on the lane ``maintenance-<n>`` of its directory, behind a named speed limit: a
checkpoint waits for none of it, and it can be suspended, cancelled and watched at every step.
"""

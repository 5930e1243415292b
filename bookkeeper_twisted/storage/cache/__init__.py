"""The caches of a bookie in memory: for entries that are not in an entry log yet, and for entries read from one.

Theory of operation.  The write cache (:mod:`.write_cache`) holds entries from their arrival until they are in an entry
log.  A run is a sequence of consecutive entries of one ledger; a writer sends such runs.  The cache keeps them as they
are, in a list for each ledger (:mod:`.run_list`).  If clients write to many ledgers in turn, a run object for each
entry would cost more than the entry.  Such entries are appended to lists, one list for each of their fields
(:mod:`.mixed_entries`); they are called single entries, because they are in no run.  A checkpoint replaces the cache by
an empty one, and writes out the old one.  The read cache (:mod:`.read_cache`) keeps the runs that were last read from
disk.  If an entry arrives again, the new copy replaces the old one in both caches.
"""

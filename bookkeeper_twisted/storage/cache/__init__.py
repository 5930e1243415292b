"""The caches of a bookie in memory: of entries that are not in an entry log yet, and of entries read from a log.

Theory of operation.  The write cache (:mod:`.write_cache`) holds entries from their arrival until they are in an entry
log.  A writer sends runs of consecutive entries; the cache keeps these as they are, in a list for each ledger
(:mod:`.run_list`).  If many ledgers alternate, a run object for each entry would cost more than the entry; such single
entries are kept in parallel columns (:mod:`.mixed_entries`).  A checkpoint replaces the cache by an empty one, and
writes out the old one.  The read cache (:mod:`.read_cache`) keeps the runs that were last read from disk.  If an entry
is inserted again, the newest copy is valid in both caches.
"""

"""Entries in memory: entries that are not in an entry log yet, and entries that were read from a log.

Theory of operation.  The write cache (:mod:`.write_cache`) stands between the journal and the entry logs.  A writer's
entries come as runs, which it keeps for each ledger in order (:mod:`.run_list`); where many ledgers take turns, a run
for each entry would cost more than the entry, so that single entries lie in columns (:mod:`.mixed_entries`).  A
checkpoint swaps the cache for an empty one and writes the old one out.  The read cache (:mod:`.read_cache`) keeps runs
that were read from disk, and drops the least recently used.  The newest copy of an entry wins in both.
"""

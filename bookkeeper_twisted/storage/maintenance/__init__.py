"""The space of entry logs: live bytes are measured and copied to new logs, and old logs are removed.

Theory of operation.  The run index is the one truth: an entry log is needed as long as a row refers to it.
:mod:`.log_space` lists the sealed logs of a directory with their live bytes, and removes a log that no row refers to,
after every ledger in it was checked against the index (S8).  :mod:`.plan` chooses the logs whose live share is
small.  :mod:`.copying` copies their live runs, ordered by ledger and entry, into a new log, where neighbours become
one run.  The new log is synced, sealed and renamed before the index refers to it, and the index takes a copy only
for entries that still lie in the old logs.  A crash leaves an unfinished copy, a log without references, or
both logs in part: the next collection removes what is not needed.

Methods are synchronous and bounded: a service calls them one by one, each on the lane it names.
"""

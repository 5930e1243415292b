"""Freeing the space of entry logs: the live entries of old logs are copied to new logs, and the old logs are deleted.

Theory of operation.  The run index decides: an entry log is needed as long as an index row refers to it.
:mod:`.log_space` lists the sealed logs of a directory with their live bytes.  It deletes a log without references,
after it has looked up every ledger of the log in the index (S8).  :mod:`.plan` chooses the logs with a small share of
live bytes.  :mod:`.copying` copies the live entries of these logs to a new log, sorted by ledger and entry, so that
neighbours become one run.  The new log is synced, sealed and renamed before the index refers to it.  The index accepts
a copy only for entries that are still in the old logs.  A crash may leave an incomplete new log, or logs that are
partly or not referred to; the next collection deletes what is not needed.

All methods are synchronous and take limited time.  A service calls them one after the other, each on the lane that its
docstring names.
"""

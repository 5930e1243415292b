"""Freeing the space of entry logs: live entries of old logs are copied to new logs, and the old logs are deleted.

Theory of operation.  An entry log is needed as long as a row of the index refers to it.  The entries of these rows
are live.  :mod:`.log_space` lists the completed (sealed) logs of a directory with their live bytes.  It deletes a log
to which no row refers, after it has looked up every ledger of the log in the index.  :mod:`.plan` chooses the logs with
a small share of live bytes.  :mod:`.copying` copies the live entries of these logs to a new log, sorted by ledger and
entry, so that consecutive entries need only one index row.  The new log is synced, sealed and renamed before the index
refers to it.  The index accepts a copy only for entries that are still in the old logs.  After a crash, there may be an
incomplete new log, and old logs with few or no live entries.  Later garbage collections delete or compact these logs.

All methods are synchronous and take limited time.  A service calls them one after the other, each on the thread that
its docstring states.
"""

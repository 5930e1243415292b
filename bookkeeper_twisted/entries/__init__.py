"""Many entries as one object, the unit of work for adds and reads, and the byte layout of entries.

Theory of operation.  A bookie handles up to a million entries a second, so any Python code that runs for each single
entry is expensive.  Therefore many entries are one object whose bytes are joined: an :class:`~.entry_run.EntryRun`
(consecutive entries of one ledger), or, for entries of several ledgers, one of the two classes of :mod:`.mixed_runs`.
All three classes have the methods of :mod:`.interfaces`.  :mod:`.columns` reads one field of many records of equal size
by a few calls.
"""

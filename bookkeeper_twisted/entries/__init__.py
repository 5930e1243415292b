"""Many entries as one object, the unit of work for adds and reads, and the byte layout of entries.

Theory of operation.  A bookie handles up to a million entries a second, so any work for each single entry is expensive.
Therefore many entries are passed on as one object over joined bytes: an :class:`~.entry_run.EntryRun` (consecutive
entries of one ledger), or, for entries of several ledgers, one of the two classes of :mod:`.mixed_runs`.  All three
have the methods of :mod:`.interfaces`.  :mod:`.columns` cuts the same bytes out of many records of equal size.  The
values of metadata are in :mod:`bookkeeper_twisted.model`.
"""

"""Entries in bulk, the unit of work of the hot path, and their byte layout.

Theory of operation.  A bookie handles up to a million entries a second, so any work done for each entry costs much.
Therefore many entries travel as one object over joined bytes: an :class:`~.entry_run.EntryRun` of consecutive entries
of one ledger, or, if entries of several ledgers alternate, one of the two classes of :mod:`.mixed_runs`.  All three
have the methods of :mod:`.interfaces`.  :mod:`.columns` cuts bytes into records of equal size.  The values of metadata
are in :mod:`bookkeeper_twisted.model`.
"""

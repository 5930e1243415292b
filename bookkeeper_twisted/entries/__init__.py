"""Entries in bulk, the unit of work of the hot path, and their byte layout.

Theory of operation.  What costs something per entry costs it a million times a second, so that entries travel as one
object over joined bytes: an :class:`~.entry_run.EntryRun` of consecutive entries of one ledger, or, where ledgers take
turns, one of the two mixtures of :mod:`.mixed_runs`.  :mod:`.columns` cuts records of one size apart.  The values of
metadata are in :mod:`bookkeeper_twisted.model`.
"""
